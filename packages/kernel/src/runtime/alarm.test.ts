// The clock of a run: its one alarm, and the order in which what waits is decided (W-CONC-03).
import { err, ManualClock, ok, ParleyError, type Result, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { S } from '../testing/budgets.ts'
import { refused, withWorker } from '../testing/fixture.ts'
import { Alarm } from './actor/alarm.ts'

const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve))
}

/** Moments that wait; each ring deals with the first of those that are due. */
function ringing(answer?: () => Result<boolean>) {
  const clock = new ManualClock(0 as Ticks)
  const waiting: number[] = []
  const rang: number[] = []
  const alarm = new Alarm({
    clock,
    next: async () => waiting[0] as Ticks | undefined,
    ring: async () => {
      const given = answer?.()
      if (given && !(given.ok && given.value)) return given
      const due = waiting[0]
      if (due === undefined || due > clock.now()) return ok(false)
      waiting.shift()
      rang.push(clock.now())
      return ok(true)
    },
  })
  const set = (...ticks: number[]) => {
    waiting.push(...ticks)
    waiting.sort((one, other) => one - other)
    for (const at of ticks) alarm.set(at as Ticks)
  }
  const advance = async (milliseconds: number) => {
    clock.advance(milliseconds)
    await settle()
  }
  return { clock, alarm, waiting, rang, set, advance }
}

test('rings at each moment, to the tick, and once for each', async () => {
  const { set, advance, rang, clock } = ringing()
  set(5_000_001, 2_000_000, 2_000_000)
  await advance(1999)
  expect(rang).toEqual([])
  await advance(1)
  expect(rang).toEqual([2_000_000, 2_000_000])
  await advance(3000)
  expect(rang).toHaveLength(2)
  await advance(0.001)
  expect(rang).toEqual([2_000_000, 2_000_000, 5_000_001])
  expect(clock.pending).toBe(0)
})

test('a nearer moment brings it forward, a farther one does not put it off', async () => {
  const { set, advance, rang, clock } = ringing()
  set(9_000_000)
  set(3_000_000)
  set(20_000_000)
  expect(clock.pending).toBe(1)
  await advance(3000)
  expect(rang).toEqual([3_000_000])
})

test('what is due already is dealt with at once, and a moment that moved away costs nothing', async () => {
  const { set, advance, rang, waiting } = ringing()
  set(0)
  await settle()
  expect(rang).toEqual([0])
  set(1_000_000)
  waiting[0] = 4_000_000
  await advance(1000)
  expect(rang).toHaveLength(1)
  await advance(3000)
  expect(rang).toEqual([0, 4_000_000])
})

test('a moment that comes while it rings is not lost', async () => {
  const clock = new ManualClock(0 as Ticks)
  const waiting: number[] = [1_000_000]
  const rang: number[] = []
  // What it looks at is older than what it hears while it looks.
  const alarm: Alarm = new Alarm({
    clock,
    next: async () => {
      const seen = waiting[0]
      if (rang.length === 1 && waiting.length === 0) {
        waiting.push(2_000_000)
        alarm.set(2_000_000 as Ticks)
      }
      return seen as Ticks | undefined
    },
    ring: async () => {
      rang.push(waiting.shift()!)
      return ok(true)
    },
  })
  alarm.set(1_000_000 as Ticks)
  clock.advance(1000)
  await settle()
  clock.advance(1000)
  await settle()
  expect(rang).toEqual([1_000_000, 2_000_000])
})

test('a wall clock that steps ahead is noticed within a minute; one that steps back only puts things off', async () => {
  const { set, advance, rang, clock } = ringing()
  set(3_600_000_000)
  clock.set(7_200_000_000 as Ticks)
  await advance(kernelLimits.alarmWait)
  expect(rang).toHaveLength(1)
  set(clock.now() + 5_000_000)
  clock.set((clock.now() - 600_000_000) as Ticks)
  await advance(5000)
  expect(rang).toHaveLength(1)
  // It waits for the time to come, and does not spin until then.
  expect(clock.pending).toBe(1)
  for (let minute = 0; minute < 10; minute++) await advance(60_000)
  expect(rang).toHaveLength(2)
})

