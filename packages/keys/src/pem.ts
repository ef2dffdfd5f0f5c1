// Ed25519 keys in PEM (ALP-ID-02): the private half as PKCS#8, the public one as SubjectPublicKeyInfo.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { err, ok, type Result } from '@parley/core'
import { SEED_BYTES } from './public-key.ts'

/** Why a PEM holds no private key, as the end of a sentence that names the file. */
export interface PemFault {
  readonly what: string
  readonly cause?: unknown
}

export function newPrivatePem(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The seed that a private PEM holds. It is secret: the caller must wipe it. */
export function seedOfPem(pem: string): Result<Buffer, PemFault> {
  if (pem.trim() === '') return err({ what: 'is empty and cannot be read as a private key' })
  let jwk: { crv?: string | undefined; d?: string | undefined }
  try {
    jwk = createPrivateKey(pem).export({ format: 'jwk' })
  } catch (cause) {
    return err({ what: 'cannot be read as a private key', cause })
  }
  const seed = Buffer.from(jwk.d ?? '', 'base64url')
  return jwk.crv === 'Ed25519' && seed.length === SEED_BYTES ? ok(seed) : err({ what: 'is not an Ed25519 key' })
}

/** The public half as the `.pub` file has it. */
export function publicPem(publicKey: Uint8Array): string {
  return publicKeyObject(publicKey).export({ type: 'spki', format: 'pem' }).toString()
}

/** The key that a public PEM names; undefined where it names none. */
export function publicKeyOfPem(pem: string): string | undefined {
  try {
    return rawPublicKey(createPublicKey(pem))?.toString('base64')
  } catch {
    // Not a key, whatever is wrong with it.
    return undefined
  }
}

/** A public key for node:crypto. Throws unless it has 32 bytes. */
export function publicKeyObject(publicKey: Uint8Array): KeyObject {
  const x = Buffer.from(publicKey).toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** The 32 bytes of a key of node:crypto; undefined if it is not an Ed25519 key. */
export function rawPublicKey(key: KeyObject): Buffer | undefined {
  const { crv, x } = key.export({ format: 'jwk' })
  return crv === 'Ed25519' && x !== undefined ? Buffer.from(x, 'base64url') : undefined
}
