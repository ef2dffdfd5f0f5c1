// `parley inbox`: everything that waits for a person, live; on a terminal it can be answered there.
import { type Context, command } from '../../command.ts'
import { withWork } from '../../live/gate-work.ts'
import { attendInbox } from '../../live/inbox.ts'
import { machineFault } from '../../node/client.ts'
import type { GateView } from '../../node/views.ts'
import { drawing, isAttended, printHeld } from '../../output.ts'
import { gatesTable } from '../../render/runs.ts'
import { interruption } from '../../terminal.ts'
import { runHere } from '../which-run.ts'

export default command({
  about:
    'On a terminal the list stays on the screen and is kept up to date: choose one with the arrow keys or its number, and answer it with one key; ? shows the keys, q quits. Without a terminal the list is printed once, or with --follow after each change.',
  flags: {
    follow: { summary: 'Print the list again after each change' },
    run: { value: 'RUN', summary: 'Only for this run' },
  },
  examples: [
    ['parley inbox', 'on a terminal: look, choose, answer'],
    ['parley inbox --json --follow', 'one JSON line per change, for a program that notifies somebody'],
  ],
  async run(context, { flags }) {
    const api = await context.connect()
    const run =
      flags.run === undefined ? undefined : (await api.runs.show({ run: await runHere(context, flags.run) })).run
    const own = (list: readonly GateView[]) => list.filter(gate => run === undefined || gate.run === run)
    if (flags.follow) {
      using interrupted = interruption(context.terminal)
      for await (const { gates } of api.streams.gates.watch({}, { signal: interrupted.signal }))
        await show(context, own(gates))
      return
    }
    if (isAttended(context)) return attendInbox(context, api, own)
    await show(context, own((await api.gates.list({})).gates))
  },
})

async function show(context: Context, gates: readonly GateView[]): Promise<void> {
  const list = await withWork(context.api, gates)
  const machine = await machineFault(context.api)
  printHeld(context, { waiting: list }, machine, () =>
    list.length > 0 ? gatesTable(list, drawing(context)) : ['Nothing is waiting for you.'],
  )
}
