// A client as a worker that heals, and what the compiler knows of its calls.
import { ManualClock, type Principal, Type } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import type { Client } from './client.ts'
import type { ResponseEnvelope } from './index.ts'
import { operation } from './operation.ts'
import { OperationRegistry } from './registry.ts'
import { listed, open } from './testing/head.ts'
import { clientOf, Outage, serverAndClient } from './testing/outage.ts'
import type { Transport } from './transport/transport.ts'

const worker: Principal = { id: 'worker', kind: 'agent', scopes: ['node:register'] }
const stranger: Principal = { id: 'stranger', kind: 'agent', scopes: [] }

const Path = Type.Object({ path: Type.String() })
const Watched = Type.Object({ path: Type.String(), after: Type.Optional(Type.Integer()) })
const Version = Type.Object({ version: Type.Integer() })
const fs = {
  '/fs/read': operation(open('query', Path, Type.String()), ({ path }) => `the text of ${path}`),
  '/fs/remove': operation(open('mutation', Path, Type.Null()), () => null),
  '/fs/watch': operation(open('subscription', Watched, Version), async function* ({ after = 0 }) {
    yield { version: after + 1 }
  }),
}
const secret = operation({ ...open('query', Type.Null(), Type.Null()), visibility: 'internal' }, () => null)

test.each(['unix', 'tcp'] as const)(
  'CALL-ROUTE-06: a worker is registered before it is connected, and again after every loss (%s)',
  async kind => {
    const clock = new ManualClock()
    const head = await Outage.start(kind, { head: true, identity: worker }, clock)
    const seen: string[][] = []
    const { states } = clientOf({
      dial: head.dial,
      clock,
      registry: new OperationRegistry({ ...fs, '/fs/secret': secret }),
      register: { node: 'dev1' },
      onState: ({ kind }) => {
        if (kind === 'connected') seen.push([...head.node.workers])
      },
    })
    const { client } = clientOf({ dial: head.dial, clock, random: () => 0 })
    await states.next('connected')
    expect(await client.call('dev1', 'fs/read', { path: 'a' })).toBe('the text of a')
    const offered = (await listed(client.link!)).filter(name => name.startsWith('/dev1/'))
    expect(offered).toEqual(['read', 'remove', 'watch'].map(op => `/dev1/fs/${op}`))
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

test('a worker that is refused for good is not connected, says why, and does not dial again', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, alias: 'main', identity: stranger }, clock)
  for (const [register, why] of [
    [{ node: 'dev1', head: 'main' }, 'access denied'],
    [{ node: 'dev1', head: 'other' }, 'operation not found: /other/services/register'],
  ] as const) {
    const { client, states } = clientOf({ dial: head.dial, clock, register })
    const call = client.invoke('test', 'echo', 1)
    expect((await states.next('closed')).reason).toBe(`the head does not accept dev1: ${why}`)
    expect(states.all.map(({ kind }) => kind)).toEqual(['connecting', 'closed'])
    expect((await call).result).toMatchObject({ error: { code: 'UNAVAILABLE' } })
    await expect.poll(() => head.node.links).toEqual([])
    const dialled = head.accepted
    clock.advance(3_600_000)
    await Promise.resolve()
    expect([head.accepted, client.state.kind]).toEqual([dialled, 'closed'])
  }
})

test('a worker whose alias is taken, and one whose link is lost while it registers, dial again', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, identity: worker }, clock)
  const taken = await Outage.start('unix', { head: true, identity: { ...worker, id: 'other' } }, clock)
  const registry = new OperationRegistry(fs)
  const holder = clientOf({ dial: head.dial, clock, registry, register: { node: 'dev1' } })
  await holder.states.next('connected')
  // Another identity at the same head.
  const attach = (transport: Transport) => void head.node.attach(transport)
  taken.accept = attach
  const second = clientOf({ dial: taken.dial, clock, registry, register: { node: 'dev1' } })
  const { delay, reason } = await second.states.next('waiting')
  expect(reason).toBe('the alias dev1 is taken')
  holder.client.close()
  await expect.poll(() => head.node.workers).toEqual([])
  clock.advance(delay)
  await second.states.next('connected')
  expect(head.node.workers).toEqual(['dev1'])
})

test('CALL-ROUTE-06: a worker whose alias another one of its identity takes is closed, is told why, and does not take it back', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('tcp', { head: true, identity: worker }, clock)
  const registry = new OperationRegistry(fs)
  const options = { dial: head.dial, clock, registry, register: { node: 'dev1' } }
  const older = clientOf(options)
  await older.states.next('connected')
  const newer = clientOf(options)
  await newer.states.next('connected')
  const { reason } = await older.states.next('closed')
  expect(reason).toBe('another worker of the same identity has registered as dev1')
  expect(older.states.all.map(({ kind }) => kind)).toEqual(['connecting', 'connected', 'closed'])
  const call = await older.client.invoke('test', 'echo', 1)
  expect(call.result).toMatchObject({ error: { code: 'UNAVAILABLE', message: expect.stringContaining(reason) } })
  clock.advance(3_600_000)
  await Promise.resolve()
  expect([head.accepted, head.node.workers, newer.client.state.kind]).toEqual([2, ['dev1'], 'connected'])
})

test('CALL-EVT-02: a client that does not know how its peer spells finds out before its first call', async () => {
  const { client } = await serverAndClient('tcp', fs, { profile: 'auto' })
  expect(await client.call('fs', 'read', { path: 'a' })).toBe('the text of a')
})

test('the compiler knows services, operations, inputs and outputs from the map of operations', async () => {
  const server = await Outage.start('unix', { operations: fs }, new ManualClock())
  const { client } = clientOf<typeof fs>({ dial: server.dial, clock: server.clock })
  const answer = await client.invoke('fs', 'read', { path: 'a' })
  expectTypeOf(answer).toEqualTypeOf<ResponseEnvelope<string>>()
  expectTypeOf(await client.call('fs', 'remove', { path: 'a' })).toEqualTypeOf<null>()
  const values = client.subscribe(
    'fs',
    'watch',
    { path: 'a' },
    { resume: { cursor: ({ version }) => version, input: (input, after) => ({ ...input, after: Number(after) }) } },
  )
  for await (const value of values) expectTypeOf(value).toEqualTypeOf<{ version: number }>()
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