test('while the trail is away it tries again now and then', async () => {
  let away = true
  let tries = 0
  const { set, advance, rang } = ringing(() => {
    tries++
    return away ? err(new ParleyError('trail_unavailable', 'away')) : ok(true)
  })
  set(1_000_000)
  await advance(1000)
  expect(tries).toBe(1)
  set(500_000)
  await advance(kernelDefaults.degradedRetry)
  expect(tries).toBe(2)
  away = false
  await advance(kernelDefaults.degradedRetry)
  expect(rang).toHaveLength(2)
})

test('what stays due although nothing can be done about it does not spin', async () => {
  let tries = 0
  const { set, advance } = ringing(() => {
    tries++
    return ok(false)
  })
  set(1_000_000)
  await advance(1000)
  expect(tries).toBe(1)
  await advance(kernelDefaults.degradedRetry)
  expect(tries).toBe(2)
})

test.each([ok(true), err(new ParleyError('trail_unavailable', 'stopped'))])(
  'once stopped it is silent, in the middle of ringing too',
  async answer => {
    let stop = () => {}
    let tries = 0
    const { alarm, set, advance, clock } = ringing(() => {
      tries++
      stop()
      return answer
    })
    stop = () => alarm.stop()
    set(1_000_000, 1_000_001)
    await advance(1000)
    expect([tries, clock.pending]).toEqual([1, 0])
    await advance(60_000)
    set(0)
    await settle()
    expect([tries, clock.pending]).toEqual([1, 0])
  },
)

test('W-CLOCK-04 a timeout is measured on the clock that stamps: a step back prolongs it, a step ahead ends it', async () => {
  const f = await withWorker({}, { timeout: 100 * S })
  await f.worker('W2', { timeout: 3600 * S })
  f.clock.set((f.clock.now() - 1_800_000_000) as Ticks)
  await f.advance(101 * S)
  expect(await f.state('W')).toBe('active')
  for (let minute = 0; minute < 31; minute++) await f.advance(60 * S)
  expect(await f.state('W')).toBe('failed')
  f.clock.set((f.clock.now() + 3_600_000_000) as Ticks)
  await f.advance(60 * S)
  expect(await f.state('W2')).toBe('failed')
})

test('a run that has ended, and a runtime that is closed, leave no timer behind', async () => {
  const f = await withWorker({}, { timeout: 100 * S, liveness_interval: 5 * S })
  expect(f.clock.pending).toBeGreaterThan(0)
  unwrap(await f.run.stop())
  await f.settle()
  expect(f.clock.pending).toBe(0)
  await f.advance(200 * S)
})

/**
 * Starts a command and waits until it is on its way to disk, where it stays while the test goes on without giving up
 * its turn.
 */
async function onItsWay<T>(command: Promise<T>): Promise<{ readonly answer: Promise<T> }> {
  let answered = false
  const watched = command.finally(() => {
    answered = true
  })
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  expect(answered, 'the trail is slow').toBe(false)
  return { answer: watched }
}

test('W-CONC-03 the classes are abort, then failures of the runtime, then the rest; inside one the first comes first', async () => {
  const f = await withWorker()
  await f.worker('W2')
  await f.workspace('W3')
  await f.mark()
  const slow = await onItsWay(f.root.emit({ type: 'acknowledged' }))
  const answers = [
    f.agent('W').blocked('waiting'),
    f.root.suspend(f.id('W2'), 'pause'),
    f.run.submit({ type: 'bind_failed', workspace: f.id('W3') }),
    f.root.abort(f.id('W2')),
    f.root.abort(f.id('W')),
    f.agent('W').started(),
  ]
  expect(refused(await slow.answer)).toBe('ok')
  expect((await Promise.all(answers)).map(refused)).toEqual(['ok', 'invalid_state', 'ok', 'ok', 'ok', 'ok'])
  const emitted = (await f.added())
    .filter(entry => entry.event_type === 'signal_emitted')
    .map(entry => f.row(entry))
    .map(([, filed, actor, body]) => [filed, actor, body?.from, body?.type])
  expect(emitted).toEqual([
    ['R', 'system', 'R', 'acknowledged'],
    ['W2', 'system', 'W2', 'failed'],
    ['W', 'system', 'W', 'failed'],
    ['W3', 'protocol', 'W3', 'failed'],
    [null, 'worker', 'W', 'blocked'],
    [null, 'worker', 'W', 'started'],
  ])
})
