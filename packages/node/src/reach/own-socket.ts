// Whether a node's socket is this user's own. The process that listens there gets API keys and answers to gates,
// and in a shared folder another user of the machine may have made the socket first.
import { type BigIntStats, lstatSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Err, ok, ParleyError, type Result, refuse } from '@parley/core'

/**
 * What is wrong with a folder that must be this user's alone; undefined where nothing is, null where it is not there.
 */
export function folderProblem(folder: string): string | undefined | null {
  const found = lstatSync(folder, { bigint: true, throwIfNoEntry: false })
  if (!found) return null
  const strange = strangeFolder(found)
  if (strange !== undefined) return strange
  const mode = Number(found.mode & 0o777n)
  return (mode & 0o077) === 0 ? undefined : `has mode ${mode.toString(8).padStart(4, '0')} instead of 0700`
}

/** Why something is no folder of this user's, whatever its mode. */
export function strangeFolder(found: BigIntStats): string | undefined {
  if (found.isSymbolicLink()) return 'is a symbolic link'
  return found.isDirectory() ? strangerOf(found) : 'is not a folder'
}

/**
 * What tells a socket from every other one on this machine; undefined where there is none. Refuses with
 * `socket_untrusted` where it, or its folder, is not this user's alone.
 */
export function ownSocket(socket: string): Result<string | undefined> {
  try {
    const folder = dirname(socket)
    const found = lstatSync(socket, { bigint: true, throwIfNoEntry: false })
    if (!found) return ok(undefined)
    const wrong = folderProblem(folder)
    if (wrong) return untrusted(socket, folder, wrong)
    if (!found.isSocket()) return untrusted(socket, socket, 'is not a socket')
    const stranger = strangerOf(found)
    if (stranger !== undefined) return untrusted(socket, socket, stranger)
    return ok(`${found.dev}:${found.ino}`)
  } catch (thrown) {
    const { code = 'unknown' } = thrown as NodeJS.ErrnoException
    return code === 'ENOTDIR' ? ok(undefined) : untrusted(socket, socket, `cannot be looked at (${code})`)
  }
}

/** As `ownSocket`, for a socket that is there. */
export function socketIdentity(socket: string): string {
  const own = ownSocket(socket)
  if (!own.ok) throw own.error
  if (own.value !== undefined) return own.value
  throw new ParleyError('socket_untrusted', `The socket ${socket} is gone.`, { details: { socket } })
}

function strangerOf({ uid }: BigIntStats): string | undefined {
  const user = process.getuid?.()
  return user === undefined || uid === BigInt(user) ? undefined : `belongs to another user (uid ${uid})`
}

export function untrusted(socket: string, path: string, what: string): Err<ParleyError> {
  const next = what.startsWith('has mode')
    ? `If nobody else has put anything there, close it: chmod 700 ${path}`
    : 'Find out who made it, or choose a shorter PARLEY_HOME: a socket whose path fits lies in the profile itself.'
  return refuse(
    'socket_untrusted',
    `The socket ${socket} is not used, since ${path} ${what}: whoever listens there need not be your node. Nothing was sent. ${next}`,
    { details: { socket, path } },
  )
}
