// Subscriptions (CALL-SUB): values in their order, and one end, between two nodes and against a scripted peer.
// Back-pressure is in subscription.flow.test.ts.
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { CallError } from './error.ts'
import { streaming } from './operation.ts'
import { collect, registryWith } from './testing/head.ts'
import { echo, peered, turn, until } from './testing/peer.ts'
import { joined, WIRES } from './testing/wire.ts'

const DONE = { done: true, value: undefined }
/** The caller knows that the operation streams, and asks nobody (CALL-SUB-07). */
const STREAMS = { single: false }

/** An endless stream that notes how it ends. */
function endless() {
  const ended: { readonly signalled: boolean }[] = []
  const handler = async function* (_input: unknown, { signal }: { readonly signal: AbortSignal }) {
    try {
      for (let n = 1; ; n++) {
        yield n
        await turn()
      }
    } finally {
      ended.push({ signalled: signal.aborted })
    }
  }
  return { ended, handler }
}

test.each(WIRES)('CALL-T23 a subscription gives its values in order and ends (%s)', async kind => {
  await using pair = await joined(kind, {
    '/test/count': async function* () {
      yield 1
      yield 2
      yield 3
    },
  })
  expect(await collect(pair.caller.subscribe('/test/count'))).toEqual([1, 2, 3])
  const { id } = pair.wire[0]!.envelope
  const of = (side: string) =>
    pair.wire.filter(({ by, envelope }) => by === side && envelope.id === id).map(({ envelope }) => envelope)
  expect(of('handler')).toEqual([
    { type: 'call.responded', id, payload: 1 },
    { type: 'call.responded', id, payload: 2 },
    { type: 'call.responded', id, payload: 3 },
    { type: 'call.completed', id, payload: {} },
  ])
  expect(of('caller').map(({ type }) => type)).toEqual(['call.requested'])
  await until(() => pair.caller.pendingCount === 0)
  expect(pair.handler.inboundCount).toBe(0)
})

test.each(WIRES)(
  'CALL-T24 an error ends a subscription after the values before it, with its code and nothing after (%s)',
  async kind => {
    await using pair = await joined(kind, {
      '/test/limited': async function* () {
        yield 'one'
        throw new CallError('RATE_LIMITED', 'slow', { retryable: true })
      },
    })
    const values = pair.caller.subscribe('/test/limited', null, STREAMS)[Symbol.asyncIterator]()
    expect(await values.next()).toEqual({ done: false, value: 'one' })
    await expect(values.next()).rejects.toMatchObject({ code: 'RATE_LIMITED', message: 'slow', retryable: true })
    expect(await values.next()).toEqual(DONE)
    expect(pair.types('handler')).toEqual(['call.responded', 'call.error'])
    expect(pair.types('caller')).toEqual(['call.requested'])
  },
)

test.each(WIRES)(
  'CALL-T25 leaving the loop aborts once: the handler is told and closed, and says nothing more (%s)',
  async kind => {
    const { ended, handler } = endless()
    await using pair = await joined(kind, { '/test/endless': handler, '/test/echo': echo })
    for await (const value of pair.caller.subscribe('/test/endless', null, STREAMS)) if (value === 2) break
    await until(() => ended.length > 0)
    const said = pair.types('handler').length
    // An answer that comes after the abort shows that the abort was dealt with.
    expect(await pair.caller.call('/test/echo', 'there?')).toBe('there?')
    for (let n = 0; n < 10; n++) await turn()
    expect(pair.types('caller')).toEqual(['call.requested', 'call.aborted', 'call.requested'])
    expect(pair.types('handler')).toHaveLength(said + 1)
    expect(ended).toEqual([{ signalled: true }])
    expect([pair.caller.pendingCount, pair.handler.inboundCount]).toEqual([0, 0])
  },
)

test('CALL-SUB-05 an iterator is closed once, and not pulled again', async () => {
  const log: string[] = []
  const held = Promise.withResolvers<IteratorResult<number>>()
  const registry = registryWith(
    { name: '/test/hand', opType: 'subscription', inputSchema: {}, outputSchema: {}, accessControl: {} },
    streaming(() => ({
      [Symbol.asyncIterator]: () => ({
        next() {
          log.push('next')
          return held.promise
        },
        return() {
          log.push('return')
          return Promise.resolve({ done: true as const, value: undefined })
        },
      }),
    })),
  )
  const { peer } = peered({}, { registry })
  peer.send('call.requested', 'x', { name: '/test/hand' })
  await turn()
  peer.send('call.aborted', 'x')
  peer.send('call.aborted', 'x')
  await turn()
  held.resolve({ done: false, value: 1 })
  await turn()
  expect(log).toEqual(['next', 'return'])
  expect(peer.received).toEqual([])
})

test('CALL-SUB-06 a stream that had ended is not aborted by leaving it', async () => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/x', null, STREAMS)[Symbol.asyncIterator]()
  const first = values.next()
  const { id } = await peer.next()
  peer.send('call.responded', id, 1)
  peer.send('call.completed', id)
  await first
  await turn()
  await values.return!()
  await turn()
  expect(peer.received).toHaveLength(1)
  expect(await values.next()).toEqual(DONE)
})

test('CALL-SUB-06 a pull that waits ends when its consumer leaves', async () => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/x')[Symbol.asyncIterator]()
  const waiting = values.next()
  const { id } = await peer.next()
  await values.return!()
  expect(await waiting).toEqual(DONE)
  await turn()
  expect(peer.received.slice(1)).toEqual([{ type: 'call.aborted', id, payload: {} }])
})

