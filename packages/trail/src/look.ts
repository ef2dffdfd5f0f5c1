// What would keep a node from opening the trail of a profile, as far as the files tell it: for whoever asks without a node. Nothing is written,
// nothing is made, and no lock is taken.
import { createPublicKey } from 'node:crypto'
import { accessSync, constants, existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ParleyError } from '@parley/core'
import { checkKeyMark } from './content/key-mark.ts'
import { ContentKeys } from './content/keys.ts'
import { openError } from './errors.ts'
import { readImports } from './import/import-record.ts'
import { KeyRing } from './keys/key-ring.ts'
import { DiskFiles } from './log/disk-files.ts'

/** The first thing that is wrong, with the code and the words of `openTrail`. `secret`: what content would be sealed with, where that is known. */
export function lookAtTrail(profile: string, secret?: Uint8Array): ParleyError | undefined {
  const folder = join(profile, 'trail')
  const found = lstatSync(folder, { throwIfNoEntry: false })
  try {
    const ring = found ? readRing(folder) : undefined
    if (found && secret)
      checkKeyMark(new DiskFiles(folder, { readOnly: true }), { keys: new ContentKeys(secret) })
    requireKey(profile, ring)
    return undefined
  } catch (cause) {
    const error = openError(profile, cause)
    return error instanceof ParleyError
      ? error
      : new ParleyError('trail_unavailable', `The trail in ${profile} cannot be looked at: ${String(error)}`)
  }
}

function readRing(folder: string): KeyRing {
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter(each => each.isFile()))
    accessSync(join(folder, name), constants.R_OK | constants.W_OK)
  const files = new DiskFiles(folder, { readOnly: true })
  readImports(files)
  return new KeyRing(files)
}

/** A key that lies beside it may be about to take its place: a node sees to that. */
function requireKey(profile: string, ring: KeyRing | undefined): void {
  const folder = join(profile, 'alp', 'secrets')
  const file = join(folder, 'alp_key.pem')
  if (!existsSync(file)) return
  const pem = readFileSync(file, 'utf8')
  let key: string
  try {
    const { x, crv } = createPublicKey(pem).export({ format: 'jwk' })
    if (crv !== 'Ed25519' || x === undefined) throw new TypeError('not an Ed25519 key')
    key = Buffer.from(x, 'base64url').toString('base64')
  } catch (cause) {
    const message = `The profile's key ${file} cannot be read as a private key; restore it from a backup.`
    throw new ParleyError('key_unusable', message, { cause })
  }
  const known = ring?.keys.find(each => each.key === key)
  if (known && known.until !== null && !existsSync(join(folder, 'alp_key.next.pem')))
    throw new ParleyError(
      'key_retired',
      `The profile's key ${key} was replaced: it signs nothing behind ${known.until}. Restore the key that is in use now from a backup.`,
    )
}
