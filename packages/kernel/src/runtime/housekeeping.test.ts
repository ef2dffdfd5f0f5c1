// The storage life cycle as a runtime drives it (W-TRAIL-24 to 30): by the clock, one run at a time, again after a
// restart and after a failure.
import { unwrap } from '@parley/core'
import { edited, FaultyFiles, memoryDisks, tamper } from '@parley/trail/testing'
import { expect, test, vi } from 'vitest'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { type Fixture, type FixtureOptions, refused, withWorker } from '../testing/fixture.ts'
import { temporaryProfile } from '../testing/profile.ts'
import type { StorageFault, StoragePolicy } from './storage-schedule.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** Entries of one moment have times a little ahead of the clock. */
const LATER = MINUTE + 1
const POLICY: StoragePolicy = { compactAfter: MINUTE, warm: 7 * DAY }

/** A run with a worker that closed, and the house beside it. */
async function working(storage: StoragePolicy | undefined, options: FixtureOptions = {}): Promise<Fixture> {
  const f = await withWorker({ ...options, ...(storage && { storage }) })
  await f.bring('W', 'closed')
  return f
}

async function ended(storage: StoragePolicy | undefined, options: FixtureOptions = {}): Promise<Fixture> {
  const f = await working(storage, options)
  unwrap(await f.run.close())
  await f.settle()
  return f
}

const types = async (f: Fixture) =>
  unwrap(await f.trail.run(f.run.id).query({})).entries.map(({ event_type }) => event_type)
const files = (f: Fixture, tier: string) => f.disks.trail.list(`${tier}/${f.run.id}`)
const isCompacted = async (f: Fixture) => (await f.trail.storage.pending()).length === 0
/** Work of the trail takes turns of the event loop, not time. */
const until = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 2 })

async function expectSound(f: Fixture): Promise<void> {
  const { runs, unreadable } = await f.trail.verifyAll()
  expect([unreadable, runs.flatMap(({ findings }) => findings)]).toEqual([[], []])
}

test('W-TRAIL-27 a run that has ended is compacted after its delay, with the summary of each workspace on its trail', async () => {
  const f = await ended(POLICY)
  const before = await f.run.entries()
  await f.mark()
  await f.advance(MINUTE - 1000)
  expect(await isCompacted(f)).toBe(false)
  await f.advance(2000)
  await until(async () => expect(await isCompacted(f)).toBe(true))
  const cold = before.length - (await f.trail.tiers()).warm.entries + 2
  const added = await f.added()
  expect(added.map(entry => f.row(entry).slice(0, 3))).toEqual([
    ['trail_compacted', null, 'protocol'],
    ['trail_compacted', null, 'protocol'],
  ])
  const archived = added.map(({ body }) => (body as { entries_archived: number }).entries_archived)
  expect(archived.reduce((sum, each) => sum + each, 0)).toBe(cold)
  expect((await f.run.entries()).slice(0, before.length)).toEqual(before)
  expect(files(f, 'runs')).toHaveLength(2)
  expect(f.runtime.storage.status()).toEqual({ working: null, faults: [] })
  await expectSound(f)
  // It is read as before, and takes nothing.
  const again = unwrap(await f.runtime.open(f.run.id))
  expect(await again.read(run => run.workspaces.size)).toBe(2)
  expect(refused(await again.close())).toBe('invalid_state')
})

test('W-TRAIL-25 a run at work is left alone, and goes on while another is compacted', async () => {
  const f = await ended(POLICY)
  const other = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await other.coordinator.started())
  f.clock.advance(LATER)
  for (let count = 0; count < 5; count++)
    unwrap(await other.coordinator.createWorkspace({ role: 'worker', context: { count } }))
  await until(async () => expect(await isCompacted(f)).toBe(true))
  expect(refused(await f.runtime.storage.compact(other.id))).toBe('invalid_state')
  const seen = (await other.entries()).map(({ event_type }) => event_type)
  expect(seen).not.toContain('trail_compacted')
  await expectSound(f)
})