test('CALL-SUB-06 who leaves while the spelling is being found out has asked for nothing', async () => {
  const { link, peer } = peered({}, { profile: 'auto' })
  const values = link.subscribe('/fs/x')[Symbol.asyncIterator]()
  const waiting = values.next()
  const probe = await peer.next()
  await values.return!()
  peer.send('call.responded', probe.id, { operations: [] })
  expect(await waiting).toEqual(DONE)
  await turn()
  // The probe goes out twice.
  expect([peer.received.length, link.pendingCount]).toEqual([2, 0])
})

test('CALL-SUB-01 the request goes out with the first pull, and there is one consumer', async () => {
  const { link, peer } = peered()
  const subscription = link.subscribe('/fs/x')
  const values = subscription[Symbol.asyncIterator]()
  await turn()
  expect(peer.received).toEqual([])
  expect(() => subscription[Symbol.asyncIterator]()).toThrow('one consumer')
  const first = values.next()
  await expect(values.next()).rejects.toThrow('one value at a time')
  peer.send('call.aborted', (await peer.next()).id)
  expect(await first).toEqual(DONE)
})

test('CALL-T26 a handler that gives up ends the subscription without an error, after the values before', async () => {
  const { link, peer } = peered()
  const values = collect(link.subscribe('/fs/x', null, STREAMS))
  const { id } = await peer.next()
  peer.send('call.responded', id, 1)
  peer.send('call.aborted', id)
  expect(await values).toEqual([1])
  await turn()
  expect([peer.received.length, link.pendingCount]).toEqual([1, 0])
})

test('CALL-T27 the idle time begins anew with every value, and ends the subscription when it passes', async () => {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { clock })
  const seen: unknown[] = []
  const consumed = collect(link.subscribe('/fs/x', null, { ...STREAMS, idleTimeout: 100 })).catch((error: unknown) => {
    seen.push(error)
  })
  const { id, payload } = await peer.next()
  expect(payload).toMatchObject({ idleTimeout: 100 })
  expect(payload).not.toHaveProperty('deadline')
  for (const value of [1, 2]) {
    clock.advance(60)
    peer.send('call.responded', id, value)
    await turn()
  }
  clock.advance(99)
  await turn()
  expect([seen.length, peer.received.length]).toEqual([0, 1])
  clock.advance(1)
  await consumed
  expect(seen).toMatchObject([{ code: 'TIMEOUT', retryable: true }])
  await turn()
  expect(peer.received.slice(1)).toEqual([{ type: 'call.aborted', id, payload: {} }])
  expect(link.pendingCount).toBe(0)
})

test('CALL-PEND-04 a subscription lasts as long as nobody limits it, and no longer than it was given', async () => {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { clock })
  const endlessly = link.subscribe('/fs/x')[Symbol.asyncIterator]()
  const limited = link.subscribe('/fs/y', null, { ...STREAMS, timeout: 500, idleTimeout: 400 })[Symbol.asyncIterator]()
  const pulls = [endlessly.next(), limited.next()] as const
  const requests = [await peer.next(), await peer.next()] as const
  const ids = [requests[0].id, requests[1].id] as const
  // CALL-EVT-03: the other side is told where there is a limit.
  expect(requests[0].payload).not.toHaveProperty('deadline')
  expect(requests[1].payload).toMatchObject({ deadline: clock.now() / 1000 + 500 })
  clock.advance(399)
  peer.send('call.responded', ids[1], 1)
  expect(await pulls[1]).toEqual({ done: false, value: 1 })
  const late = expect(limited.next()).rejects.toMatchObject({ code: 'TIMEOUT' })
  clock.advance(100)
  await turn()
  expect(link.pendingCount).toBe(2)
  clock.advance(1)
  await late
  clock.advance(1_000_000)
  peer.send('call.responded', ids[0], 'still there')
  expect(await pulls[0]).toEqual({ done: false, value: 'still there' })
})

test.each(WIRES)(
  'CALL-T30 a call of a stream gets the first value, and cancels the rest when it sees the second (%s)',
  async kind => {
    const { ended, handler } = endless()
    await using pair = await joined(kind, { '/test/endless': handler })
    expect(await pair.caller.call('/test/endless')).toBe(1)
    await until(() => ended.length > 0)
    await turn()
    const [requested, aborted, ...more] = pair.wire.filter(({ by }) => by === 'caller').map(({ envelope }) => envelope)
    expect(aborted).toEqual({ type: 'call.aborted', id: requested!.id, payload: {} })
    expect(more).toEqual([])
    expect(ended).toEqual([{ signalled: true }])
    expect(pair.handler.inboundCount).toBe(0)
  },
)

test('CALL-SUB-07 a caller who knows that an operation streams cancels with the first value', async () => {
  const { link, peer } = peered()
  const called = link.call('/fs/x', null, { streams: true })
  const { id } = await peer.next()
  peer.send('call.responded', id, 1)
  expect(await called).toBe(1)
  await turn()
  expect(peer.received).toHaveLength(2)
  peer.send('call.responded', id, 2)
  await turn()
  expect(peer.received.slice(1)).toEqual([{ type: 'call.aborted', id, payload: {} }])
})

test('CALL-SUB-07 a subscription to what answers once ends with its value, if that is known', async () => {
  const { link, peer } = peered()
  const values = collect(link.subscribe('/fs/x', null, { single: true }))
  peer.send('call.responded', (await peer.next()).id, 1)
  expect(await values).toEqual([1])
  await turn()
  expect([peer.received.length, link.pendingCount]).toEqual([1, 0])
})
