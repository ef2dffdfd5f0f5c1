// When a request must be done (CALL-CTX-01, CALL-CTX-03), on this node and on all that it calls.
import { ManualClock, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import type { OperationContext } from './context.ts'
import { OperationRegistry } from './registry.ts'
import { remote } from './routing/remote.ts'
import { gate, principal, spec, TestHead } from './testing/head.ts'

const NOW = 1_000_000
const clockAt = (ms: number) => new ManualClock((ms * 1000) as Ticks)

test.each([{}, { auth_token: 'unknown' }])(
  'CALL-T77 a query or mutation without a deadline has 30 s at its handler, a subscription has none (%j)',
  async extra => {
    const clock = clockAt(NOW)
    const registry = new OperationRegistry()
    const seen: OperationContext[] = []
    const begun = gate()
    registry.register(spec('/test/wait'), (_input, context) => {
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
  const inner = new OperationRegistry()
  inner.register(spec('/inner/op'), (_input, { deadline }) => deadline)
  const registry = new OperationRegistry()
  registry.register(spec('/own/op'), (_input, { deadline }) => deadline)
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
