// Looking up runs by their keys, in bounded room.
import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { coordinatorLimits } from '../limits.ts'
import { keyMark, MarkedRuns, marked } from './run-key.ts'

const SECRET = Buffer.alloc(32, 1)
const markOf = (key: number) => keyMark(SECRET, 'alice', `${key}`)
const runOf = (key: number, at = key) => marked(`run_01m7v${String(at).padStart(5, '0')}${'0'.repeat(16)}`, markOf(key))

function indexed(...runs: RunId[]) {
  const read: number[] = []
  const marks = new MarkedRuns(async () => {
    read.push(runs.length)
    return [...runs]
  })
  const begin = async (run: RunId) => {
    runs.push(run)
    await marks.note(run)
  }
  return { marks, begin, read }
}

test('new keys and those in use lately are told without looking through all runs', async () => {
  const { marks, begin, read } = indexed(runOf(0))
  for (let key = 1; key <= 1_000; key++) {
    expect(await marks.of(markOf(key))).toEqual([])
    await begin(runOf(key))
    expect(await marks.of(markOf(key))).toEqual([runOf(key)])
  }
  expect(read).toHaveLength(1)
})

test('a key that was not in use for long is found all the same, with all of its runs', async () => {
  const { marks, begin, read } = indexed(runOf(0))
  const last = coordinatorLimits.keptKeys + 10
  await marks.of(markOf(1))
  for (let key = 1; key <= last; key++) await begin(runOf(key))
  expect(await marks.of(markOf(0))).toEqual([runOf(0)])
  await begin(runOf(1, last + 1))
  expect(await marks.of(markOf(1))).toEqual([runOf(1), runOf(1, last + 1)])
  await begin(runOf(1, last + 2))
  expect(await marks.of(markOf(1))).toHaveLength(3)
  expect(read).toHaveLength(3)
})

test('a run that begins while all are looked through is not missed later', async () => {
  const runs = [runOf(1)]
  let meanwhile: (() => Promise<void>) | undefined
  const marks: MarkedRuns = new MarkedRuns(async () => {
    const read = [...runs]
    await meanwhile?.()
    return read
  })
  await marks.of(markOf(2))
  meanwhile = async () => {
    meanwhile = undefined
    runs.push(runOf(1, 2))
    await marks.note(runOf(1, 2))
  }
  await marks.of(markOf(1))
  expect(await marks.of(markOf(1))).toEqual(runs)
})
