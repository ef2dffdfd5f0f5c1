import { ManualClock } from '@parley/core'
import { expect, test, vi } from 'vitest'
import { OperationRegistry } from '../registry.ts'
import {
  askToRegister,
  collect,
  gate,
  heardNothing,
  listed,
  principal,
  register,
  registryWith,
  spec,
  TestHead,
  workerPrincipal,
} from '../testing/head.ts'

/** A registry whose operations answer with their own path. */
function offering(...paths: readonly string[]): OperationRegistry {
  const registry = new OperationRegistry()
  for (const path of paths) registry.register(spec(path), () => path)
  return registry
}

const routedNames = (names: readonly string[]) => names.filter(name => name.startsWith('/dev'))

test('CALL-T44 when a worker is lost, calls in flight fail at once and everything of it is gone', async () => {
  const head = new TestHead()
  const registry = offering('/fs/readFile')
  const begun = gate()
  registry.register(spec('/test/wait'), () => {
    begun.open()
    return new Promise(() => undefined)
  })
  registry.register(spec('/test/ticks', {}, 'subscription'), async function* () {
    yield 1
    await new Promise(() => undefined)
  })
  const worker = await head.worker('dev1', { registry })
  const client = await head.join()
  const call = client.callEnvelope('/dev1/test/wait')
  const ticks = client.subscribe('/dev1/test/ticks')[Symbol.asyncIterator]()
  expect(await ticks.next()).toEqual({ done: false, value: 1 })
  await begun.opened
  worker.close()
  const closed = { code: 'INTERNAL', message: 'connection closed', retryable: false }
  expect((await call).result).toMatchObject({ ok: false, error: closed })
  await expect(ticks.next()).rejects.toMatchObject(closed)
  for (const path of ['/dev1/fs/readFile', '/dev1/services/list'])
    await expect(client.call(path)).rejects.toMatchObject({ message: `operation not found: ${path}` })
  expect(routedNames(await listed(client))).toEqual([])
  expect(head.node.workers).toEqual([])
})

test('CALL-ROUTE-08 requests that a lost worker had open are aborted', async () => {
  const begun = gate()
  const aborted = gate()
  const registry = registryWith(spec('/agent/chat'), (_input, { signal }) => {
    signal.addEventListener('abort', () => aborted.open())
    begun.open()
    return new Promise(() => undefined)
  })
  const head = new TestHead({ registry })
  const worker = await head.worker('dev1', { registry: offering('/fs/a') })
  const lost = worker.callEnvelope('/head/agent/chat')
  await begun.opened
  worker.close()
  await aborted.opened
  expect((await lost).result).toMatchObject({ ok: false, error: { message: 'connection closed' } })
})

