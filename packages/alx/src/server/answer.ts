// Answers before they are written: a status and a body without the base envelope.
import { ERRORS, type ErrorCode, type ProtocolError, protocolErrorOf } from '@alx/protocol'
import type { ParleyError } from '@parley/core'
import { internalError } from '../run/outcome.ts'

export interface Answer {
  readonly status: number
  /** With `error` the answer is not `ok`, whoever made it (WG-08). */
  readonly body: Readonly<Record<string, unknown>> & { readonly error?: ProtocolError }
  readonly headers?: Readonly<Record<string, string>>
}

export function refusal(...error: Parameters<typeof protocolErrorOf>): Answer {
  return refused(protocolErrorOf(...error))
}

/** Retried at the earliest after so many seconds, where there is too much to do. */
const RETRY_AFTER = { 'retry-after': '1' }

export function refused(error: ProtocolError, status: number = ERRORS[error.code as ErrorCode].http[0]): Answer {
  return { status, body: { error }, ...(error.code === 'RATE_LIMITED' && { headers: RETRY_AFTER }) }
}

/** ALX-HTTP-04: known, but not allowed. */
export function forbidden(message: string): Answer {
  return refused(protocolErrorOf('UNAUTHORIZED', message), 403)
}

/** What a refusal of the coordinator, the trail or the library is to a client. Its words stay here (ALX-ERR-05). */
export function answerTo({ code, retryable }: ParleyError): Answer {
  switch (code) {
    case 'permission_denied':
      return forbidden('This user may not do that here.')
    case 'overloaded':
    case 'too_many_runs':
    case 'breaker_open':
    case 'budget_exceeded':
      return refusal('RATE_LIMITED', 'Too much is at work already, or the budget of the day is used up.')
    case 'unknown_team':
    // What a domain works on is configured by the owner of the server, whose log has the words.
    case 'invalid_project':
    case 'machine_fault':
      return refusal('UPSTREAM_UNAVAILABLE', 'The server cannot carry out runs now.')
    default:
      return retryable || code === 'unavailable'
        ? refusal('UPSTREAM_UNAVAILABLE', 'The server cannot read or write its record now.')
        : refused(internalError())
  }
}
