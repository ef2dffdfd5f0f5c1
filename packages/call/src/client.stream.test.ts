// Subscriptions of a client whose connections are cut: with a cursor nothing is lost and nothing comes twice, without
// one they fail honestly.
import { Type } from '@parley/core'
import { expect, test } from 'vitest'
import type { Cursor } from './client/resume.ts'
import { CallError } from './error.ts'
import { callLimits } from './limits.ts'
import { type OperationMap, operation } from './operation.ts'
import { collect, open } from './testing/head.ts'
import { serverAndClient } from './testing/outage.ts'
import { turn } from './testing/peer.ts'

const LOST = { code: 'INTERNAL', message: 'connection closed', retryable: false }

const counting = open('subscription', Type.Object({ after: Type.Integer() }), Type.Integer())

/** Numbers from `after` on, over time, so that a connection can be cut in between, and what became of every stream. */
function operations(last: number) {
  const opened: number[] = []
  const ended: number[] = []
  const map = {
    '/count/up': operation(counting, async function* ({ after }) {
      opened.push(after)
      try {
        for (let value = after + 1; value <= last; value++) {
          yield value
          if (value % 16 === 0) await turn()
        }
      } finally {
        ended.push(after)
      }
    }),
    '/count/hold': operation(counting, async function* ({ after }, { signal }) {
      opened.push(after)
      try {
        yield after + 1
        await new Promise(resolve => signal.addEventListener('abort', resolve))
      } finally {
        ended.push(after)
      }
    }),
  }
  return { map, opened, ended }
}

const resume = {
  cursor: (value: number) => value,
  input: (_input: { after: number }, cursor: Cursor) => ({ after: Number(cursor) }),
}
/** Asks for some that were there before, as an operation does whose cursors are coarse. */
const overlapping = { ...resume, input: (_: { after: number }, at: Cursor) => ({ after: Number(at) - 7 }) }

test.each([
  { kind: 'unix', how: 'from the next value on', with: resume },
  { kind: 'tcp', how: 'from the next value on', with: resume },
  { kind: 'tcp', how: 'with values that were there before', with: overlapping },
] as const)(
  'a stream of 10,000 values over 20 cut connections arrives exactly once and in order ($kind, $how)',
  async ({ kind, with: given }) => {
    const { map, opened } = operations(10_000)
    const { server, client } = await serverAndClient(kind, map, { passes: true })
    const values: number[] = []
    let cuts = 0
    for await (const value of client.subscribe('count', 'up', { after: 0 }, { resume: given })) {
      values.push(value)
      if (cuts < 20 && value >= (cuts + 1) * 450) {
        cuts++
        server.cut()
        await clientLost(client)
      }
    }
    expect(values).toEqual(Array.from({ length: 10_000 }, (_, index) => index + 1))
    expect(opened).toHaveLength(21)
    expect(new Set(opened).size).toBe(21)
  },
)

/** Until the client has seen that its connection is gone: the consumer would run ahead of the cut otherwise. */
async function clientLost(client: { readonly link: unknown }): Promise<void> {
  const link = client.link
  while (client.link === link && link !== undefined) await turn()
}

test('without a cursor a subscription fails with its link, after the values that it had', async () => {
  const { map } = operations(1)
  const { server, client } = await serverAndClient('tcp', map)
  const values: number[] = []
  const consume = async () => {
    for await (const value of client.subscribe('count', 'hold', { after: 0 })) {
      values.push(value)
      server.cut()
    }
  }
  await expect(consume()).rejects.toMatchObject(LOST)
  expect(values).toEqual([1])
})

