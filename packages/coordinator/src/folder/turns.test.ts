// Taking turns.
import { expect, test } from 'vitest'
import { inTurn } from './turns.ts'

test('work with one key is done in order, also after a failure; work with another key does not wait', async () => {
  const seen: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = inTurn('a', async () => {
    await gate.promise
    seen.push('first')
    throw new Error('no')
  })
  const second = inTurn('a', async () => seen.push('second'))
  await inTurn('b', async () => seen.push('other'))
  gate.resolve()
  await expect(first).rejects.toThrow('no')
  await second
  expect(seen).toEqual(['other', 'first', 'second'])
})
