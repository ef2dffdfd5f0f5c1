// A client beyond its calls by name: what its handlers reach, one-way events, operations as members of it, and clients
// and servers in processes of their own. Calls by name are in client.worker.test.ts.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import { ManualClock, type Principal, Type } from '@parley/core'
import { expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { type ConnectedClient, connectClient } from './client.ts'
import type { OperationContext } from './context.ts'
import { CallNode } from './node.ts'
import { operation, type RoutedOperations } from './operation.ts'
import { OperationRegistry } from './registry.ts'
import { remote } from './routing/remote.ts'
import { temporaryPath } from './testing/folder.ts'
import { collect, listed, open, registryWith, spec } from './testing/head.ts'
import { clientOf, Outage } from './testing/outage.ts'
import { EnvelopePeer } from './testing/peer.ts'
import { memoryPair } from './transport/memory.ts'
import { connectUnix } from './transport/sockets.ts'

const worker: Principal = { id: 'worker', kind: 'agent', scopes: ['node:register', 'shell'] }

const atHead = {
  '/agent/chat': operation(open('query'), input => `chat ${String(input)}`),
  '/agent/tokens': operation(open('subscription'), async function* () {
    yield* ['a', 'b']
  }),
}

/** An operation that does what its caller gives it to do. */
function doing(run: (context: OperationContext) => unknown): OperationRegistry {
  const registry = registryWith(spec('/own/do'), (_input, context) => run(context))
  registry.register(spec('/own/name'), () => 'own')
  return registry
}

test('CALL-T79 a handler of a worker calls the head and other workers through env, and goes on after a loss', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, identity: worker, operations: atHead }, clock)
  const fs = registryWith(spec('/fs/readFile'), input => `the text of ${String(input)}`)
  const results: unknown[] = []
  const registry = doing(async ({ env }) => {
    const tokens = []
    for await (const token of env.subscribe('agent', 'tokens')) tokens.push(token)
    return [
      (await env.invoke('head', 'agent/chat', 1)).unwrap(),
      (await env.invoke('agent', 'chat', 2)).unwrap(),
      (await env.invoke('dev2', 'fs/readFile', 'a')).unwrap(),
      (await env.invoke('own', 'name')).unwrap(),
      tokens,
    ]
  })
  const other = clientOf({ dial: head.dial, clock, registry: fs, register: { node: 'dev2' } })
  const { states } = clientOf({
    dial: head.dial,
    clock,
    registry,
    register: { node: 'dev1' },
    env: peer => ({ bindings: { agent: remote(peer) } }),
  })
  for (let round = 0; round < 2; round++) {
    await Promise.all([states.next('connected'), other.states.next('connected')])
    results.push((await head.node.env.invoke('dev1', 'own/do')).unwrap())
    await head.stop()
    const delays = await Promise.all([states.next('waiting'), other.states.next('waiting')])
    await head.start()
    if (round === 0) clock.advance(Math.max(...delays.map(({ delay }) => delay)))
  }
  const expected = ['chat 1', 'chat 2', 'the text of a', 'own', ['a', 'b']]
  expect(results).toEqual([expected, expected])
})

test('CALL-ENV-03 what is bound to a connection that is not there is unavailable', async () => {
  const registry = new OperationRegistry()
  const node = new CallNode({ registry, env: { bindings: { agent: remote(() => undefined) } } })
  const error = { code: 'UNAVAILABLE', retryable: true }
  expect((await node.env.invoke('agent', 'chat')).result).toMatchObject({ error })
  const values = node.env.subscribe('agent', 'tokens')[Symbol.asyncIterator]()
  await expect(values.next()).rejects.toMatchObject(error)
})

test('CALL-T80 a worker that tightens access, adds or replaces operations tells the head by itself', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, identity: worker }, clock)
  const registry = registryWith(spec('/x/y'), () => 'ok')
  const { states } = clientOf({ dial: head.dial, clock, registry, register: { node: 'dev1' } })
  await states.next('connected')
  const [inside, outside] = memoryPair()
  head.node.attach(inside)
  const stranger = new CallNode({ registry: new OperationRegistry(), clock }).attach(outside)
  await expect(stranger.call('/dev1/x/y')).resolves.toBe('ok')
  registry.register(spec('/x/y', { requiredScopes: ['shell'] }), () => 'secret')
  registry.register(spec('/x/z'), () => 'new')
  await expect.poll(() => listed(stranger)).toContain('/dev1/x/z')
  await expect(stranger.call('/dev1/x/y')).rejects.toMatchObject({ code: 'FORBIDDEN' })
  await expect(stranger.call('/dev1/x/z')).resolves.toBe('new')
  expect(states.all.map(({ kind }) => kind)).toEqual(['connecting', 'connected'])
})

test('CALL-T80 a worker whose head refuses its new operations is not called by its old ones: it closes', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, identity: worker }, clock)
  const registry = doing(() => 1)
  const { states } = clientOf({ dial: head.dial, clock, registry, register: { node: 'dev1' } })
  await states.next('connected')
  head.node.setPathRules([{ pattern: '/*/services/register', access: { requiredScopes: ['vetted'] } }])
  registry.register(spec('/x/y'), () => 'ok')
  expect((await states.next('closed')).reason).toContain('access denied')
  await expect.poll(() => head.node.workers).toEqual([])
})

