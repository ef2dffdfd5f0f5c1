// One group on its way to disk: appended together, tried again after bounded waits (W-REC-07). What became durable is
// handed on as soon as it is, in order.
import { ParleyError, type Ticks, type WorkspaceId } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import type { Decision } from '../../decide.ts'
import { dueAfter, earlier } from '../../due/due.ts'
import { evolve } from '../../evolve.ts'
import type { Run } from '../../run/run.ts'
import { type Notice, noticesOf, outcomeNotices, unresolvableNotice } from '../notice.ts'
import { freedTarget } from './effects.ts'
import type { Queued } from './queue.ts'

export interface Decided {
  readonly queued: Queued
  readonly decision: Decision
  readonly notices: readonly Notice[]
  /** `seq` of its last entry: once it is committed, everything up to here is durable. */
  readonly last: number
  readonly due: Ticks | undefined
}

export function fold(
  run: Run,
  decision: Decision,
  heard: boolean,
  unlock: (target: WorkspaceId) => void,
): Pick<Decided, 'notices' | 'due'> {
  const notices: Notice[] = []
  let due: Ticks | undefined
  for (const object of decision.objects) evolve(run, object)
  for (const entry of decision.entries) {
    if (heard) notices.push(...noticesOf(run, entry))
    evolve(run, entry)
    due = earlier(due, dueAfter(run, entry))
    const freed = freedTarget(entry)
    if (freed !== undefined) unlock(freed)
    const hanging = heard ? unresolvableNotice(run, entry) : undefined
    if (hanging) notices.push(hanging)
  }
  if (heard) notices.push(...outcomeNotices(run, decision.outcomes))
  return { notices, due }
}

export interface Failed {
  readonly rest: readonly Decided[]
  readonly error: ParleyError
}

export interface CommitOptions {
  readonly trail: RunTrail
  readonly waits: readonly number[]
  readonly pause: (milliseconds: number) => Promise<void>
  readonly stopped: () => boolean
  readonly onUnwritable?: ((error: ParleyError) => void) | undefined
  readonly committed: (decided: Decided) => void
}

/** Errors of the trail's storage; everything else that an append may answer is about this one batch. */
const STORAGE = new Set(['trail_unavailable', 'trail_full', 'trail_busy', 'signing_failed'])

export function isStorageError(error: ParleyError): boolean {
  return STORAGE.has(error.code)
}

export function unavailable(cause: ParleyError): ParleyError {
  return new ParleyError('trail_unavailable', `Nothing was done: ${cause.message}`, { retryable: true, cause })
}

export async function commit(group: readonly Decided[], options: CommitOptions): Promise<Failed | undefined> {
  let rest = group
  const waits = [...options.waits]
  for (;;) {
    const failed = await append(rest, options)
    if (!failed) return undefined
    rest = failed.rest
    const storage = isStorageError(failed.error)
    if (storage) options.onUnwritable?.(failed.error)
    const wait = storage && !options.stopped() ? waits.shift() : undefined
    if (wait === undefined) return failed
    await options.pause(wait)
  }
}

async function append(group: readonly Decided[], options: CommitOptions): Promise<Failed | undefined> {
  const appends = options.trail.appendEach(
    group.filter(({ decision }) => isWritten(decision)).map(({ decision }) => decision),
  )
  let appended = 0
  for (const [index, decided] of group.entries()) {
    const result = isWritten(decided.decision) ? await appends[appended++] : undefined
    if (result && !result.ok) {
      // The trail takes nothing that stands behind it; all answers are in before anything is tried again.
      await Promise.all(appends)
      return { rest: group.slice(index), error: result.error }
    }
    options.committed(decided)
  }
  return undefined
}

function isWritten({ entries, objects }: Decision): boolean {
  return entries.length + objects.length > 0
}
