// The fair share of a worker (CALL-ROUTE-10).
import { expect, test } from 'vitest'
import { callLimits } from '../limits.ts'
import { OperationRegistry } from '../registry.ts'
import { principal, spec, TestHead } from '../testing/head.ts'
import { until } from '../testing/peer.ts'
import { FairShare } from './share.ts'

/** Takes as many places as the caller gets. */
function park(share: FairShare, caller: string): (() => void)[] {
  const taken: (() => void)[] = []
  for (let release = share.take(caller); release; release = share.take(caller)) taken.push(release)
  return taken
}

test('CALL-ROUTE-10 a caller gets at most half of what is free when it asks, and at least one', () => {
  const share = new FairShare(100)
  const first = park(share, 'first')
  expect(first).toHaveLength(33)
  expect(park(share, 'second')).toHaveLength(22)
  for (let n = 3; n <= 8; n++) expect(park(share, `caller ${n}`).length).toBeGreaterThan(0)
  let more = 0
  while (park(share, `late ${more}`).length === 1) more++
  // The limit itself holds.
  expect(share.take('last')).toBeUndefined()
  // A place that was given back twice is free once.
  first[0]!()
  first[0]!()
  expect(share.take('last')).toBeDefined()
  expect(share.take('another')).toBeUndefined()
})

test('CALL-ROUTE-10 what a caller gives back it may take again', () => {
  const share = new FairShare(10)
  for (let round = 0; round < 3; round++) {
    const taken = park(share, 'one')
    expect(taken).toHaveLength(3)
    for (const release of taken) release()
  }
})

test.each([
  ['through the head', '/dev1/test/wait', '/dev1/test/echo'],
  ['through a handler of the head', '/agent/wait', '/agent/echo'],
])('CALL-T67 a caller that parks calls at a worker %s leaves room for others', async (_how, wait, echo) => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/wait'), () => new Promise(() => undefined))
  registry.register(spec('/test/echo'), input => input)
  const atHead = new OperationRegistry()
  for (const op of ['wait', 'echo'])
    atHead.register(spec(`/agent/${op}`), async (input, { env }) =>
      (await env.invoke('dev1', `test/${op}`, input)).unwrap(),
    )
  const head = new TestHead({ registry: atHead })
  const worker = await head.worker('dev1', { registry })
  const greedy = await head.join({ as: principal('greedy') })
  const codes: (string | undefined)[] = []
  for (let n = 0; n < callLimits.inbound; n++)
    void greedy.callEnvelope(wait).then(({ result }) => codes.push(result.ok ? undefined : result.error.code))
  await until(() => codes.length + worker.inboundCount === callLimits.inbound)
  const parked = worker.inboundCount
  expect(parked).toBe(Math.ceil(callLimits.workerRequests / 3))
  expect(new Set(codes)).toEqual(new Set(['RESOURCE_EXHAUSTED']))
  // The same caller over another link is the same caller.
  const again = await head.join({ as: principal('greedy') })
  await expect(again.call(echo, 1)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED', retryable: true })
  const other = await head.join({ as: principal('other') })
  await expect(other.call(echo, 2)).resolves.toBe(2)
  await expect((await head.join()).call(echo, 3)).resolves.toBe(3)
  // What is over counts no more.
  greedy.close()
  await until(() => worker.inboundCount === 0)
  await expect(again.call(echo, 4)).resolves.toBe(4)
})

test('CALL-ROUTE-10 whatever ends a request gives its place back', async () => {
  const registry = new OperationRegistry()
  registry.register(spec('/test/echo'), input => input)
  registry.register(spec('/test/fail'), () => {
    throw new Error('no')
  })
  registry.register(spec('/test/ticks', {}, 'subscription'), async function* () {
    yield 1
    yield 2
  })
  const atHead = new OperationRegistry()
  atHead.register(spec('/agent/ticks'), async (_input, { env }) => {
    for await (const value of env.subscribe('dev1', 'test/ticks')) return value
  })
  const head = new TestHead({ registry: atHead })
  await head.worker('dev1', { registry })
  const client = await head.join()
  // One more than a caller could leak.
  for (let n = 0; n <= Math.ceil(callLimits.workerRequests / 3); n++) {
    const [value, failure, ticks, ofHandler] = await Promise.all([
      client.call('/dev1/test/echo', n),
      client.callEnvelope('/dev1/test/fail'),
      client.call('/dev1/test/ticks'),
      client.call('/agent/ticks'),
    ])
    if (value !== n || ticks !== 1 || ofHandler !== 1) throw new Error('refused')
    expect(failure.result).toMatchObject({ error: { code: 'INTERNAL' } })
  }
})
