// The end of a run that a person asked for with time to finish (W-TERM-01): agents at work are told, nothing new is begun, and whatever
// is not done in time is ended.
import { deadline, durationMs, parseTimestamp, type Result, type Ticks } from '@parley/core'
import type { Coordinator } from '@parley/kernel'
import type { Control } from './control.ts'
import type { RunProjection } from './projection.ts'

export type RunEnding = Extract<Control, { readonly kind: 'abort' }> & { readonly grace: number }

/** The first request for the end of the whole run; a later one does not put it off. */
export function endingOf(seen: RunProjection): RunEnding | undefined {
  const found = seen.controls.find(
    each => each.kind === 'abort' && each.task === undefined && each.grace !== undefined,
  )
  return found as RunEnding | undefined
}

/** Milliseconds until it is ended whatever stands. */
export function endingLeft({ at, grace }: RunEnding, now: Ticks): number {
  const end = deadline(parseTimestamp(at)!, grace) as Ticks
  return end <= now ? 0 : Math.ceil(durationMs(now, end))
}

/** Tells those who work, and ends what cannot be told. */
export async function windDown(
  seen: RunProjection,
  coordinator: Coordinator,
  { reason }: RunEnding,
  left: number,
  ask: (asked: Promise<Result<unknown>>) => Promise<boolean>,
): Promise<void> {
  for (const { id, facts, state, termination } of seen.workspaces.values()) {
    if (facts?.kind !== 'work') continue
    if ((state === 'active' || state === 'blocked') && !termination)
      await ask(coordinator.terminate(id, Math.max(1, left), reason))
    else if (state === 'idle' || state === 'suspended') await ask(coordinator.abort(id))
  }
}
