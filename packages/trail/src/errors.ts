// File system errors in terms of the trail. Codes are stable; messages say what happened, to what, and what to do.
import { asParleyError, ParleyError, type RunId, systemCode } from '@parley/core'
import type { Damage } from './store/store.ts'

export function commitError(cause: unknown): ParleyError {
  return cause instanceof ParleyError
    ? cause
    : diskError(cause, code => `The trail could not be written (${code}); nothing of the batch was recorded.`)
}

/** What a disk says, which may pass. */
function diskError(cause: unknown, told: (code: string) => string, details: Record<string, unknown> = {}): ParleyError {
  const system = systemCode(cause)
  if (system === 'ENOSPC' || system === 'EDQUOT' || system === 'EFBIG') {
    const message = 'The disk has no space left for the trail; free some and try again.'
    return new ParleyError('trail_full', message, { retryable: true, details: { system }, cause })
  }
  return new ParleyError('trail_unavailable', told(system), { retryable: true, details: { ...details, system }, cause })
}

function isDiskError(cause: unknown): cause is Error {
  return !(cause instanceof ParleyError) && cause instanceof Error && 'syscall' in cause
}

/** Records that could not be moved, deleted or frozen: disk errors are retryable, a defect stays what it is. */
export function moveError(cause: unknown): ParleyError {
  if (!isDiskError(cause)) return asParleyError(cause)
  const told = (code: string) =>
    `The files of the trail cannot be used (${code}); every record is where it was. Try again.`
  return diskError(cause, told)
}

/** What to throw when a folder cannot be used as a trail; a defect stays what it is. */
export function openError(folder: string, cause: unknown): unknown {
  if (!isDiskError(cause)) return cause
  const code = systemCode(cause)
  const details = { folder, system: code }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    const why = code === 'EROFS' ? 'the disk is read-only' : 'check who owns the folder and its modes'
    const message = `The trail in ${folder} cannot be written (${code}); ${why}.`
    return new ParleyError('trail_read_only', message, { details, cause })
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    const message = `${folder} is not a folder; name another place for the trail.`
    return new ParleyError('trail_not_a_folder', message, { details, cause })
  }
  return diskError(cause, () => `The trail in ${folder} could not be opened (${code}).`, { folder })
}

/** Refuses a change of a copy of the cold tier. */
export function readOnlyError(): ParleyError {
  return new ParleyError('trail_read_only', 'This is a copy of the cold tier; it can only be read.')
}

export function damagedError(message: string, details: Record<string, unknown>): ParleyError {
  return new ParleyError('trail_damaged', message, { details })
}

/** Damage halts the runs that it concerns, not the store. */
export function haltedError(found: readonly Damage[], run: RunId): ParleyError | undefined {
  if (found.length === 0) return undefined
  const damage = found.find(each => each.runs.includes(run))
  return damage && damagedError(`${run} is halted: ${damage.message}`, { run, damage: damage.code })
}
