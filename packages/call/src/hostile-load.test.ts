// Floods (CALL-EVT-03, CALL-PEND-03, CALL-SUB-04, -05): peers that ask for too much, never read, or abort everything,
// against a node with honest clients at work. Every bound holds, nobody else notices, and no memory stays behind.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationContext } from './context.ts'
import { callLimits } from './limits.ts'
import { type Attacker, answers, ask, CARRIERS, Ground } from './testing/ground.ts'
import { turn } from './testing/peer.ts'

const MEBIBYTE = 2 ** 20
/** How much of what is refused, ignored or aborted at once. */
const MASSES = process.env.PARLEY_SOAK ? 40_000 : 8000

/** Requests of `/test/wait` and `/test/deaf` that have not been let go. */
const held = new Set<() => void>()
const letGo = () => {
  for (const go of held) go()
  held.clear()
}
const until = (register: (go: () => void) => void) => new Promise<void>(resolve => register(resolve))
let streams = 0
/** How often `/test/endless` was started. */
let opened = 0
let ground: Ground

beforeAll(async () => {
  ground = await Ground.open({
    '/test/wait': (_input: unknown, { signal }: OperationContext) =>
      until(go => {
        held.add(go)
        signal.addEventListener('abort', go)
      }),
    '/test/deaf': () => until(go => held.add(go)),
    '/test/large': input => 'x'.repeat(Number(input)),
    '/test/endless': async function* (input: unknown) {
      opened++
      streams++
      try {
        for (;;) yield 'x'.repeat(Number(input))
      } finally {
        streams--
      }
    },
    '/test/silent': async function* (_input: unknown, { signal }: OperationContext) {
      streams++
      try {
        yield 0
        await until(go => signal.addEventListener('abort', go))
      } finally {
        streams--
      }
    },
  })
})

afterAll(async () => {
  await ground.close()
})

/** Nothing of the attack is left: no handler, no link, no memory. */
async function over(...attackers: readonly Attacker[]): Promise<void> {
  await ground.goOn()
  await Promise.all(attackers.map(attacker => attacker.close()))
  letGo()
  while (streams > 0) await turn()
  await ground.over()
}

test.for(CARRIERS)(
  'CALL-EVT-03 of 5,000 requests at once 1,000 are handled and 4,000 refused: over %s',
  async carrier => {
    const attacker = await ground.attacker(carrier)
    for (let index = 0; index < 5000; index++) ask(attacker, `r${index}`, '/test/wait')
    const refused = await answers(attacker, 4000)
    for (const { type, payload } of refused)
      expect([type, payload]).toEqual([
        'call.error',
        { code: 'RESOURCE_EXHAUSTED', message: expect.any(String), retryable: true },
      ])
    expect((await ground.lastAttacked()).inboundCount).toBe(callLimits.inbound)
    await ground.goOn()
    letGo()
    const handled = await answers(attacker, 1000)
    expect(handled.every(({ type }) => type === 'call.responded')).toBe(true)
    expect(new Set([...refused, ...handled].map(({ id }) => id)).size).toBe(5000)
    await over(attacker)
  },
)

test.for(CARRIERS)(
  'CALL-SUB-05 of 5,000 subscriptions at once 1,000 run, and all are closed with their link: over %s',
  async carrier => {
    const attacker = await ground.attacker(carrier)
    for (let index = 0; index < 5000; index++) ask(attacker, `s${index}`, '/test/silent')
    const events = await answers(attacker, 5000)
    expect(events.filter(({ type }) => type === 'call.responded')).toHaveLength(1000)
    expect(streams).toBe(1000)
    for (let index = 0; index < 500; index++) attacker.send('call.aborted', `s${index}`)
    while (streams > 500) await turn()
    await over(attacker)
    expect(streams).toBe(0)
    expect(attacker.received).toHaveLength(5000)
  },
)

test('CALL-SUB-05 handlers that ignore their abort are bounded too', async () => {
  const attacker = await ground.attacker('tcp')
  const requests = 3 * callLimits.running
  for (let index = 0; index < requests; index++) {
    ask(attacker, `r${index}`, '/test/deaf')
    attacker.send('call.aborted', `r${index}`)
  }
  ask(attacker, 'last', '/test/echo')
  const events = await answers(attacker, requests - callLimits.running + 1)
  expect(held.size).toBe(callLimits.running)
  expect(events.at(-1)).toMatchObject({ id: 'last', type: 'call.error', payload: { code: 'RESOURCE_EXHAUSTED' } })
  letGo()
  await turn()
  ask(attacker, 'again', '/test/echo', 1)
  expect(await attacker.next()).toEqual({ type: 'call.responded', id: 'again', payload: 1 })
  await over(attacker)
})

