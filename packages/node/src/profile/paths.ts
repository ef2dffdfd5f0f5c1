// Where a profile keeps its files, and how the folder is made: for its owner only, with a secret of its own. Nothing
// here needs a node to be running.
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { err, ok, ParleyError, type Result, refuse, systemCode } from '@parley/core'
import { KEY_MARK } from '@parley/trail'
import { nodeDefaults, nodeLimits } from '../limits.ts'
import { folderProblem, strangeFolder, untrusted } from '../reach/own-socket.ts'
import { secretLength } from './look.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface ProfilePaths {
  readonly profile: string
  /** Where all profiles are. */
  readonly home: string
  readonly folder: string
  readonly config: string
  readonly socket: string
  /** What runs here, and how; there while a node runs. */
  readonly nodeFile: string
  readonly logs: string
  readonly log: string
  readonly secret: string
  /** The tokens of turns at work. */
  readonly tokens: string
  /** Hashes of the tokens for the HTTP surface. */
  readonly httpTokens: string
  /** Room for the day when the disk is full. */
  readonly reserve: string
}

const profileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Those of the profile that is meant: by a flag, by the environment, or the default one. `home` is the user's own. */
export function chosenPaths(flag: string | undefined, env: Environment, home: string): Result<ProfilePaths> {
  return profilePaths(flag ?? (env.PARLEY_PROFILE || nodeDefaults.profile), parleyHome(env, home), env)
}

/** `PARLEY_HOME`, or `.parley` in the user's own folder. */
export function parleyHome(env: Environment, home: string): string {
  const moved = env.PARLEY_HOME
  return moved === undefined || moved === '' ? join(home, '.parley') : resolve(moved)
}

export function profilePaths(profile: string, home: string, env: Environment = process.env): Result<ProfilePaths> {
  if (!profileName.test(profile)) {
    const shown = JSON.stringify(profile.slice(0, 64))
    const message = `${shown} cannot be the name of a profile. Use 1 to 64 letters, digits, dots, underscores and dashes, with a letter or digit first.`
    return refuse('invalid_profile', message)
  }
  const folder = join(home, profile)
  return ok({
    profile,
    home,
    folder,
    config: join(folder, 'config.yaml'),
    socket: socketPath(folder, env),
    nodeFile: join(folder, 'node.json'),
    logs: join(folder, 'logs'),
    log: join(folder, 'logs', 'node.log'),
    secret: join(folder, 'secret'),
    tokens: join(folder, 'tokens'),
    httpTokens: join(folder, 'http-tokens.json'),
    reserve: join(folder, 'reserve'),
  })
}

/**
 * A path that is too long for a socket is replaced by a hash of it: in the user's own runtime folder where there is a
 * sound one, else in a folder of the user's own below the system's temporary one, where anybody may have made it first.
 * The client checks it (own-socket.ts).
 */
export function socketPath(folder: string, env: Environment = process.env, temporary: string = tmpdir()): string {
  const plain = join(folder, 'call.sock')
  if (fits(plain)) return plain
  const name = `${createHash('sha256').update(plain).digest('hex').slice(0, 24)}.sock`
  const owner = `parley-${process.getuid?.() ?? 'user'}`
  const runtime = env.XDG_RUNTIME_DIR ?? ''
  const places = [
    ...(isAbsolute(runtime) && folderProblem(runtime) === undefined ? [join(runtime, 'parley')] : []),
    join(temporary, owner),
    join('/tmp', owner),
  ].map(place => join(place, name))
  return places.find(fits) ?? places.at(-1)!
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) + 1 <= nodeLimits.socketPathBytes
}

/**
 * Makes the profile's folders, or sees that they are there and nobody else's. Gives the profile's secret. Safe to
 * repeat, also at the same moment.
 */
export function prepareProfile(paths: ProfilePaths): Result<{ readonly secret: Uint8Array }> {
  try {
    if (!isAbsolute(paths.folder)) return refuse('profile_unusable', `${paths.folder} must be an absolute path.`)
    ownFolder(paths.folder)
    ownFolder(paths.logs)
    if (dirname(paths.socket) !== paths.folder) ownSocketFolder(paths.socket)
    return ok({ secret: ownSecret(paths) })
  } catch (thrown) {
    return err(thrown instanceof ParleyError ? thrown : unusable(paths.folder, thrown))
  }
}

function ownFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const user = process.getuid?.()
  if (!found.isDirectory() || (user !== undefined && found.uid !== user)) {
    const what = found.isDirectory() ? 'belongs to another user' : 'is not a folder'
    throw new ParleyError('profile_unusable', `${folder} ${what}. Choose another place with PARLEY_HOME.`, {
      details: { folder },
    })
  }
  if ((found.mode & 0o777) !== 0o700) chmodSync(folder, 0o700)
}

/** It lies in a folder that others may write, too: what somebody else made there is left alone. */
function ownSocketFolder(socket: string): void {
  const folder = dirname(socket)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const strange = strangeFolder(lstatSync(folder, { bigint: true }))
  if (strange !== undefined) throw untrusted(socket, folder, strange).error
  if (folderProblem(folder) !== undefined) chmodSync(folder, 0o700)
}

/** Written aside and linked into place: of two nodes that start at the same moment, both get the same secret. */
function ownSecret({ secret: file, folder }: ProfilePaths): Uint8Array {
  if (!lstatSync(file, { throwIfNoEntry: false })) {
    requireNothingSealed(folder, file)
    const aside = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      writeFileSync(aside, randomBytes(nodeLimits.secretBytes), { flag: 'wx', mode: 0o600, flush: true })
      linkSync(aside, file)
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    } finally {
      rmSync(aside, { force: true })
    }
  }
  const secret = readFileSync(file)
  if (secret.length !== nodeLimits.secretBytes) throw secretLength(file, secret.length)
  // It may be a link to a file on another device, whose own mode counts.
  if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  return secret
}

/** A new secret would open nothing of what the old one sealed: the old one must come back. */
function requireNothingSealed(folder: string, file: string): void {
  if (!existsSync(join(folder, 'trail', KEY_MARK))) return
  const message = `The profile's secret ${file} is gone, and the content of its trail is sealed or proven with it. Restore it from a backup; no other one will do.`
  throw new ParleyError('secret_missing', message, { details: { file } })
}

/** What to do about an error of the system, by its code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'it cannot be written. Check who owns it and its modes',
  EPERM: 'it cannot be written. Check who owns it and its modes',
  EROFS: 'the disk is read-only. Mount it writable again',
  ENOTDIR: 'something on its path is not a folder',
  EEXIST: 'something on its path is not a folder',
  ENOSPC: 'the disk is full. Free some space',
  EDQUOT: 'the disk is full. Free some space',
}

function unusable(folder: string, cause: unknown): ParleyError {
  const code = systemCode(cause)
  const why = REMEDIES[code ?? ''] ?? 'see the system error'
  const message = `The profile's folder ${folder} cannot be used: ${why} (${code}). PARLEY_HOME names another place.`
  return new ParleyError('profile_unusable', message, { details: { folder, system: code }, cause })
}
