// Floods and stalls (ALP-TCP-04, -06, -08, ALP-UNIX-04): the server stays up, holds no more than its bounds, and serves
// its peers meanwhile.
import { SystemClock } from '@parley/core'
import { expect, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { Caller } from '../testing/caller.ts'
import { Ground, idle, type RawPeer, until } from '../testing/ground.ts'
import { CARRIERS } from '../transport/channel.ts'

const COUNT = process.env.PARLEY_SOAK ? 5000 : 400

async function expectServed(ground: Ground): Promise<void> {
  for (const carrier of CARRIERS) {
    const said = await ground.client().call(ground.target(carrier), 'link.ping', {}, { timeoutMs: 20_000 })
    expect(said.ok, carrier).toBe(true)
  }
}

const alive = (peers: readonly RawPeer[]) => peers.filter(({ socket }) => !socket.destroyed).length

test(`ALP-TCP-06 ${COUNT} connections that say nothing keep nobody out`, async () => {
  const ground = await Ground.start({ clock: new SystemClock() })
  const peers: RawPeer[] = []
  for (let index = 0; index < COUNT; index++) peers.push(await ground.raw('tcp'))
  await expectServed(ground)
  await until(() => alive(peers) <= linkLimits.tcpConnections)
})

test(`ALP-UNIX-04 ${COUNT} connections to the Unix socket that say half a line keep nobody out`, async () => {
  const ground = await Ground.start({ clock: new SystemClock() })
  const peers: RawPeer[] = []
  for (let index = 0; index < COUNT; index++) {
    peers.push(await ground.raw('unix'))
    peers[index]!.write('{"jsonrpc":')
  }
  await expectServed(ground)
  await until(() => alive(peers) <= linkLimits.unixConnections)
})

test('ALP-TCP-08 strangers past the handshake, each with a part of a large frame, cost little and keep nobody out', async () => {
  const ground = await Ground.start({ clock: new SystemClock() })
  const peer = await Caller.of(ground)
  await peer.ask()
  const before = process.memoryUsage().arrayBuffers
  const strangers: Caller[] = []
  for (let index = 0; index < COUNT; index++) {
    const stranger = await Caller.of(ground, 'carol')
    const length = Buffer.alloc(4)
    length.writeUInt32BE(linkLimits.frameBytes)
    stranger.peer.write(Buffer.concat([length, Buffer.alloc(linkLimits.frameBytes / 8)]))
    strangers.push(stranger)
  }
  await expectServed(ground)
  // The peer's connection is there still.
  expect(await peer.ask()).toMatchObject({ result: {} })
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(96 * 2 ** 20)
})

test('ALP-TCP-08 in a crowd of strangers one that announces a large frame is closed, until others are gone', async () => {
  const ground = await Ground.start()
  const length = Buffer.alloc(4)
  length.writeUInt32BE(linkLimits.strangerFrameBytes + 1)
  const crowd: Caller[] = []
  for (let index = 0; index < linkLimits.roomyStrangers; index++) {
    const stranger = await Caller.of(ground, 'carol')
    stranger.peer.write(length)
    crowd.push(stranger)
  }
  // Its handshake is served after theirs.
  const late = await Caller.of(ground, 'carol')
  late.peer.write(length)
  await late.peer.expectSilence()
  crowd[0]!.peer.socket.destroy()
  await crowd[0]!.peer.closed
  await until(() => crowd.slice(1).every(({ peer }) => !peer.socket.destroyed))
  await idle(50)
  const next = await Caller.of(ground, 'carol')
  next.say(next.request({ text: 'x'.repeat(linkLimits.strangerFrameBytes) }))
  await next.peer.closed
  expect(ground.strangers).toHaveLength(1)
})

test('ALP-TCP-06 handshakes that stop halfway are taken out after their time, and then others come', async () => {
  const ground = await Ground.start()
  const stalled: RawPeer[] = []
  for (let index = 0; index < linkLimits.handshakes; index++) stalled.push((await ground.halfway('carol')).peer)
  ground.pass(10_000)
  await Promise.all(stalled.map(({ closed }) => closed))
  expect((await ground.client().call(ground.target('tcp'), 'link.ping')).ok).toBe(true)
})

test(`${COUNT} requests of one peer and garbage of others at the same time: every request is answered`, async () => {
  const ground = await Ground.start({ clock: new SystemClock() })
  let stopped = false
  const garbage = (async () => {
    for (let index = 0; !stopped; index++) {
      const peer = await ground.raw(index % 2 === 0 ? 'tcp' : 'unix')
      peer.write(Buffer.alloc(1 + (index % 3000), index))
      if (index % 3 === 0) peer.socket.destroy()
    }
  })()
  const session = ground.client().session(ground.target('tcp'))
  for (let index = 0; index < COUNT; index++) expect((await session.call('link.ping', { index })).ok).toBe(true)
  stopped = true
  await garbage
  session.close()
  expect(ground.failed).toEqual([])
})
