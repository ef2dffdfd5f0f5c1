// Operations as members of a client, and what the compiler knows of them. Calls by name are in client.worker.test.ts.
import { inspect } from 'node:util'
import { ManualClock, type Principal, Type } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import type { ConnectedClient } from './client.ts'
import { operation, type RoutedOperations } from './operation.ts'
import { OperationRegistry } from './registry.ts'
import { collect } from './testing/head.ts'
import { clientOf, Outage } from './testing/outage.ts'

const open = { accessControl: {} }
const Text = Type.Object({ text: Type.String() })

function todo() {
  const items: string[] = []
  return {
    '/todo/add': operation(
      { ...open, opType: 'mutation', inputSchema: Text, outputSchema: Type.Integer() },
      ({ text }) => items.push(text),
    ),
    '/todo/list': operation(
      { ...open, opType: 'query', inputSchema: Type.Null(), outputSchema: Type.Array(Type.String()) },
      () => items,
    ),
    '/todo/clear': operation(
      { ...open, opType: 'mutation', inputSchema: Type.Null(), outputSchema: Type.Null() },
      () => {
        items.length = 0
      },
    ),
    '/todo/watch': operation(
      {
        ...open,
        opType: 'subscription',
        inputSchema: Type.Union([Type.Object({ after: Type.Integer() }), Type.Null()]),
        outputSchema: Type.String(),
      },
      async function* (input) {
        yield* items.slice(input?.after ?? 0)
      },
    ),
    '/link/name': operation(
      { ...open, opType: 'query', inputSchema: Type.Null(), outputSchema: Type.String() },
      () => 'a service called like a member',
    ),
    '/name/call': operation(
      { ...open, opType: 'query', inputSchema: Type.Null(), outputSchema: Type.String() },
      () => 'called like members of functions',
    ),
  }
}
type Todo = ReturnType<typeof todo>
const text = {
  '/text/count': operation(
    { ...open, opType: 'query', inputSchema: Text, outputSchema: Type.Integer() },
    ({ text: given }) => given.split(' ').length,
  ),
}
type Everything = Todo & RoutedOperations<'dev1', typeof text>

async function connected() {
  const clock = new ManualClock()
  const worker: Principal = { id: 'worker', kind: 'agent', scopes: ['node:register'] }
  const server = await Outage.start('unix', { operations: todo(), head: true, identity: worker }, clock)
  const { states } = clientOf({
    dial: server.dial,
    clock,
    registry: new OperationRegistry(text),
    register: { node: 'dev1' },
  })
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
  await expect(client.todo.add({ text: 'a' }, { timeout: -1 })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
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
