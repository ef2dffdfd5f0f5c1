// One question by itself, answered with a key.
import type { Context } from '../command.ts'
import { drawing } from '../output.ts'
import { type Option, Prompt } from './prompt.ts'
import { Screen } from './screen.ts'
import { Settling } from './settling.ts'

/** Undefined at Ctrl-C, Esc and the end of input. */
export async function askKey<T>(
  { terminal, clock }: Pick<Context, 'terminal' | 'clock'>,
  question: string,
  options: readonly Option<T>[],
): Promise<T | undefined> {
  const prompt = new Prompt<T>(
    ({ paint }) => [paint('strong', question)],
    () => options,
  )
  const answered = Promise.withResolvers<T | undefined>()
  const screen = new Screen(terminal, clock, () => prompt.lines(drawing({ terminal, clock }), terminal.rows - 1))
  const settling = new Settling(clock)
  using _keys = await terminal.keys(key => {
    if (key.name === 'redraw') {
      screen.anew()
      return
    }
    if (!prompt.typing && LEAVES.has(key.name)) answered.resolve(undefined)
    else if (!prompt.typing && settling.comesEarly()) prompt.tooEarly()
    else {
      const typed = prompt.typing
      const outcome = prompt.press(key)
      if (outcome) answered.resolve(outcome.answer)
      if (typed && !prompt.typing) settling.shown()
    }
    screen.now()
  })
  const undo = terminal.onResize(() => screen.changed())
  screen.now()
  settling.shown()
  try {
    return await answered.promise
  } finally {
    undo()
    screen.clear()
  }
}

const LEAVES: ReadonlySet<string> = new Set(['ctrl-c', 'escape', 'end'])
