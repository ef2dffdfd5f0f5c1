// Where a peer is reached (ALP-TCP-10, ALP-UNIX-07).
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { alpiLayout } from '../identity/local.ts'
import { Ground } from '../testing/ground.ts'
import { temporaryFolder, writeKeys } from '../testing/homes.ts'
import { identityOf } from '../testing/vectors.ts'
import { parseAddress, targetOf } from './target.ts'

const bob = identityOf('bob')

describe('addresses', () => {
  test.each([
    ['home-server.internal:7423', 'home-server.internal', 7423],
    ['::1:7423', '::1', 7423],
    ['[::1]:7423', '[::1]', 7423],
    ['a:b:80', 'a:b', 80],
  ])('ALP-TCP-10 %s is split at the last colon', (address, host, port) => {
    expect(parseAddress(address)).toEqual({ ok: true, value: { host, port } })
  })

  test.each(['', 'host', ':7423', 'host:', 'host:x', 'host:70000', 'host:-1', 'host: 1', 'host:1e3'])(
    'ALP-TCP-10 %j is a local error',
    address => {
      expect(parseAddress(address)).toMatchObject({ ok: false, error: { code: 'link_bad_address' } })
    },
  )

  test('ALP-TCP-10 brackets are dialled without them', async () => {
    const ground = await Ground.start()
    const result = await ground
      .client()
      .call({ identity: bob.id, at: { host: '[127.0.0.1]', port: ground.server.port! } }, 'x')
    expect(result.ok).toBe(true)
  })

  test('ALP-UNIX-07 a peer without an address is the profile that holds its key', async () => {
    const root = temporaryFolder()
    const home = writeKeys(join(root, 'profiles', 'b'), 'bob')
    const layouts = [alpiLayout(root)]
    expect(targetOf({ id: 'x', pubkey: bob.id }, layouts)).toEqual({
      ok: true,
      value: { identity: bob.id, at: { path: join(home, 'alp', 'alp.sock') } },
    })
    expect(targetOf({ id: 'x', pubkey: bob.id, address: 'h:1' }, layouts)).toEqual({
      ok: true,
      value: { identity: bob.id, at: { host: 'h', port: 1 } },
    })
    expect(targetOf({ id: 'x', pubkey: bob.id, address: 'h' }, layouts).ok).toBe(false)
    // Not the profile that is called like the peer: it would read what was meant for another (nothing is encrypted
    // here).
    for (const id of ['b', '../x'])
      expect(targetOf({ id, pubkey: identityOf('carol').id }, layouts)).toMatchObject({
        ok: false,
        error: { code: 'target-offline' },
      })
  })
})
