import { expect, test } from 'vitest'
import { Handover } from './handover.ts'

const never = new AbortController().signal

test('a writer waits until its value was taken, and values come in their order', async () => {
  const values = new Handover<number>()
  const done: number[] = []
  const writing = [1, 2].map(value => values.push(value).then(() => done.push(value)))
  await Promise.resolve()
  expect(done).toEqual([])
  expect(await values.next(never)).toBe(1)
  await writing[0]
  expect(done).toEqual([1])
  const later = values.next(never)
  expect(await later).toBe(2)
  const waits = values.next(never)
  void values.push(3)
  expect(await waits).toBe(3)
  values.end()
  expect(await values.next(never)).toBeUndefined()
  await values.push(4)
})

test('what was written before the end is read; a reader that leaves lets its writers go', async () => {
  const values = new Handover<number>()
  const first = values.push(1)
  values.end()
  expect(await values.next(never)).toBe(1)
  await first
  const left = new Handover<number>()
  const leaving = new AbortController()
  const reading = left.next(leaving.signal)
  leaving.abort()
  expect(await reading).toBeUndefined()
  const held = left.push(1)
  left.abandon()
  await held
})
