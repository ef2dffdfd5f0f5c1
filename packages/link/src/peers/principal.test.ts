import { expect, test } from 'vitest'
import { fingerprintOf } from '../identity/identity.ts'
import { identityOf } from '../testing/vectors.ts'
import { isPeer, peerPrincipal } from './principal.ts'

test('ALP-PEER-04 a pinned key is the user of its fingerprint, with no scope', () => {
  const pubkey = identityOf('bob').id
  const principal = peerPrincipal({ id: 'bob', pubkey })
  expect(principal).toEqual({ id: `alp:${fingerprintOf(pubkey)}`, kind: 'user', name: 'bob', scopes: [] })
  expect([principal.id, 'bob', 'alp'].map(isPeer)).toEqual([true, false, false])
})
