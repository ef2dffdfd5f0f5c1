// A key in its forms: base64, PEM, fingerprints, and the signatures of both libraries.
import { verify as nodeVerify } from 'node:crypto'
import { expect, test } from 'vitest'
import { fingerprint, spokenFingerprint } from './fingerprint.ts'
import { newPrivatePem, publicKeyObject, publicKeyOfPem, publicPem, rawPublicKey, seedOfPem } from './pem.ts'
import { isPublicKey } from './public-key.ts'
import { sign, signingKeyOf, verify } from './sodium.ts'

// The key of the golden vector of CALL-TRANS-08.
const KEY = signingKeyOf(Buffer.alloc(32, 1))
const ID = KEY.publicKey.toString('base64')

test('a key has one way of being written', () => {
  expect(isPublicKey(ID)).toBe(true)
  for (const wrong of ['', 'x', ID.slice(1), `${ID} `, ID.replace(/.=$/, 'B='), ID.replaceAll('=', '')])
    expect(isPublicKey(wrong), wrong).toBe(false)
})

test('CALL-TRANS-08 a fingerprint is that of SSH, for the bytes of a key as for its base64', () => {
  expect(fingerprint(KEY.publicKey)).toBe('SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8')
  expect(fingerprint(ID)).toBe(fingerprint(KEY.publicKey))
})

test('the fingerprint for reading aloud stays what it was: people have written it down', () => {
  expect(spokenFingerprint(KEY.publicKey)).toBe('20976 29252 90761 94927 11056 54076 41550 11138')
})

test('ALP-ID-02 a new key is PKCS#8 in PEM, and its public half comes back out of its own PEM', () => {
  const pem = newPrivatePem()
  expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n[^-]+-----END PRIVATE KEY-----\n$/)
  const seed = seedOfPem(pem)
  if (!seed.ok) throw new Error(seed.error.what)
  const { publicKey } = signingKeyOf(seed.value)
  expect(publicKeyOfPem(publicPem(publicKey))).toBe(publicKey.toString('base64'))
  expect(rawPublicKey(publicKeyObject(publicKey))).toEqual(publicKey)
})

test('ALP-ID-03 what holds no Ed25519 key is said, not thrown', () => {
  expect(seedOfPem(' \n')).toMatchObject({ ok: false, error: { what: 'is empty and cannot be read as a private key' } })
  expect(seedOfPem('key')).toMatchObject({ ok: false, error: { what: 'cannot be read as a private key' } })
  expect(publicKeyOfPem('key')).toBeUndefined()
})

test('a signature holds for its key and message alone, also for another library', () => {
  const message = Buffer.from('a message')
  const signature = sign(KEY, message)
  expect(verify(KEY.publicKey, message, signature)).toBe(true)
  expect(nodeVerify(null, message, publicKeyObject(KEY.publicKey), signature)).toBe(true)
  expect(verify(KEY.publicKey, Buffer.from('another'), signature)).toBe(false)
  expect(verify(signingKeyOf(Buffer.alloc(32, 2)).publicKey, message, signature)).toBe(false)
  // What has a wrong length is no signature, and no defect either.
  expect(verify(KEY.publicKey, message, signature.subarray(1))).toBe(false)
  expect(verify(KEY.publicKey.subarray(1), message, signature)).toBe(false)
})
