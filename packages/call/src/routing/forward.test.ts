import { ManualClock, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationContext } from '../context.ts'
import { CallError } from '../error.ts'
import { callLimits } from '../limits.ts'
import {
  askToRegister,
  codeOf,
  collect,
  gate,
  heardNothing,
  principal,
  receivedNothing,
  register,
  registryWith,
  spec,
  TestHead,
  unspecifiedWorker,
  workerPrincipal,
} from '../testing/head.ts'
import type { Envelope } from '../wire/envelope.ts'

test('CALL-T42 a client calls a worker through the head: the node is stripped, the input unchanged, each leg has its own id', async () => {
  const head = new TestHead()
  let seen: OperationContext | undefined
  const registry = registryWith(spec('/fs/readFile'), (input, context) => {
    seen = context
    return { got: input }
  })
  const received: Envelope[] = []
  await head.worker('dev1', { registry, received })
  const client = await head.peer(principal('client', ['a'], { project: ['read'] }))
  const input = { path: 'ä', nested: [1, null, { x: '/dev1/fs/readFile' }] }
  const deadline = Date.now() + 20_000
  const metadata = { trace: 't1' }
  const secrets = { auth_token: 'secret', forwarded_for: { id: 'somebody else', scopes: [] } }
  client.send('call.requested', 'c1', { name: '/dev1/fs/readFile', input, deadline, metadata, ...secrets })
  expect(await client.next()).toEqual({ type: 'call.responded', id: 'c1', payload: { got: input } })
  const forwarded_for = { id: 'client', scopes: ['a'], resources: { project: ['read'] } }
  const payload = { name: '/fs/readFile', input, parentRequestId: 'c1', deadline, metadata, forwarded_for }
  expect(received).toEqual([{ type: 'call.requested', id: expect.stringMatching(/^[0-9a-f-]{36}$/), payload }])
  expect(seen).toMatchObject({ requestId: received[0]?.id, parentRequestId: 'c1', trusted: false })
})

test('CALL-ROUTE-04 the head can keep to itself whom it asks for', async () => {
  const head = new TestHead({ hideCallers: true })
  const registry = registryWith(spec('/test/who'), (_input, { forwardedFor }) => forwardedFor ?? 'nobody')
  await head.worker('dev1', { registry })
  const client = await head.join({ as: principal('client') })
  await expect(client.call('/dev1/test/who')).resolves.toBe('nobody')
})

test('CALL-ROUTE-04 errors come back as they are, and streams in their order', async () => {
  const head = new TestHead()
  const error = new CallError('SLOW', 'wait a little', { retryable: true, details: { ms: 5 } })
  const registry = registryWith(spec('/test/fail'), () => {
    throw error
  })
  registry.register(spec('/test/count', {}, 'subscription'), async function* (input) {
    for (let value = 1; value <= 3; value++) yield value
    if (input === 'fail') throw error
  })
  await head.worker('dev1', { registry })
  const client = await head.peer()
  client.send('call.requested', 'c1', { name: '/dev1/test/fail' })
  const failure = { code: 'SLOW', message: 'wait a little', retryable: true, details: { ms: 5 } }
  expect(await client.next()).toEqual({ type: 'call.error', id: 'c1', payload: failure })
  for (const [id, last] of [
    ['c2', { type: 'call.completed', payload: {} }],
    ['fail', { type: 'call.error', payload: failure }],
  ] as const) {
    client.send('call.requested', id, { name: '/dev1/test/count', input: id })
    for (const payload of [1, 2, 3]) expect(await client.next()).toEqual({ type: 'call.responded', id, payload })
    expect(await client.next()).toEqual({ id, ...last })
  }
})

test('CALL-ROUTE-04 a worker that gives up is passed on as such: call.aborted to the client', async () => {
  const head = new TestHead()
  const worker = await head.peer(workerPrincipal('w'))
  const specs = [spec('/test/one'), spec('/test/many', {}, 'subscription')]
  askToRegister(worker, 'reg', 'dev1', specs)
  expect(await worker.next()).toMatchObject({ type: 'call.responded', id: 'reg' })
  const client = await head.peer()
  for (const name of ['/dev1/test/one', '/dev1/test/many']) {
    client.send('call.requested', name, { name })
    const { id } = await worker.next()
    worker.send('call.aborted', id)
    expect(await client.next()).toEqual({ type: 'call.aborted', id: name, payload: {} })
  }
})

