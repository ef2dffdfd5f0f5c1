// Errors of the file system, said in terms of the trail. Codes are stable; messages say what happened, to what, and
// what to do.
import { asParleyError, ParleyError, type RunId, systemCode } from '@parley/core'
import type { Damage } from './store/store.ts'

/** A commit that did not become durable. */
export function commitError(cause: unknown): ParleyError {
  if (cause instanceof ParleyError) return cause
  const code = systemCode(cause)
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    return new ParleyError('trail_full', 'The disk has no space left for the trail; free some and try again.', {
      retryable: true,
      details: { system: code },
      cause,
    })
  }
  return new ParleyError(
    'trail_unavailable',
    `The trail could not be written (${code}); nothing of the batch was recorded.`,
    {
      retryable: true,
      details: { system: code },
      cause,
    },
  )
}

/**
 * Records that could not be moved, deleted or frozen: the disk's errors are worth another attempt, a defect stays what
 * it is.
 */
export function moveError(cause: unknown): ParleyError {
  if (cause instanceof ParleyError || !(cause instanceof Error) || !('syscall' in cause)) return asParleyError(cause)
  const failed = commitError(cause)
  if (failed.code === 'trail_full') return failed
  const code = systemCode(cause)
  return new ParleyError(
    'trail_unavailable',
    `The files of the trail cannot be used (${code}); every record is where it was. Try again.`,
    { retryable: true, details: { system: code }, cause },
  )
}

/** What to throw when a folder cannot be used as a trail; a defect stays what it is. */
export function openError(folder: string, cause: unknown): unknown {
  if (cause instanceof ParleyError || !(cause instanceof Error) || !('syscall' in cause)) return cause
  const code = systemCode(cause)
  const details = { folder, system: code }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    const why = code === 'EROFS' ? 'the disk is read-only' : 'check who owns the folder and its modes'
    const message = `The trail in ${folder} cannot be written (${code}); ${why}.`
    return new ParleyError('trail_read_only', message, { details, cause })
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new ParleyError('trail_not_a_folder', `${folder} is not a folder; name another place for the trail.`, {
      details,
      cause,
    })
  }
  const failed = commitError(cause)
  if (failed.code === 'trail_full') return failed
  return new ParleyError('trail_unavailable', `The trail in ${folder} could not be opened (${code}).`, {
    retryable: true,
    details,
    cause,
  })
}

/** What a copy of the cold tier says to whoever wants to change it. */
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
