// A client as a worker that heals, and what the compiler knows of its calls.
import { ManualClock, type Principal, Type } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import type { Client } from './client.ts'
import type { ResponseEnvelope } from './index.ts'
import { operation } from './operation.ts'
import { OperationRegistry } from './registry.ts'
import { clientOf, Outage } from './testing/outage.ts'

const half = () => 0.5
const worker: Principal = { id: 'worker', kind: 'agent', scopes: ['node:register'] }
const stranger: Principal = { id: 'stranger', kind: 'agent', scopes: [] }

const fs = {
  '/fs/read': operation(
    {
      name: '/fs/read',
      opType: 'query',
      inputSchema: Type.Object({ path: Type.String() }),
      outputSchema: Type.String(),
      accessControl: {},
    },
    ({ path }) => `the text of ${path}`,
  ),
  '/fs/remove': operation(
    {
      name: '/fs/remove',
      opType: 'mutation',
      inputSchema: Type.Object({ path: Type.String() }),
      outputSchema: Type.Null(),
      accessControl: {},
    },
    () => null,
  ),
  '/fs/watch': operation(
    {
      name: '/fs/watch',
      opType: 'subscription',
      inputSchema: Type.Object({ path: Type.String(), after: Type.Optional(Type.Integer()) }),
      outputSchema: Type.Object({ version: Type.Integer() }),
      accessControl: {},
    },
    async function* ({ after = 0 }) {
      yield { version: after + 1 }
    },
  ),
}
const secret = operation(
  {
    name: '/fs/secret',
    opType: 'query',
    visibility: 'internal',
    inputSchema: Type.Null(),
    outputSchema: Type.Null(),
    accessControl: {},
  },
  () => null,
)

test.each(['unix', 'tcp'] as const)(
  'CALL-ROUTE-06: a worker is registered before it is connected, and again after every loss (%s)',
  async kind => {
    const clock = new ManualClock()
    const head = await Outage.start(kind, { head: true, identity: worker }, clock)
    const seen: string[][] = []
    const { states } = clientOf({
      dial: head.dial,
      clock,
      random: half,
      registry: new OperationRegistry({ ...fs, '/fs/secret': secret }),
      register: { node: 'dev1' },
      onState: ({ kind }) => {
        if (kind === 'connected') seen.push([...head.node.workers])
      },
    })
    const { client } = clientOf({ dial: head.dial, clock, random: () => 0 })
    await states.next('connected')
    expect(await client.call('dev1', 'fs/read', { path: 'a' })).toBe('the text of a')
    const listed = (await client.call('services', 'list', {})) as { operations: { name: string }[] }
    expect(listed.operations.map(({ name }) => name).filter(name => name.startsWith('/dev1/'))).toEqual([
      '/dev1/fs/read',
      '/dev1/fs/remove',
      '/dev1/fs/watch',
    ])
    const hidden = await client.invoke('dev1', 'fs/secret', null)
    expect(hidden.result).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } })
    for (let round = 0; round < 3; round++) {
      await head.stop()
      const { delay } = await states.next('waiting')
      expect(head.node.workers).toEqual([])
      await head.start()
      clock.advance(delay)
      await states.next('connected')
      expect(await client.call('dev1', 'fs/read', { path: `${round}` })).toBe(`the text of ${round}`)
    }
    expect(seen).toEqual([['dev1'], ['dev1'], ['dev1'], ['dev1']])
  },
)

test('a worker that the head refuses is not connected, says why, and tries again', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, alias: 'main', identity: stranger }, clock)
  const register = { node: 'dev1', head: 'main' }
  const { client, states } = clientOf({ dial: head.dial, clock, random: half, register, maxAttempts: 2 })
  const { attempt, delay, reason } = await states.next('waiting')
  expect({ attempt, delay, reason }).toEqual({ attempt: 2, delay: 50, reason: 'access denied' })
  await expect.poll(() => head.node.links).toEqual([])
  clock.advance(delay)
  expect((await states.next('closed')).reason).toBe('no connection after 2 attempts: access denied')
  expect(states.all.map(({ kind }) => kind)).not.toContain('connected')
  expect(client.link).toBeUndefined()
})

test('CALL-EVT-02: a client that does not know how its peer spells finds out before its first call', async () => {
  const clock = new ManualClock()
  const server = await Outage.start('tcp', { operations: fs }, clock)
  const { client } = clientOf<typeof fs>({ dial: server.dial, clock, profile: 'auto' })
  expect(await client.call('fs', 'read', { path: 'a' })).toBe('the text of a')
})

test('the compiler knows services, operations, inputs and outputs from the map of operations', async () => {
  const server = await Outage.start('unix', { operations: fs }, new ManualClock())
  const { client } = clientOf<typeof fs>({ dial: server.dial, clock: server.clock })
  const answer = await client.invoke('fs', 'read', { path: 'a' })
  expectTypeOf(answer).toEqualTypeOf<ResponseEnvelope<string>>()
  expectTypeOf(await client.call('fs', 'remove', { path: 'a' })).toEqualTypeOf<null>()
  for await (const value of client.subscribe(
    'fs',
    'watch',
    { path: 'a' },
    {
      resume: {
        cursor: ({ version }) => version,
        input: (input, after) => ({ ...input, after: Number(after) }),
      },
    },
  ))
    expectTypeOf(value).toEqualTypeOf<{ version: number }>()
  expectTypeOf<Parameters<Client<typeof fs>['describe']>>().toEqualTypeOf<[service: string, op: string]>()

  const wrong = () => [
    // @ts-expect-error no such service
    client.invoke('net', 'read', { path: 'a' }),
    // @ts-expect-error no such operation
    client.invoke('fs', 'write', { path: 'a' }),
    // @ts-expect-error not its input
    client.invoke('fs', 'read', { path: 5 }),
    // @ts-expect-error a subscription is no call
    client.call('fs', 'watch', { path: 'a' }),
    // @ts-expect-error a query is no subscription
    client.subscribe('fs', 'read', { path: 'a' }),
  ]
  expectTypeOf(wrong).toBeFunction()
})

test('the compiler lets a client call anything that was told nothing of its operations, routed ones too', () => {
  const anything = (client: Client) => client.call('dev1', 'fs/read', { path: 'a' })
  expectTypeOf(anything).returns.resolves.toBeUnknown()
  const routed = (client: Client<{ '/dev1/fs/read': (typeof fs)['/fs/read'] }>) =>
    client.call('dev1', 'fs/read', { path: 'a' })
  expectTypeOf(routed).returns.resolves.toBeString()
})
