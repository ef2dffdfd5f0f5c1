import fc from 'fast-check'
import { expect, test } from 'vitest'
import { identityOf } from '../testing/vectors.ts'
import { readInvitation, writeInvitation } from './invitation.ts'

const pubkey = identityOf('alice').id

test('ALP-PEER-04 an invitation is one line that survives a shell, and says what its owner gave', () => {
  const line = writeInvitation({ pubkey, address: 'home-server.internal:7423', name: 'home-server' })
  expect(line).toBe('alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@home-server.internal:7423#home-server')
  expect(readInvitation(` ${line}\n`)).toEqual({
    ok: true,
    value: { pubkey, address: 'home-server.internal:7423', name: 'home-server' },
  })
  expect(readInvitation(writeInvitation({ pubkey }))).toEqual({ ok: true, value: { pubkey } })
  expect(readInvitation(writeInvitation({ pubkey, address: '[::1]:7423' }))).toMatchObject({
    value: { address: '[::1]:7423' },
  })
})

test.each([
  '',
  pubkey,
  'alp://',
  'alp://short',
  `alp://${pubkey}`,
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbh',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@nowhere',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@a:1 b:2',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg#a.b',
  'alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg#a\nalp://x',
  `alp://A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg@${'a'.repeat(600)}:1`,
])('ALP-PEER-04 what is no invitation is refused with a reason: %s', line => {
  expect(readInvitation(line)).toMatchObject({ ok: false, error: { code: 'bad_invitation' } })
})

test('ALP-PEER-04 every key comes back as it was', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes => {
      const key = Buffer.from(bytes).toString('base64')
      expect(readInvitation(writeInvitation({ pubkey: key }))).toEqual({ ok: true, value: { pubkey: key } })
    }),
  )
})
