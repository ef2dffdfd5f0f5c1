// Refusals (wacp-primitives 0.5) are values: `details.reason` has the protocol's own word, `details.entry` the id of
// the entry that records the refusal.
import { type Err, err, ParleyError, type Result } from '@parley/core'

export const REFUSAL_CODES = [
  'rejected',
  'permission_denied',
  'invalid_state',
  'invalid_argument',
  'not_found',
  'containment',
  'immutable',
  'cycle',
  'cross_graph',
  'unknown_dependency',
  'unsupported',
  'target_locked',
  'gated',
  'limit_reached',
  'trail_unavailable',
  'trail_degraded',
] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

export type Refusal = Err<ParleyError>

export function refusal(code: RefusalCode, message: string, details: Readonly<Record<string, unknown>> = {}): Refusal {
  return err(new ParleyError(code, message, { details }))
}

export function invalidState(message: string, reason = 'invalid_state'): Refusal {
  return refusal('invalid_state', message, { reason })
}

export function invalidArgument(message: string, reason = 'invalid_argument'): Refusal {
  return refusal('invalid_argument', message, { reason })
}

export function notFound(what: string, id: unknown): Refusal {
  return refusal('not_found', `There is no ${what} ${typeof id === 'string' ? id.slice(0, 80) : ''}.`, {
    reason: 'not_found',
  })
}

/** A refusal that is on record in another run than the caller's, where its entry has another id: it names none. */
export function elsewhere<T>(result: Result<T>): Result<T> {
  if (result.ok || result.error.details.entry === undefined) return result
  const { code, message, retryable, details, cause } = result.error
  const { entry: _entry, ...rest } = details
  return err(new ParleyError(code, message, { retryable, details: rest, cause }))
}

export function limitReached(what: string, limit: number): Refusal {
  return refusal('limit_reached', `The limit of ${limit} ${what} is reached.`, { limit })
}