test('CALL-ROUTE-04 each leg uses the spelling of its own peer', async () => {
  const head = new TestHead({}, { profile: 'auto' })
  const registry = registryWith(spec('/test/echo'), input => input)
  const received: Envelope[] = []
  await head.worker('dev1', { registry, received, profile: 'core' })
  const client = await head.peer()
  client.send('call.requested', 's1', { name: '/dev1/test/echo', input: 5 })
  expect(await client.next()).toEqual({ type: 'call.responded', id: 's1', payload: 5 })
  client.send('call.requested', 'c1', { operationId: '/dev1/test/echo', input: 6 })
  expect(await client.next()).toEqual({ type: 'call.responded', id: 'c1', payload: { output: 6 } })
  client.send('call.requested', '', { requestId: 'q1', operationId: '/dev1/test/echo', input: 7 })
  expect(await client.next()).toMatchObject({ id: '', payload: { requestId: 'q1', output: { data: 7 } } })
  expect(received.map(({ payload }) => payload)).toEqual(
    [5, 6, 7].map(input => expect.objectContaining({ operationId: '/test/echo', input })),
  )
  for (const { payload } of received) expect(payload).not.toHaveProperty('name')
})

test('CALL-T43 head and worker call each other at the same time, and a handler calls back over the link it was called on', async () => {
  const both = gate()
  const atHead = registryWith(spec('/agent/chat'), async input => {
    // The head answers only when its own call has reached the worker: neither waits for the other.
    await both.opened
    return `chat ${String(input)}`
  })
  atHead.register(spec('/agent/name'), () => 'head')
  const head = new TestHead({ registry: atHead })
  const atWorker = registryWith(spec('/fs/greet'), async () => {
    both.open()
    return `hello ${await worker.call<string>('/head/agent/name')}`
  })
  const worker = await head.worker('dev1', { registry: atWorker })
  const [chat, greeting] = await Promise.all([
    worker.call('/head/agent/chat', 'now'),
    head.node.env.invoke('dev1', 'fs/greet'),
  ])
  expect(chat).toBe('chat now')
  expect(greeting.unwrap()).toBe('hello head')
  const client = await head.join()
  await expect(client.call('/dev1/fs/greet')).resolves.toBe('hello head')
})

test.each(['aborts', 'is gone'])(
  'CALL-T48 when a client that subscribed through the head %s, the worker stops',
  async how => {
    const head = new TestHead()
    const closed = gate<boolean>()
    const ids: string[] = []
    let closings = 0
    const registry = registryWith(
      spec('/test/ticks', {}, 'subscription'),
      async function* (_input, { requestId, signal }) {
        ids.push(requestId)
        try {
          yield 1
          yield 2
          await new Promise(resolve => signal.addEventListener('abort', resolve))
        } finally {
          closings++
          closed.open(signal.aborted)
        }
      },
    )
    const received: Envelope[] = []
    const worker = await head.worker('dev1', { registry, received })
    const client = await head.peer()
    client.send('call.requested', 'c1', { name: '/dev1/test/ticks' })
    expect([(await client.next()).payload, (await client.next()).payload]).toEqual([1, 2])
    if (how === 'aborts') client.send('call.aborted', 'c1')
    else await client.close()
    expect(await closed.opened).toBe(true)
    // The worker's own question comes back after everything that the head had sent before.
    await worker.call('/head/services/list', {})
    const aborts = received.filter(({ type }) => type === 'call.aborted')
    expect(aborts).toEqual([{ type: 'call.aborted', id: ids[0], payload: {} }])
    expect([ids.length, closings]).toEqual([1, 1])
    expect(client.received).toHaveLength(2)
    expect(worker.inboundCount).toBe(0)
  },
)

test('CALL-ROUTE-04 when a client aborts a call, the worker handler is told', async () => {
  const head = new TestHead()
  const begun = gate()
  const aborted = gate()
  const registry = registryWith(spec('/test/wait'), (_input, { signal }) => {
    signal.addEventListener('abort', () => aborted.open())
    begun.open()
    return new Promise(() => undefined)
  })
  const received: Envelope[] = []
  await head.worker('dev1', { registry, received })
  const client = await head.join()
  const call = client.call('/dev1/test/wait', null, { requestId: 'c1' })
  await begun.opened
  client.abort('c1')
  await expect(call).rejects.toMatchObject({ code: 'ABORTED' })
  await aborted.opened
  expect(received.filter(({ type }) => type === 'call.aborted')).toHaveLength(1)
})

