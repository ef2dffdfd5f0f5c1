// Lists of runs on a trail that somebody has changed at rest.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type RunId, refuse, SystemClock, SystemIds, type Ticks, type Timestamp, unwrap } from '@parley/core'
import type { TrailRun } from '@parley/trail'
import { edited, ScriptedRun, tamper } from '@parley/trail/testing'
import { expect, test } from 'vitest'
import { Fixture, refusal, solo, writes } from '../testing/fixture.ts'
import { RunList } from './run-list.ts'

const YAML = solo('one')

/** Runs that are over, the oldest first. */
async function ended(...intents: readonly string[]): Promise<{ fixture: Fixture; runs: RunId[] }> {
  const fixture = await Fixture.open({ one: () => 'done' })
  const runs: RunId[] = []
  for (const intent of intents) {
    const run = await fixture.solve(YAML, { intent })
    await fixture.over(run)
    runs.push(run)
  }
  return { fixture, runs }
}

type Change = Parameters<typeof tamper>[1]

async function changed(fixture: Fixture, change: Change): Promise<void> {
  await fixture.stop()
  tamper(fixture.profile, change)
  await fixture.start()
}

const without = (run: RunId, gone: (seq: number) => boolean) => (records: Parameters<Change>[0]) =>
  records.filter(record => record.run !== run || !gone(record.seq))

/** The runs of a list, each with its state. */
const listed = async (fixture: Fixture, filter?: Parameters<Fixture['coordinator']['runs']['list']>[0]) =>
  (await fixture.coordinator.runs.list(filter)).map(({ run, state }) => `${run} ${state}`)

const viewed = async (fixture: Fixture, run: RunId) => unwrap(await fixture.coordinator.views.view(run))

test.each<readonly [what: string, change: (run: RunId) => Change]>([
  [
    'an edited entry',
    run => records =>
      records.map(each =>
        each.run === run && each.kind === 'entry' && each.seq === 5
          ? edited(each, '"event_type"', '"event-type"')
          : each,
      ),
  ],
  ['a missing entry', run => without(run, seq => seq === 7)],
  ['no beginning', run => without(run, seq => seq <= 3)],
  ['no end', run => without(run, seq => seq > 9)],
])('a run with %s is listed as damaged, in its place and with nothing made up', async (_, change) => {
  const { fixture, runs } = await ended('First.', 'Second.', 'Third.')
  const [first, second, third] = runs as [RunId, RunId, RunId]
  const [before] = await fixture.coordinator.runs.list({ limit: 1 })
  await changed(fixture, change(second))
  const now = await fixture.coordinator.runs.list()
  expect(await listed(fixture)).toEqual([`${third} done`, `${second} damaged`, `${first} done`])
  expect(now[0]).toEqual(before)
  expect(now[1]).toMatchObject({ intent: '', team: '', project: '', principal: '', tasks_total: 0 })
  expect(now[1]!.started >= now[2]!.started && now[1]!.started <= now[0]!.started).toBe(true)
  expect(now[1]).not.toHaveProperty('ended')
  // Again, and by state.
  expect(await fixture.coordinator.runs.list()).toEqual(now)
  expect(await listed(fixture, { states: ['damaged'] })).toEqual([`${second} damaged`])
  expect(await listed(fixture, { states: ['done'], limit: 2 })).toEqual([`${third} done`, `${first} done`])
  expect(await listed(fixture, { states: ['working', 'waiting'] })).toEqual([])
  const error = { code: 'trail_damaged', message: expect.stringContaining(second) }
  expect(await fixture.coordinator.views.view(second)).toMatchObject({ ok: false, error })
})

test('last is the newest run, damaged or not', async () => {
  const { fixture, runs } = await ended('First.', 'Second.')
  const [first, second] = runs as [RunId, RunId]
  const change = without(second, seq => seq === 7)
  expect(unwrap(await fixture.coordinator.runs.find('last'))).toBe(second)
  await changed(fixture, change)
  expect(unwrap(await fixture.coordinator.runs.find('last'))).toBe(second)
  expect((await fixture.trail.run(second).verify()).findings).not.toEqual([])
  expect((await fixture.trail.run(first).verify()).findings).toEqual([])
})

test('a run whose content is lost is listed, and whoever asks for it is told which one it is', async () => {
  const { fixture, runs } = await ended('First.', `Second. ${'x'.repeat(60_000)}`)
  const [first, second] = runs as [RunId, RunId]
  await fixture.stop()
  const blobs = join(fixture.profile, 'blobs')
  for (const name of readdirSync(blobs)) rmSync(join(blobs, name), { recursive: true })
  await fixture.start()
  expect(await listed(fixture)).toEqual([`${second} damaged`, `${first} done`])
  const error = { code: 'blob_missing', message: expect.stringContaining(second), details: { run: second } }
  expect(await fixture.coordinator.views.view(second)).toMatchObject({ ok: false, error })
})

test('a run whose archive was removed is listed, and so is the one beside it', async () => {
  const { fixture, runs } = await ended('First.', 'Second.')
  const [first, second] = runs as [RunId, RunId]
  expect(unwrap(await fixture.coordinator.storage.compact(second))).toMatchObject({ failed: [] })
  await fixture.restart()
  expect(await listed(fixture)).toEqual([`${second} done`, `${first} done`])
  await fixture.stop()
  const folder = join(fixture.profile, 'trail')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => /cold/.test(name))
  for (const name of files) rmSync(join(folder, name), { recursive: true, force: true })
  await fixture.start()
  expect(await listed(fixture)).toEqual([`${second} damaged`, `${first} done`])
})

