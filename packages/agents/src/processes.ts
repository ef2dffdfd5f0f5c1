// Finding and ending the processes of turns. A turn's processes are those that carry its marker in their environment,
// those of the group and session that it began, and the children of all of these. The caller and its own ancestors are
// never among them.
import { type Clock, ParleyError, SystemClock, type TurnInput } from '@parley/core'
import { agentDefaults, agentLimits } from './limits.ts'
import { type ProcessEntry, readProcesses } from './process-table.ts'

export interface EndOptions {
  readonly clock?: Clock
  readonly grace?: number
}

export interface Ended {
  readonly found: number
  /** Those that even SIGKILL did not end. */
  readonly left: readonly number[]
}

export function turnMarker({ run, workspace, epoch }: Pick<TurnInput, 'run' | 'workspace' | 'epoch'>): string {
  return `${run}/${workspace}/${epoch}`
}

/** Ends these processes and their children: SIGTERM, then SIGKILL after the grace. */
export function endMarked(prefix: string, options: EndOptions = {}): Promise<Ended> {
  // An empty prefix would end the turns of every other node on this machine.
  if (prefix === '') throw new ParleyError('invalid_argument', 'an empty prefix does not say whose processes to end')
  return endAll({ marked: marker => marker.startsWith(prefix) }, options)
}

export interface TurnProcesses {
  readonly marker: string
  /** The process that was started as the leader of its own group and session. */
  readonly leader: number
  /** Resolves when the leader has exited, so that the next look need not wait. */
  readonly gone: Promise<unknown>
}

/** Ends one turn, whole. Its group gets one SIGTERM: to some programs a second one means to drop everything. */
export function endTurn({ marker, leader, gone }: TurnProcesses, options: EndOptions = {}): Promise<Ended> {
  return endAll({ marked: each => each === marker, leader, gone }, options)
}

interface Target {
  marked(marker: string): boolean
  readonly leader?: number
  readonly gone?: Promise<unknown>
}

async function endAll(target: Target, options: EndOptions): Promise<Ended> {
  const { clock = new SystemClock(), grace = agentDefaults.graceMs } = options
  const { leader } = target
  // The tree is known before the first signal: an orphan without a marker could not be found any more.
  const known = new Map<number, ProcessEntry>()
  const look = async (): Promise<readonly ProcessEntry[]> => treeOf(await readProcesses(), target, known)

  let left = await look()
  if (left.length === 0) return { found: 0, left: [] }
  const inGroup = ({ group }: ProcessEntry) => leader !== undefined && group === leader
  const told = new Set<number>()
  const tell = () => {
    for (const entry of left) {
      if (!told.has(entry.pid) && !inGroup(entry)) signal(entry.pid, 'SIGTERM')
      told.add(entry.pid)
    }
  }
  if (left.some(inGroup)) signal(-leader!, 'SIGTERM')
  tell()
  const over = timer(clock, grace)
  let wait: number = agentDefaults.pollFirstMs
  for (let first = true; left.length > 0 && !over.fired(); first = false) {
    const pause = timer(clock, wait)
    await Promise.race([over.done, pause.done, ...(first && target.gone ? [target.gone] : [])])
    pause.cancel()
    wait = Math.min(2 * wait, agentDefaults.pollMostMs)
    left = await look()
    // Those that were born since the last look are told as well.
    tell()
  }
  over.cancel()
  for (let round = 0; left.length > 0 && round < agentLimits.killRounds; round++) {
    // All at once where that can be had: one by one, a group that forks fast could stay ahead.
    if (left.some(inGroup)) signal(-leader!, 'SIGKILL')
    for (const { pid } of left) signal(pid, 'SIGKILL')
    left = await look()
  }
  return { found: known.size, left: left.map(({ pid }) => pid) }
}

/** Chosen by marker, group or session, or known from before; and all that descend from the chosen. */
function treeOf(
  entries: readonly ProcessEntry[],
  { marked, leader }: Target,
  known: Map<number, ProcessEntry>,
): readonly ProcessEntry[] {
  const spared = ownLine(entries)
  const children = Map.groupBy(entries, ({ parent }) => parent)
  const chosen = new Map<number, ProcessEntry>()
  const belongs = ({ pid, marker, group, session, started }: ProcessEntry) =>
    (marker !== undefined && marked(marker)) ||
    (leader !== undefined && (group === leader || session === leader)) ||
    (known.has(pid) && known.get(pid)!.started === started)
  const queue = entries.filter(belongs)
  for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
    if (spared.has(entry.pid) || chosen.has(entry.pid)) continue
    chosen.set(entry.pid, entry)
    known.set(entry.pid, entry)
    queue.push(...(children.get(entry.pid) ?? []))
  }
  return [...chosen.values()]
}

/** The caller and its ancestors. */
export function ownLine(entries: readonly ProcessEntry[]): ReadonlySet<number> {
  const parents = new Map(entries.map(({ pid, parent }) => [pid, parent]))
  const line = new Set<number>()
  for (let pid: number | undefined = process.pid; pid !== undefined && !line.has(pid); pid = parents.get(pid)) {
    line.add(pid)
  }
  return line
}

/** A negative number means a group. */
export function signal(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended, or is not ours: the next look shows which.
  }
}

function timer(clock: Clock, milliseconds: number) {
  const { promise: done, resolve } = Promise.withResolvers<void>()
  let fired = false
  const cancel = clock.after(milliseconds, () => {
    fired = true
    resolve()
  })
  return { done, fired: () => fired, cancel }
}
