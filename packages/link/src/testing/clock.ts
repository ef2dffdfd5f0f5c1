// Clocks for tests, standing at the instant of the vectors.
import { ManualClock, type Ticks } from '@parley/core'

/** The instant of an ISO timestamp. */
export function at(iso: string): Ticks {
  return (Date.parse(iso) * 1000) as Ticks
}

export function vectorClock(iso = '2026-04-23T12:01:00Z'): ManualClock {
  return new ManualClock(at(iso))
}
