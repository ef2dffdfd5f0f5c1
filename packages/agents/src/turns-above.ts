// The turns that a process was started in: what its own environment says, and those of the processes that it descends
// from. A process that wiped its environment and whose parent is gone cannot be told from any other: this notices
// accidents, and stops nobody who means it.
import { agentLimits } from './limits.ts'
import { type ProcessEntry, parseStat, readProcesses, TURN_MARKER, tryRead, variableOf } from './process-table.ts'

export interface TurnAbove {
  /** `<run>/<workspace>/<epoch>` */
  readonly marker: string
  /** Of the node whose turn it is, where that can be seen. */
  readonly socket?: string
}

const SOCKET = 'PARLEY_SOCKET'

/** From the nearest to the farthest. */
export async function turnsAbove(
  env: Readonly<Record<string, string | undefined>>,
  pid = process.pid,
): Promise<readonly TurnAbove[]> {
  const own = turnOf(env[TURN_MARKER], env[SOCKET])
  const above = process.platform === 'linux' ? fromProc(pid) : fromTable(await readProcesses(), pid)
  return own ? [own, ...above] : above
}

function fromProc(pid: number): readonly TurnAbove[] {
  const found: TurnAbove[] = []
  for (let each = pid, steps = 0; each > 0 && steps < agentLimits.ancestors; steps++) {
    const environment = tryRead(`/proc/${each}/environ`)
    const turn = turnOf(variableOf(environment, TURN_MARKER), variableOf(environment, SOCKET))
    if (turn) found.push(turn)
    each = parseStat(tryRead(`/proc/${each}/stat`) ?? '')?.parent ?? 0
  }
  return found
}

function fromTable(entries: readonly ProcessEntry[], pid: number): readonly TurnAbove[] {
  const table = new Map(entries.map(entry => [entry.pid, entry]))
  const found: TurnAbove[] = []
  let entry = table.get(pid)
  for (let steps = 0; entry && steps < agentLimits.ancestors; steps++) {
    const turn = turnOf(entry.marker, undefined)
    if (turn) found.push(turn)
    entry = table.get(entry.parent)
  }
  return found
}

function turnOf(marker: string | undefined, socket: string | undefined): TurnAbove | undefined {
  if (!marker) return undefined
  return { marker, ...(socket && { socket }) }
}
