// One link: what a violation ends, events that are no calls, what link loss leaves behind, links of several streams;
// and requests that are wrong (CALL-EVT-03), each with its own answer, which disturbs nothing else.
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { callLimits } from '../limits.ts'
import { CallNode } from '../node.ts'
import { EnvelopePeer, echo, frameOf, peered, registryOf, turn } from '../testing/peer.ts'
import { StreamsTransport } from '../testing/wire.ts'

const CLOSED = { code: 'INTERNAL', message: 'connection closed', retryable: false }

function answer(id: string, payload: unknown): Buffer {
  return frameOf(JSON.stringify({ type: 'call.responded', id, payload }))
}

/** A call that is watched while it is pending. */
function watched<T>(promise: Promise<T>) {
  const seen: { value?: T; error?: unknown; settled: boolean } = { settled: false }
  promise.then(
    value => Object.assign(seen, { value, settled: true }),
    (error: unknown) => Object.assign(seen, { error, settled: true }),
  )
  return seen
}

// That on a link of one stream the violation closes the link, and no other, is in the suite of transports.
test('CALL-T04 a violation on one of two streams ends that stream only: the call on the other is answered', async () => {
  const transport = new StreamsTransport()
  const complaints: string[] = []
  const node = new CallNode({ registry: registryOf({}), log: message => complaints.push(message) })
  const link = node.attach(transport)
  const onA = watched(link.call('/fs/a'))
  const onB = watched(link.call('/fs/b'))
  await turn()
  const [a, b] = transport.sent.map(({ stream }) => stream!)
  expect(a).not.toBe(b)
  transport.bytes(a!, frameOf('not json'))
  await turn()
  expect(transport.open).toEqual([b])
  expect(transport.sent).toHaveLength(2)
  expect(complaints).toHaveLength(1)
  expect(onA.error).toMatchObject(CLOSED)
  expect([onB.settled, link.closed, link.pendingCount]).toEqual([false, false, 1])
  transport.bytes(b!, answer(transport.sent[1]!.envelope.id, 7))
  await turn()
  expect(onB.value).toBe(7)
})

test('CALL-PEND-07 when one stream of several is reset, both sides of its requests end, and nothing is sent', async () => {
  const aborted: string[] = []
  const transport = new StreamsTransport()
  const node = new CallNode({
    registry: registryOf({
      '/test/echo': echo,
      '/test/wait': (_input, { requestId, signal }) =>
        new Promise(() => signal.addEventListener('abort', () => aborted.push(requestId))),
    }),
  })
  const link = node.attach(transport)
  const request = (id: string, name: string) =>
    frameOf(JSON.stringify({ type: 'call.requested', id, payload: { name } }))
  transport.bytes(2, request('on2', '/test/wait'))
  transport.bytes(4, request('on4', '/test/wait'))
  const values = link.subscribe('/fs/watch')[Symbol.asyncIterator]()
  const pulled = watched(values.next())
  await turn()
  const own = transport.sent[0]!.stream!
  transport.reset(own)
  transport.reset(2)
  await turn()
  expect(pulled.error).toMatchObject(CLOSED)
  expect(aborted).toEqual(['on2'])
  expect(transport.sent).toHaveLength(1)
  expect([link.pendingCount, link.inboundCount, link.closed]).toEqual([0, 1, false])
  // Answers go out on the stream that their request came on.
  transport.bytes(6, request('on6', '/test/echo'))
  expect(transport.sent[1]).toMatchObject({ stream: 6, envelope: { id: 'on6' } })
  transport.reset(4)
  transport.reset(6)
  expect(link.closed).toBe(true)
})

test('CALL-T06 other events go to their listener or nowhere, and calls go on', async () => {
  const { link, peer } = peered()
  const heard: unknown[] = []
  const off = link.on('topic.tick', (topic, payload) => heard.push([topic, payload]))
  peer.send('topic.tick', 't1', { n: 1 })
  peer.send('topic.tock', 't1')
  peer.send('__subscribe', 't1', { topics: ['a'] })
  peer.send('call.bogus', 'b1')
  peer.send('call.requested', 'r1', { name: '/test/echo', input: 1 })
  await turn()
  expect(heard).toEqual([['t1', { n: 1 }]])
  expect(peer.received).toEqual([{ type: 'call.responded', id: 'r1', payload: 1 }])
  off()
  peer.send('topic.tick', 't1')
  await turn()
  expect(heard).toHaveLength(1)
  link.emit('topic.tick', 't2', undefined)
  await turn()
  expect(peer.received[1]).toEqual({ type: 'topic.tick', id: 't2', payload: null })
})

