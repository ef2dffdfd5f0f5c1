// The key files of a profile (ALP-ID-02, ALP-ID-03): read here, made and replaced by the trail's key file, which signs
// with the same key. A missing public half is derived again; nothing of ours depends on it.
import { statSync } from 'node:fs'
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

/** The identity of a profile. Throws `key_missing` before it has a key, `key_unusable` if that is no Ed25519 key. */
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

/** ALP-UNIX-07: the identity in a local profile's public file; undefined unless the profile has both files. */
export function localIdentity(home: string): string | undefined {
  const paths = linkPaths(home)
  if (!statSync(paths.privateKey, { throwIfNoEntry: false })?.isFile()) return undefined
  const pem = readSmall(paths.publicKey)
  return pem === undefined ? undefined : publicKeyOfPem(pem)
}

/** The text of a small file, if it is there. Throws `key_unusable` for anything but a small regular file. */
function readSmall(file: string): string | undefined {
  const most = linkLimits.keyFileBytes
  const found = statSync(file, { throwIfNoEntry: false })
  // Opening a pipe would wait for a writer for good.
  if (found && !(found.isFile() && found.size <= most)) {
    const message = `${file} is not a regular file of at most ${most} bytes. Restore alp/secrets from a backup.`
    throw new ParleyError('key_unusable', message, { details: { file } })
  }
  return machineDisk.read(file, most)?.toString()
}
