import { ManualClock, type Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import { nodeTimes } from './limits.ts'
import { recorded } from './recorded.ts'

const held = { code: 'EIO', where: '/disk', since: '', message: 'Held up.' } as const
const never = new Promise<string>(() => undefined)

test('what is recorded in time is told, and nothing waits on', async () => {
  const clock = new ManualClock(0 as Ticks)
  expect(await recorded(Promise.resolve('done'), { held }, clock)).toBe('done')
  await expect(recorded(Promise.reject(new Error('refused')), { held }, clock)).rejects.toThrow('refused')
  clock.advance(10 * nodeTimes.recorded)
})

test('a start that the machine holds up is refused; one that is only slow is not', async () => {
  const clock = new ManualClock(0 as Ticks)
  const machine: { held: typeof held | undefined } = { held: undefined }
  const result = recorded(never, machine, clock)
  let settled = false
  result.then(
    () => undefined,
    () => {
      settled = true
    },
  )
  clock.advance(nodeTimes.recorded)
  await Promise.resolve()
  expect(settled).toBe(false)
  machine.held = held
  clock.advance(nodeTimes.recorded)
  await expect(result).rejects.toMatchObject({ code: 'trail_unavailable' })
})