test('CALL-WIRE-06 an event that is no JSON, or looks like a call, is refused here', () => {
  const { link } = peered()
  expect(() => link.emit('call.requested', 'x', {})).toThrow(TypeError)
  expect(() => link.emit('topic', 'x', { n: Number.NaN })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }))
})

test('CALL-WIRE-06 an event without a topic is for all listeners of that link, and a head relays none', async () => {
  const { link, peer, node } = peered({}, { head: true })
  const other = new EnvelopePeer()
  const others = node.attach(other.transport)
  const heard: unknown[] = []
  for (const name of ['one', 'two']) link.on('news', (topic, payload) => heard.push([name, topic, payload]))
  others.on('news', () => heard.push('relayed'))
  peer.send('news', '', { n: 1 })
  peer.send('call.requested', 'mark', { name: '/test/echo' })
  await peer.next()
  expect(heard).toEqual([
    ['one', '', { n: 1 }],
    ['two', '', { n: 1 }],
  ])
  link.emit('news', '', 2)
  await turn()
  expect(peer.received.at(-1)).toEqual({ type: 'news', id: '', payload: 2 })
  expect(other.received).toEqual([])
})

test('CALL-T86 CALL-EVT-10 a batch is several requests at once, tied by their parent; answers come in any order', async () => {
  const { link, peer } = peered()
  const batch = { parentRequestId: 'batch-1', metadata: { of: 3 } }
  const calls = [1, 2, 3].map(input => link.call('/test/echo', input, batch))
  const requests = [await peer.next(), await peer.next(), await peer.next()]
  expect(requests.map(({ type, payload }) => [type, payload])).toEqual(
    [1, 2, 3].map(input => ['call.requested', expect.objectContaining({ input, ...batch })]),
  )
  expect(new Set(requests.map(({ id }) => id)).size).toBe(3)
  for (const { id, payload } of requests.toReversed())
    peer.send('call.responded', id, (payload as { input: number }).input * 10)
  expect(await Promise.all(calls)).toEqual([10, 20, 30])
})

test('CALL-T19 when the link closes, calls and subscriptions have failed before the application hears of it', async () => {
  const aborted: unknown[] = []
  const { link, peer } = peered({
    '/test/wait': (_input, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => aborted.push(signal.reason))),
  })
  peer.send('call.requested', 'in', { name: '/test/wait' })
  const called = watched(link.call('/fs/x'))
  const values = link.subscribe('/fs/y')[Symbol.asyncIterator]()
  const pulled = watched(values.next())
  await turn()
  expect(link.pendingCount).toBe(2)
  const counts: number[] = []
  link.onClose(() => counts.push(link.pendingCount, link.inboundCount, aborted.length))
  peer.close()
  await turn()
  expect(counts).toEqual([0, 0, 1])
  expect(called.error).toMatchObject(CLOSED)
  expect(pulled.error).toMatchObject(CLOSED)
  expect(peer.received.map(({ type }) => type)).toEqual(['call.requested', 'call.requested'])
  await expect(link.call('/fs/x')).rejects.toMatchObject(CLOSED)
  expect(link.pendingCount).toBe(0)
})

test('CALL-T19 the values that came before the loss are still delivered', async () => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/y')[Symbol.asyncIterator]()
  const first = values.next()
  const { id } = await peer.next()
  for (const n of [1, 2]) peer.send('call.responded', id, n)
  peer.close()
  expect([await first, await values.next()].map(({ value }) => value)).toEqual([1, 2])
  await expect(values.next()).rejects.toMatchObject(CLOSED)
  expect(await values.next()).toEqual({ done: true, value: undefined })
})

