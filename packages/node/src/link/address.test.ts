import { isPeerId, readInvitation, writeInvitation } from '@parley/link'
import { parseAddress } from '@parley/link/testing'
import { expect, test } from 'vitest'
import { addressText, invitedAddress, proposedName } from './address.ts'

const pubkey = Buffer.alloc(32, 1).toString('base64')

test('ALP-TCP-10 an address of either kind can be read back, also out of an invitation', () => {
  expect(addressText('127.0.0.1', 7423)).toBe('127.0.0.1:7423')
  expect(addressText('::1', 7423)).toBe('[::1]:7423')
  for (const host of ['127.0.0.1', '::1', 'home-server', '0.0.0.0', '::']) {
    const address = invitedAddress(host, 7423)
    expect(parseAddress(address), address).toMatchObject({ ok: true, value: { port: 7423 } })
    const line = writeInvitation({ pubkey, address })
    expect(readInvitation(line), line).toMatchObject({ ok: true, value: { pubkey, address } })
  }
})

test('who listens everywhere is not invited to nowhere', () => {
  for (const host of ['0.0.0.0', '::']) expect(invitedAddress(host, 1)).not.toContain(host === '::' ? '[::]' : host)
})

test('a profile proposes its own name; of the default one, which everybody has, that of its user or machine', () => {
  expect(proposedName('work')).toBe('work')
  expect(proposedName('a.b')).toBeUndefined()
  const name = proposedName('default')
  expect(name !== undefined && isPeerId(name) && name !== 'root').toBe(true)
})
