// What a handler is given (CALL-CTX, CALL-ENV-04), and that what a request started ends with it, over a link as in the
// same process (CALL-T69, CALL-SUB-05).
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationContext } from './context.ts'
import type { Binding } from './env.ts'
import type { CallError } from './error.ts'
import type { OperationRegistry } from './registry.ts'
import { remote } from './routing/remote.ts'
import { local } from './serve.ts'
import { gate, principal, registryWith, spec, TestHead } from './testing/head.ts'
import { turn } from './testing/peer.ts'

test('CALL-T39 a call through env is trusted, and belongs to the call and the caller that caused it', async () => {
  const seen: OperationContext[] = []
  const registry = registryWith(spec('/test/outer'), async (_input, context) => {
    seen.push(context)
    context.metadata.trace = 't1'
    const answer = await context.env.invoke('test', 'inner', 'hello')
    return { answer: answer.unwrap(), requestId: answer.requestId }
  })
  registry.register(spec('/test/inner', { requiredScopes: ['admin'] }), (input, context) => {
    seen.push(context)
    return input
  })
  const head = new TestHead({ registry })
  const link = await head.join({ as: principal('caller', ['user']) })
  const deadline = Date.now() + 20_000
  const claim = { id: 'somebody', scopes: [] }
  const reply = await link.call<{ answer: string; requestId: string }>('/test/outer', null, {
    requestId: 'outer-1',
    parentRequestId: 'before-1',
    metadata: { given: 1 },
    deadline,
    forwardedFor: claim,
  })
  const [outer, inner] = seen as [OperationContext, OperationContext]
  expect(outer).toMatchObject({
    requestId: 'outer-1',
    parentRequestId: 'before-1',
    trusted: false,
    deadline,
    forwardedFor: claim,
  })
  expect(inner).toMatchObject({
    parentRequestId: 'outer-1',
    trusted: true,
    identity: { id: 'caller', scopes: ['user'] },
    metadata: { given: 1, trace: 't1' },
    deadline,
    forwardedFor: undefined,
  })
  expect(reply).toEqual({ answer: 'hello', requestId: inner.requestId })
  expect(inner.requestId).not.toBe('outer-1')
  await expect(link.call('/test/inner')).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('CALL-ACL-07 schemas hold for trusted calls too', async () => {
  const registry = registryWith({ ...spec('/test/text'), inputSchema: { type: 'string' } }, input => input)
  const { node } = new TestHead({ registry })
  expect((await node.env.invoke('test', 'text', 5)).result).toMatchObject({
    ok: false,
    error: { code: 'INVALID_INPUT', details: { errors: [{ path: '' }] } },
  })
})

test('CALL-CTX-02 a context cannot be changed, extended or made to look trusted', async () => {
  let seen: OperationContext | undefined
  const registry = registryWith(spec('/test/it'), async (_input, context) => {
    seen = context
    for (const name of ['trusted', 'requestId', 'identity', 'env', 'depth', 'more']) {
      expect(Reflect.set(context, name, 'forged'), name).toBe(false)
      expect(Reflect.defineProperty(context, name, { value: 'forged' }), name).toBe(false)
    }
    context.metadata.free = true
    return context.metadata
  })
  const link = await new TestHead({ registry }).join({ as: principal('caller') })
  await expect(link.call('/test/it')).resolves.toEqual({ free: true })
  expect(Object.isFrozen(seen)).toBe(true)
  expect(seen?.identity?.id).toBe('caller')
})

test('CALL-CTX-02 metadata cannot reach other fields or a prototype, and is never undefined', async () => {
  const registry = registryWith(spec('/test/meta'), (_input, { metadata, requestId }) => ({
    keys: Object.keys(metadata),
    requestId,
    polluted: 'polluted' in metadata || 'polluted' in {},
  }))
  const peer = await new TestHead({ registry }).peer()
  const metadata = '{"__proto__":{"polluted":1},"constructor":1,"prototype":1,"requestId":"x","a":1}'
  peer.body(`{"type":"call.requested","id":"r1","payload":{"name":"/test/meta","input":null,"metadata":${metadata}}}`)
  expect((await peer.next()).payload).toEqual({ keys: ['requestId', 'a'], requestId: 'r1', polluted: false })
  peer.send('call.requested', 'r2', { name: '/test/meta' })
  expect((await peer.next()).payload).toMatchObject({ keys: [] })
})

test('CALL-ENV-04 metadata of a nested call is a copy as of its start, in both directions', async () => {
  const changed = gate()
  const registry = registryWith(spec('/test/outer'), async (_input, context) => {
    context.metadata.step = 1
    const inner = context.env.invoke('test', 'inner')
    context.metadata.step = 2
    changed.open()
    return { inner: (await inner).unwrap(), own: context.metadata.step }
  })
  registry.register(spec('/test/inner'), async (_input, context) => {
    await changed.opened
    const { step } = context.metadata
    context.metadata.step = 3
    return step
  })
  const link = await new TestHead({ registry }).join()
  await expect(link.call('/test/outer')).resolves.toEqual({ inner: 1, own: 2 })
})

test('CALL-ENV-04 a nested deadline is never later than that of its parent', async () => {
  const clock = new ManualClock()
  const now = clock.now() / 1000
  const registry = registryWith(spec('/test/outer'), async (_input, { env }) => {
    const deadlines = [undefined, now + 60_000, now + 5000].map(deadline =>
      env.invoke('test', 'inner', null, deadline === undefined ? {} : { deadline }),
    )
    return (await Promise.all(deadlines)).map(answer => answer.unwrap())
  })
  registry.register(spec('/test/inner'), (_input, { deadline }) => deadline)
  const peer = await new TestHead({ registry, clock }).peer()
  peer.send('call.requested', 'r1', { name: '/test/outer', deadline: now + 20_000 })
  expect((await peer.next()).payload).toEqual([now + 20_000, now + 20_000, now + 5000])
})

test('CALL-T53 abort of a request reaches its nested calls, but for those that were started to go on', async () => {
  const running = gate()
  const goOn = gate()
  const kept = gate<string>()
  const late = gate<string>()
  let stopped: AbortSignal | undefined
  let outer: AbortSignal | undefined
  const begun: string[] = []
  const begin = (name: string) => {
    begun.push(name)
    if (begun.length === 2) running.open()
  }
  const registry = registryWith(spec('/test/outer'), async (_input, { env, signal }) => {
    outer = signal
    const dependent = env.invoke('test', 'dependent')
    const free = env.invoke<string>('test', 'free', null, { abortPolicy: 'continue-running' })
    kept.open((await free).unwrap())
    const after = await env.invoke('test', 'late', null, { abortPolicy: 'continue-running' })
    late.open(after.result.ok ? 'ran' : after.result.error.code)
    return (await dependent).result.ok
  })
  registry.register(spec('/test/dependent'), (_input, { signal }) => {
    stopped = signal
    begin('dependent')
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  registry.register(spec('/test/free'), async (_input, { signal }) => {
    begin('free')
    await goOn.opened
    return `finished, ${signal.aborted ? 'aborted' : 'not aborted'}`
  })
  registry.register(spec('/test/late'), () => begin('late'))
  registry.register(spec('/test/echo'), input => input)
  const peer = await new TestHead({ registry }).peer()
  peer.send('call.requested', 'outer', { name: '/test/outer' })
  await running.opened
  peer.send('call.aborted', 'outer')
  peer.send('call.requested', 'after', { name: '/test/echo', input: 1 })
  expect(await peer.next()).toMatchObject({ id: 'after', payload: 1 })
  expect([outer?.aborted, stopped?.aborted]).toEqual([true, true])
  goOn.open()
  expect(await kept.opened).toBe('finished, not aborted')
  // CALL-SUB-05: what had not been started when the abort came is not started any more.
  expect(await late.opened).toBe('ABORTED')
  expect(begun).toEqual(['dependent', 'free'])
  peer.send('call.requested', 'end', { name: '/test/echo', input: 2 })
  expect(await peer.next()).toMatchObject({ id: 'end', payload: 2 })
  expect(peer.received).toHaveLength(2)
})

test('CALL-SUB-05 an abort goes down through every level of nested calls', async () => {
  const deep = gate()
  const aborted = gate<number>()
  const registry = registryWith(spec('/test/nest'), (input, { env, signal }) => {
    const level = input as number
    if (level < 5) return env.invoke('test', 'nest', level + 1)
    signal.addEventListener('abort', () => aborted.open(level))
    deep.open()
    return new Promise(() => undefined)
  })
  const peer = await new TestHead({ registry }).peer()
  peer.send('call.requested', 'r1', { name: '/test/nest', input: 1 })
  await deep.opened
  await peer.close()
  expect(await aborted.opened).toBe(5)
})

test('CALL-SUB-05 a parent that a peer names is for tracing: its abort does not touch the request', async () => {
  const begun = gate()
  const go = gate()
  const registry = registryWith(spec('/test/first'), (_input, { signal }) => {
    begun.open()
    return new Promise(resolve => signal.addEventListener('abort', resolve))
  })
  registry.register(spec('/test/second'), async (_input, { parentRequestId, signal }) => {
    await go.opened
    return [parentRequestId, signal.aborted]
  })
  registry.register(spec('/test/echo'), input => input)
  const peer = await new TestHead({ registry }).peer()
  peer.send('call.requested', 'first', { name: '/test/first' })
  await begun.opened
  peer.send('call.requested', 'second', { name: '/test/second', parentRequestId: 'first' })
  peer.send('call.aborted', 'first')
  peer.send('call.requested', 'mark', { name: '/test/echo' })
  expect(await peer.next()).toMatchObject({ id: 'mark' })
  go.open()
  expect(await peer.next()).toMatchObject({ id: 'second', payload: ['first', false] })
})

/** Operations that wait for ever, and say when they began and when they were told to stop. */
function waiting() {
  const begun = gate()
  const told = gate<unknown>()
  const hold = (signal: AbortSignal) => {
    signal.addEventListener('abort', () => told.open(signal.reason))
    begun.open()
    return new Promise<never>(() => undefined)
  }
  const registry = registryWith(spec('/far/wait'), (_input, { signal }) => hold(signal))
  registry.register(spec('/far/watch', {}, 'subscription'), async function* (_input, { signal }) {
    yield 1
    await hold(signal)
  })
  return { registry, begun, told }
}

/** Ways from a handler to the operations of `far`; `dev1` is a worker of its own head. */
const WAYS = ['local', 'remote', 'a worker', 'a local operation between'] as const

async function head(way: (typeof WAYS)[number], far: OperationRegistry, run: OperationRegistry) {
  const binding = async (): Promise<Binding> =>
    way === 'local' ? local(far) : remote(await new TestHead({ registry: far }).join())
  const made = new TestHead({
    registry: run,
    ...(way !== 'a worker' && { env: { bindings: { far: await binding() } } }),
  })
  if (way === 'a worker') await made.worker('dev1', { registry: far })
  return made
}

test.each(WAYS)('CALL-T69 aborting a request aborts the call that it made: %s', async way => {
  const { registry: far, begun, told } = waiting()
  const heard = gate<unknown>()
  const [namespace, op] = way === 'a worker' ? ['dev1', 'far/wait'] : ['far', 'wait']
  const run = registryWith(spec('/near/go'), async (_input, { env }) =>
    heard.open((await env.invoke(namespace, op)).result),
  )
  run.register(spec('/near/between'), (_input, { env }) => env.invoke('near', 'go'))
  const peer = await (await head(way, far, run)).peer()
  peer.send('call.requested', 'outer', { name: way === WAYS[3] ? '/near/between' : '/near/go' })
  await begun.opened
  peer.send('call.aborted', 'outer')
  expect(await told.opened).toMatchObject({ code: 'ABORTED' })
  expect(await heard.opened).toMatchObject({ ok: false, error: { code: 'ABORTED', retryable: false } })
  expect(peer.received).toEqual([])
})

test.each(WAYS)('CALL-T69 aborting a request ends the subscription that it made, without an error: %s', async way => {
  const { registry: far, begun, told } = waiting()
  const first = gate()
  const heard = gate<unknown>()
  const [namespace, op] = way === 'a worker' ? ['dev1', 'far/watch'] : ['far', 'watch']
  const run = registryWith(spec('/near/go'), async (_input, { env }) => {
    const seen: unknown[] = []
    try {
      for await (const value of env.subscribe(namespace, op)) {
        seen.push(value)
        first.open()
      }
      heard.open(seen)
    } catch (thrown) {
      heard.open((thrown as CallError).code)
    }
  })
  run.register(spec('/near/between'), (_input, { env }) => env.invoke('near', 'go'))
  const peer = await (await head(way, far, run)).peer()
  peer.send('call.requested', 'outer', { name: way === WAYS[3] ? '/near/between' : '/near/go' })
  await Promise.all([begun.opened, first.opened])
  peer.send('call.aborted', 'outer')
  expect(await told.opened).toMatchObject({ code: 'ABORTED' })
  expect(await heard.opened).toEqual([1])
})

test.each(['local', 'remote'] as const)(
  'CALL-SUB-05 what was started to go on goes on when its request is aborted: %s',
  async way => {
    const begun = gate()
    const go = gate()
    let told = false
    const far = registryWith(spec('/far/finish'), async (_input, { signal }) => {
      signal.addEventListener('abort', () => {
        told = true
      })
      begun.open()
      await go.opened
      return 'finished'
    })
    const heard = gate<unknown>()
    const run = registryWith(spec('/near/go'), async (_input, { env }) =>
      heard.open((await env.invoke('far', 'finish', null, { abortPolicy: 'continue-running' })).result),
    )
    const peer = await (await head(way, far, run)).peer()
    peer.send('call.requested', 'outer', { name: '/near/go' })
    await begun.opened
    peer.send('call.aborted', 'outer')
    for (let n = 0; n < 20; n++) await turn()
    go.open()
    expect(await heard.opened).toEqual({ ok: true, value: 'finished' })
    expect(told).toBe(false)
  },
)

test('CALL-T69 a request that is aborted while its call asks for a type asks for nothing more', async () => {
  const far = new TestHead({ registry: waiting().registry })
  const link = await far.join()
  const asked = gate()
  const heard = gate<unknown>()
  const send = link.transport.send.bind(link.transport)
  const sent: string[] = []
  link.transport.send = text => {
    sent.push((JSON.parse(text) as { type: string }).type)
    asked.open()
    // Nobody hears the question.
    if (sent.length > 1) send(text)
  }
  const run = registryWith(spec('/near/go'), async (_input, { env }) =>
    heard.open((await env.invoke('far', 'wait')).result),
  )
  const peer = await new TestHead({ registry: run, env: { bindings: { far: remote(link) } } }).peer()
  peer.send('call.requested', 'outer', { name: '/near/go' })
  await asked.opened
  peer.send('call.aborted', 'outer')
  expect(await heard.opened).toMatchObject({ ok: false, error: { code: 'ABORTED' } })
  expect(sent).toEqual(['call.requested', 'call.aborted'])
})