test('CALL-T21 an answer counts only on the link that the request went out on', async () => {
  const node = new CallNode({ registry: registryOf({}) })
  const [peerA, peerB] = [new EnvelopePeer(), new EnvelopePeer()]
  const [a, b] = [node.attach(peerA.transport), node.attach(peerB.transport)]
  const called = watched(a.call('/fs/x'))
  const { id } = await peerA.next()
  peerB.send('call.responded', id, 'from B')
  peerB.send('call.error', id, { code: 'INTERNAL', message: '', retryable: false })
  peerB.send('call.aborted', id)
  await turn()
  expect([called.settled, a.pendingCount, b.closed, peerB.received.length]).toEqual([false, 1, false, 0])
  peerA.send('call.responded', id, 'from A')
  await turn()
  expect(called.value).toBe('from A')
})

test('CALL-EVT-06 an abort is for the peer’s own request first, and for one of ours only if there is none', async () => {
  const aborted: string[] = []
  const { link, peer } = peered({
    '/test/wait': (_input, { requestId, signal }) =>
      new Promise(() => signal.addEventListener('abort', () => aborted.push(requestId))),
  })
  const called = watched(link.call('/fs/x', null, { requestId: 'same' }))
  peer.send('call.requested', 'same', { name: '/test/wait' })
  await turn()
  peer.send('call.aborted', 'same')
  await turn()
  expect([aborted, called.settled]).toEqual([['same'], false])
  peer.send('call.aborted', 'same')
  await turn()
  expect(called.error).toMatchObject({ code: 'ABORTED' })
  // An abort gets no reply.
  expect(peer.received.map(({ type }) => type)).toEqual(['call.requested'])
})

const NOW = Date.UTC(2026, 0, 1)

test.each<[string, unknown, string]>([
  ['a payload that is a list', [], 'INVALID_INPUT'],
  ['a deadline that is over', { name: '/test/echo', deadline: NOW - 5001 }, 'TIMEOUT'],
  ['an unknown operation', { name: '/test/none' }, 'NOT_FOUND'],
])('CALL-EVT-03 %s is answered with an error, and no handler runs', async (_what, payload, code) => {
  let ran = 0
  const { peer, link } = peered({ '/test/echo': () => ran++ }, { clock: new ManualClock() })
  peer.send('call.requested', 'x', payload)
  await turn()
  expect(peer.received).toMatchObject([{ type: 'call.error', id: 'x', payload: { code } }])
  expect([ran, link.inboundCount, link.closed]).toEqual([0, 0, false])
})

test('CALL-EVT-03 a request that cannot be answered is dropped, and one whose id is taken does not disturb the first', async () => {
  const release: (() => void)[] = []
  const slow = (input: unknown) => new Promise(resolve => release.push(() => resolve(input)))
  const { peer, link } = peered({ '/test/slow': slow })
  peer.send('call.requested', '', { name: '/test/echo' })
  peer.send('call.requested', 'x'.repeat(129), { name: '/test/echo' })
  peer.send('call.requested', 'a', { name: '/test/slow', input: 1 })
  peer.send('call.requested', 'a', { name: '/test/slow', input: 2 })
  peer.send('call.requested', 'a', { name: 'nonsense' })
  peer.send('call.requested', 'x'.repeat(128), { name: '/test/echo' })
  await turn()
  expect(release).toHaveLength(1)
  release[0]!()
  await turn()
  expect(peer.received.map(({ id }) => id)).toEqual(['x'.repeat(128), 'a'])
  expect(peer.received[1]!.payload).toBe(1)
  expect(link.closed).toBe(false)
})

test('CALL-EVT-03 beyond 1000 requests at once the next is told to come back, but what is wrong is told so first', async () => {
  const { peer, link } = peered({ '/test/never': () => new Promise(() => undefined) })
  for (let n = 0; n < callLimits.inbound; n++) peer.send('call.requested', `n${n}`, { name: '/test/never' })
  await turn()
  expect([link.inboundCount, peer.received.length]).toEqual([1000, 0])
  peer.send('call.requested', 'more', { name: '/test/echo' })
  peer.send('call.requested', 'wrong', { name: 'nonsense' })
  peer.send('call.aborted', 'n0')
  peer.send('call.requested', 'again', { name: '/test/echo' })
  await turn()
  expect(peer.received).toMatchObject([
    { id: 'more', payload: { code: 'RESOURCE_EXHAUSTED', retryable: true } },
    { id: 'wrong', payload: { code: 'INVALID_INPUT' } },
    { id: 'again', type: 'call.responded' },
  ])
})
