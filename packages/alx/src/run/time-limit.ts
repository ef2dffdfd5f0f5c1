// The time limit of a solve counts working time: while the run waits for a person it stands still. The coordinator
// counts all time, so this limit is kept here, and its end is on record like any other.
import type { CancelTimer, Clock } from '@parley/core'
import type { LiveRun } from './live-run.ts'

export interface TimeLimitOptions {
  readonly clock: Clock
  readonly now: () => string
  /** Its time is over. */
  readonly onLate: (live: LiveRun) => void
}

export function keepTime(live: LiveRun, { clock, now, onLate }: TimeLimitOptions): void {
  const { limitMs } = live.fold.run.facts
  if (limitMs === undefined) return
  let timer: CancelTimer | undefined
  let waits = true
  const look = () => {
    const { over, open } = live.fold
    const stops = over || open !== undefined || live.lost !== undefined
    if (over || live.lost) off()
    if (stops === waits) return
    waits = stops
    timer?.()
    timer = stops ? undefined : clock.after(limitMs - live.fold.workingMs(now()), ring, { background: true })
  }
  const ring = () => {
    waits = true
    if (live.fold.workingMs(now()) >= limitMs) onLate(live)
    else look()
  }
  const off = live.onChange(look)
  look()
}
