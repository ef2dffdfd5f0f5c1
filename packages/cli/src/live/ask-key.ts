// One question by itself, answered with a key.
import type { Context } from '../command.ts'
import { drawing } from '../output.ts'
import { type Option, Prompt } from './prompt.ts'
import { Screen } from './screen.ts'

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
  using _keys = await terminal.keys(key => {
    const outcome = prompt.press(key)
    if (outcome) answered.resolve(outcome.answer)
    else if (!prompt.typing && ['ctrl-c', 'escape', 'end'].includes(key.name)) answered.resolve(undefined)
    screen.now()
  })
  const undo = terminal.onResize(() => screen.changed())
  screen.now()
  try {
    return await answered.promise
  } finally {
    undo()
    screen.clear()
  }
}
