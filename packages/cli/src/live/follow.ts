// Follows a run until it is over, the person leaves, or a question has to be answered. The run does not depend on it:
// if the node dies, it is started again.
import type { Context } from '../command.ts'
import { asFailure, Failure } from '../failure.ts'
import { cliLimits } from '../limits.ts'
import type { NodeClient } from '../node/client.ts'
import { type GateView, isOver, type MachineView, type RunView } from '../node/views.ts'
import { continuedText, drawing, printJson, printLines, remark } from '../output.ts'
import { liveFrame } from '../render/live.ts'
import { heldLine, SOUND_AGAIN } from '../render/machine.ts'
import { oneLine } from '../render/text.ts'
import { interruption } from '../terminal.ts'
import { changeLines } from './changes.ts'
import { Screen } from './screen.ts'

export type Followed =
  | { readonly kind: 'over'; readonly view: RunView }
  | { readonly kind: 'gate'; readonly gate: GateView; readonly view: RunView }
  | { readonly kind: 'interrupted'; readonly view: RunView | undefined }

export interface FollowOptions {
  /** Keys of gates that need no attention. */
  readonly passed?: ReadonlySet<string>
  /** Shown warnings; new ones are added. */
  readonly told?: Set<string>
}

/** A second question of a task has the same gate but a new time. Everything comes up again when the run is stuck. */
export function gateKey({ id, since }: GateView, view: RunView): string {
  return `${id} ${since} ${isStuck(view)}`
}

export function isStuck({ tasks }: RunView): boolean {
  return !tasks.some(({ state }) => ['ready', 'working', 'reviewing', 'integrating', 'conflicted'].includes(state))
}

export async function follow(
  context: Context,
  api: NodeClient,
  run: string,
  { passed = new Set(), told = new Set() }: FollowOptions = {},
): Promise<Followed> {
  using interrupted = interruption(context.terminal)
  const display = displayFor(context)
  let seen: RunView | undefined
  let found: Followed | undefined
  let drawn = false
  let held = false
  try {
    for await (const view of steadyViews(context, api, run, interrupted.signal)) {
      seen = view
      const gate = view.gates.find(each => !passed.has(gateKey(each, view)))
      if (isOver(view.state)) found = { kind: 'over', view }
      else if (gate) found = { kind: 'gate', gate, view }
      // Early warnings are shown now; on a live display, later ones are shown at the end.
      if (found?.kind !== 'over' && (!drawn || !context.terminal.live)) tellWarnings(context, view, told)
      if (!context.terminal.live) held = tellMachine(context, held, view)
      if (found?.kind !== 'gate') {
        display.show(view)
        drawn = true
      }
      if (found) break
    }
    found ??= seen && isOver(seen.state) ? { kind: 'over', view: seen } : { kind: 'interrupted', view: seen }
    return found
  } catch (thrown) {
    throw seen?.machine ? leftHeld(seen.machine, thrown) : thrown
  } finally {
    display.end(found?.kind === 'gate')
  }
}

/** Remarks on changes only. Returns whether it is held. */
function tellMachine(context: Context, held: boolean, { machine }: RunView): boolean {
  if (machine && !held) remark(context, heldLine(machine, drawing(context)))
  if (!machine && held) remark(context, SOUND_AGAIN)
  return machine !== undefined
}

/** The node died while it was held up: the user has to know that. */
export function leftHeld(machine: MachineView, thrown: unknown): Failure {
  const { message } = asFailure(thrown)
  return new Failure('machine_fault', machine.message, {
    why: message,
    next: '`parley doctor` says what is wrong. The run continues when a node can work again.',
    details: { machine },
    cause: thrown,
  })
}

function tellWarnings(context: Context, { warnings }: RunView, told: Set<string>): void {
  for (const each of warnings) {
    if (told.has(each)) continue
    told.add(each)
    remark(context, context.terminal.paint('warning', `warning: ${oneLine(each)}`))
  }
}

interface Reconnecting {
  readonly tell?: (line: string) => void
  readonly connected?: (api: NodeClient) => void
}

/** The views of a run. Survives losses of the node, up to a few in a row. */
export async function* steadyViews(
  context: Context,
  first: NodeClient,
  run: string,
  signal: AbortSignal,
  { tell = line => remark(context, line), connected = () => undefined }: Reconnecting = {},
): AsyncIterable<RunView> {
  let api = first
  let losses = 0
  while (!signal.aborted) {
    try {
      let last: RunView | undefined
      for await (const view of api.streams.runs.follow({ run }, { signal })) {
        losses = 0
        last = view
        yield view
      }
      if (signal.aborted || (last && isOver(last.state))) return
      losses++
    } catch (thrown) {
      const failure = asFailure(thrown)
      if (signal.aborted) return
      if (!LOSSES.has(failure.code) || ++losses > cliLimits.reconnects) throw thrown
    }
    tell('The node is gone. Reconnecting; the run continues from its record …')
    await pause(context, cliLimits.reconnectMs * losses, signal)
    if (signal.aborted) return
    try {
      // Written by itself, the line would stand in the middle of the frame that is drawn in place.
      const onContinued = (runs: number) => tell(continuedText(runs))
      api = await context.connect({ onContinued })
      connected(api)
    } catch (thrown) {
      // The next round fails on the old connection, which counts.
      if (losses >= cliLimits.reconnects) throw thrown
    }
  }
}

const LOSSES: ReadonlySet<string> = new Set(['connection_lost', 'UNAVAILABLE', 'node_unreachable'])

function pause({ clock }: Context, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const cancel = clock.after(milliseconds, done)
    function done() {
      signal.removeEventListener('abort', done)
      cancel()
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}

interface Display {
  show(view: RunView): void
  /** `away`: remove the display. */
  end(away: boolean): void
}

function displayFor(context: Context): Display {
  const { global, terminal, clock } = context
  const end = () => undefined
  if (global.json) return { show: view => printJson(context, view), end }
  if (global.quiet) return { show: end, end }
  if (!terminal.live) {
    let before: RunView | undefined
    return {
      show: view => {
        printLines(context, changeLines(before, view, { now: clock.now() }))
        before = view
      },
      end,
    }
  }
  let newest: RunView | undefined
  const frame = () => (newest ? liveFrame(newest, { ...drawing(context), height: Math.max(3, terminal.rows - 1) }) : [])
  const screen = new Screen(terminal, clock, frame)
  return {
    show: view => {
      newest = view
      screen.changed()
      screen.tick()
    },
    end: away => {
      if (newest === undefined) return
      if (away) screen.clear()
      else screen.finish()
    },
  }
}
