// The file of the profile's one Ed25519 key (ALP-ID-02): PKCS#8 PEM, readable by its owner alone, never logged.
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ParleyError } from '@parley/core'
import { ed25519Signer, type Signer } from './signing.ts'

const SEED_BYTES = 32

/** The profile's one key (ALP-ID-02), made on first use. */
export function profileSigner(profile: string): Signer {
  const file = join(profile, 'alp', 'secrets', 'alp_key.pem')
  if (!existsSync(file)) createKey(file)
  let jwk: { crv?: string | undefined; d?: string | undefined }
  try {
    jwk = createPrivateKey(readFileSync(file, 'utf8')).export({ format: 'jwk' })
  } catch (cause) {
    throw keyError(file, 'cannot be read as a private key', cause)
  }
  const seed = Buffer.from(jwk.d ?? '', 'base64url')
  if (jwk.crv !== 'Ed25519' || seed.length !== SEED_BYTES) throw keyError(file, 'is not an Ed25519 key')
  return ed25519Signer(seed)
}

function createKey(file: string): void {
  const { privateKey } = generateKeyPairSync('ed25519')
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flush: true })
  renameSync(temporary, file)
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' })
  writeFileSync(join(dirname(file), 'alp_key.pub'), publicKey, { mode: 0o644 })
}

function keyError(file: string, what: string, cause?: unknown): ParleyError {
  return new ParleyError('key_unusable', `The profile's key ${file} ${what}; restore it from a backup.`, {
    cause,
  })
}
