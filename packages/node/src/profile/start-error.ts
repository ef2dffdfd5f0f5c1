// Why a node did not start, as the user reads it: who has the profile or its socket already.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Coordination } from '@parley/coordinator'
import { asParleyError, ParleyError } from '@parley/core'
import type { ProfilePaths } from './paths.ts'

/** What a machine without room answers with, where nothing says that it is the machine. */
const UNSPECIFIC: ReadonlySet<string> = new Set(['internal', 'index_failed', 'trail_full', 'trail_unavailable'])

/** `held`: what the machine lacked when the node started. */
export function startError(paths: ProfilePaths, thrown: unknown, held?: Coordination['held']): ParleyError {
  const error = asParleyError(thrown)
  if (held && UNSPECIFIC.has(error.code))
    return new ParleyError('machine_fault', `${held.message} No node can start until then: ${error.message}`, {
      retryable: true,
      details: { system: held.code, path: held.where },
      cause: thrown,
    })
  const { code } = thrown as { readonly code?: unknown }
  if (code === 'EADDRINUSE') {
    const message = `Something else is at ${paths.socket}, where the node of profile '${paths.profile}' listens. Find out what it is, or choose another profile.`
    return new ParleyError('socket_in_use', message, { details: { socket: paths.socket }, cause: thrown })
  }
  if (error.code === 'trail_in_use') {
    const pid = ownerPid(paths.folder)
    const who = pid === undefined ? 'another process' : `process ${pid}`
    const message = `The profile '${paths.profile}' is in use by ${who}. One node at a time may use a profile; use that one, or choose another profile.`
    return new ParleyError('profile_in_use', message, {
      details: { profile: paths.profile, ...(pid !== undefined && { pid }) },
      cause: thrown,
    })
  }
  return error
}

/** Who holds the trail's lock, as the trail itself notes it. */
function ownerPid(folder: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(folder, 'trail', 'owner'), 'utf8').trim())
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}
