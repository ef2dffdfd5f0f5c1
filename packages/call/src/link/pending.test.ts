// Requests that wait for their answer (CALL-PEND): they end in time, once, and never stay behind.
import { spawn } from 'node:child_process'
import { type CancelTimer, ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import type { SubscribeOptions } from '../call-options.ts'
import { CallError } from '../error.ts'
import { callDefaults } from '../limits.ts'
import type { Handler } from '../operation.ts'
import { peered, turn } from '../testing/peer.ts'

const TIMEOUT = { code: 'TIMEOUT', retryable: true }

/** What a promise came to, seen without waiting for it. */
function outcome(promise: Promise<unknown>): () => unknown {
  let seen: unknown = 'pending'
  const see = (result: unknown) => {
    seen = result
  }
  promise.then(see, see)
  return () => seen
}

/** Milliseconds since the Unix epoch. */
function timeOf(clock: ManualClock): number {
  return clock.now() / 1000
}

test('CALL-T14 CALL-T15 a call that nobody answers times out after 30 seconds and tells the peer; a later answer is discarded', async () => {
  const clock = new ManualClock()
  const { link, peer } = peered({}, { clock })
  const seen = outcome(link.call('/fs/x'))
  const { id, payload } = await peer.next()
  expect(payload).toMatchObject({ deadline: timeOf(clock) + 30_000 })
  clock.advance(29_999)
  await turn()
  expect([seen(), link.pendingCount]).toEqual(['pending', 1])
  clock.advance(2)
  await turn()
  expect(seen()).toBeInstanceOf(CallError)
  expect(seen()).toMatchObject(TIMEOUT)
  expect(link.pendingCount).toBe(0)
  expect(peer.received.slice(1)).toEqual([{ type: 'call.aborted', id, payload: {} }])
  const rejections: unknown[] = []
  const note = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', note)
  for (const n of [1, 2]) peer.send('call.responded', id, n)
  await turn()
  process.off('unhandledRejection', note)
  expect([rejections, peer.received.length]).toEqual([[], 2])
  expect(seen()).toMatchObject(TIMEOUT)
})

test('CALL-T17 the first value settles a call; the second shows that it streams, and cancels the rest once', async () => {
  const { link, peer } = peered()
  const called = link.call('/fs/x')
  const { id } = await peer.next()
  for (const n of [1, 2, 3]) peer.send('call.responded', id, n)
  expect(await called).toBe(1)
  await turn()
  expect(peer.received.slice(1)).toEqual([{ type: 'call.aborted', id, payload: {} }])
})

test('CALL-PEND-03 of settled calls the last 1024 are remembered', async () => {
  const { link, peer } = peered()
  const calls: Promise<unknown>[] = []
  for (let n = 0; n <= 1024; n++) {
    const requestId = `r${n}`
    calls.push(link.call('/fs/x', null, { requestId }))
    peer.send('call.responded', requestId, n)
  }
  await Promise.all(calls)
  for (const id of ['r0', 'r1', 'r1024']) peer.send('call.responded', id, 'again')
  await turn()
  const aborted = peer.received.filter(({ type }) => type === 'call.aborted').map(({ id }) => id)
  expect(aborted).toEqual(['r1', 'r1024'])
})

test('CALL-T18 a call that is completed without a value is aborted', async () => {
  const { link, peer } = peered()
  const called = link.call('/fs/x')
  peer.send('call.completed', (await peer.next()).id)
  await expect(called).rejects.toMatchObject({ code: 'ABORTED', message: 'completed without response' })
  expect(link.pendingCount).toBe(0)
})

/** A clock whose precise timers never fire: only the sweep is left. */
class SweepOnly extends ManualClock {
  override after(milliseconds: number, run: () => void): CancelTimer {
    return milliseconds === callDefaults.sweep ? super.after(milliseconds, run) : () => undefined
  }
}

test('CALL-T20 without its timer a call is still timed out by the next sweep', async () => {
  const clock = new SweepOnly()
  const { link, peer } = peered({}, { clock })
  const seen = outcome(link.call('/fs/x', null, { timeout: 12_000 }))
  await turn()
  clock.advance(19_999)
  await turn()
  expect([seen(), link.pendingCount]).toEqual(['pending', 1])
  clock.advance(1)
  await turn()
  expect(seen()).toMatchObject(TIMEOUT)
  expect([link.pendingCount, peer.received.at(-1)?.type]).toEqual([0, 'call.aborted'])
  // With nothing left to watch, the sweep ends.
  clock.advance(callDefaults.sweep)
  expect(clock.pending).toBe(0)
  const again = outcome(link.call('/fs/x', null, { timeout: 5000 }))
  await turn()
  clock.advance(callDefaults.sweep)
  await turn()
  expect(again()).toMatchObject(TIMEOUT)
})

test('CALL-T20 neither timer nor sweep keeps a process alive', async () => {
  const script = `
    import { CallNode, memoryPair, OperationRegistry } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)}
    const [own, other] = memoryPair()
    other.start({ envelope() {}, violation() {}, drain() {}, closed() {} })
    const link = new CallNode({ registry: new OperationRegistry() }).attach(own)
    void link.call('/fs/x', null, { timeout: 3_600_000 })
    // A defect must not leave this process behind.
    setTimeout(() => process.exit(1), 20_000).unref()
    process.on('exit', () => process.stdout.write(String(link.pendingCount)))`
  const child = spawn(process.execPath, ['--conditions=parley-source', '--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const code = await new Promise(resolve => child.once('close', resolve))
  expect([code, output]).toEqual([0, '1'])
})

test('CALL-T22 a deadline that has passed is refused: by the caller unsent, by the handler unrun', async () => {
  let ran = 0
  const clock = new ManualClock()
  const { link, peer } = peered({ '/test/count': () => ++ran }, { clock })
  const past = timeOf(clock) - 1
  await expect(link.call('/fs/x', null, { deadline: past })).rejects.toMatchObject(TIMEOUT)
  const values = link.subscribe('/fs/x', null, { deadline: past })[Symbol.asyncIterator]()
  await expect(values.next()).rejects.toMatchObject(TIMEOUT)
  await turn()
  expect([peer.received.length, link.pendingCount]).toEqual([0, 0])
  peer.send('call.requested', 'old', { name: '/test/count', deadline: timeOf(clock) - 6000 })
  await turn()
  expect(peer.received).toMatchObject([{ type: 'call.error', id: 'old', payload: TIMEOUT }])
  expect(ran).toBe(0)
})

test('CALL-T22 a caller whose clock is up to five seconds behind is served all the same', async () => {
  const clock = new ManualClock()
  const slow = Promise.withResolvers<number>()
  const { peer } = peered({ '/test/slow': () => slow.promise }, { clock })
  peer.send('call.requested', 'skewed', { name: '/test/slow', deadline: timeOf(clock) - 4000 })
  await turn()
  clock.advance(999)
  slow.resolve(7)
  await turn()
  expect(peer.received).toEqual([{ type: 'call.responded', id: 'skewed', payload: 7 }])
})

test('CALL-CTX-03 a handler that runs past the deadline is stopped, and its caller told', async () => {
  const clock = new ManualClock()
  const slow = Promise.withResolvers<number>()
  const reasons: unknown[] = []
  const handler: Handler = (_input, { signal }) => {
    signal.addEventListener('abort', () => reasons.push(signal.reason))
    return slow.promise
  }
  const { peer, link } = peered({ '/test/slow': handler }, { clock })
  peer.send('call.requested', 'late', { name: '/test/slow', deadline: timeOf(clock) + 100 })
  await turn()
  clock.advance(99)
  await turn()
  expect(peer.received).toEqual([])
  clock.advance(1)
  slow.resolve(7)
  await turn()
  expect(peer.received).toMatchObject([{ type: 'call.error', id: 'late', payload: TIMEOUT }])
  expect(reasons).toMatchObject([TIMEOUT])
  expect(link.inboundCount).toBe(0)
})

test.each([0, -1, Number.POSITIVE_INFINITY, Number.NaN])(
  'CALL-PEND-04 a call without end is refused: timeout %d',
  async timeout => {
    const { link, peer } = peered()
    await expect(link.call('/fs/x', null, { timeout })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await turn()
    expect([peer.received.length, link.pendingCount]).toEqual([0, 0])
  },
)

const cycle: Record<string, unknown> = {}
cycle.one = { cycle }

test.each<[string, SubscribeOptions]>([
  ['an idle timeout of nothing', { idleTimeout: 0 }],
  ['an idle timeout that is no number', { idleTimeout: Number.NaN }],
  ['an idle timeout without end', { idleTimeout: Number.POSITIVE_INFINITY }],
  ['metadata with a cycle', { metadata: cycle }],
  ['metadata that is no JSON', { metadata: { n: Number.NaN } }],
  ['a claim that is no JSON', { forwardedFor: new Map() }],
  ['an empty id', { requestId: '' }],
  ['an id that is too long', { requestId: 'x'.repeat(129) }],
])('CALL-WIRE-04 a request with %s is refused before anything is written', async (_what, options) => {
  const { link, peer } = peered()
  const values = link.subscribe('/fs/x', null, options)[Symbol.asyncIterator]()
  await expect(values.next()).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await turn()
  expect([peer.received.length, link.pendingCount]).toEqual([0, 0])
})

test('CALL-EVT-08 an id that is in use cannot be taken by another request', async () => {
  const { link, peer } = peered()
  const first = link.call('/fs/x', 1, { requestId: 'mine' })
  await expect(link.call('/fs/x', 2, { requestId: 'mine' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  peer.send('call.responded', 'mine', 'one')
  expect(await first).toBe('one')
  expect(peer.received).toHaveLength(1)
})

test('CALL-PEND-08 an envelope tells a failure as a value, and an abort of an unknown id does nothing', async () => {
  const { link, peer } = peered()
  link.abort('nope')
  const [good, bad] = [link.callEnvelope('/fs/x', null, { requestId: 'g' }), link.callEnvelope('/fs/x')]
  const ids = [(await peer.next()).id, (await peer.next()).id] as const
  peer.send('call.responded', ids[0], 1)
  peer.send('call.error', ids[1], { code: 'NO_DISK', message: 'full', retryable: true, details: { free: 0 } })
  expect(await good).toMatchObject({ requestId: 'g', result: { ok: true, value: 1 } })
  const error = { code: 'NO_DISK', message: 'full', retryable: true, details: { free: 0 } }
  expect(await bad).toMatchObject({ requestId: ids[1], result: { ok: false, error } })
  expect(peer.received).toHaveLength(2)
})

test('CALL-PEND-08 a signal aborts a call and tells the peer, and one that has fired sends nothing', async () => {
  const { link, peer } = peered()
  const stop = new AbortController()
  const seen = outcome(link.call('/fs/x', null, { signal: stop.signal }))
  const { id } = await peer.next()
  stop.abort()
  await turn()
  expect(seen()).toMatchObject({ code: 'ABORTED' })
  expect(peer.received[1]).toEqual({ type: 'call.aborted', id, payload: {} })
  await expect(link.call('/fs/x', null, { signal: stop.signal })).rejects.toMatchObject({ code: 'ABORTED' })
  expect([peer.received.length, link.pendingCount]).toEqual([2, 0])
})
