// The end of a run with time to finish (W-TERM-01): agents at work are told, nothing new begins, and what is not done
// in time is ended.
import { deadline, durationMs, parseTimestamp, type Ticks, type Timestamp } from '@parley/core'
import type { Coordinator } from '@parley/kernel'
import { ask } from '../ask.ts'
import { after } from '../projection/highway.ts'
import type { RunProjection } from '../projection/run-projection.ts'

export interface RunEnding {
  readonly at: Timestamp
  readonly grace: number
  readonly reason: string
}

/** The first request to end the whole run, which later ones do not put off; without one the end of its time. */
export function endingOf({ controls, facts, root }: RunProjection): RunEnding | undefined {
  for (const each of controls) {
    if (each.kind !== 'abort' || each.task !== undefined || each.grace === undefined) continue
    return { at: each.at, grace: each.grace, reason: each.reason }
  }
  const { timeoutMs, graceMs } = facts?.team.limits ?? {}
  if (!root || timeoutMs === undefined || graceMs === undefined) return undefined
  const at = after(root.created, timeoutMs - graceMs)
  return { at, grace: graceMs, reason: 'The time of the run is nearly over.' }
}

/** Milliseconds until the agents are told, and until whatever stands is ended; 0: now. */
export function endingLeft({ at, grace }: RunEnding, now: Ticks) {
  const begin = parseTimestamp(at)!
  return { untilTold: left(begin, now), untilEnd: left(deadline(begin, grace) as Ticks, now) }
}

function left(end: Ticks, now: Ticks): number {
  return end <= now ? 0 : Math.ceil(durationMs(now, end))
}

/** Tells those who work, and ends what cannot be told. */
export async function windDown(
  projection: RunProjection,
  coordinator: Coordinator,
  { reason }: RunEnding,
  left: number,
): Promise<void> {
  for (const { id, facts, state, termination } of projection.workspaces.values()) {
    if (facts?.kind !== 'work') continue
    if ((state === 'active' || state === 'blocked') && !termination)
      await ask(coordinator.terminate(id, Math.max(1, left), reason))
    else if (state === 'idle' || state === 'suspended') await ask(coordinator.abort(id))
  }
}
