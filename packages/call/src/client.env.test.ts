// What the handlers of a client reach, and what a head and a client learn from each other while the connection lasts.
import { ManualClock, type Principal } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationContext } from './context.ts'
import { CallNode } from './node.ts'
import { OperationRegistry } from './registry.ts'
import { remote } from './routing/remote.ts'
import { listed, spec } from './testing/head.ts'
import { clientOf, Outage } from './testing/outage.ts'
import { EnvelopePeer } from './testing/peer.ts'
import { memoryPair } from './transport/memory.ts'

const half = () => 0.5
const worker: Principal = { id: 'worker', kind: 'agent', scopes: ['node:register', 'shell'] }

const any = (name: string) => ({ ...spec(name), name })
const atHead = {
  '/agent/chat': { spec: any('/agent/chat'), handler: (input: unknown) => `chat ${String(input)}` },
  '/agent/tokens': {
    spec: { ...any('/agent/tokens'), opType: 'subscription' as const },
    async *handler() {
      yield* ['a', 'b']
    },
  },
}

/** An operation that does what its caller gives it to do. */
function doing(run: (context: OperationContext) => unknown): OperationRegistry {
  const registry = new OperationRegistry()
  registry.register(spec('/own/do'), (_input, context) => run(context))
  registry.register(spec('/own/name'), () => 'own')
  return registry
}

test('CALL-T79 a handler of a worker calls the head and other workers through env, and goes on after a loss', async () => {
  const clock = new ManualClock()
  const head = await Outage.start('unix', { head: true, identity: worker, operations: atHead }, clock)
  const fs = new OperationRegistry()
  fs.register(spec('/fs/readFile'), input => `the text of ${String(input)}`)
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
  const other = clientOf({ dial: head.dial, clock, random: half, registry: fs, register: { node: 'dev2' } })
  const { states } = clientOf({
    dial: head.dial,
    clock,
    random: half,
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
  const registry = new OperationRegistry()
  registry.register(spec('/x/y'), () => 'ok')
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
  const { states } = clientOf({ dial: head.dial, clock, random: half, registry, register: { node: 'dev1' } })
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
  const { states } = clientOf({ dial, clock, random: half, registry, register: { node: 'dev1' } })
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
  const { client, states } = clientOf({ dial: server.dial, clock, random: half })
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
    await expect
      .poll(() => [heard.at(-1), atServer.at(-1)])
      .toEqual([
        ['topic', round],
        ['', round],
      ])
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
