// A node that was started on demand stops when nobody needs it, and not before.
import { ManualClock } from '@parley/core'
import { expect, test } from 'vitest'
import { IdleWatch } from './idle.ts'

const minute = 60_000

function watch(timeoutMs: number) {
  const clock = new ManualClock()
  const state = { busy: false, idle: 0 }
  const watched = new IdleWatch({
    clock,
    timeoutMs,
    busy: async () => state.busy,
    idle: () => {
      state.idle++
    },
  })
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1000) {
      clock.advance(Math.min(1000, left))
      await Promise.resolve()
      await Promise.resolve()
    }
  }
  return { clock, state, watched, pass }
}

test('it ends after the whole time without anything to do, once', async () => {
  const { state, pass } = watch(10 * minute)
  await pass(10 * minute - 1000)
  expect(state.idle).toBe(0)
  await pass(2000)
  expect(state.idle).toBe(1)
  await pass(60 * minute)
  expect(state.idle).toBe(1)
})

test('as long as there is something to do the time does not run', async () => {
  const { state, pass } = watch(10 * minute)
  state.busy = true
  await pass(60 * minute)
  expect(state.idle).toBe(0)
  state.busy = false
  await pass(9 * minute)
  expect(state.idle).toBe(0)
  await pass(2 * minute)
  expect(state.idle).toBe(1)
})

test('a client that came and went between two looks counts', async () => {
  const { state, watched, pass } = watch(minute)
  await pass(50_000)
  watched.touch()
  await pass(50_000)
  expect(state.idle).toBe(0)
  await pass(11_000)
  expect(state.idle).toBe(1)
})

test('stopped, it does nothing more', async () => {
  const { clock, state, watched, pass } = watch(minute)
  watched.stop()
  await pass(5 * minute)
  expect(state.idle).toBe(0)
  expect(clock.pending).toBe(0)
})
