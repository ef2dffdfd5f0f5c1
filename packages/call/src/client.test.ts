// Calls of a client whose server comes and goes: real sockets, waits on a clock that the test moves.
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import type { ResponseEnvelope } from './index.ts'
import { callDefaults, callLimits } from './limits.ts'
import { operation } from './operation.ts'
import { open } from './testing/head.ts'
import { clientOf, Outage, serverAndClient } from './testing/outage.ts'
import type { Transport } from './transport/transport.ts'

const ADDRESSES = ['unix', 'tcp'] as const

/** Operations that tell when they run; those under `hold` never answer. */
function operations() {
  const ran: string[] = []
  const waiting = new Set<() => void>()
  const run = (name: string) => {
    ran.push(name)
    for (const wake of waiting) wake()
    waiting.clear()
  }
  const never = (name: string) => () => {
    run(name)
    return new Promise<never>(() => undefined)
  }
  const map = {
    '/test/echo': operation(open('query'), input => {
      run('echo')
      return input
    }),
    '/hold/query': operation(open('query'), never('query')),
    '/hold/mutation': operation(open('mutation'), never('mutation')),
  }
  /** Resolves when so many have run. */
  const until = async (count: number) => {
    while (ran.length < count) await new Promise<void>(resolve => waiting.add(resolve))
  }
  return { map, ran, until }
}

function errorOf(answer: ResponseEnvelope) {
  if (answer.result.ok) throw new Error('the call has succeeded')
  const { code, message, retryable } = answer.result.error
  return { code, message, retryable }
}

const LOST = { code: 'INTERNAL', message: 'connection closed', retryable: false }

test.each(ADDRESSES)('a call made before there is a server waits and is answered (%s)', async kind => {
  const { map } = operations()
  const { clock, server, client, states } = await serverAndClient(kind, map, { down: true })
  const answer = client.invoke('test', 'echo', { a: 1 })
  expect(await states.next('waiting')).toMatchObject({ attempt: 2, delay: 50 })
  clock.advance(50)
  expect(await states.next('waiting')).toMatchObject({ attempt: 3, delay: 100 })
  await server.start()
  expect(client.waitingCount).toBe(1)
  clock.advance(100)
  expect((await answer).result).toEqual({ ok: true, value: { a: 1 } })
  const tried = ['connecting', 'waiting']
  expect(states.all.map(({ kind }) => kind)).toEqual([...tried, ...tried, 'connecting', 'connected'])
})

test('a server that is killed and started again is found again, and calls go on', async () => {
  const { map } = operations()
  const { clock, server, client, states } = await serverAndClient('tcp', map)
  for (let round = 0; round < 5; round++) {
    await states.next('connected')
    expect(await client.call('test', 'echo', round)).toBe(round)
    await server.stop()
    const { delay } = await states.next('waiting')
    const next = client.call('test', 'echo', 'while it is gone')
    await server.start()
    clock.advance(delay)
    expect(await next).toBe('while it is gone')
  }
})

test('a call that finds no connection in its time fails UNAVAILABLE, and nothing was executed', async () => {
  const { map, ran } = operations()
  const backoff = { base: 1e6, most: 1e6 }
  const { clock, server, client, states } = await serverAndClient('unix', map, { down: true, backoff })
  const byDefault = client.invoke('test', 'echo', 1)
  const short = client.invoke('test', 'echo', 2, { timeout: 1000 })
  await states.next('waiting')
  await server.start()
  const unavailable = { code: 'UNAVAILABLE', retryable: true, message: expect.stringContaining('nothing was') }
  clock.advance(999)
  expect(client.waitingCount).toBe(2)
  clock.advance(1)
  expect(errorOf(await short)).toEqual(unavailable)
  clock.advance(callDefaults.timeout - 1001)
  expect(client.waitingCount).toBe(1)
  clock.advance(1)
  expect(errorOf(await byDefault)).toEqual(unavailable)
  expect(errorOf(await client.invoke('test', 'echo', 3, { wait: false }))).toEqual(unavailable)
  expect(errorOf(await client.invoke('test', 'echo', 3, { timeout: 0 })).code).toBe('INVALID_INPUT')
  clock.advance(backoff.most / 2 - callDefaults.timeout)
  expect(await client.call('test', 'echo', 4)).toBe(4)
  expect(ran).toEqual(['echo'])
})

test('the time that a call has waited counts: its deadline is the one that it was made with', async () => {
  const { map, until } = operations()
  const backoff = { base: 40_000, most: 40_000 }
  const { clock, server, client, states } = await serverAndClient('unix', map, { down: true, backoff })
  const answer = client.invoke('hold', 'query', 1)
  await states.next('waiting')
  await server.start()
  clock.advance(20_000)
  await until(1)
  clock.advance(callDefaults.timeout - 20_001)
  expect(client.link!.pendingCount).toBe(1)
  clock.advance(1)
  expect(errorOf(await answer)).toMatchObject({ code: 'TIMEOUT', retryable: true })
})

