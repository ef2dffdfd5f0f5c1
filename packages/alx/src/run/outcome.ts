// What the end of a run means to whoever asked for it (ALX-SOLVE-09). Words of agents and of the machine are not passed
// on: they may name files or hold secrets, and they are in the trail (ALX-ERR-05).
import { type ProtocolError, protocolErrorOf } from '@alx/protocol'
import type { RunEnd } from '@parley/core'

export interface Refusal {
  readonly kind: 'rejected' | 'expired'
  readonly at: string
}

/** What nobody foresaw: a function that threw, an adapter with a defect. */
const UNFORESEEN = 'internal'

export function failureOf(end: Pick<RunEnd, 'error'>, refusal: Refusal | undefined): ProtocolError {
  if (refusal) return refusalError(refusal.kind)
  const { code, cause } = end.error ?? {}
  if (code === 'rejected') return refusalError('rejected')
  if (code === 'timeout') return lateError()
  if (code === 'cancelled') return protocolErrorOf('EXECUTION_FAILED', 'The run was cancelled.')
  if (code === 'abandoned') return protocolErrorOf('EXECUTION_FAILED', 'The run was given up when its node stopped.')
  if (code === 'budget_exceeded') return protocolErrorOf('EXECUTION_FAILED', 'The run used up its budget.')
  return cause === UNFORESEEN ? internalError() : stepError()
}

export function lateError(): ProtocolError {
  return protocolErrorOf('EXECUTION_TIMEOUT', 'The run took longer than its limit.')
}

export function refusalError(kind: Refusal['kind']): ProtocolError {
  return kind === 'rejected'
    ? protocolErrorOf('APPROVAL_REJECTED', 'A person refused what the run asked for.')
    : protocolErrorOf('APPROVAL_EXPIRED', 'Nobody decided in time about what the run asked for.')
}

export function internalError(): ProtocolError {
  return protocolErrorOf('INTERNAL_ERROR', 'Something went wrong that nobody foresaw.', {
    suggestion: 'The log of the server has the cause under the correlation id.',
  })
}

export function stepError(): ProtocolError {
  return protocolErrorOf('EXECUTION_FAILED', 'A step of the run failed.', {
    suggestion: 'The trail of the run has the reason: parley show, with the id of the execution.',
  })
}