test('cursors without an order are known again, those of other values are not', async () => {
  const names = ['d', 'a', 'c', 'b', 'f', 'e']
  const spec = open('subscription', Type.Object({ from: Type.Union([Type.String(), Type.Null()]) }), Type.String())
  const map = {
    '/names/all': operation(spec, async function* ({ from }, { signal }) {
      // As a page that begins before the place that was asked for, and one that is cut after two more.
      const start = from === null ? 0 : Math.max(0, names.indexOf(from) - 1)
      const end = Math.min(names.length, from === null ? 3 : start + 4)
      yield* names.slice(start, end)
      if (end < names.length) await new Promise(resolve => signal.addEventListener('abort', resolve))
    }),
  }
  const { server, client } = await serverAndClient('unix', map, { passes: true })
  const values: string[] = []
  const resumed = { cursor: (name: string) => name, input: (_: unknown, cursor: Cursor) => ({ from: String(cursor) }) }
  for await (const value of client.subscribe('names', 'all', { from: null }, { resume: resumed })) {
    values.push(value)
    if (values.length === 3 || values.length === 5) server.cut()
  }
  expect(values).toEqual(names)
})

test('an order of its own decides which cursors have passed', async () => {
  const { map } = operations(40)
  const { clock, server, client, states } = await serverAndClient('tcp', map)
  const values: number[] = []
  const named = {
    cursor: (value: number) => `#${value}`,
    input: () => ({ after: 0 }),
    compare: (one: Cursor, other: Cursor) => Number(String(one).slice(1)) - Number(String(other).slice(1)),
  }
  for await (const value of client.subscribe('count', 'up', { after: 0 }, { resume: named, buffer: 64 })) {
    values.push(value)
    if (value !== 1) continue
    server.cut()
    await states.pass(clock)
  }
  expect(values).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
})

test('a consumer that leaves cancels what runs, and what waits for a connection too', async () => {
  const { map, opened, ended } = operations(1)
  const { clock, server, client, states } = await serverAndClient('unix', map)
  for await (const _ of client.subscribe('count', 'hold', { after: 0 })) break
  await expect.poll(() => ended).toEqual([0])
  expect(client.link!.pendingCount).toBe(0)
  const iterator = client.subscribe('count', 'hold', { after: 1 }, { resume })[Symbol.asyncIterator]()
  expect(await iterator.next()).toEqual({ done: false, value: 2 })
  server.cut()
  const { delay } = await states.next('waiting')
  const pending = iterator.next()
  expect(client.waitingCount).toBe(1)
  await iterator.return!()
  expect(client.waitingCount).toBe(0)
  clock.advance(delay)
  await client.ready()
  expect(opened).toEqual([0, 1])
  expect(await pending).toMatchObject({ done: true })
})

test('a signal ends a subscription, running or waiting, without an error', async () => {
  const { map } = operations(1)
  const { server, client, states } = await serverAndClient('unix', map)
  const stop = new AbortController()
  const values: number[] = []
  for await (const value of client.subscribe('count', 'hold', { after: 0 }, { signal: stop.signal })) {
    values.push(value)
    stop.abort()
  }
  await server.stop()
  await states.next('waiting')
  const again = new AbortController()
  const iterator = client.subscribe('count', 'hold', { after: 0 }, { signal: again.signal })[Symbol.asyncIterator]()
  const pending = iterator.next()
  again.abort()
  expect(await pending).toMatchObject({ done: true })
  expect(values).toEqual([1])
})

test('a subscription that waits too long fails: never sent UNAVAILABLE, sent before TIMEOUT', async () => {
  const { map } = operations(1)
  const backoff = { base: 1e6, most: 1e6 }
  const { clock, server, client, states } = await serverAndClient('tcp', map, { backoff })
  const options = { resume, idleTimeout: 1000 }
  const before = client.subscribe('count', 'hold', { after: 0 }, options)[Symbol.asyncIterator]()
  await before.next()
  await server.stop()
  await states.next('waiting')
  const sent = before.next()
  const never = client.subscribe('count', 'hold', { after: 0 }, options)[Symbol.asyncIterator]().next()
  const limited = client.subscribe('count', 'hold', { after: 0 }, { timeout: 500 })[Symbol.asyncIterator]()
  const results = Promise.allSettled([sent, never, limited.next()])
  clock.advance(500)
  expect(client.waitingCount).toBe(2)
  clock.advance(500)
  expect(client.waitingCount).toBe(0)
  const codes = (await results).map(result => (result as PromiseRejectedResult).reason.code)
  expect(codes).toEqual(['TIMEOUT', 'UNAVAILABLE', 'UNAVAILABLE'])
})

