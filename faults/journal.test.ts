// What the journal of the clients finds by itself, and what is remembered of lives that are over.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Journal } from './journal.ts'
import type { LifeOutcome } from './life.ts'
import { type Ground, liveRange, tableOf } from './range.ts'

const entry = (seq: number, id = `e_${seq}`) => ({ seq, id, integrity: { entry_hash: `hash of ${id}` } })

function journal() {
  const told = new Journal()
  const run = told.began('run_1', { intent: 'x', tasks: ['a'], gated: false })
  told.delivered(run, [entry(1), entry(2)])
  expect(told.findings).toEqual([])
  return { told, run }
}

test('entries that are delivered in order, again, or by another reader are no finding', () => {
  const { told, run } = journal()
  told.delivered(run, [entry(3)])
  told.seen(run, entry(2))
  told.head('run_1', 3, 'hash of e_3')
  told.viewed(run, { state: 'done', tasks: [{ id: 'a', state: 'done' }] })
  expect(told.findings).toEqual([])
})

test('a fault that spoils work excuses what it can have met, and nothing that was over before or began later', () => {
  const { told, run } = journal()
  const begin = (name: string, intent: string) => told.began(name, { intent, tasks: [], gated: false })
  const before = begin('run_2', 'before')
  before.over = true
  told.intents.set('asked', false)
  told.spoils('EIO')
  const during = begin('run_3', 'during')
  told.spoilsNoMore()
  const asked = begin('run_4', 'asked')
  const later = begin('run_5', 'later')
  expect([run, before, during, asked, later].map(({ excuses }) => excuses)).toEqual([['EIO'], [], ['EIO'], ['EIO'], []])
})

test.each<[string, (made: ReturnType<typeof journal>) => void, RegExp]>([
  ['a gap', ({ told, run }) => told.delivered(run, [entry(4)]), /entry 4 behind entry 2/],
  ['an entry twice', ({ told, run }) => told.delivered(run, [entry(2)]), /entry 2 behind entry 2/],
  ['another entry', ({ told, run }) => told.seen(run, entry(2, 'e_other')), /entry 2 of run_1 was e_2/],
  [
    'a head that goes back',
    ({ told }) => {
      told.head('run_1', 2, 'hash of e_2')
      told.head('run_1', 1, 'hash of e_1')
    },
    /was 2 and is now 1/,
  ],
  ['a head of another entry', ({ told }) => told.head('run_1', 2, 'forged'), /its head has forged/],
  [
    'a task that is not done any more',
    ({ told, run }) => {
      told.viewed(run, { state: 'working', tasks: [{ id: 'a', state: 'done' }] })
      told.viewed(run, { state: 'working', tasks: [{ id: 'a', state: 'working' }] })
    },
    /task a of run_1 was done/,
  ],
  [
    'an end that changes',
    ({ told, run }) => {
      told.viewed(run, { state: 'done', tasks: [] })
      run.over = true
      told.viewed(run, { state: 'working', tasks: [] })
    },
    /was over as done/,
  ],
  [
    'a run for two requests',
    ({ told }) => told.began('run_1', { intent: 'y', tasks: [], gated: false }),
    /two requests/,
  ],
])('%s is found', (_what, act, finding) => {
  const made = journal()
  act(made)
  expect(made.told.findings).toHaveLength(1)
  expect(made.told.findings[0]).toMatch(finding)
})

test('a range that was stopped goes on where it stood, also behind a line that was cut off', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-faults-progress-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const progress = join(folder, 'progress.jsonl')
  const life = (seed: number): LifeOutcome => ({
    seed,
    histories: { kill: 2, stop: 1 },
    missed: 0,
    runs: 1,
    entries: 10,
    seconds: 1,
  })
  writeFileSync(progress, `${JSON.stringify(life(1))}\n${JSON.stringify(life(2))}\n{"seed":3,"hist`)
  const outcomes = await liveRange({ first: 1, last: 2, faults: 3, jobs: 2, progress }, {} as Ground)
  expect(outcomes.map(({ seed }) => seed)).toEqual([1, 2])
  expect(tableOf(outcomes)).toContain('| kill | 4 | 0 |')
  expect(tableOf(outcomes).at(-1)).toBe('| all | 6 | 0 |')
})
