// TCP (ALP-TCP), on real sockets: the handshake, frames, what a stranger gets, how long a connection lives.
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Scribe } from '../envelope/envelope.ts'
import { parseWire } from '../json/parse.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { TAG_BYTES } from '../noise/cipher.ts'
import { Initiator } from '../noise/handshake.ts'
import { Caller } from '../testing/caller.ts'
import { framed, Ground, idle, type RawPeer, settled, streamOf, until } from '../testing/ground.ts'
import { identityOf } from '../testing/vectors.ts'

test('ALP-TCP-02 the first byte on the wire belongs to the handshake, and the server speaks only when it was spoken to', async () => {
  const ground = await Ground.start()
  const peer = await ground.raw('tcp')
  peer.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  peer.socket.end()
  await peer.expectSilence()
})

test('ALP-TCP-03 three frames with lengths of two bytes, then frames with four', async () => {
  const ground = await Ground.start()
  const caller = await Caller.of(ground)
  expect(await caller.ask({ nonce: 'n' })).toMatchObject({ result: { params: { nonce: 'n' } } })
})

test.each([
  ['an empty message', framed(2, Buffer.alloc(0))],
  ['a short message', framed(2, Buffer.alloc(47))],
  ['a long message', framed(2, Buffer.alloc(49, 1))],
  ['the longest message', framed(2, Buffer.alloc(65_535, 1))],
  ['a degenerate key', framed(2, Buffer.alloc(48))],
  ['rubbish', framed(2, Buffer.alloc(48, 0x5a))],
])('ALP-TCP-03 a handshake that begins with %s gets no byte', async (_, bytes) => {
  const ground = await Ground.start()
  const peer = await ground.raw('tcp')
  peer.write(bytes)
  await peer.expectSilence()
})

test('ALP-TCP-03 all of it may come at once, cut anywhere', async () => {
  const ground = await Ground.start()
  const peer = await ground.raw('tcp')
  const initiator = new Initiator(identityOf('alice').noise, ground.identity.noise.publicKey)
  for (const byte of framed(2, initiator.first()!)) peer.write(Buffer.from([byte]))
  initiator.second(await peer.frame(2))
  const { message, session } = initiator.third()!
  const scribe = new Scribe(identityOf('alice'), ground.clock)
  const plaintext = scribe.request(ground.identity.id, 'x', 'link.ping', {})
  const ciphertext = Buffer.alloc(plaintext.length + TAG_BYTES)
  session.sending.encrypt(ciphertext, plaintext)
  peer.write(Buffer.concat([framed(2, message), framed(4, ciphertext)]))
  const answer = session.receiving.decrypt(await peer.frame(4))!
  expect(parseWire(answer)).toMatchObject({ id: 'x' })
})

test('ALP-TCP-04 the largest frame is taken, a longer one is not, nor one that is empty or altered', async () => {
  const ground = await Ground.start({ handler: ({ params }) => ({ result: (params!.text as string).length }) })
  const caller = await Caller.of(ground)
  const room = linkLimits.frameBytes - TAG_BYTES - caller.request({ text: '' }).length
  const largest = caller.request({ text: 'x'.repeat(room) })
  expect(largest).toHaveLength(1_048_560)
  caller.say(largest)
  expect(await caller.hear()).toMatchObject({ result: room })
  const length = Buffer.alloc(4)
  length.writeUInt32BE(linkLimits.frameBytes + 1)
  caller.peer.write(length)
  await caller.peer.expectSilence()
  for (const spoilt of [
    (_: Caller) => Buffer.alloc(4),
    (by: Caller) => {
      const frame = by.sealed(by.request())
      frame[10]! ^= 1
      return frame
    },
    (_: Caller) => framed(4, Buffer.alloc(TAG_BYTES)),
  ]) {
    const other = await Caller.of(ground)
    other.peer.write(spoilt(other))
    await other.peer.expectSilence()
  }
})

