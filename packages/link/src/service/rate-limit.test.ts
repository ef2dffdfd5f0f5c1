import { expect, test } from 'vitest'
import { linkLimits } from '../limits.ts'
import { vectors } from '../testing/vectors.ts'
import { RateLimit } from './rate-limit.ts'

function limited() {
  const clock = { ms: 0 }
  const rate = new RateLimit(() => clock.ms)
  const admits = (cap: number, from = 'alice') => rate.admits(from, cap)
  return { clock, admits }
}

test('ALP-RATE-01 each identity has a window of its own', () => {
  const { admits } = limited()
  expect([admits(1), admits(1), admits(1, 'bob')]).toEqual([true, false, true])
})

test('ALP-RATE-02 the timelines of the vectors, to the microsecond', () => {
  for (const { cap, times_s, admitted } of vectors.rate_limit) {
    const { clock, admits } = limited()
    const got = times_s.map(seconds => {
      clock.ms = seconds * 1000
      return admits(cap)
    })
    expect(got).toEqual(admitted)
  }
})

test('ALP-RATE-02 what is refused does not count, and a time exactly a minute old still does', () => {
  const { clock, admits } = limited()
  expect(admits(1)).toBe(true)
  for (let ms = 1000; ms <= 60_000; ms += 1000) {
    clock.ms = ms
    expect(admits(1), String(ms)).toBe(false)
  }
  clock.ms = 60_000.001
  expect(admits(1)).toBe(true)
})

test('ALP-RATE-02 a cap that is lowered applies to what was admitted before', () => {
  const { admits } = limited()
  for (let times = 0; times < 5; times++) expect(admits(5)).toBe(true)
  expect(admits(3)).toBe(false)
  expect(admits(6)).toBe(true)
})

test('ALP-RATE-02 what is remembered is bounded, also where per_minute is not', () => {
  const { clock, admits } = limited()
  let times = 0
  while (admits(Number.MAX_SAFE_INTEGER)) times++
  expect(times).toBe(linkLimits.rateTimes)
  clock.ms = 120_000
  for (let peer = 0; peer < 5000; peer++) {
    clock.ms += 60_001
    expect(admits(1, `peer ${peer}`)).toBe(true)
  }
})
