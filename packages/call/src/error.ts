// Errors of calls (CALL-ERR): the codes, with their names in OPS and whether a retry may help, and `CallError`.
import { jsonProblem } from './wire/json.ts'

interface CodeRow {
  /** The name in the OPS profile. */
  readonly ops: string
  readonly retryable: boolean
}

/** CALL-ERR-01. Operations may use codes of their own beside these. */
export const CALL_CODES = {
  NOT_FOUND: { ops: 'OPERATION_NOT_FOUND', retryable: false },
  FORBIDDEN: { ops: 'ACCESS_DENIED', retryable: false },
  INVALID_INPUT: { ops: 'VALIDATION_ERROR', retryable: false },
  INVALID_OPERATION_TYPE: { ops: 'INVALID_OPERATION_TYPE', retryable: false },
  TIMEOUT: { ops: 'TIMEOUT', retryable: true },
  ABORTED: { ops: 'ABORTED', retryable: false },
  INTERNAL: { ops: 'EXECUTION_ERROR', retryable: false },
  UNAVAILABLE: { ops: 'UNAVAILABLE', retryable: true },
  RESOURCE_EXHAUSTED: { ops: 'RESOURCE_EXHAUSTED', retryable: true },
  CONFLICT: { ops: 'CONFLICT', retryable: false },
  PAYLOAD_TOO_LARGE: { ops: 'PAYLOAD_TOO_LARGE', retryable: false },
} as const satisfies Record<string, CodeRow>
export type CallCode = keyof typeof CALL_CODES

const CODES: Readonly<Record<string, CodeRow>> = CALL_CODES

/** Every name that stands for one of our codes. `UNKNOWN_ERROR` is what OPS peers call an error that was no Error. */
const BY_NAME = new Map<string, string>([
  ...Object.entries(CODES).map(([code, { ops }]) => [ops, code] as const),
  ['UNKNOWN_ERROR', 'INTERNAL'],
])

interface CallErrorOptions {
  /** By default that of the code; of an unknown code, false (CALL-ERR-03). */
  readonly retryable?: boolean
  /** Any JSON. */
  readonly details?: unknown
}

/** What a call failed with. Programs branch on `code`, never on `message`. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly code: string
  readonly retryable: boolean
  readonly details: unknown

  constructor(code: string, message: string, options: CallErrorOptions = {}) {
    super(message)
    // CALL-EVT-07: on the wire it is text, whatever untyped code gives.
    this.code = typeof code === 'string' ? code : 'INTERNAL'
    this.retryable = options.retryable ?? CODES[code]?.retryable ?? false
    this.details = options.details
  }

  /** For logs and stores: no stack, no cause, and details only where they are JSON. On the wire a profile writes it. */
  toJSON() {
    const { code, message, retryable, details } = this
    const kept = details !== undefined && jsonProblem(details) === undefined
    return { code, message, retryable, ...(kept && { details }) }
  }
}

export function codeOf(name: string): string {
  return CODES[name] ? name : (BY_NAME.get(name) ?? name)
}

export function opsName(code: string): string {
  return CODES[code]?.ops ?? code
}

/** The message of an error that says no more than that the link was lost before an answer came. */
export const CONNECTION_CLOSED = 'connection closed'

/** CALL-PEND-07: what everything fails with that was under way on a link when it was lost. */
export function connectionClosed(): CallError {
  return new CallError('INTERNAL', CONNECTION_CLOSED)
}