test('ALP-TCP-04 an answer that would not fit becomes an error that does', async () => {
  const ground = await Ground.start({ handler: () => ({ result: 'x'.repeat(linkLimits.frameBytes) }) })
  const caller = await Caller.of(ground)
  expect(await caller.ask()).toMatchObject({
    error: { code: -32603, message: 'internal-error', data: { detail: 'the answer is too large' } },
  })
})

test('ALP-TCP-05 every part of a stream is a frame of its own, without a line feed', async () => {
  const ground = await Ground.start({ handler: () => streamOf({ chunk: { text: 'a' } }, { final: { text: 'ab' } }) })
  const caller = await Caller.of(ground)
  caller.say(caller.request())
  const first = caller.session.receiving.decrypt(await caller.peer.frame(4))!
  expect(first.at(-1)).toBe('}'.charCodeAt(0))
  expect(parseWire(first)).toMatchObject({ result: { text: 'a' }, stream: 'chunk' })
  expect(await caller.hear()).toMatchObject({ result: { text: 'ab' }, stream: 'final' })
})

test('ALP-TCP-06 a handshake that takes longer than ten seconds is cut, wherever it stands', async () => {
  const ground = await Ground.start()
  const silent = await ground.raw('tcp')
  const { peer: halfway } = await ground.halfway()
  ground.pass(linkDefaults.handshakeMs - 1)
  const late = await Caller.of(ground)
  ground.pass(1)
  await Promise.all([silent.closed, halfway.closed])
  expect(silent.received).toHaveLength(0)
  expect(await late.ask()).toMatchObject({ result: {} })
})

test('ALP-TCP-06 at most 32 handshakes run at once; the next one waits until one is done', async () => {
  const ground = await Ground.start()
  const stalled: RawPeer[] = []
  for (let index = 0; index < linkLimits.handshakes; index++) stalled.push((await ground.halfway('carol')).peer)
  const waiting = await ground.raw('tcp')
  const initiator = new Initiator(identityOf('alice').noise, ground.identity.noise.publicKey)
  waiting.write(framed(2, initiator.first()!))
  await idle(50)
  expect(waiting.received).toHaveLength(0)
  stalled[7]!.socket.destroy()
  expect(initiator.second(await waiting.frame(2))).toEqual(Buffer.alloc(0))
})

test('ALP-TCP-07 a connection serves one request after the other, until it is idle for ninety seconds', async () => {
  const ground = await Ground.start()
  const caller = await Caller.of(ground)
  for (let turn = 0; turn < 5; turn++) {
    expect(await caller.ask({ turn })).toMatchObject({ result: { params: { turn } } })
    ground.pass(linkDefaults.serverIdleMs - 1)
  }
  ground.pass(1)
  await caller.peer.expectSilence()
})

test('ALP-TCP-07 no request waits for the one before it: each is answered when its answer is there', async () => {
  const go = Promise.withResolvers<void>()
  const ground = await Ground.start({
    handler: async ({ params }) => {
      if (params!.turn === 0) await go.promise
      return { result: params!.turn! }
    },
  })
  const caller = await Caller.of(ground)
  caller.peer.write(Buffer.concat([0, 1, 2].map(turn => caller.sealed(caller.request({ turn })))))
  expect((await caller.hear()).result).toBe(1)
  expect((await caller.hear()).result).toBe(2)
  // However long it takes: the connection is not idle.
  ground.pass(linkDefaults.serverIdleMs)
  await idle(1)
  ground.pass(linkDefaults.serverIdleMs)
  go.resolve()
  expect((await caller.hear()).result).toBe(0)
  // The ninety seconds begin with the last answer.
  await idle(1)
  ground.pass(linkDefaults.serverIdleMs - 1)
  caller.say(caller.request({ turn: 3 }))
  expect((await caller.hear()).result).toBe(3)
  ground.pass(linkDefaults.serverIdleMs)
  await caller.peer.closed
})