test('what a stream may take in all and between two values holds across a reconnect', async () => {
  const { map, opened } = operations(1)
  const backoff = { base: 1000, most: 1000 }
  const { clock, server, client, states } = await serverAndClient('tcp', map, { backoff })
  const options = { resume, idleTimeout: 1000, timeout: 3000, type: 'subscription' } as const
  const iterator = client.subscribe('count', 'hold', { after: 0 }, options)[Symbol.asyncIterator]()
  const values = [(await iterator.next()).value]
  const reconnect = async () => {
    clock.advance(600)
    server.cut()
    await states.next('waiting')
    clock.advance(500)
    values.push((await iterator.next()).value)
  }
  await reconnect()
  await reconnect()
  expect(values).toEqual([1, 2, 3])
  const last = iterator.next()
  last.catch(() => undefined)
  clock.advance(799)
  expect(client.link!.pendingCount).toBe(1)
  clock.advance(1)
  await expect(last).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(opened).toEqual([0, 1, 2])
})

test('a stream that its operation fails is not opened again, cursor or not', async () => {
  let opened = 0
  const map = {
    '/count/fail': operation(counting, async function* ({ after }) {
      opened++
      yield after + 1
      throw new CallError('INTERNAL', 'connection closed')
    }),
  }
  const { client } = await serverAndClient('unix', map)
  const iterator = client.subscribe('count', 'fail', { after: 0 }, { resume })[Symbol.asyncIterator]()
  expect((await iterator.next()).value).toBe(1)
  await expect(iterator.next()).rejects.toMatchObject(LOST)
  await client.describe('count', 'fail')
  expect(opened).toBe(1)
})

test('CALL-SUB-07: a subscription that is called is cancelled with its first value where its type is known', async () => {
  const { map, ended } = operations(1)
  const { client } = await serverAndClient<OperationMap>('unix', map)
  expect(await client.call('count', 'hold', { after: 6 }, { type: 'subscription' })).toBe(7)
  await expect.poll(() => ended).toEqual([6])
})

test('a consumer that is too slow for its buffer of 1,024 gets those values and then RESOURCE_EXHAUSTED', async () => {
  const { map, ended } = operations(5000)
  const { client } = await serverAndClient('tcp', map)
  const all = client.subscribe('count', 'up', { after: 0 }, { resume })
  const iterator = all[Symbol.asyncIterator]()
  const values = [(await iterator.next()).value as number]
  await expect.poll(() => client.link!.pendingCount).toBe(0)
  const rest = async () => {
    for (;;) values.push((await iterator.next()).value as number)
  }
  await expect(rest()).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: true })
  expect(values).toHaveLength(1 + callLimits.receiveBufferMost)
  await expect.poll(() => ended).toEqual([0])
})

test.each(['cursor', 'input'] as const)('a function for %s that throws fails its subscription only', async which => {
  const { map } = operations(1)
  const { clock, server, client, states } = await serverAndClient<OperationMap>('unix', map)
  const fails = () => {
    throw new Error('no cursor')
  }
  const broken = { ...resume, [which]: fails }
  const iterator = client.subscribe('count', 'hold', { after: 0 }, { resume: broken })[Symbol.asyncIterator]()
  if (which === 'input') {
    await iterator.next()
    server.cut()
    await states.pass(clock)
  }
  await expect(iterator.next()).rejects.toMatchObject({ code: 'INTERNAL', message: 'Error: no cursor' })
  expect(client.link!.pendingCount).toBe(0)
})

test('CALL-SUB-07: a query that is subscribed to ends after its value where its type is known', async () => {
  const map = { '/test/seven': operation(open('query'), () => 7) }
  const { client } = await serverAndClient<OperationMap>('unix', map)
  expect(await collect(client.subscribe('test', 'seven', null, { type: 'query' }))).toEqual([7])
  await client.describe('test', 'seven')
  expect(await collect(client.subscribe('test', 'seven', null))).toEqual([7])
  expect(client.link!.pendingCount).toBe(0)
})
