// Work that is shared: never two runs at once, and never one that began before it was asked for.
import { expect, test } from 'vitest'
import { sharing } from './sharing.ts'

test('calls during a run share the next one, also those that come as it ends', async () => {
  const runs: { end(): void; fail(): void }[] = []
  let atOnce = 0
  const shared = sharing(async (_key: string) => {
    expect(++atOnce).toBe(1)
    const number = runs.length
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    runs.push({ end: resolve, fail: () => reject(new Error('failed')) })
    try {
      await promise
    } finally {
      atOnce--
    }
    return number
  })
  const first = shared('a')
  const second = [shared('a'), shared('a')]
  // One call in each turn of the queue while the first run ends and the next one begins.
  const between: Promise<number>[] = []
  const late = (async () => {
    for (let turn = 0; turn < 8; turn++) {
      await null
      between.push(shared('a'))
    }
  })()
  runs[0]!.fail()
  await expect(first).rejects.toThrow('failed')
  await late
  runs[1]!.end()
  expect(await Promise.all(second)).toEqual([1, 1])
  runs[2]?.end()
  for (const number of await Promise.all(between)) expect(number).toBeGreaterThan(0)
})

test('other keys run beside it', async () => {
  const shared = sharing(async (key: string) => key)
  expect(await Promise.all([shared('a'), shared('b')])).toEqual(['a', 'b'])
})
