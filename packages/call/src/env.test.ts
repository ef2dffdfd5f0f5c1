// Calls through env (CALL-ENV), and when a request must be done (CALL-CTX-01, CALL-CTX-03) on this node and on all that
// it calls. That where an operation runs is a matter of assembly is tested in env.path.test.ts.
import { ManualClock, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationContext } from './context.ts'
import { EnvAssembly } from './env.ts'
import { CallError } from './error.ts'
import { CallNode } from './node.ts'
import { OperationRegistry } from './registry.ts'
import type { ResponseEnvelope } from './response.ts'
import { remote } from './routing/remote.ts'
import { local } from './serve.ts'
import { gate, principal, registryWith, spec, TestHead } from './testing/head.ts'

/** What an env tells of a call, as plain data: an Error compares by its message only. */
function resultOf({ result }: ResponseEnvelope) {
  if (result.ok) return result
  const { code, message, retryable, details } = result.error
  return { ok: false, code, message, retryable, details }
}

test('CALL-ENV-06 in strict mode a local call refuses what would not survive the wire, with the code that the wire gives', async () => {
  const results: Record<string, unknown> = {
    map: new Map([['a', 1]]),
    bytes: new Uint8Array(3),
    big: 5n,
    nan: Number.NaN,
    nothing: undefined,
  }
  const registry = registryWith(spec('/shop/get'), input => results[String(input)])
  registry.register(spec('/shop/put'), () => 'done')
  const link = await new TestHead({ registry }).join()
  const env = new EnvAssembly({ bindings: { shop: local(registry, { strict: true }), far: remote(link) } }).root
  const invoke = async (op: string, input: unknown) => [
    resultOf(await env.invoke('shop', op, input)),
    resultOf(await env.invoke('far', `shop/${op}`, input)),
  ]
  for (const name of Object.keys(results)) {
    const [near, far] = await invoke('get', name)
    expect(near, name).toEqual(far)
    expect(near, name).toMatchObject(name === 'nothing' ? { ok: true, value: null } : { code: 'INTERNAL' })
  }
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  for (const input of [new Map(), 5n, Number.NaN, { deep: [new Uint8Array(1)] }, cycle])
    for (const refused of await invoke('put', input))
      expect(refused).toMatchObject({ ok: false, code: 'INVALID_INPUT' })
})

test('CALL-ENV-03 without strict mode, values of local calls are passed by reference', async () => {
  const registry = registryWith(spec('/test/echo'), input => input)
  const env = new EnvAssembly({ fallback: local(registry) }).root
  const value = new Map()
  expect((await env.invoke('test', 'echo', value)).unwrap()).toBe(value)
})

test('CALL-T52 nothing is bound to the namespace, or the name cannot be a path', async () => {
  const env = new EnvAssembly({ bindings: { test: local(new OperationRegistry()) } }).root
  for (const [namespace, op, code] of [
    ['other', 'op', 'NOT_FOUND'],
    ['', 'op', 'INVALID_INPUT'],
    ['test', '', 'INVALID_INPUT'],
    ['te st', 'op', 'INVALID_INPUT'],
    ['test', 'a/b/c', 'INVALID_INPUT'],
  ] as const)
    expect(resultOf(await env.invoke(namespace, op)), `${namespace} ${op}`).toMatchObject({ ok: false, code })
})

test('CALL-T52 calls nest 32 deep and no deeper', async () => {
  let deepest = 0
  const registry = registryWith(spec('/test/nest'), async (input, { env }) => {
    const level = input as number
    deepest = Math.max(deepest, level)
    return env.invoke('test', 'nest', level + 1)
  })
  const link = await new TestHead({ registry }).join()
  await expect(link.call('/test/nest', 0)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: false })
  expect(deepest).toBe(32)
})

test('CALL-ENV-01 invoke does not reject, whatever an operation does', async () => {
  const registry = registryWith(spec('/test/sync'), () => {
    throw new Error('at once')
  })
  registry.register(spec('/test/async'), () => Promise.reject(new Error('later')))
  registry.register(spec('/test/odd'), () => Promise.reject(null))
  const env = new EnvAssembly({ fallback: local(registry) }).root
  for (const [op, message] of [
    ['sync', 'at once'],
    ['async', 'later'],
    ['odd', 'null'],
  ] as const) {
    const answer = await env.invoke('test', op)
    expect(resultOf(answer)).toMatchObject({ ok: false, code: 'INTERNAL', message })
    expect(() => answer.unwrap()).toThrow(CallError)
  }
})

