// Faults of the index as the errors that callers see.
import { ParleyError, type ParleyErrorJson } from '@parley/core'
import { faultJson } from './fault.ts'

export function indexError(fault: ParleyErrorJson): ParleyError {
  return new ParleyError(fault.code, fault.message, { retryable: fault.retryable, details: fault.details })
}

export function asIndexError(thrown: unknown): ParleyError {
  return thrown instanceof ParleyError ? thrown : indexError(faultJson(thrown))
}

export function closedError(): ParleyError {
  return new ParleyError('trail_closed', 'The trail is closed.')
}

export function busyError(): ParleyError {
  return new ParleyError('index_busy', 'Too many queries wait for the index of the trail; try again in a moment.', {
    retryable: true,
  })
}
