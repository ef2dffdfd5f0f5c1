import { fingerprintOf } from '@parley/link'
import { expect, test } from 'vitest'
import { pinnedIdentities } from './pinned-identities.ts'

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
const peer = (id: string, byte: number) => ({ id, pubkey: key(byte), allow: [], perMinute: 60 })

test('ALP-PEER-04 a pinned key is the user of its fingerprint, with no scope; any other is nobody, and no token is anybody', async () => {
  const list = [peer('bob', 1)]
  const identities = pinnedIdentities({ all: () => list })
  const fingerprint = fingerprintOf(key(1))!
  expect(await identities.byFingerprint(fingerprint)).toEqual({
    id: `alp:${fingerprint}`,
    kind: 'user',
    name: 'bob',
    scopes: [],
  })
  for (const other of [fingerprintOf(key(2))!, '', 'bob', key(1)])
    expect(await identities.byFingerprint(other)).toBeUndefined()
  expect(await identities.byToken('bob')).toBeUndefined()
  list.pop()
  expect(await identities.byFingerprint(fingerprint)).toBeUndefined()
})