test('a damaged run from elsewhere is marked as such, and is the last one only where there is no other', async () => {
  const [own, foreign] = ['run_1', 'run_2'] as RunId[] as [RunId, RunId]
  const imported = { fingerprint: 'ab:cd', at: '2026-01-02T00:00:00.000000Z' as Timestamp } as NonNullable<
    TrailRun['imported']
  >
  const rows = [{ run: own }, { run: foreign, created: 0 as Ticks, imported }] as TrailRun[]
  const list = (runs: readonly TrailRun[]) =>
    new RunList(
      {
        clock: new SystemClock(),
        trail: { runs: async () => runs },
        runtime: { house: { run: 'run_0' as RunId }, active: [], library: { parts: async () => [] } },
      },
      { view: async run => refuse('trail_damaged', `${run} is damaged.`) },
    )
  expect(await list(rows).list()).toMatchObject([
    { run: foreign, state: 'damaged', imported: { from: 'ab:cd', at: imported.at } },
    { run: own, state: 'damaged' },
  ])
  expect(unwrap(await list(rows).find('last'))).toBe(own)
  expect(unwrap(await list(rows.slice(1)).find('last'))).toBe(foreign)
})

test('what is no run for people stays out, and is not the last one', async () => {
  const { fixture, runs } = await ended('Only.')
  const { run: other } = await ScriptedRun.start(fixture.trail, new SystemIds(), new SystemClock())
  const all = (await fixture.trail.runs()).map(({ run }) => run)
  // The house run is the third.
  expect(all).toHaveLength(3)
  expect(all).toContain(other.id)
  expect(await listed(fixture)).toEqual([`${runs[0]} done`])
  expect(unwrap(await fixture.coordinator.runs.find('last'))).toBe(runs[0])
  const empty = await Fixture.open()
  expect(await empty.coordinator.runs.list()).toEqual([])
  expect(await empty.coordinator.runs.find('last')).toMatchObject(refusal('not_found'))
})

/** A run that has a result, and nobody who answers. */
async function stoppedWithResult() {
  const fixture = await Fixture.open({ one: writes('one.txt') })
  const run = await fixture.solve(YAML)
  const { result } = await fixture.over(run)
  await fixture.stop()
  return { fixture, run, result }
}

test('of a run whose folder is gone nobody can tell what it changed, but its branch is named', async () => {
  const { fixture, run, result } = await stoppedWithResult()
  rmSync(join(fixture.profile, 'runs', run), { recursive: true })
  for (let times = 0; times < 2; times++) {
    await fixture.start()
    const view = await viewed(fixture, run)
    const gone = "the run's folder is gone from the profile, or was cleaned up"
    expect(view).toMatchObject({ state: 'done', result_unknown: `${gone}; its branch is ${result!.branch}` })
    expect(view.result).toBeUndefined()
    await fixture.stop()
  }
})

test('a result that could not be read is looked for again; of a project that has moved nobody can tell', async () => {
  const { fixture, run, result } = await stoppedWithResult()
  const finished = join(fixture.profile, 'runs', run, 'finished.json')
  renameSync(finished, `${finished}.aside`)
  symlinkSync(finished, finished)
  await fixture.start()
  expect(await viewed(fixture, run)).not.toHaveProperty('result')
  renameSync(`${finished}.aside`, finished)
  expect((await viewed(fixture, run)).result).toEqual(result)
  await fixture.stop()
  renameSync(finished, `${finished}.aside`)
  await fixture.start()
  const noted = `what was noted of its result is gone from the profile; its branch is ${result!.branch}`
  expect((await viewed(fixture, run)).result_unknown).toBe(noted)
  await fixture.stop()
  renameSync(fixture.project, `${fixture.project}.moved`)
  await fixture.start()
  expect((await viewed(fixture, run)).result_unknown).toContain('is not where it was')
})

test('runs of a folder are those of its project: the same repository, or exactly that folder', async () => {
  const { fixture, runs } = await ended('First.')
  const plain = join(fixture.folder, 'plain')
  mkdirSync(join(plain, 'sub'), { recursive: true })
  mkdirSync(join(fixture.project, 'new'))
  fixture.git('worktree', 'add', '--quiet', join(fixture.folder, 'worktree'))
  const { run } = await fixture.finished(YAML, { project: plain })
  const inFolder = async (...path: string[]) =>
    (await fixture.coordinator.runs.list({ folder: join(fixture.folder, ...path) })).map(each => each.run)
  for (const path of [['project'], ['worktree']]) expect(await inFolder(...path)).toEqual(runs)
  expect(await inFolder('plain')).toEqual([run])
  for (const path of [[], ['project', 'new'], ['plain', 'sub'], ['pla'], ['gone']])
    expect(await inFolder(...path)).toEqual([])
  // A repository further down is a project of its own, and so is the folder around it.
  execFileSync('git', ['init', '--quiet'], { cwd: join(plain, 'sub') })
  expect(await inFolder('plain', 'sub')).toEqual([])
})