test(`ALP-TCP-07 of one connection ${linkLimits.requestsAtOnce} requests are answered at once; more are read when one is done`, async () => {
  const done: (() => void)[] = []
  const ground = await Ground.start({
    handler: async () => {
      await new Promise<void>(resolve => done.push(resolve))
      return { result: {} }
    },
  })
  const caller = await Caller.of(ground)
  const all = linkLimits.requestsAtOnce + 3
  caller.peer.write(Buffer.concat(Array.from({ length: all }, () => caller.sealed(caller.request()))))
  await until(() => done.length === linkLimits.requestsAtOnce)
  await idle(200)
  expect(done).toHaveLength(linkLimits.requestsAtOnce)
  done[3]!()
  await until(() => done.length === linkLimits.requestsAtOnce + 1)
  while (done.length < all) {
    for (const each of done) each()
    await idle(1)
  }
  for (const each of done) each()
  for (let heard = 0; heard < all; heard++) expect(await caller.hear()).toMatchObject({ result: {} })
})

test('ALP-TCP-07 a request that is not answered ends the connection at once', async () => {
  const ground = await Ground.start()
  const caller = await Caller.of(ground)
  await caller.ask()
  const again = caller.request()
  caller.say(again)
  await caller.hear()
  caller.say(again)
  await caller.peer.expectSilence()
  expect(ground.dropped).toEqual([['replay', 'tcp']])
})

test('ALP-TCP-07 a caller that leaves after one exchange leaves nothing behind', async () => {
  const ground = await Ground.start()
  for (let times = 0; times < 10; times++) {
    const caller = await Caller.of(ground)
    await caller.ask()
    caller.peer.socket.destroy()
  }
  expect(ground.failed).toEqual([])
})

test('ALP-TCP-08 a stranger is known by its first envelope, and then dropped', async () => {
  const ground = await Ground.start()
  const caller = await Caller.of(ground, 'carol')
  const { localPort } = caller.peer.socket
  caller.say(caller.request())
  await caller.peer.expectSilence()
  expect(ground.strangers).toEqual([[identityOf('carol').id, `127.0.0.1:${localPort}`]])
  expect(ground.dropped).toEqual([['unpinned', 'tcp']])
})

test('ALP-PEND-01 a stranger is known by its first envelope however large that is, up to what a peer may send', async () => {
  const ground = await Ground.start()
  const caller = await Caller.of(ground, 'carol')
  const room = linkLimits.frameBytes - TAG_BYTES - caller.request({ text: '' }).length
  caller.say(caller.request({ text: 'x'.repeat(room) }))
  await caller.peer.expectSilence()
  expect(ground.strangers.map(([identity]) => identity)).toEqual([identityOf('carol').id])
})

test('ALP-TCP-08 a stranger has ten seconds for its envelope, a peer has more', async () => {
  const ground = await Ground.start()
  const [stranger, peer] = [await Caller.of(ground, 'carol'), await Caller.of(ground)]
  // Both are past the handshake when the peer is answered.
  await peer.ask()
  await idle(1)
  ground.pass(linkDefaults.strangerMs)
  await stranger.peer.expectSilence()
  expect(await peer.ask()).toMatchObject({ result: {} })
})

test('ALP-TCP-08 who is pinned meanwhile is served the next time', async () => {
  const ground = await Ground.start()
  const first = await Caller.of(ground, 'carol')
  first.say(first.request())
  await first.peer.closed
  ground.pinned.add(identityOf('carol').id)
  const second = await Caller.of(ground, 'carol')
  expect(await second.ask()).toMatchObject({ result: {} })
})

test.each([
  ['another', ['alice', 'carol']],
  ['a stranger', ['alice']],
])('ALP-TCP-09 an envelope of one peer over the connection of %s is dropped', async (_, pinned) => {
  const ground = await Ground.start({ pinned })
  const caller = await Caller.of(ground, 'carol')
  caller.say(caller.request({}, 'link.ping', new Scribe(identityOf('alice'), ground.clock)))
  await caller.peer.expectSilence()
  expect(ground.dropped).toEqual([['binding', 'tcp']])
  expect(ground.strangers).toEqual([])
})

