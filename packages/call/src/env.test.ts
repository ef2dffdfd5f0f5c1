import { ManualClock, Type } from '@parley/core'
import { expect, test, vi } from 'vitest'
import { EnvAssembly } from './env.ts'
import { CallError } from './error.ts'
import { CallNode } from './node.ts'
import { OperationRegistry } from './registry.ts'
import type { ResponseEnvelope } from './response.ts'
import { remote } from './routing/remote.ts'
import { local } from './serve.ts'
import { collect, gate, spec, TestHead } from './testing/head.ts'

/** What an env tells of a call, as plain data: an Error compares by its message only. */
function resultOf({ result }: ResponseEnvelope) {
  if (result.ok) return result
  const { code, message, retryable, details } = result.error
  return { ok: false, code, message, retryable, details }
}

/** One registry, reached in this process and over a socket: `invoke('shop', op)` and `invoke('far', 'shop/' + op)`. */
async function bothWays(registry: OperationRegistry, clock = new ManualClock(), strict = false) {
  const link = await new TestHead({ registry, clock }).join()
  const env = new EnvAssembly({
    bindings: { shop: local(registry, { strict }), far: remote(link) },
    clock,
  }).root
  return {
    env,
    clock,
    invoke: async (op: string, input: unknown, deadline?: number) => {
      const options = deadline === undefined ? {} : { deadline }
      const near = await env.invoke('shop', op, input, options)
      const far = await env.invoke('far', `shop/${op}`, input, options)
      return [resultOf(near), resultOf(far)]
    },
  }
}

function shop(): OperationRegistry {
  const registry = new OperationRegistry()
  registry.register(
    {
      ...spec('/shop/buy', { requiredScopesAny: [] }, 'mutation'),
      inputSchema: Type.Object({ item: Type.String() }),
    },
    async input => {
      const { item } = input as { item: string }
      if (item === 'unicorn')
        throw new CallError('SOLD_OUT', `no ${item} left`, { retryable: true, details: { item, left: 0 } })
      if (item === 'nothing') return null
      return { item, parts: [1, 2.5, 'x', null, { deep: true }] }
    },
  )
  return registry
}

test('CALL-T51 an operation gives the same results on the local path and on the remote path (of the three paths, these two are compared)', async () => {
  const { invoke } = await bothWays(shop())
  for (const item of ['tea', 'ä', 'nothing']) {
    const [near, far] = await invoke('buy', { item })
    expect(near).toMatchObject({ ok: true })
    expect(far).toEqual(near)
  }
  for (let time = 0; time < 3; time++) {
    const [near, far] = await invoke('buy', { item: 'unicorn' })
    expect(near).toEqual({
      ok: false,
      code: 'SOLD_OUT',
      message: 'no unicorn left',
      retryable: true,
      details: { item: 'unicorn', left: 0 },
    })
    expect(far).toEqual(near)
  }
})

test('CALL-ENV-06 failures of the protocol are the same on the local and on the remote path', async () => {
  const { invoke, clock } = await bothWays(shop())
  for (const [op, input, code] of [
    ['buy', { item: 5 }, 'INVALID_INPUT'],
    ['sell', {}, 'NOT_FOUND'],
    ['buy it', {}, 'INVALID_INPUT'],
  ] as const) {
    const [near, far] = await invoke(op, input)
    expect(near, op).toMatchObject({ ok: false, code, retryable: false })
    expect(far, op).toMatchObject({ ok: false, code, retryable: false })
  }
  const past = await invoke('buy', { item: 'tea' }, clock.now() / 1000 - 1)
  expect(past[0]).toMatchObject({ code: 'TIMEOUT', retryable: true })
  expect(past[1]).toEqual(past[0])
  const endless = await invoke('buy', { item: 'tea' }, Number.POSITIVE_INFINITY)
  expect(endless[0]).toMatchObject({ code: 'INVALID_INPUT' })
  expect(endless[1]).toEqual(endless[0])
})

test.each([
  ['local', 'shop', 'wait'],
  ['remote', 'far', 'shop/wait'],
])('CALL-ENV-06 a deadline ends a call on the %s path, and its handler is told', async (_path, namespace, op) => {
  const registry = new OperationRegistry()
  const begun = gate()
  const told = gate<unknown>()
  registry.register(spec('/shop/wait'), (_input, { signal }) => {
    signal.addEventListener('abort', () => told.open(signal.reason))
    begun.open()
    return new Promise(() => undefined)
  })
  const { env, clock } = await bothWays(registry)
  const answer = env.invoke(namespace, op, null, { deadline: clock.now() / 1000 + 500 })
  await begun.opened
  const early = vi.fn()
  void answer.then(early)
  clock.advance(499)
  await Promise.resolve()
  expect(early).not.toHaveBeenCalled()
  clock.advance(2)
  expect(resultOf(await answer)).toMatchObject({ ok: false, code: 'TIMEOUT', retryable: true })
  expect(await told.opened).toMatchObject({ code: expect.stringMatching('TIMEOUT|ABORTED') })
})

