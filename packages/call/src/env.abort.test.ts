// CALL-T69, CALL-SUB-05: what a request started ends with it, over a link as in the same process.
import { expect, test } from 'vitest'
import type { Binding } from './env.ts'
import type { CallError } from './error.ts'
import { OperationRegistry } from './registry.ts'
import { remote } from './routing/remote.ts'
import { local } from './serve.ts'
import { gate, spec, TestHead } from './testing/head.ts'
import { turn } from './testing/peer.ts'

/** Operations that wait for ever, and say when they began and when they were told to stop. */
function waiting() {
  const registry = new OperationRegistry()
  const begun = gate()
  const told = gate<unknown>()
  const hold = (signal: AbortSignal) => {
    signal.addEventListener('abort', () => told.open(signal.reason))
    begun.open()
    return new Promise<never>(() => undefined)
  }
  registry.register(spec('/far/wait'), (_input, { signal }) => hold(signal))
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
  const run = new OperationRegistry()
  const heard = gate<unknown>()
  const [namespace, op] = way === 'a worker' ? ['dev1', 'far/wait'] : ['far', 'wait']
  run.register(spec('/near/go'), async (_input, { env }) => heard.open((await env.invoke(namespace, op)).result))
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
  const run = new OperationRegistry()
  const first = gate()
  const heard = gate<unknown>()
  const [namespace, op] = way === 'a worker' ? ['dev1', 'far/watch'] : ['far', 'watch']
  run.register(spec('/near/go'), async (_input, { env }) => {
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
    const far = new OperationRegistry()
    const begun = gate()
    const go = gate()
    let told = false
    far.register(spec('/far/finish'), async (_input, { signal }) => {
      signal.addEventListener('abort', () => {
        told = true
      })
      begun.open()
      await go.opened
      return 'finished'
    })
    const run = new OperationRegistry()
    const heard = gate<unknown>()
    run.register(spec('/near/go'), async (_input, { env }) =>
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
  const run = new OperationRegistry()
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
  run.register(spec('/near/go'), async (_input, { env }) => heard.open((await env.invoke('far', 'wait')).result))
  const peer = await new TestHead({ registry: run, env: { bindings: { far: remote(link) } } }).peer()
  peer.send('call.requested', 'outer', { name: '/near/go' })
  await asked.opened
  peer.send('call.aborted', 'outer')
  expect(await heard.opened).toMatchObject({ ok: false, error: { code: 'ABORTED' } })
  expect(sent).toEqual(['call.requested', 'call.aborted'])
})
