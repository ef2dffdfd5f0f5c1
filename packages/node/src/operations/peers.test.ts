// /peers and /link as an owner meets them: what is asked for wrongly is refused with a code, and changes nothing.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { refusal } from '../testing/calls.ts'
import { ground } from '../testing/ground.ts'
import { startedNode } from '../testing/started.ts'

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
const line = (byte: number, rest = '') => `alp://${Buffer.alloc(32, byte).toString('base64url')}${rest}`

describe('/peers', () => {
  test('ALP-PEER-02 a peer is pinned by its line, which brings address and name, or by its bare key', async () => {
    const { client, place } = await startedNode()
    const { peer } = await client.call('peers', 'pin', { invitation: `  ${line(1, '@10.0.0.1:7423#bob')}\n` })
    expect(peer).toEqual({
      id: 'bob',
      pubkey: key(1),
      fingerprint: expect.stringMatching(/^SHA256:/),
      spoken: expect.stringMatching(/^(?:\d{5} ){7}\d{5}$/),
      address: '10.0.0.1:7423',
      allow: ['link.ping', 'link.ask'],
      per_minute: 60,
    })
    const more = { alias: 'Carol of the lab', address: 'lab:7423', allow: ['link.ping', '/runs/list'], per_minute: 5 }
    const carol = { id: 'carol', pubkey: key(2), ...more }
    await client.call('peers', 'pin', carol)
    const { peers, problems } = await client.call('peers', 'list', {})
    expect(peers).toMatchObject([{ id: 'bob' }, carol])
    expect(problems).toEqual([])
    expect(readFileSync(place.path('default', 'alp', 'peers.yaml'), 'utf8')).toContain(key(2))
    const { peer: gone } = await client.call('peers', 'unpin', { id: 'bob' })
    expect(gone).toMatchObject({ id: 'bob', pubkey: key(1) })
    expect((await client.call('peers', 'list', {})).peers).toMatchObject([{ id: 'carol' }])
  })

  test.each([
    [{}, 'invalid_argument'],
    [{ invitation: line(3, '#x'), pubkey: key(3) }, 'invalid_argument'],
    [{ pubkey: key(3) }, 'invalid_argument'],
    [{ invitation: line(3) }, 'invalid_argument'],
    [{ invitation: 'http://example.org' }, 'bad_invitation'],
    [{ invitation: line(3, '@nowhere#x') }, 'bad_invitation'],
    [{ pubkey: 'AAAA', id: 'x' }, 'invalid_peer'],
    [{ pubkey: key(3), id: 'no spaces' }, 'invalid_peer'],
    [{ pubkey: key(3), id: '__interactive__' }, 'invalid_peer'],
    [{ pubkey: key(3), id: 'x', address: 'nowhere' }, 'link_bad_address'],
    [{ pubkey: key(3), id: 'x', allow: ['everything'] }, 'invalid_peer'],
    [{ pubkey: key(1), id: 'x' }, 'peer_exists'],
    [{ pubkey: key(3), id: 'bob' }, 'peer_exists'],
    [{ pubkey: key(3), id: 'x', per_minute: 0 }, 'INVALID_INPUT'],
    [{ pubkey: key(3), id: 'x', more: 1 }, 'INVALID_INPUT'],
  ])('%j is refused with %s, and nobody is pinned', async (input, code) => {
    const { client } = await startedNode()
    await client.call('peers', 'pin', { invitation: line(1, '#bob') })
    const error = await refusal(client.call('peers', 'pin', input as never))
    expect(error.code).toBe(code)
    expect((await client.call('peers', 'list', {})).peers).toHaveLength(1)
  })

  test('who is not there can be neither unpinned nor allowed something', async () => {
    const { client } = await startedNode()
    expect((await refusal(client.call('peers', 'unpin', { id: 'x' }))).code).toBe('unknown_peer')
    expect((await refusal(client.call('peers', 'allow', { id: 'x', allow: [] }))).code).toBe('unknown_peer')
    expect((await refusal(client.call('link', 'ping', { peer: 'x' }))).code).toBe('unknown_peer')
    expect((await refusal(client.call('link', 'cancel', { peer: 'x' }))).code).toBe('unknown_peer')
  })

  test('ALP-PEND-05 whoever knocked is meant by the beginning of its key if that is unique, and forgotten on request', async () => {
    const place = ground()
    place.write(
      'default/alp/pending_peers.yaml',
      [1, 2].map(byte => `- pubkey: "${key(byte)}"\n  first_seen: ${byte}.5\n  last_seen: 1${byte}.0\n`).join(''),
    )
    const { client } = await startedNode({ place })
    const { pending } = await client.call('peers', 'pending', {})
    expect(pending).toMatchObject([
      { pubkey: key(2), first_seen: 2.5, last_seen: 12 },
      { pubkey: key(1), first_seen: 1.5, last_seen: 11 },
    ])
    const dismiss = (text: string) => client.call('peers', 'dismiss', { key: text })
    expect((await refusal(dismiss('SHA256:'))).code).toBe('ambiguous')
    expect((await refusal(dismiss('ZZZZ'))).code).toBe('not_found')
    expect((await refusal(dismiss('AQ'))).code).toBe('INVALID_INPUT')
    expect(await dismiss(pending[1]!.fingerprint.slice(7, 14))).toEqual({ pubkey: key(1) })
    const accepted = await client.call('peers', 'accept', { key: key(2), id: 'two', allow: [] })
    expect(accepted.peer).toMatchObject({ id: 'two', pubkey: key(2), allow: [] })
    expect(await client.call('peers', 'pending', {})).toEqual({ pending: [] })
  })
})

test('/link/identity tells the key, where it listens, and the line to paste, which others can read', async () => {
  const { client, place, node } = await startedNode()
  const identity = await client.call('link', 'identity', {})
  const { pubkey, fingerprint, spoken, listening } = identity
  expect(identity).toMatchObject({
    profile: 'default',
    pubkey: expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
    spoken: expect.stringMatching(/^(?:\d{5} ){7}\d{5}$/),
    listening: [
      { carrier: 'unix', at: place.path('default', 'alp', 'alp.sock') },
      { carrier: 'tcp', at: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
    ],
  })
  expect(identity.invitation).toContain(`@${listening[1]!.at}`)
  expect((await node.status()).link).toEqual({ listening, peers: 0, pending: 0, problems: 0 })
  const { keys } = await client.call('trail', 'keys', {})
  // One key, one fingerprint, wherever it is shown.
  expect(keys.at(-1)).toMatchObject({ key: pubkey, fingerprint })
  const other = await startedNode()
  const { peer } = await other.client.call('peers', 'pin', { invitation: identity.invitation, id: 'x' })
  expect(peer).toMatchObject({ pubkey, fingerprint, spoken })
})