test('a call that waits can be aborted by its signal, and only so many can wait', async () => {
  const clock = new ManualClock()
  const never = () => new Promise<Transport>(() => undefined)
  const { client } = clientOf({ dial: never, clock })
  const stop = new AbortController()
  const stopped = client.invoke('test', 'echo', 1, { signal: stop.signal })
  stop.abort()
  expect(errorOf(await stopped)).toMatchObject({ code: 'ABORTED', retryable: false })
  expect(errorOf(await client.invoke('test', 'echo', 1, { signal: stop.signal })).code).toBe('ABORTED')
  expect(client.waitingCount).toBe(0)
  const calls = Array.from({ length: callLimits.waiting }, () => client.invoke('test', 'echo', 1))
  expect(errorOf(await client.invoke('test', 'echo', 1))).toMatchObject({ code: 'RESOURCE_EXHAUSTED' })
  expect(client.waitingCount).toBe(callLimits.waiting)
  client.close()
  for (const answer of await Promise.all(calls)) expect(errorOf(answer).code).toBe('UNAVAILABLE')
})

test.each(ADDRESSES)(
  'CALL-ERR-04: a call whose link is lost fails INTERNAL at once and is not sent again (%s)',
  async kind => {
    const { map, ran, until } = operations()
    const { clock, server, client, states } = await serverAndClient(kind, map)
    const query = client.invoke('hold', 'query', 1)
    const mutation = client.invoke('hold', 'mutation', 1, { retryQueries: true, type: 'mutation' })
    const asked = client.invoke('hold', 'mutation', 1, { retryQueries: true })
    await until(3)
    server.cut()
    for (const answer of [query, mutation, asked]) expect(errorOf(await answer)).toEqual(LOST)
    await states.pass(clock)
    expect(await client.call('test', 'echo', 'after')).toBe('after')
    expect(ran).toEqual(['query', 'mutation', 'mutation', 'echo'])
  },
)

test.each([
  { known: 'by option', options: { type: 'query' } as const },
  { known: 'from its spec', options: {} },
])('CALL-ERR-04: a query is sent again where its caller asks for it, known $known', async ({ options }) => {
  const { map, ran, until } = operations()
  const { clock, server, client, states } = await serverAndClient('tcp', map, { retryQueries: true })
  const answer = client.invoke('hold', 'query', 1, options)
  const unasked = client.invoke('hold', 'query', 1, { ...options, retryQueries: false })
  await until(2)
  for (let sent = 2; sent <= 1 + callLimits.queryRetries; sent++) {
    server.cut()
    await states.pass(clock)
    await until(sent + 1)
  }
  expect(errorOf(await unasked)).toEqual(LOST)
  server.cut()
  expect(errorOf(await answer)).toEqual(LOST)
  expect(ran).toHaveLength(2 + callLimits.queryRetries)
})

test('a query that was sent and finds no connection again in its time says TIMEOUT, not UNAVAILABLE', async () => {
  const { map, until } = operations()
  const { clock, server, client, states } = await serverAndClient('unix', map, { retryQueries: true })
  const late = client.invoke('hold', 'query', 1, { type: 'query', timeout: 5000 })
  const closed = client.invoke('hold', 'query', 1, { type: 'query', timeout: 90_000 })
  await until(2)
  await server.stop()
  await states.next('waiting')
  clock.advance(5000)
  expect(errorOf(await late)).toMatchObject({ code: 'TIMEOUT', retryable: true })
  client.close()
  expect(errorOf(await closed)).toEqual(LOST)
})

