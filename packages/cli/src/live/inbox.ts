// The inbox on a terminal: a numbered list that is drawn again while nobody types, and one thing at a time answered.
import type { Context } from '../command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { asFailure } from '../failure.ts'
import { machineFault, type NodeClient } from '../node/client.ts'
import type { GateView, MachineView } from '../node/views.ts'
import { drawing, printLines, remark } from '../output.ts'
import { heldLine } from '../render/machine.ts'
import { gatesTable } from '../render/runs.ts'
import { answerGate, decideGate, type GateChoice } from './gate.ts'
import { Screen } from './screen.ts'

export async function attendInbox(
  context: Context,
  api: NodeClient,
  own: (list: readonly GateView[]) => readonly GateView[],
): Promise<ExitCode> {
  for (;;) {
    const chosen = await choose(context, api, own)
    if (chosen === 'leave') return EXIT.done
    const choice = await decideGate(context, chosen)
    if (choice === 'leave') return EXIT.done
    if (choice !== 'later') await answer(context, api, chosen, choice)
  }
}

/** Redraws the list until a number is typed. */
async function choose(
  context: Context,
  api: NodeClient,
  own: (list: readonly GateView[]) => readonly GateView[],
): Promise<GateView | 'leave'> {
  const { terminal, clock } = context
  const controller = new AbortController()
  let list: readonly GateView[] = []
  let machine: MachineView | undefined
  let told = false
  const frame = () => [
    ...(machine ? [heldLine(machine, drawing(context), terminal.columns)] : []),
    ...(list.length > 0 ? numbered(list, context) : ['Nothing is waiting for you.']),
    terminal.paint('quiet', list.length > 0 ? 'Type a number to open one, q to quit.' : 'Watching; q to quit.'),
  ]
  // The list does not wait for it.
  const lookAtMachine = () =>
    void machineFault(api).then(
      found => {
        machine = found
        screen?.changed()
      },
      () => undefined,
    )
  const screen = terminal.live ? new Screen(terminal, clock, frame) : undefined
  const takeBack = terminal.onInterrupt(() => controller.abort())
  const watching = (async () => {
    for await (const { gates } of api.streams.gates.watch({}, { signal: controller.signal })) {
      list = own(gates)
      screen?.changed()
      if (!screen && !told) printLines(context, frame())
      told = true
      lookAtMachine()
    }
  })().catch(thrown => {
    if (!controller.signal.aborted) throw thrown
  })
  screen?.tick()
  try {
    for (;;) {
      const typed = await Promise.race([terminal.ask('', controller.signal), watching.then(() => undefined)])
      const word = typed?.trim().toLowerCase()
      if (word === undefined || word === 'q' || word === 'quit') return 'leave'
      const gate = list[Number(word) - 1]
      if (gate) return gate
      if (word !== '') remark(context, `There is no number ${word} in this list.`)
    }
  } finally {
    takeBack()
    controller.abort()
    screen?.clear()
    await watching.catch(() => undefined)
  }
}

/** At most as many lines as the terminal can redraw. */
function numbered(list: readonly GateView[], context: Context): readonly string[] {
  const room = Math.max(3, context.terminal.rows - 3)
  const [header = '', ...rows] = gatesTable(list, {
    ...drawing(context),
    width: context.terminal.columns - 4,
  })
  const shown = rows.slice(0, room - 1).map((row, index) => `${String(index + 1).padStart(3)} ${row}`)
  const more = rows.length - shown.length
  return [`    ${header}`, ...shown, ...(more > 0 ? [`    … and ${more} more`] : [])]
}

async function answer(context: Context, api: NodeClient, gate: GateView, choice: GateChoice): Promise<void> {
  try {
    await answerGate(api, gate, choice)
    remark(context, 'Done.')
  } catch (thrown) {
    const { code, message } = asFailure(thrown)
    // If it was already answered or the answer does not fit, the list shows what is left.
    remark(context, code === 'not_found' ? 'Somebody else has already answered.' : message)
  }
}