test.each(['{oops', '', '[]', 'null', '"x"', '{}', '\ufeff{}'])(
  'ALP-TCP-12 %j after decryption: closed without a byte',
  async text => {
    const ground = await Ground.start()
    const caller = await Caller.of(ground)
    caller.say(Buffer.from(text))
    await caller.peer.expectSilence()
  },
)

test('ALP-TCP-01 where the port is taken the Unix socket serves alone, and the log says why', async () => {
  const blocker = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void blocker.close())
  await new Promise(resolve => blocker.once('listening', resolve))
  const address = blocker.address()
  if (typeof address !== 'object' || !address) throw new Error('no port')
  const ground = new Ground()
  const failed: string[] = []
  const server = await ground.listen({
    socket: ground.socket,
    tcp: { host: '127.0.0.1', port: address.port },
    handler: () => ({ result: 'here' }),
    log: { failed: (what, cause) => failed.push(`${what} ${(cause as NodeJS.ErrnoException).code}`) },
  })
  expect(server.carriers).toEqual(['unix'])
  expect(server.port).toBeUndefined()
  expect(failed).toEqual(['listening (tcp) EADDRINUSE'])
  const answer = await ground.client().call({ identity: ground.identity.id, at: { path: ground.socket } }, 'link.ping')
  expect(answer).toMatchObject({ ok: true, value: 'here' })
})

test('a caller that leaves in the middle of a stream stops the handler', async () => {
  const state = { parts: 0, returned: false }
  const aborted = Promise.withResolvers<void>()
  const ground = await Ground.start({
    handler: (_, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve())
      return {
        stream: (async function* () {
          try {
            yield { chunk: { text: 'a' } }
            state.parts++
            // Silent, as a turn that thinks.
            await aborted.promise
            yield { chunk: { text: 'b' } }
            state.parts++
          } finally {
            state.returned = true
          }
        })(),
      }
    },
  })
  const caller = await Caller.of(ground)
  await caller.ask()
  caller.peer.socket.destroy()
  await aborted.promise
  await until(() => state.returned)
  expect(state.parts).toBe(1)
})

test('a caller that does not read its answer is cut, and the handler stops', async () => {
  let made = 0
  const ended = Promise.withResolvers<void>()
  const ground = await Ground.start({
    handler: () => ({
      stream: (async function* () {
        try {
          for (;;) {
            made++
            yield { chunk: { text: 'x'.repeat(500_000) } }
          }
        } finally {
          ended.resolve()
        }
      })(),
    }),
  })
  const caller = await Caller.of(ground)
  caller.peer.socket.pause()
  caller.say(caller.request())
  // It makes as much as the system takes, and no more.
  expect(await settled(() => made)).toBeLessThan(100)
  ground.pass(linkDefaults.writeMs)
  await ended.promise
  caller.peer.socket.resume()
  await caller.peer.closed
})

test('ALP-TCP-01 an address that the machine does not have is told to peers; it listens on one that it has, and says so', async () => {
  const ground = new Ground()
  const told: unknown[] = []
  const start = (fallback?: string) =>
    ground.listen({
      // For documentation (RFC 5737): nobody has it.
      tcp: { host: '203.0.113.7', port: 0, fallback },
      handler: () => ({ result: 'here' }),
      log: { failed: what => void told.push(what), elsewhere: (host, bound) => void told.push([host, bound]) },
    })
  const server = await start('127.0.0.1')
  expect(told).toEqual([['203.0.113.7', '127.0.0.1']])
  const at = { host: '127.0.0.1', port: server.port! }
  expect(await ground.client().call({ identity: ground.identity.id, at }, 'x')).toEqual({ ok: true, value: 'here' })
  const none = await start()
  expect(none.carriers).toEqual([])
  expect(told).toHaveLength(2)
})
