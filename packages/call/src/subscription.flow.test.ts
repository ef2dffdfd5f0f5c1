// Subscriptions whose ends do not keep pace: both kinds of back-pressure (CALL-SUB-03, -04), and operations of which
// nobody knows whether they stream (CALL-SUB-07).
import { duplexPair } from 'node:stream'
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { EnvAssembly } from './env.ts'
import { callDefaults, callLimits } from './limits.ts'
import { CallNode } from './node.ts'
import { remote } from './routing/remote.ts'
import { collect } from './testing/head.ts'
import { BytePeer, echo, frameOf, peered, registryOf, turn, until } from './testing/peer.ts'
import { HeldTransport, joined, WIRES } from './testing/wire.ts'
import { DuplexTransport } from './transport/duplex.ts'
import { listenTcp } from './transport/sockets.ts'

const DONE = { done: true, value: undefined }
const EXHAUSTED = { code: 'RESOURCE_EXHAUSTED', retryable: true }

test('CALL-T28 a consumer that does not pull loses its subscription at the 33rd value, and nobody else waits', async () => {
  const { link, peer } = peered()
  const stop = new AbortController()
  const values = link.subscribe('/fs/x', null, { signal: stop.signal, single: false })[Symbol.asyncIterator]()
  const first = values.next()
  const { id } = await peer.next()
  peer.send('call.responded', id, 0)
  await first
  for (let n = 1; n <= 32; n++) peer.send('call.responded', id, n)
  await turn()
  expect([link.pendingCount, peer.received.length]).toEqual([1, 1])
  peer.send('call.responded', id, 33)
  peer.send('call.responded', id, 34)
  peer.send('call.requested', 'other', { name: '/test/echo', input: 'meanwhile' })
  await turn()
  expect(peer.received.slice(1)).toEqual([
    { type: 'call.aborted', id, payload: {} },
    { type: 'call.responded', id: 'other', payload: 'meanwhile' },
  ])
  expect(link.pendingCount).toBe(0)
  for (let n = 1; n <= 32; n++) expect(await values.next()).toEqual({ done: false, value: n })
  await expect(values.next()).rejects.toMatchObject(EXHAUSTED)
  expect(await values.next()).toEqual(DONE)
  stop.abort()
  await turn()
  expect(peer.received).toHaveLength(3)
})

test('CALL-SUB-03 the room for values that wait can be set', async () => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/x', null, { buffer: 2 })[Symbol.asyncIterator]()
  const first = values.next()
  const { id } = await peer.next()
  for (let n = 0; n < 4; n++) peer.send('call.responded', id, n)
  await turn()
  expect(await first).toEqual({ done: false, value: 0 })
  expect([await values.next(), await values.next()].map(({ value }) => value)).toEqual([1, 2])
  await expect(values.next()).rejects.toMatchObject(EXHAUSTED)
})

test.each([
  ['as many as with a client where nothing is said', {}, callLimits.receiveBufferMost],
  ['as many as it asks for', { buffer: 2 }, 2],
  ['no more than there may be', { buffer: Number.POSITIVE_INFINITY }, callLimits.receiveBufferMost],
  ['a bounded number of them, whatever it asks for', { buffer: Number.NaN }, callLimits.receiveBufferMost],
])('CALL-SUB-03 values wait for the consumer of a subscription through env: %s', async (_what, options, room) => {
  const { link, peer } = peered()
  link.types.remember('/fs/x', 'subscription')
  const env = new EnvAssembly({ bindings: { fs: remote(link) } }).root
  const values = env.subscribe('fs', 'x', null, options)[Symbol.asyncIterator]()
  const first = values.next()
  const { id } = await peer.next()
  for (let n = 0; n < room + 2; n++) peer.send('call.responded', id, n)
  await turn()
  expect(await first).toEqual({ done: false, value: 0 })
  for (let n = 1; n <= room; n++) expect((await values.next()).value).toBe(n)
  await expect(values.next()).rejects.toMatchObject(EXHAUSTED)
})

