// The table of error codes (ALX-ERR-03). It is stable: within a major version no entry is removed, renamed or given
// another type (WG-05). SOURCES_NOT_SORTED is reserved and never emitted.
import type { ProtocolError } from './wire/envelope.ts'

export const ERROR_TYPES = [
  'auth',
  'approval',
  'validation',
  'negotiation',
  'not_found',
  'conflict',
  'execution',
  'integrity',
  'settlement',
  'rate_limit',
  'unavailable',
  'internal',
] as const

export interface ErrorEntry {
  readonly type: (typeof ERROR_TYPES)[number]
  /** HTTP statuses; the first is the usual one. */
  readonly http: readonly [number, ...number[]]
  /** Whether the same request, unchanged, may succeed later. */
  readonly retryable: boolean
}

const entry = (type: ErrorEntry['type'], status: number, retryable = false): ErrorEntry => ({
  type,
  http: [status],
  retryable,
})
const LATER = true

export const ERRORS = {
  AUTH_REQUIRED: entry('auth', 401),
  // 401: the credentials are invalid; 403: they are somebody else's than the user that is named (ALX-HTTP-04).
  UNAUTHORIZED: { type: 'auth', http: [401, 403], retryable: false },
  LOW_CONFIDENCE: entry('approval', 422),
  NO_ARTIFACT_SELECTED: entry('approval', 422),
  APPROVAL_REJECTED: entry('approval', 422),
  APPROVAL_EXPIRED: entry('approval', 422),
  APPROVAL_NOT_FOUND: entry('not_found', 404),
  APPROVAL_ALREADY_DECIDED: entry('conflict', 409),
  INVALID_REQUEST: entry('validation', 400),
  INVALID_CURSOR: entry('validation', 400),
  REQUEST_TOO_LARGE: entry('validation', 413),
  UNSUPPORTED_MEDIA_TYPE: entry('validation', 415),
  UNSUPPORTED_PROTOCOL_VERSION: entry('negotiation', 400),
  CAPABILITY_NOT_SUPPORTED: entry('negotiation', 501),
  NOT_FOUND: entry('not_found', 404),
  METHOD_NOT_ALLOWED: entry('validation', 405),
  SESSION_NOT_FOUND: entry('not_found', 404),
  RUN_NOT_FOUND: entry('not_found', 404),
  KB_NOT_FOUND: entry('not_found', 404),
  SETTLEMENT_NOT_FOUND: entry('not_found', 404),
  RUN_EVENTS_EXPIRED: entry('not_found', 410),
  SESSION_BUSY: entry('conflict', 409, LATER),
  IDEMPOTENCY_IN_PROGRESS: entry('conflict', 409, LATER),
  IDEMPOTENCY_CONFLICT: entry('conflict', 409),
  FEEDBACK_NOT_ELIGIBLE: entry('conflict', 409),
  EXECUTION_FAILED: entry('execution', 422),
  EXECUTION_TIMEOUT: entry('execution', 504, LATER),
  INVALID_ENVELOPE: entry('integrity', 422),
  SCHEMA_INVALID: entry('integrity', 422),
  KB_HASH_MISMATCH: entry('integrity', 422),
  SELF_REFERENCE: entry('integrity', 422),
  CYCLE_DETECTED: entry('integrity', 422),
  UNREGISTERED_SOURCE: entry('integrity', 422),
  TOO_MANY_PARENTS: entry('settlement', 422),
  DUPLICATE_PARENT: entry('settlement', 422),
  SHARES_EXCEED_DISTRIBUTABLE: entry('settlement', 422),
  INCORRECT_FEE: entry('settlement', 422),
  KB_IS_SLASHED: entry('settlement', 422),
  PROTOCOL_PAUSED: entry('settlement', 503, LATER),
  RATE_LIMITED: entry('rate_limit', 429, LATER),
  UPSTREAM_UNAVAILABLE: entry('unavailable', 503, LATER),
  INTERNAL_ERROR: entry('internal', 500, LATER),
} as const satisfies Readonly<Record<string, ErrorEntry>>

export type ErrorCode = keyof typeof ERRORS

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[]

/** An error of the table; its type and whether to retry come from there, so that they cannot disagree with the code. */
export function protocolErrorOf(
  code: ErrorCode,
  message: string,
  more: Pick<ProtocolError, 'suggestion' | 'details'> = {},
): ProtocolError {
  const { type, retryable } = ERRORS[code]
  return { type, code, message, retryable, ...more }
}

/** What may be refused is answered by a value: the refusal's error can be sent as it is. */
export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: ProtocolError }

export function refuse(...error: Parameters<typeof protocolErrorOf>): {
  readonly ok: false
  readonly error: ProtocolError
} {
  return { ok: false, error: protocolErrorOf(...error) }
}