test('CALL-ROUTE-04 a fast stream passes the head whole and in order', async () => {
  const head = new TestHead()
  const registry = registryWith(spec('/test/count', {}, 'subscription'), async function* () {
    for (let value = 0; value < 5000; value++) yield value
  })
  await head.worker('dev1', { registry })
  const client = await head.join()
  const values = await collect(client.subscribe<number>('/dev1/test/count'))
  expect(values).toEqual(Array.from({ length: 5000 }, (_, index) => index))
})

test('CALL-T49 the head refuses for the worker whoever may not call, and the worker hears nothing of it', async () => {
  const head = new TestHead()
  const registry = registryWith(spec('/bash/exec', { requiredScopes: ['shell'] }), () => 'done')
  const received: Envelope[] = []
  const worker = await head.worker('dev1', { registry, received, headIs: principal('head', ['shell']) })
  const client = await head.join({ as: principal('client', ['other']) })
  expect(await codeOf(client, '/dev1/bash/exec')).toBe('FORBIDDEN')
  expect(await codeOf(client, '/services/schema', { name: '/dev1/bash/exec' })).toBe('FORBIDDEN')
  const anonymous = await head.join()
  await expect(anonymous.call('/dev1/bash/exec')).rejects.toMatchObject({ message: 'authentication required' })
  await receivedNothing(worker, received)
  const allowed = await head.join({ as: principal('client', ['shell']) })
  await expect(allowed.call('/dev1/bash/exec')).resolves.toBe('done')
})