test('CALL-ENV-06 in strict mode a local call refuses what would not survive the wire, with the code that the wire gives', async () => {
  const registry = new OperationRegistry()
  const results: Record<string, unknown> = {
    map: new Map([['a', 1]]),
    bytes: new Uint8Array(3),
    big: 5n,
    nan: Number.NaN,
    nothing: undefined,
  }
  registry.register(spec('/shop/get'), input => results[String(input)])
  registry.register(spec('/shop/put'), () => 'done')
  const { invoke } = await bothWays(registry, new ManualClock(), true)
  for (const name of Object.keys(results)) {
    const [near, far] = await invoke('get', name)
    expect(near, name).toEqual(far)
    expect(near, name).toMatchObject(name === 'nothing' ? { ok: true, value: null } : { code: 'INTERNAL' })
  }
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  for (const input of [new Map(), 5n, Number.NaN, { deep: [new Uint8Array(1)] }, cycle]) {
    const [near, far] = await invoke('put', input)
    expect(near).toMatchObject({ ok: false, code: 'INVALID_INPUT' })
    expect(far).toMatchObject({ ok: false, code: 'INVALID_INPUT' })
  }
})

test('CALL-ENV-03 without strict mode, values of local calls are passed by reference', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/echo'), input => input)
  const env = new EnvAssembly({ fallback: local(registry) }).root
  const value = new Map()
  expect((await env.invoke('test', 'echo', value)).unwrap()).toBe(value)
})

test('CALL-T52 nothing is bound to the namespace: NOT_FOUND; a stream cannot be invoked', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/ticks', {}, 'subscription'), async function* () {
    yield 1
    yield 2
  })
  registry.register(spec('/test/one'), () => 1)
  const env = new EnvAssembly({ bindings: { test: local(registry) } }).root
  expect(resultOf(await env.invoke('other', 'op'))).toMatchObject({
    ok: false,
    code: 'NOT_FOUND',
    message: 'operation not found: /other/op',
  })
  expect(resultOf(await env.invoke('test', 'ticks'))).toMatchObject({
    ok: false,
    code: 'INVALID_OPERATION_TYPE',
    retryable: false,
  })
  // The other way round: a stream is subscribed to, a query is not.
  expect(await collect(env.subscribe('test', 'ticks'))).toEqual([1, 2])
  await expect(collect(env.subscribe('test', 'one'))).rejects.toMatchObject({
    code: 'INVALID_OPERATION_TYPE',
  })
  for (const [namespace, op] of [
    ['', 'op'],
    ['test', ''],
    ['te st', 'op'],
    ['test', 'a/b/c'],
  ] as const)
    expect(resultOf(await env.invoke(namespace, op)), `${namespace} ${op}`).toMatchObject({
      code: 'INVALID_INPUT',
    })
})

test('CALL-T52 calls nest 32 deep and no deeper', async () => {
  const registry = new OperationRegistry()
  let deepest = 0
  registry.register(spec('/test/nest'), async (input, { env }) => {
    const level = input as number
    deepest = Math.max(deepest, level)
    return env.invoke('test', 'nest', level + 1)
  })
  const link = await new TestHead({ registry }).join()
  await expect(link.call('/test/nest', 0)).rejects.toMatchObject({
    code: 'RESOURCE_EXHAUSTED',
    retryable: false,
  })
  expect(deepest).toBe(32)
})

test('CALL-ENV-01 invoke does not reject, whatever an operation does', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/sync'), () => {
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
  const registry = new OperationRegistry()
  registry.register(spec('/open/it'), () => 1)
  registry.register(spec('/shut/it'), () => 2)
  const env = new EnvAssembly({ fallback: local(registry), allowedNamespaces: ['open'] }).root
  expect((await env.invoke('open', 'it')).unwrap()).toBe(1)
  expect(resultOf(await env.invoke('shut', 'it'))).toMatchObject({ code: 'NOT_FOUND' })
})

test('CALL-ENV-03 a key is a namespace here, a node at the other end of a link, or a node behind a head', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/text/upper'), input => String(input).toUpperCase())
  const head = new TestHead({ registry })
  await head.worker('dev1', { registry })
  const client = await head.join()
  for (const [env, namespace, op] of [
    [{ fallback: local(registry) }, 'text', 'upper'],
    [{ bindings: { far: remote(client) } }, 'far', 'text/upper'],
    [{ bindings: { dev1: remote(client, { viaHead: true }) } }, 'dev1', 'text/upper'],
  ] as const)
    expect((await new EnvAssembly(env).root.invoke(namespace, op, 'abc')).unwrap()).toBe('ABC')
})

test('CALL-ENV-04 a nested call over a link carries its parent, metadata and deadline, and ends with its parent', async () => {
  const far = new OperationRegistry()
  const begun = gate<unknown>()
  const aborted = gate()
  far.register(spec('/far/wait'), (_input, { parentRequestId, metadata, deadline, trusted, signal }) => {
    signal.addEventListener('abort', () => aborted.open())
    begun.open({ parentRequestId, metadata, deadline, trusted })
    return new Promise(() => undefined)
  })
  const link = await new TestHead({ registry: far }).join()
  const near = new OperationRegistry()
  near.register(spec('/near/go'), async (_input, { env }) => (await env.invoke('far', 'far/wait')).result.ok)
  const peer = await new TestHead({ registry: near, env: { bindings: { far: remote(link) } } }).peer()
  const deadline = Date.now() + 20_000
  peer.send('call.requested', 'outer', { name: '/near/go', metadata: { a: 1 }, deadline })
  expect(await begun.opened).toEqual({
    parentRequestId: 'outer',
    metadata: { a: 1 },
    deadline,
    trusted: false,
  })
  peer.send('call.aborted', 'outer')
  await aborted.opened
  expect(peer.received).toEqual([])
})