test('without a delay nothing happens by itself, and on request at once', async () => {
  for (const policy of [undefined, { warm: 0 }]) {
    const f = await ended(policy)
    await f.advance(30 * DAY)
    expect(await isCompacted(f)).toBe(false)
    const { runs, failed } = unwrap(await f.runtime.storage.compact())
    expect([runs.map(({ run }) => run), failed]).toEqual([[f.run.id], []])
    expect(runs[0]!.archived).toBeGreaterThan(0)
    expect(runs[0]!.moved.records).toBeGreaterThan(0)
    expect(await isCompacted(f)).toBe(true)
    const again = unwrap(await f.runtime.storage.compact(f.run.id))
    expect(again.runs[0]).toMatchObject({ archived: 0, moved: { records: 0 } })
  }
})

test('W-TRAIL-27 a run that readers let go of again and again meanwhile is compacted all the same', async () => {
  const f = await ended(undefined)
  const open = f.trail.run.bind(f.trail)
  let released = 0
  vi.spyOn(f.trail, 'run').mockImplementation(id => {
    const run = open(id)
    const append = run.append.bind(run)
    run.append = async batch => {
      if (released++ < 5) await f.trail.release(id)
      return append(batch)
    }
    return run
  })
  unwrap(await f.runtime.storage.compact(f.run.id))
  expect(released).toBeGreaterThan(5)
  vi.restoreAllMocks()
  expect((await types(f)).filter(type => type === 'trail_compacted')).toHaveLength(2)
  await expectSound(f)
})

test('W-TRAIL-28 after its warm retention a run is in the cold tier, and stays there', async () => {
  const f = await ended(POLICY)
  await f.advance(LATER)
  await until(async () => expect(await isCompacted(f)).toBe(true))
  await f.advance(7 * DAY - 2 * MINUTE)
  expect(files(f, 'runs')).toHaveLength(2)
  await f.advance(3 * MINUTE)
  await until(() => expect(files(f, 'cold')).toContain('run.json'))
  await until(() => expect(files(f, 'runs')).toEqual([]))
  await f.advance(3650 * DAY)
  await f.settle()
  const { cold, warm, deleted } = await f.trail.tiers()
  expect([cold.entries, warm.entries, deleted]).toEqual([(await f.run.entries()).length, 0, 0])
  await expectSound(f)
})

test('W-TRAIL-28 what is past its cold retention goes where it is configured, as far as the trail still tells of it', async () => {
  const f = await ended({ ...POLICY, cold: 30 * DAY })
  await f.advance(LATER)
  await until(async () => expect(await isCompacted(f)).toBe(true))
  const all = (await f.run.entries()).length
  await f.advance(8 * DAY)
  await until(() => expect(files(f, 'runs')).toEqual([]))
  expect((await f.trail.tiers()).deleted).toBe(0)
  await f.advance(40 * DAY)
  await until(async () => expect((await f.trail.tiers()).deleted).toBeGreaterThan(0))
  // The rest of the run has no snapshot, and stays; that is no fault.
  expect(f.runtime.storage.status().faults).toEqual([])
  const { cold, deleted } = await f.trail.tiers()
  expect(cold.entries).toBe(all - deleted)
  expect(await types(f)).toEqual(expect.arrayContaining(['workspace_created', 'trail_compacted']))
  await expectSound(f)
  const { up_to } = unwrap(await f.runtime.storage.snapshot(f.run.id))
  expect(up_to).toBe(all)
  await f.advance(kernelDefaults.storageLook)
  await until(async () => expect((await f.trail.tiers()).deleted).toBe(all))
  expect((await types(f)).at(-1)).toBe('trail_snapshot_created')
  await expectSound(f)
})

test('W-TRAIL-30 a snapshot is taken of a run that has ended, and is on its trail', async () => {
  const f = await working(POLICY)
  expect(refused(await f.runtime.storage.snapshot(f.run.id))).toBe('invalid_state')
  unwrap(await f.run.close())
  await f.settle()
  const entries = await f.run.entries()
  await f.mark()
  const taken = unwrap(await f.runtime.storage.snapshot(f.run.id))
  expect(taken).toMatchObject({
    run: f.run.id,
    up_to: entries.length,
    entry_count: entries.length,
    head_hash: entries.at(-1)!.integrity.entry_hash,
  })
  const { run: _run, ...body } = taken
  await f.expectAdded([['trail_snapshot_created', null, 'protocol', body]])
  expect(f.disks.trail.list('snapshots')).toEqual([`${taken.snapshot_id}.zst`])
  expect(refused(await f.runtime.storage.snapshot('run_none' as never))).toBe('not_found')
})