test('CALL-T80 a head that cannot be told of a change is connected to anew', async () => {
  const clock = new ManualClock()
  const peer = new EnvelopePeer()
  const registry = doing(() => 1)
  const dial = async () => peer.transport
  const { states } = clientOf({ dial, clock, registry, register: { node: 'dev1' } })
  peer.send('call.responded', (await peer.next()).id, {})
  await states.next('connected')
  registry.register(spec('/x/y'), () => 'ok')
  const again = await peer.next()
  expect(again.payload).toMatchObject({ input: { operations: ['/own/do', '/own/name', '/x/y'] } })
  peer.send('call.error', again.id, { code: 'UNAVAILABLE' })
  expect((await states.next('waiting')).reason).toContain('could not be registered again')
})

test('CALL-T81 a client hears and sends one-way events, on every connection that it has', async () => {
  const clock = new ManualClock()
  const server = await Outage.start('unix', {}, clock)
  const { client, states } = clientOf({ dial: server.dial, clock })
  expect(() => client.emit('news', 't', 0)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }))
  const heard: unknown[] = []
  const off = client.on('news', (topic, payload) => heard.push([topic, payload]))
  const atServer: unknown[] = []
  for (const round of ['one', 'two']) {
    await states.next('connected')
    const [link] = server.node.links
    link!.on('news', (topic, payload) => atServer.push([topic, payload]))
    link!.emit('news', 'topic', round)
    client.emit('news', '', round)
    await expect.poll(() => [heard.at(-1), atServer.at(-1)].flat()).toEqual(['topic', round, '', round])
    server.cut()
    clock.advance((await states.next('waiting')).delay)
  }
  await states.next('connected')
  off()
  client.on('end', () => heard.push('end'))
  const [link] = server.node.links.slice(-1)
  link!.emit('news', 'topic', 'three')
  link!.emit('end', '', null)
  await expect.poll(() => heard.at(-1)).toBe('end')
  expect(heard).toHaveLength(3)
})

const Text = Type.Object({ text: Type.String() })
const After = Type.Union([Type.Object({ after: Type.Integer() }), Type.Null()])
const named = open('query', Type.Null(), Type.String())

function todo() {
  const items: string[] = []
  return {
    '/todo/add': operation(open('mutation', Text, Type.Integer()), ({ text }) => items.push(text)),
    '/todo/list': operation(open('query', Type.Null(), Type.Array(Type.String())), () => items),
    '/todo/clear': operation(open('mutation', Type.Null(), Type.Null()), () => {
      items.length = 0
    }),
    '/todo/watch': operation(open('subscription', After, Type.String()), async function* (input) {
      yield* items.slice(input?.after ?? 0)
    }),
    '/link/name': operation(named, () => 'a service called like a member'),
    '/name/call': operation(named, () => 'called like members of functions'),
  }
}
type Todo = ReturnType<typeof todo>
const text = {
  '/text/count': operation(open('query', Text, Type.Integer()), ({ text: given }) => given.split(' ').length),
}
type Everything = Todo & RoutedOperations<'dev1', typeof text>

async function connected() {
  const clock = new ManualClock()
  const server = await Outage.start('unix', { operations: todo(), head: true, identity: worker }, clock)
  const registry = new OperationRegistry(text)
  const { states } = clientOf({ dial: server.dial, clock, registry, register: { node: 'dev1' } })
  await states.next('connected')
  return clientOf<Everything>({ dial: server.dial, clock }).client
}