test.for(CARRIERS)(
  'CALL-T16 CALL-PEND-03 answers to nothing and aborts of nothing get no answer: over %s',
  async carrier => {
    const attacker = await ground.attacker(carrier)
    const types = ['call.responded', 'call.completed', 'call.error', 'call.aborted']
    for (let index = 0; index < MASSES; index++)
      attacker.send(types[index % 4]!, `never-${index}`, index % 3 ? null : { output: 1 })
    ask(attacker, 'last', '/test/echo', 'still here')
    expect(await attacker.next()).toEqual({ type: 'call.responded', id: 'last', payload: 'still here' })
    await over(attacker)
    expect(attacker.received).toHaveLength(1)
  },
)

test.for(CARRIERS)(
  'CALL-WIRE-06 events that nobody knows are dropped in masses, and do not fill the log: over %s',
  async carrier => {
    const lines = ground.logged.length
    const attacker = await ground.attacker(carrier)
    for (let index = 0; index < MASSES; index++)
      attacker.send(['topic.tick', '__subscribe', 'call.bogus', ''][index % 4]!, `t${index}`, { index })
    ask(attacker, 'last', '/test/echo', 1)
    expect((await attacker.next()).id).toBe('last')
    await over(attacker)
    expect(ground.logged.length - lines).toBe(callLimits.complaints)
  },
)

test.for(CARRIERS)('CALL-SUB-04 a peer that never reads holds back its streams: over %s', async carrier => {
  const attacker = await ground.deaf(carrier)
  opened = 0
  for (let index = 0; index < 50; index++) ask(attacker, `s${index}`, '/test/endless', 100_000)
  while (streams < 50) await turn()
  await ground.goOn(50)
  // Each stream may be one value ahead.
  expect((await ground.lastAttacked()).transport.queued).toBeLessThan(callLimits.highWater + 51 * 100_100)
  // A subscription that is aborted while it waits for room ends at once; otherwise so many would have reached a bound.
  for (let round = 1; round <= 10; round++) {
    const ids = Array.from({ length: 500 }, (_, index) => `t${round}-${index}`)
    for (const id of ids) ask(attacker, id, '/test/endless', 1)
    while (opened < 50 + round * 500) await turn()
    for (const id of ids) attacker.send('call.aborted', id)
    while (streams > 50) await turn()
  }
  for (let index = 0; index < 50; index++) attacker.send('call.aborted', `s${index}`)
  while (streams > 0) await turn()
  await over(attacker)
})

test.for(CARRIERS)('CALL-TRANS-01 a peer that asks and never reads is given up: over %s', async carrier => {
  const attacker = await ground.deaf(carrier)
  const link = await ground.lastAttacked()
  let reason: string | undefined
  let most = 0
  link.onClose(why => {
    reason = why
  })
  for (let index = 0; reason === undefined && index < 1000; index++) {
    ask(attacker, `r${index}`, '/test/large', MEBIBYTE)
    await turn()
    most = Math.max(most, link.transport.queued)
  }
  expect(reason).toBe('the peer does not read')
  expect(most).toBeGreaterThan(callLimits.queuedBytes - 8 * MEBIBYTE)
  expect(most).toBeLessThan(callLimits.queuedBytes + 2 * MEBIBYTE)
  await over(attacker)
})

test('CALL-EVT-06 a peer that asks for everything and aborts everything at once costs nothing', async () => {
  const attackers = await Promise.all(CARRIERS.map(carrier => ground.attacker(carrier)))
  for (const attacker of attackers) {
    for (let index = 0; index < MASSES / 4; index++) {
      ask(attacker, `a${index}`, ['/test/wait', '/test/silent', '/test/echo'][index % 3]!)
      attacker.send('call.aborted', `a${index}`)
      attacker.send('call.aborted', `a${index}`)
    }
    ask(attacker, 'last', '/test/echo', 1)
  }
  for (const attacker of attackers) {
    let event = await attacker.next()
    while (event.id !== 'last') event = await attacker.next()
    expect(event.type).toBe('call.responded')
  }
  for (const link of ground.attacked) expect(link.inboundCount).toBe(0)
  await over(...attackers)
})
