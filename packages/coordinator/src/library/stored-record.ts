// A record as memory keeps it, its body as text: what a reader is given is theirs to change.
import { asParleyError, type LibraryRecord, machineFaultOf, ParleyError } from '@parley/core'

export interface StoredRecord extends Omit<LibraryRecord, 'body'> {
  /** The body in canonical form. */
  readonly content: string
}

export function recordOf({ content, ...record }: StoredRecord): LibraryRecord {
  return { ...record, body: JSON.parse(content) as LibraryRecord['body'] }
}

/** Codes of the trail where what is stored is not as it was written. */
const DAMAGE = new Set(['trail_damaged', 'run_halted', 'archive_unreadable', 'blob_missing', 'content_damaged'])
const AWAY = new Set(['trail_unavailable', 'trail_degraded', 'trail_full', 'signing_failed'])
const AS_IT_IS = new Set(['invalid_argument', 'permission_denied', 'machine_fault', 'unavailable', 'internal'])

/** What went wrong in one of the codes of the contract. */
export function libraryError(cause: unknown): ParleyError {
  const error = asParleyError(cause)
  const { code, message, details } = error
  if (AS_IT_IS.has(code)) return error
  if (DAMAGE.has(code)) return new ParleyError('trail_damaged', message, { details, cause: error })
  const away = AWAY.has(code) || machineFaultOf(cause) !== undefined
  return new ParleyError(away ? 'trail_unavailable' : 'unavailable', message, {
    retryable: true,
    details,
    cause: error,
  })
}

export function stopped(): ParleyError {
  return new ParleyError('unavailable', 'The node is stopping.', { retryable: true })
}