test('operations are members of a client: calls, subscriptions, and those of a worker behind a head', async () => {
  const client = await connected()
  expect(await client.todo.add({ text: 'buy bread' })).toBe(1)
  expect(await client.todo.add({ text: 'bake bread' }, { timeout: 1000 })).toBe(2)
  expect(await client.todo.list()).toEqual(['buy bread', 'bake bread'])
  expect(await collect(client.streams.todo.watch())).toEqual(['buy bread', 'bake bread'])
  expect(await collect(client.streams.todo.watch({ after: 1 }))).toEqual(['bake bread'])
  expect(await client.dev1.text.count({ text: 'one two' })).toBe(2)
  expect(await client.todo.clear()).toBeNull()
  expect(await client.name.call()).toBe('called like members of functions')
  await expect(client.todo.add({ text: 5 } as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(client.todo.add({ text: 'a' }, { timeout: -1 })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('what a client has itself is not hidden by a service, and a client is awaited and printed like anything else', async () => {
  const client = await connected()
  expect(await client.call('link', 'name')).toBe('a service called like a member')
  await client.ready()
  expect(client.link!.closed).toBe(false)
  expect(await client).toBe(client)
  expect(await client.todo).toBeTypeOf('function')
  expect(inspect(client)).toContain('Client')
  expect(JSON.stringify({ client })).toBe('{"client":{}}')
  expect(String(client)).toBe('[object Object]')
  expect(client).toBeInstanceOf(Object)
})

test('no input is given where null is one: by name, by member, and with options behind it', async () => {
  const client = await connected()
  expect((await client.invoke('todo', 'list')).result).toEqual({ ok: true, value: [] })
  expect(await client.call('todo', 'list', undefined, { timeout: 1000 })).toEqual([])
  expect(await collect(client.subscribe('todo', 'watch'))).toEqual([])
})

test('the compiler knows members, inputs and outputs from the map of operations', () => {
  type Known = ConnectedClient<Everything>
  expectTypeOf<Known['todo']['add']>().returns.resolves.toEqualTypeOf<number>()
  expectTypeOf<Parameters<Known['todo']['add']>[0]>().toEqualTypeOf<{ readonly text: string }>()
  expectTypeOf<Known['dev1']['text']['count']>().returns.resolves.toEqualTypeOf<number>()
  expectTypeOf<ReturnType<Known['streams']['todo']['watch']>>().toEqualTypeOf<AsyncIterable<string>>()
  const wrong = (client: Known, unknown: ConnectedClient) => [
    // @ts-expect-error no such service
    client.done.add({ text: 'a' }),
    // @ts-expect-error no such operation
    client.todo.remove({ text: 'a' }),
    // @ts-expect-error not its input
    client.todo.add({ text: 5 }),
    // @ts-expect-error its input is missing
    client.todo.add(),
    // @ts-expect-error its input is missing, by name too
    client.call('todo', 'add'),
    // @ts-expect-error a subscription is no call
    client.todo.watch(),
    // @ts-expect-error a query is no subscription
    client.streams.todo.list(),
    // @ts-expect-error no such operation of the worker
    client.call('dev1', 'text/split', { text: 'a' }),
    // @ts-expect-error nothing is known of the operations
    unknown.todo.add({ text: 'a' }),
    client.call('dev1', 'text/count', { text: 'a' }),
  ]
  expectTypeOf(wrong).toBeFunction()
})

test('the path of an operation is written once, as its key; a name that says otherwise is refused', () => {
  const registry = new OperationRegistry(text)
  expect(registry.find('/text/count')?.spec.name).toBe('/text/count')
  const { spec, handler } = text['/text/count']
  const named = { '/text/count': { spec: { ...spec, name: '/text/count' }, handler } }
  expect(new OperationRegistry(named).find('/text/count')?.path).toBe('/text/count')
  const other = { '/text/count': { spec: { ...spec, name: '/text/size' }, handler } }
  expect(() => new OperationRegistry(other)).toThrow('the operation /text/size is filed as /text/count')
})

const LOST = { code: 'INTERNAL', message: 'connection closed', retryable: false }

const SERVER = `
import { CallNode, listenUnix, OperationRegistry, operation } from '@parley/call'
import { Type } from '@parley/core'
const open = { inputSchema: Type.Unknown(), outputSchema: Type.Unknown(), accessControl: {} }
const registry = new OperationRegistry({
  '/test/pid': operation({ ...open, name: '/test/pid', opType: 'query' }, () => process.pid),
  '/test/hold': operation({ ...open, name: '/test/hold', opType: 'mutation' }, () => {
    console.log('held')
    return new Promise(() => {})
  }),
})
const node = new CallNode({ registry })
await listenUnix(process.argv[1], transport => node.attach(transport))
console.log('up')
`

/** A script on its own, with the lines that it prints. */
function script(source: string, ...args: string[]) {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--conditions=parley-source',
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '-e',
      source,
      ...args,
    ],
    { cwd: import.meta.dirname, stdio: ['ignore', 'pipe', 'inherit'] },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  return { child, line: async () => (await lines.next()).value as string }
}

test('a server process that is killed with SIGKILL in the middle of a call is survived', async () => {
  const path = temporaryPath()
  const first = script(SERVER, path)
  expect(await first.line()).toBe('up')
  const client = connectClient({ dial: () => connectUnix(path), backoff: { most: 100 } })
  onTestFinished(() => client.close())
  expect(await client.call('test', 'pid', null)).toBe(first.child.pid)
  const held = client.invoke('test', 'hold', null)
  expect(await first.line()).toBe('held')
  const gone = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  expect((await held).result).toMatchObject({ ok: false, error: LOST })
  // Until then its socket may still take a connection.
  await gone
  const waits = client.call('test', 'pid', null)
  const second = script(SERVER, path)
  expect(await waits).toBe(second.child.pid)
})

test('a client that cannot connect keeps its process alive for what waits, and no longer', async () => {
  const source = `
    import { connectClient, connectUnix } from '@parley/call'
    const client = connectClient({
      dial: () => connectUnix(process.argv[1]),
      onState: ({ kind }) => console.log(kind),
      backoff: { base: 1e9, most: 1e9 },
    })
    const { result } = await client.invoke('test', 'echo', 1, { timeout: 100 })
    console.log(result.error.code)
  `
  const { child, line } = script(source, temporaryPath())
  const ended = once(child, 'exit')
  expect(await line()).toBe('connecting')
  expect(await line()).toBe('waiting')
  expect(await line()).toBe('UNAVAILABLE')
  expect(await ended).toEqual([0, null])
})