test('CALL-ENV-03 a key has one binding: the namespace of discovery cannot be bound again', () => {
  const registry = new OperationRegistry()
  const bind = (key: string) => new CallNode({ registry, env: { bindings: { [key]: local(registry) } } })
  expect(() => bind('services')).toThrow(TypeError)
  expect(() => bind('other')).not.toThrow()
})

test('CALL-ENV-07 namespaces that are not allowed do not exist', async () => {
  const registry = registryWith(spec('/open/it'), () => 1)
  registry.register(spec('/shut/it'), () => 2)
  const env = new EnvAssembly({ fallback: local(registry), allowedNamespaces: ['open'] }).root
  expect((await env.invoke('open', 'it')).unwrap()).toBe(1)
  expect(resultOf(await env.invoke('shut', 'it'))).toMatchObject({ code: 'NOT_FOUND' })
})

test('CALL-ENV-04 a nested call over a link carries its parent, metadata and deadline, and ends with its parent', async () => {
  const begun = gate<unknown>()
  const aborted = gate()
  const far = registryWith(spec('/far/wait'), (_input, { parentRequestId, metadata, deadline, trusted, signal }) => {
    signal.addEventListener('abort', () => aborted.open())
    begun.open({ parentRequestId, metadata, deadline, trusted })
    return new Promise(() => undefined)
  })
  const link = await new TestHead({ registry: far }).join()
  const near = registryWith(
    spec('/near/go'),
    async (_input, { env }) => (await env.invoke('far', 'far/wait')).result.ok,
  )
  const peer = await new TestHead({ registry: near, env: { bindings: { far: remote(link) } } }).peer()
  const deadline = Date.now() + 20_000
  peer.send('call.requested', 'outer', { name: '/near/go', metadata: { a: 1 }, deadline })
  expect(await begun.opened).toEqual({ parentRequestId: 'outer', metadata: { a: 1 }, deadline, trusted: false })
  peer.send('call.aborted', 'outer')
  await aborted.opened
  expect(peer.received).toEqual([])
})

const NOW = 1_000_000
const clockAt = (ms: number) => new ManualClock((ms * 1000) as Ticks)

test.each([{}, { auth_token: 'unknown' }])(
  'CALL-T77 a query or mutation without a deadline has 30 s at its handler, a subscription has none (%j)',
  async extra => {
    const clock = clockAt(NOW)
    const seen: OperationContext[] = []
    const begun = gate()
    const registry = registryWith(spec('/test/wait'), (_input, context) => {
      seen.push(context)
      begun.open()
      return new Promise(() => undefined)
    })
    registry.register(spec('/test/ticks', {}, 'subscription'), async function* (_input, context) {
      seen.push(context)
      yield 1
      await new Promise(() => undefined)
    })
    const identities = { byFingerprint: async () => undefined, byToken: async () => undefined }
    const peer = await new TestHead({ registry, clock, identities }).peer()
    peer.send('call.requested', 's1', { name: '/test/ticks', ...extra })
    expect(await peer.next()).toMatchObject({ id: 's1', payload: 1 })
    peer.send('call.requested', 'c1', { name: '/test/wait', ...extra })
    await begun.opened
    expect(seen.map(({ deadline }) => deadline)).toEqual([undefined, NOW + 30_000])
    await new Promise(resolve => setImmediate(resolve))
    clock.advance(29_999)
    expect(seen[1]?.signal.aborted).toBe(false)
    clock.advance(1)
    expect(await peer.next()).toMatchObject({ type: 'call.error', id: 'c1', payload: { code: 'TIMEOUT' } })
    expect(seen.map(({ signal }) => signal.aborted)).toEqual([false, true])
  },
)

test('CALL-T78 the allowance for a slow clock holds for nested calls and for workers', async () => {
  const clock = clockAt(NOW)
  const inner = registryWith(spec('/inner/op'), (_input, { deadline }) => deadline)
  const registry = registryWith(spec('/own/op'), (_input, { deadline }) => deadline)
  registry.register(spec('/own/nested'), async (_input, { env }) => (await env.invoke('own', 'op')).unwrap())
  registry.register(spec('/own/far'), async (_input, { env }) => (await env.invoke('inner', 'op')).unwrap())
  const far = await new TestHead({ registry: inner, clock }).join()
  const head = new TestHead({ registry, clock, env: { bindings: { inner: remote(far) } } })
  await head.worker('dev1', { registry: inner })
  const peer = await head.peer(principal('client'))
  for (const name of ['/own/op', '/own/nested', '/own/far', '/dev1/inner/op']) {
    peer.send('call.requested', name, { name, deadline: NOW - 1000 })
    expect(await peer.next()).toEqual({ type: 'call.responded', id: name, payload: NOW + 4000 })
  }
})