test('what an operation is known to be is asked for once on each connection', async () => {
  const { map } = operations()
  const { clock, server, client, states } = await serverAndClient('unix', map, { retryQueries: true })
  await states.next('connected')
  const asked = () => {
    const sent: string[] = []
    const link = client.link!
    const send = link.transport.send.bind(link.transport)
    link.transport.send = text => {
      sent.push((JSON.parse(text) as { payload: { name: string } }).payload.name)
      send(text)
    }
    return sent
  }
  const first = asked()
  await client.call('test', 'echo', 1)
  await client.call('test', 'echo', 2)
  expect(first).toEqual(['/services/schema', '/test/echo', '/test/echo'])
  expect(await client.describe('hold', 'query')).toMatchObject({ opType: 'query', namespace: 'hold' })
  await expect(client.describe('no', 'such')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  server.cut()
  await states.pass(clock)
  await states.next('connected')
  const second = asked()
  await client.call('test', 'echo', 3)
  expect(second).toEqual(['/services/schema', '/test/echo'])
})

test('full jitter: every wait is random below a bound that doubles up to its limit', async () => {
  const clock = new ManualClock()
  const numbers = [0, 0.25, 0.999, 0.5, 1 / 3, 0.75, 0.1, 0.9, 0.6, 0.8, 0.7, 0.5]
  const given = [...numbers]
  const refused = () => Promise.reject(new Error('nobody there'))
  const { states } = clientOf({ dial: refused, clock, random: () => given.shift() ?? 0 })
  for (const [step, random] of numbers.entries()) {
    const bound = Math.min(callDefaults.reconnectMost, callDefaults.reconnectBase * 2 ** step)
    const { attempt, delay, reason } = await states.next('waiting')
    expect([attempt, delay, reason]).toEqual([step + 2, Math.floor(random * bound), 'nobody there'])
    clock.advance(delay)
  }
  expect(callDefaults.reconnectBase * 2 ** numbers.length).toBeGreaterThan(callDefaults.reconnectMost)
})

test('the waits begin anew only after a connection that lasted', async () => {
  const { clock, server, states } = await serverAndClient('tcp', {})
  const delays: number[] = []
  for (const lasts of [0, 0, callDefaults.steady - 1, callDefaults.steady, 0]) {
    await states.next('connected')
    clock.advance(lasts)
    server.cut()
    const { delay, attempt } = await states.next('waiting')
    expect(attempt).toBe(1)
    delays.push(delay)
    clock.advance(delay)
  }
  expect(delays).toEqual([50, 100, 200, 50, 100])
})

test('a client that was told how often to try gives up, and what waits is told', async () => {
  const clock = new ManualClock()
  const refused = () => Promise.reject(new Error('nobody there'))
  const { client, states } = clientOf({ dial: refused, clock, maxAttempts: 3 })
  const ready = client.ready()
  ready.catch(() => undefined)
  const call = client.invoke('test', 'echo', 1)
  clock.advance((await states.next('waiting')).delay)
  clock.advance((await states.next('waiting')).delay)
  expect((await states.next('closed')).reason).toBe('no connection after 3 attempts: nobody there')
  expect(errorOf(await call)).toMatchObject({ code: 'UNAVAILABLE', retryable: true })
  await expect(ready).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(errorOf(await client.invoke('test', 'echo', 1)).code).toBe('UNAVAILABLE')
  expect(clock.pending).toBe(0)
})

test('closing stops everything: no attempt follows, what waits and what was sent is told', async () => {
  const { map, until } = operations()
  const { clock, client, states } = await serverAndClient('unix', map)
  await client.ready()
  const sent = client.invoke('hold', 'query', 1)
  await until(1)
  client.close('enough')
  client.close('again')
  expect(errorOf(await sent)).toEqual(LOST)
  expect(client.state).toEqual({ kind: 'closed', reason: 'enough' })
  clock.advance(1e6)
  expect(clock.pending).toBe(0)
  expect(states.all.map(({ kind }) => kind)).toEqual(['connecting', 'connected', 'closed'])
  const waits = clientOf({ dial: () => Promise.reject(new Error('no')), clock })
  await waits.states.next('waiting')
  waits.client.close()
  expect(clock.pending).toBe(0)
  expect(waits.states.all.map(({ kind }) => kind)).toEqual(['connecting', 'waiting', 'closed'])
})

test('an attempt that hangs is given up, and the connection that it brings later is closed', async () => {
  const { map } = operations()
  const clock = new ManualClock()
  const server = await Outage.start('tcp', { operations: map }, clock)
  const late = Promise.withResolvers<Transport>()
  const dials = [() => late.promise, server.dial]
  const { client, states } = clientOf<typeof map>({ dial: () => dials.shift()!(), clock })
  await states.next('connecting')
  clock.advance(callDefaults.dial)
  const { delay, reason } = await states.next('waiting')
  expect(reason).toBe('no connection within 10000 ms')
  clock.advance(delay)
  await client.ready()
  const unwanted = await server.dial()
  late.resolve(unwanted)
  expect(await client.call('test', 'echo', 1)).toBe(1)
  await expect.poll(() => server.node.links.length).toBe(1)
})

test('an application that throws in onState, and a dial that throws, stop nothing', async () => {
  const { map } = operations()
  const clock = new ManualClock()
  const server = await Outage.start('unix', { operations: map }, clock)
  const lines: string[] = []
  const fails = (message: string) => {
    throw new Error(message)
  }
  const dials: (() => Promise<Transport>)[] = [() => fails('no address'), server.dial]
  const { client, states } = clientOf<typeof map>({
    dial: () => dials.shift()!(),
    clock,
    log: line => lines.push(line),
    onState: ({ kind }) => fails(kind),
  })
  const { delay, reason } = await states.next('waiting')
  expect(reason).toBe('no address')
  expect(clock.pending).toBe(1)
  clock.advance(delay)
  expect(await client.call('test', 'echo', 1)).toBe(1)
  expect(lines).toContain('onState has thrown: Error: connected')
})
