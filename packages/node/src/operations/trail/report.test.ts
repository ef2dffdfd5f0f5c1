// What the answer of a verification holds where very much is damaged.
import type { RunId } from '@parley/core'
import type { VerifyReport } from '@parley/trail'
import { expect, test } from 'vitest'
import { nodeLimits } from '../../limits.ts'
import { report } from './trail.ts'

const edited = { entry: null, damage: 'edited', violation: 'hash_mismatch', message: '', expected: '', actual: '' }

const damaged = (count: number, run: string): VerifyReport => ({
  run: run as RunId,
  entries: count,
  head: undefined,
  findings: Array.from(
    { length: count },
    (_, index) => ({ ...edited, seq: index + 1 }) as VerifyReport['findings'][number],
  ),
  violations: [],
})

test('every damaged run has its first finding, and all of them together are bounded, with the true count', () => {
  const runs = Array.from({ length: 9 }, (_, index) => damaged(1000, `run_${index}`))
  const places = Array.from({ length: nodeLimits.reportPlaces + 5 }, (_, index) => `place ${index}`)
  const answer = report([...runs, damaged(0, 'run_sound')], places)
  expect(answer.sound).toBe(false)
  const counts = answer.runs.map(({ findings, findings_total }) => [findings.length, findings_total])
  expect(counts).toEqual([...Array(5).fill([1000, 1000]), [6, 1000], ...Array(3).fill([1, 1000]), [0, 0]])
  expect(answer.runs.every(({ findings }) => findings.length === 0 || findings[0]?.seq === 1)).toBe(true)
  expect([answer.unreadable.length, answer.unreadable_total]).toEqual([1000, 1005])
})