test('what a stop kept from being done is done after the next start, from any step on', async () => {
  const f = await ended(POLICY)
  for (let stop = 0; stop < 12; stop++) {
    f.clock.advance(LATER)
    for (let turn = 0; turn < stop * 3; turn++) await new Promise(resolve => setImmediate(resolve))
    await f.reopen()
    await expectSound(f)
  }
  await f.advance(LATER)
  await until(async () => expect(await isCompacted(f)).toBe(true))
  const summaries = (await types(f)).filter(type => type === 'trail_compacted')
  expect(summaries).toHaveLength(2)
  await expectSound(f)
})

test('W-TRAIL-26 a replica that is away stops what needs it, is told once, and is tried again', async () => {
  const replica = new FaultyFiles()
  const told: StorageFault[] = []
  const f = await ended(POLICY, { disks: { ...memoryDisks(), replica }, onStorageFault: fault => told.push(fault) })
  replica.capacity = 0
  const before = await f.run.entries()
  await f.advance(LATER)
  await until(() => expect(told).toHaveLength(1))
  expect(told[0]).toMatchObject({ run: null, code: 'replica_unavailable', attempts: 1 })
  expect(await f.run.entries()).toEqual(before)
  expect(files(f, 'cold')).toEqual([])
  await f.advance(kernelDefaults.storageRetry)
  await until(() => expect(f.runtime.storage.status().faults).toMatchObject([{ attempts: 2 }]))
  expect(told).toHaveLength(1)
  replica.capacity = Number.POSITIVE_INFINITY
  await f.advance(2 * kernelDefaults.storageRetry)
  await until(async () => expect(await isCompacted(f)).toBe(true))
  await until(() => expect(f.runtime.storage.status().faults).toEqual([]))
  expect((await f.trail.tiers()).replica).toEqual({ name: 'replica', lacking: 0 })
  expect(replica.list(f.run.id).length).toBeGreaterThan(0)
  await expectSound(f)
})

test('W-TRAIL-26 a replica that is named later gets all of the cold tier', async () => {
  const f = await ended(POLICY)
  await f.advance(LATER)
  await until(async () => expect(await isCompacted(f)).toBe(true))
  const replica = new FaultyFiles()
  await f.reopen(() => {
    f.disks = { ...f.disks, replica }
  })
  expect((await f.trail.replica())?.lacking).toBeGreaterThan(0)
  await f.advance(kernelDefaults.storageStart)
  await until(async () => expect(await f.trail.replica()).toEqual({ name: 'replica', lacking: 0 }))
  expect(replica.list(f.run.id)).toEqual(files(f, 'cold'))
})

test('W-TRAIL-10 a run that is damaged stays where it is, is on record once, and keeps no other waiting', async () => {
  const profile = temporaryProfile()
  const told: StorageFault[] = []
  const f = await ended(POLICY, { profile, onStorageFault: fault => told.push(fault) })
  const damaged = f.run.id
  await f.reopen(() =>
    tamper(profile, records =>
      records.map(record =>
        record.kind === 'entry' && record.run === damaged && record.seq === 4
          ? edited(record, '"workspace', '"workspacf')
          : record,
      ),
    ),
  )
  const other = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await other.coordinator.started())
  unwrap(await other.close())
  for (let round = 0; round < 3; round++) {
    await f.advance(kernelLimits.storageRetry)
    await until(() => expect(f.runtime.storage.status().faults[0]?.attempts).toBe(round + 1))
  }
  expect(told).toMatchObject([{ run: damaged, code: 'trail_damaged' }])
  // It is left alone until it is its turn again, whatever else is done meanwhile.
  const third = unwrap(await f.runtime.start({ owner: 'ux' }))
  unwrap(await third.coordinator.started())
  unwrap(await third.close())
  await f.advance(LATER)
  await until(async () => expect(await f.trail.storage.pending()).toHaveLength(1))
  expect(f.runtime.storage.status().faults).toMatchObject([{ run: damaged, attempts: 3 }])
  const left = (await f.trail.storage.pending()).map(({ run }) => run)
  expect(left).toEqual([damaged])
  const found = unwrap(await f.trail.run(f.runtime.house.run).query({ event_type: 'integrity_violation' })).entries
  expect(found).toHaveLength(1)
  expect(found[0]).toMatchObject({ workspace: null, actor: 'protocol', body: { subject_type: 'trail_entry' } })
})
