import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { ManualClock, type Principal, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { KeyDirectory, keyIdOf, makeToken } from './token.ts'

// The golden vector of CALL-TRANS-08.
const SEED = Buffer.alloc(32, 1)
const PUBLIC_KEY = Buffer.from('8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c', 'hex')
const KEY_ID = '34750f98bd59fcfc946da45aaabe933be154a4b5094e1c4abf42866505f3c97e'
const FINGERPRINT = 'SHA256:fe85JkIjo8VPe+XqXJGH5Mau1EMFdK1OdKvJUFicyA8'
const TIME = 1_700_000_000
const TOKEN =
  'NHUPmL1Z_PyUbaRaqr6TO-FUpLUJThxKv0KGZQXzyX4AAAAAZVPxAA_YxRWsoazqvyH1L8m9a28WqVL1jgjsKgduXRNKnL0dWYrRfNBb8f2wprMZ94mQv5b51z9_aV3-Q6tk5Da8cQk'

const PRIVATE_KEY = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), SEED]),
  format: 'der',
  type: 'pkcs8',
})
const ANNA: Principal = { id: 'anna', kind: 'user', scopes: ['dev'] }

function at(seconds: number): ManualClock {
  return new ManualClock((seconds * 1_000_000) as Ticks)
}

function directoryAt(seconds: number): KeyDirectory {
  const directory = new KeyDirectory(at(seconds))
  directory.add(PUBLIC_KEY, ANNA)
  return directory
}

/** The token with one bit of its bytes changed. */
function flipped(byte: number): string {
  const bytes = Buffer.from(TOKEN, 'base64url')
  bytes[byte]! ^= 1
  return bytes.toString('base64url')
}

test('CALL-T58 a token is good for 300 seconds around its time, for the key that signed it and no other bytes', async () => {
  expect(await directoryAt(TIME + 300).byToken(TOKEN)).toEqual(ANNA)
  expect(await directoryAt(TIME + 301).byToken(TOKEN)).toBeUndefined()
  expect(await directoryAt(TIME - 300).byToken(TOKEN)).toEqual(ANNA)
  expect(await directoryAt(TIME - 301).byToken(TOKEN)).toBeUndefined()
  for (const byte of [40, 70, 103]) expect(await directoryAt(TIME).byToken(flipped(byte))).toBeUndefined()
  const bySsh = await directoryAt(TIME).byFingerprint(FINGERPRINT)
  expect(bySsh).toEqual(await directoryAt(TIME).byToken(TOKEN))
  expect(bySsh).toEqual(ANNA)
})

test('a token is made of the key and the time alone: the same bytes as other implementations make', () => {
  expect(makeToken(PRIVATE_KEY, at(TIME))).toBe(TOKEN)
  expect(TOKEN).toHaveLength(139)
  expect(keyIdOf(PUBLIC_KEY)).toBe(KEY_ID)
})

test('a later time cannot be written into a token', async () => {
  const bytes = Buffer.from(TOKEN, 'base64url')
  bytes.writeBigUInt64BE(BigInt(TIME + 400), 32)
  expect(await directoryAt(TIME + 400).byToken(bytes.toString('base64url'))).toBeUndefined()
})

test('a token of an unknown or removed key, or in any other spelling, belongs to nobody', async () => {
  const directory = directoryAt(TIME)
  const stranger = generateKeyPairSync('ed25519').privateKey
  for (const token of [
    makeToken(stranger, at(TIME)),
    '',
    'x',
    `${TOKEN}A`,
    `${TOKEN}=`,
    TOKEN.slice(1),
    TOKEN.replaceAll('_', '/'),
    `${TOKEN.slice(0, 20)}\n${TOKEN.slice(20)}`,
  ])
    expect(await directory.byToken(token)).toBeUndefined()
  expect(await directory.byToken(TOKEN)).toEqual(ANNA)
  directory.remove(PUBLIC_KEY)
  expect(await directory.byToken(TOKEN)).toBeUndefined()
  expect(await directory.byFingerprint(FINGERPRINT)).toBeUndefined()
})

test('only Ed25519 keys make tokens and are known', () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  expect(() => makeToken(other)).toThrow(TypeError)
  expect(() => new KeyDirectory().add(Buffer.alloc(33), ANNA)).toThrow(TypeError)
})