test.each([
  ['one chunk', 500],
  ['many chunks of one turn', 7],
])(
  'CALL-SUB-03 a consumer that keeps pulling gets everything, also of values that come in %s',
  async (_how, perChunk) => {
    const [near, far] = duplexPair()
    const link = new CallNode({ registry: registryOf({}) }).attach(new DuplexTransport(near))
    const values = collect(link.subscribe('/fs/x', null, { requestId: 'r' }))
    await new Promise<void>(resolve => far.once('data', () => resolve()))
    const frames = Array.from({ length: 500 }, (_, n) => frameOf(`{"type":"call.responded","id":"r","payload":${n}}`))
    frames.push(frameOf('{"type":"call.completed","id":"r","payload":{}}'))
    near.pause()
    for (let at = 0; at < frames.length; at += perChunk) far.write(Buffer.concat(frames.slice(at, at + perChunk)))
    near.resume()
    expect(await values).toEqual(Array.from({ length: 500 }, (_, n) => n))
    link.close()
  },
)

/** A stream of values of so many characters, and how far it was pulled. */
function producer(characters: number) {
  const seen = { pulled: 0 }
  const handler = async function* () {
    for (;;) {
      seen.pulled++
      yield 'x'.repeat(characters)
    }
  }
  return { seen, handler }
}

test('CALL-T29 a producer is not pulled while the link is full, and goes on when it is drained', async () => {
  const { seen, handler } = producer(100_000)
  const transport = new HeldTransport()
  const node = new CallNode({ registry: registryOf({ '/test/flood': handler }) })
  const link = node.attach(transport)
  transport.deliver('call.requested', 'x', { name: '/test/flood' })
  await turn()
  const mark = Math.ceil(callLimits.highWater / 100_000)
  expect(seen.pulled).toBeGreaterThanOrEqual(mark)
  expect(seen.pulled).toBeLessThanOrEqual(mark + 1)
  expect(transport.held).toHaveLength(seen.pulled)
  const before = seen.pulled
  // Still above the mark.
  transport.drain(callLimits.highWater + 1)
  await turn()
  expect(seen.pulled).toBe(before)
  transport.drain()
  await turn()
  expect(seen.pulled).toBeGreaterThan(before)
  transport.deliver('call.aborted', 'x')
  await turn()
  const after = seen.pulled
  transport.drain()
  await turn()
  expect([seen.pulled, link.inboundCount]).toEqual([after, 0])
})

test('CALL-SUB-04 of many producers each is at most one value ahead of the link', async () => {
  const producers = Array.from({ length: 10 }, () => producer(600_000))
  const transport = new HeldTransport()
  const handlers = Object.fromEntries(producers.map(({ handler }, n) => [`/test/flood${n}`, handler]))
  const link = new CallNode({ registry: registryOf(handlers) }).attach(transport)
  for (const n of producers.keys()) transport.deliver('call.requested', `x${n}`, { name: `/test/flood${n}` })
  for (let round = 0; round < 5; round++) {
    await turn()
    expect(transport.queued).toBeGreaterThan(callLimits.highWater)
    expect(transport.queued).toBeLessThan(callLimits.highWater + producers.length * 600_100)
    transport.drain()
  }
  link.close()
})

test('CALL-T29 over TCP a peer that does not read holds the producer, and other requests on other links go on', async () => {
  let most = 0
  const { seen, handler } = producer(100_000)
  const node = new CallNode({
    registry: registryOf({
      '/test/echo': echo,
      '/test/flood': async function* () {
        for await (const value of handler()) {
          most = Math.max(most, node.links[0]!.transport.queued)
          yield value
        }
      },
    }),
  })
  const listening = await listenTcp({}, transport => node.attach(transport))
  const peer = await BytePeer.connect({ port: listening.port! })
  peer.socket.pause()
  peer.send('call.requested', 'x', { name: '/test/flood' })
  await until(() => node.links[0]?.full === true)
  const other = await BytePeer.connect({ port: listening.port! })
  for (let n = 0; n < 20; n++) {
    other.send('call.requested', `e${n}`, { name: '/test/echo', input: n })
    expect(await other.next()).toMatchObject({ payload: n })
  }
  const before = seen.pulled
  // Never asked for a value while more than the mark was queued.
  expect(most).toBeLessThanOrEqual(callLimits.highWater)
  peer.socket.resume()
  await until(() => seen.pulled > before + 100)
  expect(most).toBeLessThanOrEqual(callLimits.highWater)
  await peer.close()
  await other.close()
  await until(() => node.links.length === 0)
  await listening.close()
})

