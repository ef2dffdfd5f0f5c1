// The key files of a profile (ALP-ID-02, ALP-ID-03): read here, made and replaced by the trail's key file, which signs
// with the same key. A missing public half is derived again; nothing of ours depends on it.
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/core'
import { publicKeyOfPem, publicPem } from '@parley/keys'
import { machineDisk, writeWholeSync } from '@parley/keys/files'
import { linkLimits } from '../limits.ts'
import { identityFromPem, type LinkIdentity } from './identity.ts'

/** Where everything of ALP lies below a profile's home (section 26 of the sheet). */
export function linkPaths(home: string) {
  const alp = join(home, 'alp')
  const secrets = join(alp, 'secrets')
  return {
    privateKey: join(secrets, 'alp_key.pem'),
    publicKey: join(secrets, 'alp_key.pub'),
    replay: join(secrets, 'replay.jsonl'),
    socket: join(alp, 'alp.sock'),
    peers: join(alp, 'peers.yaml'),
    peersLock: join(alp, 'peers.lock'),
    pending: join(alp, 'pending_peers.yaml'),
    mentions: join(home, 'mentions'),
    ledger: join(home, 'logs', 'ledger.json'),
  } as const
}

/**
 * The identity of a profile that has its key. Throws `key_missing` where it has none yet, `key_unusable` where the file
 * is no Ed25519 key.
 */
export function loadIdentity(home: string): LinkIdentity {
  const paths = linkPaths(home)
  const pem = readSmall(paths.privateKey)
  if (pem === undefined)
    throw new ParleyError(
      'key_missing',
      `The profile has no key: ${paths.privateKey} is not there. Start the profile's node once, which makes it, or restore it from a backup.`,
    )
  const identity = identityFromPem(pem, paths.privateKey)
  if (readSmall(paths.publicKey) === undefined)
    writeWholeSync(machineDisk, paths.publicKey, Buffer.from(publicPem(identity.publicKey)), { mode: 0o644 })
  return identity
}

/** ALP-UNIX-07: whom a profile of this machine is, by its public file; undefined where it has not both files. */
export function localIdentity(home: string): string | undefined {
  const paths = linkPaths(home)
  if (!statSync(paths.privateKey, { throwIfNoEntry: false })?.isFile()) return undefined
  const pem = readSmall(paths.publicKey)
  return pem === undefined ? undefined : publicKeyOfPem(pem)
}

/**
 * The text of a file of bounded size; undefined where it is missing. Throws `key_unusable` for a folder, a pipe or a
 * device.
 */
function readSmall(file: string): string | undefined {
  // Opening a pipe would wait for a writer for good.
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false)
    throw new ParleyError('key_unusable', `${file} is not a regular file. Restore alp/secrets from a backup.`, {
      details: { file },
    })
  let descriptor: number
  try {
    descriptor = openSync(file, 'r')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
  try {
    const target = Buffer.alloc(linkLimits.keyFileBytes)
    return target.toString('utf8', 0, readSync(descriptor, target, 0, target.length, 0))
  } finally {
    closeSync(descriptor)
  }
}