test('CALL-ROUTE-05 the worker checks the head again', async () => {
  const head = new TestHead()
  const registry = registryWith(spec('/bash/exec', { requiredScopes: ['shell'] }), () => 'done')
  const link = await head.join({ as: workerPrincipal('w'), registry, headIs: principal('head', []) })
  // The worker's own spec says that everybody may, and the worker itself says otherwise.
  await register(link, 'dev1', [spec('/bash/exec')])
  const client = await head.join({ as: principal('client', ['shell']) })
  await expect(client.call('/dev1/bash/exec')).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

/** A worker that answers no question about its operation. */
async function unspecified(head: TestHead) {
  const worker = await unspecifiedWorker(head, '/test/any')
  const refuse = (id: string) => worker.send('call.error', id, { code: 'NOT_FOUND', message: '' })
  const client = await head.peer()
  /** The next that the head asks of the worker: the spec once more with the first call, else what was called. */
  const called = async (id: string) => {
    client.send('call.requested', id, { name: '/dev1/test/any' })
    return worker.next()
  }
  return { worker, client, called, refuse }
}

test('CALL-T63 of an operation without a spec everything is passed on until it ends', async () => {
  const head = new TestHead({ allowUnspecified: true })
  const { worker, client, called, refuse } = await unspecified(head)
  const asked = await called('c1')
  expect(asked.payload).toMatchObject({ name: '/services/schema', input: { name: '/test/any' } })
  refuse(asked.id)
  const { id, payload } = await worker.next()
  expect(payload).toMatchObject({ name: '/test/any', parentRequestId: 'c1' })
  for (const value of [1, 2, 3]) worker.send('call.responded', id, value)
  worker.send('call.completed', id)
  for (const value of [1, 2, 3])
    expect(await client.next()).toEqual({ type: 'call.responded', id: 'c1', payload: value })
  expect(await client.next()).toEqual({ type: 'call.completed', id: 'c1', payload: {} })
  for (const [type, given] of [
    ['call.error', { code: 'SLOW', message: 'wait', retryable: true }],
    ['call.aborted', {}],
  ] as const) {
    // It is not asked for a third time.
    const request = await called(type)
    expect(request.payload).toMatchObject({ name: '/test/any' })
    worker.send('call.responded', request.id, 1)
    worker.send(type, request.id, given)
    expect(await client.next()).toMatchObject({ type: 'call.responded', id: type })
    expect(await client.next()).toEqual({ type, id: type, payload: given })
  }
})

test('CALL-ROUTE-04 a call of an operation without a spec is over 30 s after its answer, if nothing else ends it', async () => {
  const clock = new ManualClock()
  const head = new TestHead({ allowUnspecified: true, clock })
  const { worker, client, called, refuse } = await unspecified(head)
  refuse((await called('c1')).id)
  const { id } = await worker.next()
  await heardNothing(worker)
  // Before the first value nothing hurries it.
  clock.advance(60_000)
  worker.send('call.responded', id, 'answer')
  expect(await client.next()).toMatchObject({ type: 'call.responded', payload: 'answer' })
  clock.advance(29_999)
  worker.send('call.responded', id, 'late')
  expect(await client.next()).toMatchObject({ type: 'call.responded', payload: 'late' })
  clock.advance(30_000)
  expect(await client.next()).toMatchObject({ type: 'call.error', id: 'c1', payload: { code: 'TIMEOUT' } })
  expect(await worker.next()).toMatchObject({ type: 'call.aborted', id })
})

test('CALL-ROUTE-10 calls of an operation without a spec that were answered do not use up the share of their caller', async () => {
  const head = new TestHead({ allowUnspecified: true })
  const { worker, client, called, refuse } = await unspecified(head)
  for (let n = 0; n <= callLimits.workerRequests / 2; n++) {
    let { id } = await called(`c${n}`)
    if (n === 0) {
      refuse(id)
      id = (await worker.next()).id
    }
    worker.send('call.responded', id, n)
    expect(await client.next()).toEqual({ type: 'call.responded', id: `c${n}`, payload: n })
  }
})

test('CALL-ROUTE-05 a call whose caller leaves while the head asks for the spec is not passed on', async () => {
  const head = new TestHead()
  const { worker, client, called } = await unspecified(head)
  const asked = await called('c1')
  expect(asked.payload).toMatchObject({ name: '/services/schema' })
  client.send('call.aborted', 'c1')
  await heardNothing(client)
  worker.send('call.responded', asked.id, { name: '/test/any', op_type: 'query', access_control: {} })
  const request = await called('c2')
  expect(request.payload).toMatchObject({ name: '/test/any', parentRequestId: 'c2' })
})

test('CALL-ROUTE-04 a worker that a handler of the head calls is told whom for, unless that is disabled', async () => {
  for (const hideCallers of [false, true]) {
    const atHead = registryWith(spec('/agent/ask'), async (_input, { env }) => {
      const [stream] = await collect(env.subscribe('dev1', 'test/whose'))
      return [(await env.invoke('dev1', 'test/who')).unwrap(), stream]
    })
    const head = new TestHead({ registry: atHead, hideCallers })
    const registry = registryWith(spec('/test/who'), (_input, { forwardedFor }) => forwardedFor ?? 'nobody')
    registry.register(spec('/test/whose', {}, 'subscription'), async function* (_input, { forwardedFor }) {
      yield forwardedFor ?? 'nobody'
    })
    await head.worker('dev1', { registry })
    const client = await head.peer(principal('client', ['a'], { project: ['read'] }))
    // What the client itself claims is not handed on.
    const payload = { name: '/agent/ask', forwarded_for: { id: 'somebody else', scopes: [] } }
    client.send('call.requested', 'c1', payload)
    const told = hideCallers ? 'nobody' : { id: 'client', scopes: ['a'], resources: { project: ['read'] } }
    expect((await client.next()).payload).toEqual([told, told])
    expect((await head.node.env.invoke('dev1', 'test/who')).unwrap()).toBe('nobody')
  }
})

test('CALL-T69 a subscription through a head that is silent for too long ends at the worker too', async () => {
  // The clock of the head stands still: only the worker can end it.
  const start = (Date.now() * 1000) as Ticks
  const head = new TestHead({ clock: new ManualClock(start) })
  const clock = new ManualClock(start)
  const ended = gate<unknown>()
  const next = gate()
  const registry = registryWith(spec('/test/quiet', {}, 'subscription'), async function* (_input, { signal }) {
    signal.addEventListener('abort', () => ended.open(signal.reason))
    yield 1
    await next.opened
    yield 2
    await new Promise(() => undefined)
  })
  const received: Envelope[] = []
  const worker = await head.worker('dev1', { registry, received, clock })
  const client = await head.peer()
  client.send('call.requested', 'c1', { name: '/dev1/test/quiet', idleTimeout: 100 })
  expect(await client.next()).toMatchObject({ type: 'call.responded', payload: 1 })
  expect(received.at(-1)?.payload).toMatchObject({ name: '/test/quiet', idleTimeout: 100 })
  // A value lets the time begin anew.
  clock.advance(99)
  next.open()
  expect(await client.next()).toMatchObject({ type: 'call.responded', payload: 2 })
  clock.advance(99)
  expect(worker.inboundCount).toBe(1)
  clock.advance(1)
  expect(await ended.opened).toMatchObject({ code: 'TIMEOUT' })
  expect(await client.next()).toMatchObject({
    type: 'call.error',
    id: 'c1',
    payload: { code: 'TIMEOUT', message: '/test/quiet gave no value for 100 ms', retryable: true },
  })
  expect(worker.inboundCount).toBe(0)
})
