// Strangers who want to do harm, against a whole node: it stays up, its own socket answers, and a pinned peer is served
// meanwhile.
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { SystemClock } from '@parley/core'
import { loadIdentity } from '@parley/link'
import { dialNoise, Initiator, identityFromSeed, parseAddress, publicKeyOf, x25519Image } from '@parley/link/testing'
import { expect, onTestFinished, test } from 'vitest'
import { type LinkedNode, linkedPair } from '../testing/linked.ts'

const COUNT = process.env.PARLEY_SOAK ? 2000 : 300

/** Where bob listens. */
async function doors(bob: LinkedNode) {
  const { listening, pubkey } = await bob.identity()
  const at = (carrier: string) => listening.find(each => each.carrier === carrier)!.at
  const tcp = parseAddress(at('tcp'))
  if (!tcp.ok) throw tcp.error
  return { pubkey, tcp: tcp.value, unix: { path: at('unix') } }
}

function open(at: { readonly host: string; readonly port: number } | { readonly path: string }): Promise<Socket> {
  // From another address than the peer's: who shares one with an attacker shares his place in the queue (ALP-TCP-06).
  const socket = connect('path' in at ? at : { ...at, localAddress: '127.0.0.2' })
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  return new Promise(resolve => {
    socket.once('connect', () => resolve(socket))
    socket.once('close', () => resolve(socket))
  })
}

async function expectServed(alice: LinkedNode, bob: LinkedNode): Promise<void> {
  expect(await bob.client.call('node', 'status', {})).toMatchObject({ link: { peers: 1 } })
  expect(await alice.client.call('link', 'ping', { peer: 'bob', timeout_ms: 20_000 })).toMatchObject({ version: 1 })
}

test(`ALP-TCP-06 ALP-TCP-08 ${COUNT} of each kind of bad connection: the node answers its owner and its peer meanwhile`, async () => {
  const [alice, bob] = await linkedPair()
  const { tcp, unix, pubkey } = await doors(bob)
  const key = x25519Image(publicKeyOf(pubkey)!)!
  const stranger = identityFromSeed(randomBytes(32))
  const u16 = (length: number) => Buffer.from([length >> 8, length & 255])
  const first = () => new Initiator(stranger.noise, key).first()!
  /** What each says before it waits for ever. */
  const kinds: readonly [string, 'tcp' | 'unix', () => Buffer | string][] = [
    ['nothing', 'tcp', () => ''],
    ['nothing', 'unix', () => ''],
    ['a handshake that stops halfway', 'tcp', () => Buffer.concat([u16(48), first()])],
    ['half of a handshake', 'tcp', () => Buffer.concat([u16(48), first().subarray(0, 20)])],
    ['a handshake of another length', 'tcp', () => Buffer.concat([u16(65_535), randomBytes(1000)])],
    ['noise', 'tcp', () => randomBytes(500)],
    ['half a line', 'unix', () => '{"jsonrpc":"2.0","alp":{'],
    ['a line that is no JSON', 'unix', () => 'hello\n'],
    ['an envelope that nobody signed', 'unix', () => '{"jsonrpc":"2.0","id":"x","method":"link.ping","alp":{}}\n'],
    ['a line without end', 'unix', () => Buffer.alloc(2 * 1_048_576, 'x')],
  ]
  for (const [what, carrier, said] of kinds) {
    const each = what === 'a line without end' ? 20 : COUNT
    const sockets = await Promise.all(
      Array.from({ length: each }, async () => {
        const socket = await open(carrier === 'tcp' ? tcp : unix)
        socket.write(said())
        return socket
      }),
    )
    await expectServed(alice, bob)
    for (const socket of sockets) socket.destroy()
  }
  // An ask goes through as well, on the record and all.
  expect(await alice.answer('bob', 'All well?')).toMatchObject({ text: 'a word' })
  expect(bob.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  expect((await bob.client.call('peers', 'pending', {})).pending).toEqual([])
})

test('ALP-TCP-04 ALP-TCP-08 frames that are too large, slow or garbage after the handshake end that connection alone', async () => {
  const [alice, bob] = await linkedPair()
  const { tcp, pubkey } = await doors(bob)
  const clock = new SystemClock()
  const stranger = identityFromSeed(randomBytes(32))
  const u32 = (length: number, rest = Buffer.alloc(0)) => {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(length)
    return Buffer.concat([bytes, rest])
  }
  for (const own of [stranger, loadIdentity(alice.place.path('default'))])
    for (const bytes of [u32(0), u32(0xffff_ffff), u32(1_048_577), u32(40, randomBytes(40)), u32(1000)]) {
      const dialled = await dialNoise(tcp, pubkey, { own, clock, timeoutMs: 20_000 })
      if (!dialled.ok) throw dialled.error
      const { messages } = dialled.value.noise
      onTestFinished(() => messages.destroy())
      await messages.send(bytes, 1000)
      await expectServed(alice, bob)
    }
  expect(bob.log.lines.filter(({ level }) => level === 'error')).toEqual([])
})