test('CALL-ROUTE-08 within the grace a lost worker is unavailable, and not found after that', async () => {
  const clock = new ManualClock()
  const head = new TestHead({ clock, rejoinGraceMs: 1000 })
  const registry = offering('/fs/a')
  const worker = await head.worker('dev1', { registry })
  const client = await head.join()
  worker.close()
  await vi.waitFor(() => expect(head.node.workers).toEqual([]))
  const unavailable = { code: 'UNAVAILABLE', retryable: true }
  await expect(client.call('/dev1/fs/a')).rejects.toMatchObject(unavailable)
  expect((await head.node.env.invoke('dev1', 'fs/a')).result).toMatchObject({ error: unavailable })
  await expect(client.call('/dev2/fs/a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  clock.advance(1001)
  await expect(client.call('/dev1/fs/a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await head.worker('dev1', { registry })
  await expect(client.call('/dev1/fs/a')).resolves.toBe('/fs/a')
})

test('CALL-T45 an alias belongs to an identity: another one is refused, the same one takes over', async () => {
  const head = new TestHead()
  const x = workerPrincipal('X')
  const first = await head.worker('dev1', { as: x, registry: offering('/test/first') })
  const client = await head.join()
  const other = await head.join({ as: workerPrincipal('Y'), registry: offering('/test/other') })
  await expect(register(other, 'dev1', ['/test/other'])).rejects.toMatchObject({ code: 'CONFLICT', retryable: false })
  expect(routedNames(await listed(client))).toEqual(['/dev1/test/first'])
  await expect(client.call('/dev1/test/first')).resolves.toBe('/test/first')
  expect([first.closed, other.closed]).toEqual([false, false])

  const gone = new Promise(resolve => first.onClose(resolve))
  await head.worker('dev1', { as: x, registry: offering('/test/second') })
  await gone
  expect(routedNames(await listed(client))).toEqual(['/dev1/test/second'])
  await expect(client.call('/dev1/test/second')).resolves.toBe('/test/second')
  await expect(client.call('/dev1/test/first')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('CALL-ROUTE-06 a link holds one alias', async () => {
  const head = new TestHead()
  const worker = await head.worker('dev1', { registry: offering('/test/a') })
  await expect(register(worker, 'dev2', ['/test/a'])).rejects.toMatchObject({ code: 'CONFLICT' })
  expect(head.node.workers).toEqual(['dev1'])
})

const odd = { toString: 1, valueOf: 1, toJSON: 1 }

test.each<[string, unknown]>([
  ['the alias head', { node: 'head', operations: [] }],
  ['the alias services', { node: 'services', operations: [] }],
  ["the head's own alias", { node: 'main', operations: [] }],
  ['an alias with a dot', { node: 'dev.1', operations: [] }],
  ['an alias of 65 characters', { node: 'a'.repeat(65), operations: [] }],
  ['an empty alias', { node: '', operations: [] }],
  ['an alias that reaches for a prototype', { node: '__proto__', operations: [] }],
  ['an alias that is no text', { node: odd, operations: [] }],
  ['no alias', { operations: [] }],
  ['no list', { node: 'dev1' }],
  ['something that is no list', { node: 'dev1', operations: odd }],
  ['no object', 'dev1'],
  ['nothing', null],
  ['a list in place of an object', []],
  ['a bad path beside a good one', { node: 'dev1', operations: ['/fs/a', 'bad path'] }],
  ['a path with a node', { node: 'dev1', operations: ['/dev1/fs/a'] }],
  ['a path of the protocol beside another', { node: 'dev1', operations: ['/fs/a', '/services/list'] }],
  ...[null, 5, [], odd, { name: odd }].map(each => [
    `${JSON.stringify(each)} in place of a path`,
    { node: 'dev1', operations: [each] },
  ]),
  ['10 001 paths', { node: 'dev1', operations: Array.from({ length: 10_001 }, (_, index) => `/fs/f${index}`) }],
] as [string, unknown][])('CALL-T46 a registration with %s changes nothing', async (_what, input) => {
  const head = new TestHead({ alias: 'main' })
  for (const [scope, code] of [
    ['node:register', 'INVALID_INPUT'],
    ['other', 'FORBIDDEN'],
  ] as const) {
    const worker = await head.join({ as: principal('w', [scope]), registry: offering('/fs/a') })
    await expect(worker.call('/main/services/register', input)).rejects.toMatchObject({ code })
    expect(head.node.workers).toEqual([])
    expect(routedNames(await listed(worker))).toEqual([])
  }
})

test.each<[string, readonly string[] | undefined, string, string | undefined]>([
  ['without an identity', undefined, 'dev1', 'FORBIDDEN'],
  ['without a scope', ['other'], 'dev1', 'FORBIDDEN'],
  ['with the scope for another alias', ['node:register:dev2'], 'dev1', 'FORBIDDEN'],
  ['with the scope for what its alias begins with', ['node:register:dev'], 'dev1', 'FORBIDDEN'],
  ['with the scope for what begins with its alias', ['node:register:dev1'], 'dev', 'FORBIDDEN'],
  ['with the scope for none', ['node:register:'], 'dev1', 'FORBIDDEN'],
  ['with a scope that looks like all', ['node:register:*'], 'dev1', 'FORBIDDEN'],
  ['with the scope in capitals', ['node:register:DEV1'], 'dev1', 'FORBIDDEN'],
  ['with the scope cut short', ['node'], 'dev1', 'FORBIDDEN'],
  ['with the scope for this alias', ['node:register:dev1'], 'dev1', undefined],
  ['with the scope for all', ['node:register'], 'dev1', undefined],
])('CALL-T46 CALL-T68 a registration %s is let in or not', async (_what, scopes, alias, code) => {
  const head = new TestHead()
  const as = scopes && principal('worker', scopes)
  const worker = await head.join({ registry: offering('/fs/a'), ...(as && { as }) })
  const answer = register(worker, alias, ['/fs/a'])
  if (code) await expect(answer).rejects.toMatchObject({ code })
  else await expect(answer).resolves.toEqual({ node: 'dev1', registered: 1, operations: ['/dev1/fs/a'] })
  expect(head.node.workers).toEqual(code ? [] : ['dev1'])
})

test('CALL-T47 a worker that registers again offers just what it says then', async () => {
  const head = new TestHead()
  const worker = await head.worker('dev1', { registry: offering('/fs/a', '/fs/b') })
  const client = await head.join()
  expect(routedNames(await listed(client))).toEqual(['/dev1/fs/a', '/dev1/fs/b'])
  await expect(register(worker, 'dev1', ['/fs/b', 'fs/b'])).resolves.toEqual({
    node: 'dev1',
    registered: 1,
    operations: ['/dev1/fs/b'],
  })
  expect(routedNames(await listed(client))).toEqual(['/dev1/fs/b'])
  await expect(client.call('/dev1/fs/b')).resolves.toBe('/fs/b')
  await expect(client.call('/dev1/fs/a')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await register(worker, 'dev1', [])
  expect(routedNames(await listed(client))).toEqual([])
  expect(head.node.workers).toEqual(['dev1'])
})

test('CALL-ROUTE-05 while nobody knows what an operation demands, it is refused, and asked for again on its first call', async () => {
  const head = new TestHead()
  const worker = await head.peer(workerPrincipal('w'))
  askToRegister(worker, 'reg', 'dev1', ['/fs/a'])
  const client = await head.peer()
  /** Answers the head's question for the spec. */
  const told = async (payload: unknown) => {
    const asked = await worker.next()
    expect(asked.payload).toMatchObject({ name: '/services/schema', input: { name: '/fs/a' } })
    worker.send(payload ? 'call.responded' : 'call.error', asked.id, payload ?? { code: 'FORBIDDEN' })
  }
  await told(undefined)
  expect(await worker.next()).toMatchObject({ id: 'reg', payload: { registered: 1 } })
  client.send('call.requested', 'c1', { name: '/dev1/fs/a' })
  await told(undefined)
  expect(await client.next()).toMatchObject({ id: 'c1', payload: { code: 'FORBIDDEN' } })
  client.send('call.requested', 'c2', { name: '/dev1/fs/a' })
  await told({ name: '/fs/a', op_type: 'query', access_control: { required_scopes: 'all' } })
  expect(await client.next()).toMatchObject({ id: 'c2', payload: { code: 'FORBIDDEN' } })
  client.send('call.requested', 'c3', { name: '/dev1/fs/a' })
  await told({ name: 'fs/a', type: 'query', accessControl: {} })
  const passed = await worker.next()
  expect(passed.payload).toMatchObject({ name: '/fs/a' })
  worker.send('call.responded', passed.id, 'done')
  expect(await client.next()).toMatchObject({ id: 'c3', payload: 'done' })
})

test('CALL-ROUTE-05 specs are asked for eight at a time, and ten seconds in all', async () => {
  const clock = new ManualClock()
  const head = new TestHead({ clock })
  const worker = await head.peer(workerPrincipal('w'))
  const operations = Array.from({ length: 20 }, (_, index) => `/fs/f${index}`)
  askToRegister(worker, 'reg', 'dev1', operations)
  const asked = []
  for (let count = 0; count < 8; count++) asked.push(await worker.next())
  await heardNothing(worker)
  // One answer makes room for one more question.
  worker.send('call.error', asked[0]!.id, { code: 'NOT_FOUND', message: '', retryable: false })
  expect(await worker.next()).toMatchObject({ payload: { name: '/services/schema' } })
  clock.advance(10_000)
  const rest = []
  for (let count = 0; count < 9; count++) rest.push(await worker.next())
  expect(rest.map(({ type }) => type)).toEqual([...Array(8).fill('call.aborted'), 'call.responded'])
  expect(rest.at(-1)).toMatchObject({ id: 'reg', payload: { registered: 20 } })
})

test('CALL-ROUTE-06 a registration that its worker aborts changes nothing', async () => {
  const head = new TestHead()
  const worker = await head.peer(workerPrincipal('w'))
  askToRegister(worker, 'reg', 'dev1', ['/fs/a'])
  const asked = await worker.next()
  worker.send('call.aborted', 'reg')
  worker.send('call.responded', asked.id, { name: '/fs/a', op_type: 'query' })
  await heardNothing(worker)
  expect(head.node.workers).toEqual([])
})

test('CALL-ROUTE-07 a handler of the head calls a worker by its name, as part of its own request', async () => {
  const atHead = registryWith(spec('/agent/ask'), async (input, { env }) => {
    const [namespace, op] = input as [string, string]
    const { result } = await env.invoke(namespace, op, 'question')
    return result.ok ? result.value : result.error.code
  })
  const head = new TestHead({ registry: atHead })
  const registry = registryWith(spec('/test/answer'), (input, { parentRequestId }) => [input, parentRequestId])
  registry.register(spec('/test/ticks', {}, 'subscription'), async function* () {
    yield 1
  })
  registry.register(spec('/test/hidden'), () => 'hidden')
  const worker = await head.join({ as: workerPrincipal('w'), registry })
  const client = await head.join()
  const ask = (namespace: string, op: string) =>
    client.call('/agent/ask', [namespace, op], { requestId: `${namespace}/${op}` })
  expect(await ask('dev1', 'test/answer')).toBe('NOT_FOUND')
  await register(worker, 'dev1', ['/test/answer', '/test/ticks'])
  expect(await ask('dev1', 'test/answer')).toEqual(['question', 'dev1/test/answer'])
  expect(await ask('dev1', 'test/ticks')).toBe('INVALID_OPERATION_TYPE')
  expect(await ask('dev1', 'test/hidden')).toBe('NOT_FOUND')
  expect(await collect(head.node.env.subscribe('dev1', 'test/ticks'))).toEqual([1])
})
