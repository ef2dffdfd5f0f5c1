// Holding everything up and going on, with a clock and a machine of the test's own.
import { err, type MachineFault, ManualClock, ok, ParleyError, type Result } from '@parley/core'
import { expect, test } from 'vitest'
import { machineLimits, machineTimes, unexplainedRetries } from './limits.ts'
import { Machine } from './machine.ts'

const FULL = Object.assign(new Error('ENOSPC: no space left on device, write'), {
  code: 'ENOSPC',
  path: '/profile/file',
})

function world() {
  const clock = new ManualClock()
  const logged: string[] = []
  const acts: string[] = []
  const asked: (readonly string[])[] = []
  const state: { fault: MachineFault | undefined; unrestorable: MachineFault | undefined } = {
    fault: { code: 'ENOSPC', where: '/profile' },
    unrestorable: undefined,
  }
  const machine = new Machine({
    clock,
    folder: '/profile',
    probe: async (_fault, folders) => {
      asked.push(folders)
      return state.fault
    },
    reserve: {
      release: () => acts.push('release'),
      restore: async () => {
        acts.push('restore')
        return state.unrestorable
      },
    },
    log: (level, message) => logged.push(`${level} ${message}`),
  })
  /** Time passes, and what comes of it is done. */
  const pass = async (milliseconds: number) => {
    for (let left = milliseconds; left > 0; left -= 100) {
      clock.advance(Math.min(100, left))
      for (let turn = 0; turn < 10; turn++) await Promise.resolve()
    }
  }
  return { clock, machine, logged, acts, asked, state, pass }
}

/** Whether something has been settled, without waiting for it. */
function watched(promise: Promise<unknown>): { value: unknown } {
  const seen: { value: unknown } = { value: 'waits' }
  void promise.then(value => {
    seen.value = value
  })
  return seen
}

test('a fault is visible from the first error until a look finds the machine sound; then who waited goes on', async () => {
  const { machine, logged, state, pass } = world()
  expect(machine.held).toBeUndefined()
  expect(await machine.sound()).toBe(true)
  expect(machine.report(new ParleyError('folder_failed', 'x', { cause: FULL }))).toMatchObject({ code: 'ENOSPC' })
  expect(machine.held).toMatchObject({
    code: 'ENOSPC',
    where: '/profile/file',
    since: expect.stringMatching(/^2026-01-01T00:00:00/),
    message: expect.stringContaining('the disk is full (ENOSPC at /profile/file)'),
  })
  const waits = watched(machine.sound())
  await pass(60_000)
  expect(waits.value).toBe('waits')
  state.fault = undefined
  await pass(machineTimes.probe)
  expect([waits.value, machine.held]).toEqual([true, undefined])
  // One line when it began and one when it ended, whatever was looked at between.
  expect(logged.map(line => line.slice(0, 27))).toEqual(['error Held up by the machin', 'info The machine is sound a'])
})

test('an error that is not the machine’s holds nothing up', () => {
  const { machine } = world()
  expect(machine.report(new ParleyError('invalid_state', 'too late'))).toBeUndefined()
  expect(machine.held).toBeUndefined()
})

test('the waits between two looks double up to the longest, also for a fault that comes back at once', async () => {
  const { clock, machine, asked, state, pass } = world()
  machine.report(FULL)
  const looks: number[] = []
  for (let seconds = 0; seconds < 60; seconds++) {
    const before = asked.length
    await pass(1_000)
    if (asked.length > before) looks.push(seconds)
  }
  const gaps = looks.slice(1).map((each, index) => each - looks[index]!)
  expect(gaps.slice(0, 4)).toEqual([2, 4, 5, 5])
  expect(Math.max(...gaps) * 1000).toBe(machineTimes.probe)
  state.fault = undefined
  await pass(machineTimes.probe)
  expect(machine.held).toBeUndefined()
  state.fault = { code: 'ENOSPC' }
  machine.report(FULL)
  const before = asked.length
  await pass(machineTimes.probe - 1_000)
  expect(asked.length).toBe(before)
  await pass(2_000)
  expect(asked.length).toBe(before + 1)
  // Forgotten after a while of peace.
  state.fault = undefined
  await pass(machineTimes.probe)
  clock.advance(machineTimes.forgotten + 1)
  machine.report(FULL)
  await pass(machineTimes.quiet + machineTimes.firstProbe * 3)
  expect(machine.held).toBeUndefined()
})

test('what still fails keeps everything held up, whatever a look finds', async () => {
  const { machine, state, pass } = world()
  state.fault = undefined
  machine.report(FULL)
  for (let second = 0; second < 30; second++) {
    await pass(1_000)
    expect(machine.held).toBeDefined()
    // The trail tries every second whether it can be written.
    machine.report(FULL)
  }
  await pass(machineTimes.probe * 2)
  expect(machine.held).toBeUndefined()
})

test('the reserve is released before anything is said, and the fault is not over before it is laid out again', async () => {
  const { machine, logged, acts, state, pass } = world()
  machine.onChange(() => acts.push(machine.held ? 'held' : 'sound'))
  machine.report(FULL)
  expect(acts).toEqual(['release', 'held'])
  expect(logged).toHaveLength(1)
  state.fault = undefined
  state.unrestorable = { code: 'ENOSPC' }
  await pass(10_000)
  expect(machine.held).toBeDefined()
  state.unrestorable = undefined
  await pass(machineTimes.probe)
  expect(acts.slice(-2)).toEqual(['restore', 'sound'])
  // Other faults have no use for room.
  acts.length = 0
  machine.report(Object.assign(new Error('x'), { code: 'EMFILE' }))
  expect(acts).toEqual(['held'])
})

