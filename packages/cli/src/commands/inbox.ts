// `parley inbox`: everything that waits for a person, live. On a terminal it is answered right there.
import { type Context, command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { attendInbox } from '../live/inbox.ts'
import { drawing, print, printJson, remark } from '../output.ts'
import { heldLine } from '../render/machine.ts'
import { gatesTable } from '../render/runs.ts'
import type { GateView, MachineView } from '../views.ts'

export const inbox = command({
  name: 'inbox',
  summary: 'See what waits for you, live, and answer it',
  about:
    'On a terminal the list stays and changes as things come and go: type a number to look at one and answer it, or q to leave. Without a terminal it is printed once; with --follow again after each change.',
  args: [],
  flags: {
    follow: { type: 'boolean', summary: 'Print it again after each change' },
    run: { type: 'text', value: 'RUN', summary: 'Of this run only' },
  },
  examples: [
    ['parley inbox', 'on a terminal: look, choose, answer'],
    ['parley inbox --json --follow', 'one JSON line for each change, for a program that notifies somebody'],
  ],
  async run(context, { flags }) {
    const api = await context.connect()
    const run = flags.run === undefined ? undefined : (await api.show(flags.run)).run
    const own = (list: readonly GateView[]) => list.filter(gate => run === undefined || gate.run === run)
    if (flags.follow) {
      for await (const list of interruptible(context, signal => api.watchGates(signal)))
        show(context, own(list), await api.held())
      return EXIT.done
    }
    if (context.terminal.interactive && !context.global.json) return attendInbox(context, api, own)
    show(context, own(await api.gates()), await api.held())
    return EXIT.done
  },
})

function show(context: Context, list: readonly GateView[], machine: MachineView | undefined): void {
  if (context.global.json) {
    printJson(context, { waiting: list, ...(machine && { machine }) })
    return
  }
  print(context, list, () =>
    list.length > 0 ? gatesTable(list, drawing(context)) : ['Nothing waits for you.'],
  )
  if (machine) remark(context, heldLine(machine, drawing(context)))
}

/** Until Ctrl-C. */
async function* interruptible<T>(
  { terminal }: Context,
  watch: (signal: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<T> {
  const controller = new AbortController()
  const takeBack = terminal.onInterrupt(() => controller.abort())
  try {
    yield* watch(controller.signal)
  } finally {
    takeBack()
    controller.abort()
  }
}
