// The time of one turn: near its end the agent is asked to finish (W-TERM-01) where the task says so, and at its end
// the turn is ended.
import { type CancelTimer, type Clock, ParleyError } from '@parley/core'

export interface TurnTime {
  readonly clock: Clock
  readonly timeoutMs?: number
  readonly graceMs?: number
  /** Whether the work is ended by itself when that time is over. */
  readonly askToFinish: (graceMs: number, reason: string) => Promise<boolean>
  readonly end: (why: ParleyError) => void
}

/** Undefined if the turn may take as long as it likes. */
export function turnDeadline({ clock, timeoutMs, graceMs, askToFinish, end }: TurnTime): CancelTimer | undefined {
  if (timeoutMs === undefined) return undefined
  const seconds = timeoutMs / 1000
  const late = new ParleyError('timeout', `The turn took longer than ${seconds} s.`)
  const cancelEnd = clock.after(timeoutMs, () => end(late), { background: true })
  if (graceMs === undefined) return cancelEnd
  const ask = async () => {
    // Work that is not ended by that, because it was asked before, still has its timeout.
    if (await askToFinish(graceMs, `The turn may take ${seconds} s, which are nearly over.`)) cancelEnd()
  }
  const cancelAsk = clock.after(timeoutMs - graceMs, () => void ask(), { background: true })
  return () => {
    cancelAsk()
    cancelEnd()
  }
}