test('every folder in which something failed is looked at, and no more than a few', async () => {
  const { machine, asked, pass } = world()
  machine.report(Object.assign(new Error('x'), { code: 'EROFS' }), '/project')
  for (let number = 0; number < 100; number++) machine.report(FULL, `/elsewhere/${number}`)
  await pass(5_000)
  expect(asked.at(-1)!.slice(0, 3)).toEqual(['/profile', '/project', '/profile/file'])
  expect(asked.at(-1)!.length).toBeLessThanOrEqual(machineLimits.places + 1)
})

test('an error of another program is the machine’s where its folder cannot be written, whatever it says', async () => {
  const { machine, state } = world()
  const said = new ParleyError('git_failed', 'fatal: No space left on device')
  state.fault = undefined
  expect(await machine.blame(said, ['/run'])).toBeUndefined()
  expect(machine.held).toBeUndefined()
  state.fault = { code: 'EROFS', where: '/run' }
  expect(await machine.blame(new ParleyError('git_failed', 'fatal: bad object'), ['/run'])).toEqual(state.fault)
  expect(machine.held).toMatchObject({ code: 'EROFS', where: '/run' })
})

test('what failed while the machine was at fault is told apart from what failed before and after', async () => {
  const { clock, machine, state, pass } = world()
  const before = clock.now()
  machine.report(FULL)
  expect(machine.wasHeldSince(clock.now())).toBe(true)
  state.fault = undefined
  await pass(machineTimes.probe)
  expect(machine.wasHeldSince(before)).toBe(true)
  clock.advance(1)
  expect(machine.wasHeldSince(clock.now())).toBe(false)
})

test('work is repeated until the machine lets it be done, and its own refusal is its own', async () => {
  const { machine, state, pass } = world()
  let tries = 0
  const work = async (): Promise<Result<string>> =>
    ++tries < 3 ? err(new ParleyError('trail_unavailable', 'x', { cause: FULL })) : ok('done')
  const done = watched(machine.through(work, ['/run']))
  await pass(1_000)
  expect([tries, done.value]).toEqual([1, 'waits'])
  state.fault = undefined
  await pass(60_000)
  expect([tries, done.value]).toEqual([3, ok('done')])
  const refused = err(new ParleyError('invalid_state', 'too late'))
  expect(await machine.through(async () => refused, ['/run'])).toBe(refused)
})

test('what does not fit on a sound disk is the work’s own after a few times; what the trail cannot record never is', async () => {
  const { machine, state, pass } = world()
  state.fault = undefined
  const failing = async (code: string) => {
    let tries = 0
    const work = async () => {
      tries++
      return err(new ParleyError(code, 'x', { cause: FULL }))
    }
    const done = watched(machine.through(work, ['/run']))
    await pass(600_000)
    return { tries, value: done.value }
  }
  expect(await failing('folder_failed')).toMatchObject({ tries: machineLimits.faultsInARow, value: { ok: false } })
  const trail = await failing('trail_full')
  expect(trail.tries).toBeGreaterThan(machineLimits.faultsInARow)
  expect(trail.value).toBe('waits')
})

test('who does not want to wait any more is let go, and nothing is looked at after the end', async () => {
  const { clock, machine, asked, pass } = world()
  machine.report(FULL)
  const leaving = new AbortController()
  const waits = watched(machine.sound(leaving.signal))
  leaving.abort()
  await pass(100)
  expect(waits.value).toBe(false)
  expect(await machine.sound(leaving.signal)).toBe(false)
  machine.close()
  const before = asked.length
  await pass(100_000)
  expect([asked.length, clock.pending]).toEqual([before, 0])
})

test('what failed with a folder for no reason that a look finds is tried again, a few times; other failures are not', async () => {
  const { machine, state, pass } = world()
  state.fault = undefined
  const tries: string[] = []
  const failing = (code: string, times: number) => async (): Promise<Result<string>> => {
    tries.push(code)
    const failed = tries.filter(each => each === code).length <= times
    return failed ? err(new ParleyError(code, 'git read-tree failed: unable to write file README.md')) : ok('made')
  }
  const passing = watched(machine.through(failing('git_failed', unexplainedRetries.length), ['/run']))
  const lasting = watched(machine.through(failing('folder_failed', 100), ['/run']))
  const own = watched(machine.through(failing('exit_nonzero', 1), ['/run']))
  await pass(unexplainedRetries.reduce((sum, each) => sum + each, 0) + 500)
  expect(passing.value).toEqual(ok('made'))
  expect(lasting.value).toMatchObject({ ok: false, error: { code: 'folder_failed' } })
  expect(own.value).toMatchObject({ ok: false, error: { code: 'exit_nonzero' } })
  expect(tries.filter(each => each === 'exit_nonzero')).toHaveLength(1)
  expect(tries.filter(each => each === 'folder_failed')).toHaveLength(1 + unexplainedRetries.length)
})

test('nothing is tried again for a node that stops', async () => {
  const { machine, state, pass } = world()
  state.fault = undefined
  const stopped = new AbortController()
  let tries = 0
  const work = async (): Promise<Result<string>> => {
    tries++
    return err(new ParleyError('git_failed', 'unable to write file README.md'))
  }
  const done = watched(machine.through(work, ['/run'], stopped.signal))
  await pass(100)
  stopped.abort()
  await pass(100)
  expect([tries, done.value]).toMatchObject([1, { ok: false }])
})