test('CALL-CTX-03 a producer that waits for room is not silent, and has its whole time afterwards', async () => {
  const clock = new ManualClock()
  const silent = Promise.withResolvers<void>()
  const registry = registryOf({
    '/test/big': async function* () {
      yield 'x'.repeat(callLimits.highWater)
      yield 'second'
      await silent.promise
    },
  })
  const transport = new HeldTransport()
  const link = new CallNode({ registry, clock }).attach(transport)
  transport.deliver('call.requested', 'r', { name: '/test/big', idleTimeout: 100 })
  await until(() => transport.held.length === 1)
  clock.advance(1000)
  await turn()
  expect([transport.held.length, link.inboundCount]).toEqual([1, 1])
  transport.drain()
  await until(() => transport.held.length === 2)
  clock.advance(99)
  await turn()
  expect(link.inboundCount).toBe(1)
  clock.advance(1)
  await until(() => transport.held.length === 3)
  expect(transport.held[2]).toMatchObject({ type: 'call.error', id: 'r', payload: { code: 'TIMEOUT' } })
  expect(link.inboundCount).toBe(0)
})

const IDLE = callDefaults.unknownIdle

test.each(WIRES)(
  'CALL-SUB-07 a query that is subscribed to ends after its value: its type is asked for (%s)',
  async kind => {
    await using pair = await joined(kind, { '/test/echo': echo })
    expect(await collect(pair.caller.subscribe('/test/echo', 7))).toEqual([7])
    expect(await collect(pair.caller.subscribe('/test/echo', 8))).toEqual([8])
    const asked = pair.wire
      .map(({ envelope: { type, payload } }) => type === 'call.requested' && (payload as { name: string }).name)
      .filter(name => name === '/services/schema')
    expect(asked).toHaveLength(1)
    expect([pair.caller.pendingCount, pair.handler.inboundCount]).toEqual([0, 0])
  },
)

/** A peer that has sent the first value of a subscription, and what the subscription has come to. */
async function begun(options: { readonly idleTimeout?: number } = {}) {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { clock })
  const seen: unknown[] = []
  const consume = async () => {
    try {
      for await (const value of link.subscribe('/fs/x', null, options)) seen.push(value)
      seen.push('end')
    } catch (thrown) {
      seen.push((thrown as { code: string }).code)
    }
  }
  void consume()
  const { id } = await peer.next()
  // Before the first value there is no limit.
  if (options.idleTimeout === undefined) clock.advance(10 * IDLE)
  peer.send('call.responded', id, 1)
  const question = await peer.next()
  expect(question.payload).toMatchObject({ name: '/services/schema', input: { name: '/fs/x' } })
  const advance = async (ms: number) => {
    clock.advance(ms)
    await turn()
  }
  return { peer, id, question: question.id, seen, advance }
}

test('CALL-SUB-07 where the type stays unknown, 30 s of silence from the first value on end the subscription', async () => {
  const { peer, id, question, seen, advance } = await begun()
  peer.send('call.error', question, { code: 'NOT_FOUND', message: 'operation not found' })
  await advance(IDLE - 1)
  peer.send('call.responded', id, 2)
  await turn()
  await advance(IDLE - 1)
  expect(seen).toEqual([1, 2])
  await advance(1)
  expect(seen).toEqual([1, 2, 'TIMEOUT'])
  expect(peer.received.at(-1)).toEqual({ type: 'call.aborted', id, payload: {} })
})

test('CALL-SUB-07 the limit holds while the question is not answered', async () => {
  const { seen, advance } = await begun()
  await advance(IDLE)
  expect(seen).toEqual([1, 'TIMEOUT'])
})

test('CALL-SUB-07 what turns out to stream has no limit any more', async () => {
  const { peer, id, question, seen, advance } = await begun()
  await advance(5000)
  peer.send('call.responded', question, { name: '/fs/x', op_type: 'subscription' })
  await turn()
  await advance(100 * IDLE)
  peer.send('call.responded', id, 2)
  peer.send('call.completed', id)
  await turn()
  expect(seen).toEqual([1, 2, 'end'])
})

test('CALL-SUB-07 the idle time that a caller has set stays, whatever the operation is', async () => {
  const { peer, question, seen, advance } = await begun({ idleTimeout: 2 * IDLE })
  peer.send('call.responded', question, { name: '/fs/x', op_type: 'subscription' })
  await turn()
  await advance(2 * IDLE - 1)
  expect(seen).toEqual([1])
  await advance(1)
  expect(seen).toEqual([1, 'TIMEOUT'])
})

test('CALL-SUB-07 the question is put with the token of the subscription', async () => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/x', null, { authToken: 'mine' })[Symbol.asyncIterator]()
  const first = values.next()
  peer.send('call.responded', (await peer.next()).id, 1)
  await first
  expect((await peer.next()).payload).toMatchObject({ name: '/services/schema', auth_token: 'mine' })
  link.close()
})
