// The storage life cycle of whole runs (W-TRAIL-24 to 30), on a real disk: files of runs, the cold tier and its
// replica, reading from each of them.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { formatTimestamp, type ObjectId, type Result, type Ticks, unwrap, type WorkspaceId } from '@parley/core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Entry, TrailObject } from './entry.ts'
import { openCold } from './open-cold.ts'
import type { RunTrail } from './run/run-trail.ts'
import { ed25519Signer } from './signing.ts'
import type { ScannedRecord } from './store/store.ts'
import { FaultyFiles } from './testing/memory/faulty-files.ts'
import { memoryDisks, openMemoryCold } from './testing/memory/open-memory.ts'
import type { ScriptedRun } from './testing/scripted-run.ts'
import { codeOf, compact, expectSound, goingOn, memoryTrail, recordsOf, throughRestarts } from './testing/steps.ts'
import { forged, removeIndex, replaced, tamper } from './testing/tamper.ts'
import { type TestTrail, type TestTrailOptions, temporaryFolder, temporaryTrail } from './testing/temporary.ts'
import { Trail } from './trail.ts'

const SIZES = { firstSegmentBytes: 16 * 1024, segmentBytes: 32 * 1024 }
const DAY = 24 * 3600 * 1000
const RETENTION = { warm: 7 * DAY, cold: 30 * DAY }

interface Made extends TestTrail {
  readonly script: ScriptedRun
  readonly objects: readonly ObjectId[]
}

/** A run that has ended, with objects large and small, beside a house run that goes on. */
async function finishedRun(options: TestTrailOptions = {}, turns = 12): Promise<Made & { house: ScriptedRun }> {
  const made = await temporaryTrail({ ...SIZES, ...options })
  const house = await made.start()
  const { script, objects } = await addRun(made, turns, house)
  return { ...made, script, objects, house }
}

async function addRun(made: Pick<TestTrail, 'start'>, turns: number, house?: ScriptedRun) {
  const script = await made.start()
  const worker = await script.workspace()
  const objects: ObjectId[] = []
  for (let turn = 0; turn < turns; turn++) {
    const id = script.id('obj') as ObjectId
    objects.push(id)
    const value = { turn, text: 'x'.repeat(turn === 2 ? 80_000 : 200) }
    const checkpoint = script.entry('checkpoint_created', worker, 'worker', {
      checkpoint_id: script.id('cp'),
      workspace: worker,
    })
    unwrap(await script.appendWith([{ id, kind: 'payload', value }], checkpoint))
    await script.envelope(script.root, worker, 'system')
    if (turn % 3 === 0) await house?.workspace()
  }
  await script.state(worker, 'integrating', 'closed', { trigger: 'integration_succeeded' } as never)
  await script.end()
  return { script, objects }
}

interface Seen {
  readonly entries: readonly Entry[]
  readonly replayed: readonly (Entry | TrailObject)[]
  readonly closed: readonly Entry[]
}

/** All that a reader can get of a run. */
async function seen(run: RunTrail, objects: readonly ObjectId[]): Promise<Seen> {
  const replayed = await recordsOf(run)
  for (const id of objects) expect((await run.object(id))?.id).toBe(id)
  const page = unwrap(await run.query({}))
  expect(page.partial).toBeUndefined()
  const closed = unwrap(await run.query({ body: { to_state: 'closed' } })).entries
  return { entries: page.entries, replayed, closed }
}

function expectPrefix(now: Seen, before: Seen): void {
  expect(now.entries.slice(0, before.entries.length)).toEqual(before.entries)
  expect(now.replayed.slice(0, before.replayed.length)).toEqual(before.replayed)
  expect(now.closed).toEqual(before.closed)
}

const names = (...path: string[]) => (existsSync(join(...path)) ? readdirSync(join(...path)) : [])
const segments = (profile: string) => names(profile, 'trail').filter(name => name.endsWith('.seg'))

describe('files of runs', () => {
  test('W-TRAIL-25 a finished run leaves the log, byte for byte, and its segments go; the house run goes on', async () => {
    const made = await finishedRun({}, 60)
    const { trail, script, objects, house, profile } = made
    const before = await seen(script.run, objects)
    const houseBefore = await seen(house.run, [])
    const steps: number[] = []
    const compactor = trail.storage
    expect(await compactor.pending()).toMatchObject([{ run: script.run.id }])
    const segmentsBefore = segments(profile)
    await compact(compactor, script, made, ({ records }) => steps.push(records))
    expect(steps.length).toBeGreaterThan(0)
    expect(await compactor.pending()).toEqual([])
    expect(unwrap(await compactor.reclaim())).toBeGreaterThan(20_000)
    expect(segments(profile).filter(name => segmentsBefore.includes(name)).length).toBeLessThan(
      segmentsBefore.length / 2,
    )
    expect(names(profile, 'trail', 'runs', script.run.id)).toHaveLength(2)
    expect(await compactor.warm()).toContain(script.run.id)
    // The summary is on the trail, and in the run's file like all else.
    expect(unwrap(await script.run.query({ event_type: 'trail_compacted' })).entries).toHaveLength(1)
    const now = await throughRestarts(made, async ({ trail }, time) => {
      expectPrefix(await seen(trail.run(script.run.id), objects), before)
      expectPrefix(await seen(trail.run(house.run.id), []), houseBefore)
      await expectSound(trail)
      expect(await trail.storage.pending(), time).toEqual([])
    })
    const tierOf = (type: string) =>
      now.trail.run(script.run.id).tierOf(before.entries.find(({ event_type }) => event_type === type)!.seq)
    expect([await tierOf('checkpoint_created'), await tierOf('envelope_delivered')]).toEqual(['warm', 'cold'])
  })

  test('W-TRAIL-13 what is appended after the end is taken along by the next pass, into one file', async () => {
    const made = await finishedRun()
    const { trail, script, objects, profile } = made
    const compactor = trail.storage
    await compact(compactor, script, made)
    const before = await seen(script.run, objects)
    const [first] = names(profile, 'trail', 'runs', script.run.id)
    const late = { id: script.id('obj') as ObjectId, kind: 'note', value: 'late' }
    const violation = script.entry('integrity_violation', null, 'protocol')
    unwrap(await script.appendWith([late], violation))
    expect(await compactor.pending()).toMatchObject([{ run: script.run.id, records: 2 }])
    await compact(compactor, script, made)
    expect(await compactor.pending()).toEqual([])
    expect(names(profile, 'trail', 'runs', script.run.id)).toHaveLength(2)
    expect(names(profile, 'trail', 'runs', script.run.id)).not.toContain(first)
    const now = await made.reopen()
    const after = await seen(now.trail.run(script.run.id), [...objects, late.id])
    expectPrefix(after, before)
    expect(after.entries.at(-1)?.event_type).toBe('integrity_violation')
    await expectSound(now.trail)
  })

  test('W-TRAIL-25 a run that goes on holds on to no segments, and is read from its files', async () => {
    const made = await temporaryTrail(SIZES)
    const house = await made.start()
    const compactor = made.trail.storage
    let most = 0
    for (let round = 0; round < 6; round++) {
      const { script } = await addRun(made, 12, house)
      await compact(compactor, script, made)
      unwrap(await compactor.reclaim())
      most = Math.max(most, segments(made.profile).length)
    }
    expect(most).toBeLessThanOrEqual(4)
    const before = await seen(house.run, [])
    expect(before.entries.length).toBeGreaterThan(20)
    await expectSound(made.trail)
    // What it has in its files is hot all the same: tiers follow the states of workspaces.
    expect(await made.trail.run(house.run.id).tierOf(1)).toBe('hot')
    const now = await made.reopen()
    expectPrefix(await seen(now.trail.run(house.run.id), []), before)
    // It ends at last: its pieces become files without what went to the cold tier.
    const again = goingOn(house, now)
    await again.end()
    await compact(now.trail.storage, again, now)
    expect(names(made.profile, 'trail', 'runs', house.run.id)).toHaveLength(2)
    expectPrefix(await seen(again.run, []), { ...before, closed: (await seen(again.run, [])).closed })
    await expectSound(now.trail)
  })

  test('W-TRAIL-25 an index that a crash kept from hearing of the moves finds everything when it is opened', async () => {
    const made = await finishedRun()
    const { trail, script, objects, profile } = made
    const before = await seen(script.run, objects)
    await trail.close()
    const kept = readFileSync(join(profile, 'trail.index.db'))
    const now = await made.reopen()
    await compact(now.trail.storage, goingOn(script, now), now)
    unwrap(await now.trail.storage.reclaim())
    await now.trail.close()
    removeIndex(profile)
    writeFileSync(join(profile, 'trail.index.db'), kept)
    const last = await now.reopen()
    expectPrefix(await seen(last.trail.run(script.run.id), objects), before)
    expect((await last.trail.run(script.run.id).model()).root).toBe(script.root)
    await expectSound(last.trail)
  })

  test('W-TRAIL-27 a summary that never got onto the trail is proposed again, until it is there', async () => {
    const { trail, script, strict } = await finishedRun()
    const at = () => formatTimestamp(strict.take())
    const first = unwrap(await trail.storage.compactRun(script.run.id, at()))
    expect(first).toMatchObject({ done: false, moved: { records: 0 } })
    expect(first.summaries).toHaveLength(1)
    const second = unwrap(await trail.storage.compactRun(script.run.id, at()))
    expect(second).toMatchObject({ done: false, archived: 0, summaries: first.summaries })
    unwrap(await script.append(...second.summaries))
    expect(unwrap(await trail.storage.compactRun(script.run.id, at()))).toMatchObject({ done: true, summaries: [] })
  })

  test('W-TRAIL-25 appends are acknowledged while a run is being moved', async () => {
    const made = await finishedRun({}, 200)
    const { trail, script, house } = made
    const compactor = trail.storage
    let appended = 0
    let over = false
    const appending = (async () => {
      while (!over) {
        await house.workspace()
        appended++
      }
    })()
    await compact(compactor, script, made)
    unwrap(await compactor.reclaim())
    over = true
    await appending
    expect(appended).toBeGreaterThan(5)
    await expectSound(trail)
    expect((await house.run.head()).seq).toBeGreaterThan(appended)
  })

  test('W-TRAIL-25 a verification that is under way sees every record, though segments could go meanwhile', async () => {
    const { disks, store, clock: strict, start } = await memoryTrail(memoryDisks(), SIZES)
    const { script } = await addRun({ start }, 60)
    const all = async () => {
      const found: ScannedRecord[] = []
      for await (const records of store.scan()) found.push(...records)
      return found
    }
    const before = await all()
    const during: ScannedRecord[] = []
    const segments = () => disks.trail.list('').filter(name => name.endsWith('.seg')).length
    const most = segments()
    for await (const records of store.scan()) {
      if (during.length === 0) {
        await store.tiers.moveRun(script.run.id, formatTimestamp(strict.take()))
        await store.tiers.reclaim()
        expect(segments()).toBeGreaterThanOrEqual(most)
      }
      during.push(...records)
    }
    expect(during).toEqual(before)
    await store.tiers.reclaim()
    expect(segments()).toBeLessThan(most)
    expect(await all()).toEqual(before)
    await store.close()
  })

  test('W-TRAIL-10 a run whose chain is broken stays in the log, and what is wrong is handed back to be recorded', async () => {
    const made = await temporaryTrail()
    const { script } = await addRun(made, 4)
    await made.trail.close()
    tamper(
      made.profile,
      replaced(3, record => forged(record, '"worker"', '"reader"')),
    )
    const now = await made.reopen()
    const refused = await now.trail.storage.compactRun(script.run.id, formatTimestamp(now.strict.take()))
    expect(refused).toMatchObject({ ok: false, error: { code: 'trail_damaged' } })
    const violation = { event_type: 'integrity_violation', body: { violation: 'hash_mismatch' } }
    expect(refused.violations?.[0]).toMatchObject(violation)
    expect(names(made.profile, 'trail', 'runs')).toEqual([])
    expect(names(made.profile, 'trail', 'cold')).toEqual([])
  })

  test('a run that goes on is not compacted', async () => {
    const made = await temporaryTrail()
    const script = await made.start()
    const at = formatTimestamp(made.strict.take())
    expect(codeOf(await made.trail.storage.compactRun(script.run.id, at))).toBe('invalid_state')
    expect(codeOf(await made.trail.storage.expire(script.run.id, made.strict.take(), RETENTION))).toBe('invalid_state')
  })
})

/** A compacted run, and the time of its end. */
async function compactedRun(options: TestTrailOptions = {}) {
  const made = await finishedRun(options)
  const compactor = made.trail.storage
  await compact(compactor, made.script, made)
  return { ...made, run: made.script.run.id, compactor, ended: made.strict.take() }
}

/** The same in the cold tier, since `moved`. */
async function coldRun(options?: TestTrailOptions) {
  const made = await compactedRun(options)
  const moved = later(made.ended, RETENTION.warm)
  unwrap(await made.compactor.expire(made.run, moved, RETENTION))
  return { ...made, moved }
}

async function freeze({ trail, script }: Pick<Made, 'trail' | 'script'>, upTo: number): Promise<void> {
  unwrap(await script.append(unwrap(await trail.storage.snapshot(script.run.id, 'snap', upTo))))
}

const later = (from: Ticks, milliseconds: number) => (from + milliseconds * 1000) as Ticks

describe('retention', () => {
  test('W-TRAIL-28 a run moves to the cold tier after its warm window, whole, and only a snapshot lets its entries go after the cold one', async () => {
    const made = await compactedRun()
    const { trail, script, objects, run, compactor, ended, profile, clock } = made
    const before = await seen(script.run, objects)
    expect(codeOf(await compactor.expire(run, later(ended, RETENTION.warm / 2), RETENTION))).toBe('retention_active')
    const moved = later(ended, RETENTION.warm)
    expect(unwrap(await compactor.expire(run, moved, RETENTION))).toBe(1)
    expect(await compactor.warm()).not.toContain(run)
    expect(names(profile, 'trail', 'runs', run)).toEqual([])
    expect(names(profile, 'trail', 'cold', 'blobs.d')).toHaveLength(1)
    expect(await Promise.all([1, 2, 3].map(seq => trail.run(run).tierOf(seq)))).toEqual(['cold', 'cold', 'cold'])
    expectPrefix(await seen(script.run, objects), before)
    await expectSound(trail)
    // Its files are deletable once a snapshot covers them that is told of elsewhere.
    clock.set(later(moved, DAY))
    const archive = Math.max(...archives(join(profile, 'trail', 'cold', run)))
    const late = later(moved, RETENTION.cold + DAY)
    for (const time of [later(moved, DAY), late])
      expect(codeOf(await compactor.deleteArchive(run, archive, time, RETENTION))).toBe('retention_active')
    await freeze(made, (await script.run.head()).seq)
    unwrap(await compactor.deleteArchive(run, archive, late, RETENTION))
    await throughRestarts(made, async ({ trail }, time) => {
      const left = unwrap(await trail.run(run).query({ limit: 1000 })).entries.map(entry => entry.event_type)
      expect(left, time).toEqual(expect.arrayContaining(['envelope_delivered', 'trail_snapshot_created']))
      expect(left, time).not.toContain('checkpoint_created')
      expect(await trail.run(run).object(objects[0]!), time).toBeUndefined()
      await expectSound(trail)
    })
  })

  test('W-TRAIL-28 what comes after a run went cold is compacted and goes there, too', async () => {
    const made = await coldRun()
    const { script, objects, run, compactor, moved } = made
    made.clock.set(later(moved, DAY))
    await freeze(made, 5)
    expect(codeOf(await compactor.expire(run, later(moved, DAY), RETENTION))).toBe('invalid_state')
    await compact(compactor, script, made)
    expect(unwrap(await compactor.expire(run, made.strict.take(), RETENTION))).toBe(1)
    const before = await seen(script.run, objects)
    const { trail: cold } = await openedCold(join(made.profile, 'trail', 'cold'))
    expectPrefix(await seen(cold.run(run), objects), before)
    await expectSound(cold)
  })

  test('W-TRAIL-28 a file that a crash kept beside the one that took its place does not go to the cold tier', async () => {
    const made = await compactedRun()
    const { script, run, compactor, ended, profile } = made
    const warm = join(profile, 'trail', 'runs', run)
    const kept = join(temporaryFolder(), 'kept')
    cpSync(warm, kept, { recursive: true })
    await freeze(made, 5)
    await compact(compactor, script, made)
    expect(names(warm).some(name => names(kept).includes(name))).toBe(false)
    await made.trail.close()
    cpSync(kept, warm, { recursive: true })
    const now = await made.reopen()
    expect(unwrap(await now.trail.storage.expire(run, later(ended, RETENTION.warm), RETENTION))).toBe(1)
    expect(names(warm)).toEqual([])
    const cold = names(profile, 'trail', 'cold', run)
    expect(cold.filter(name => names(kept).includes(name))).toEqual([])
    await expectSound(now.trail)
  })

  test('W-TRAIL-28 a run whose beginning and end were deleted has still ended, whichever index says so', async () => {
    const made = await coldRun()
    const { script, run, compactor, ended, moved, clock } = made
    clock.set(later(moved, DAY))
    await freeze(made, (await script.run.head()).seq)
    const late = later(moved, RETENTION.cold + DAY)
    expect(unwrap(await compactor.deleteExpired(run, late, RETENTION))).toBeGreaterThan(0)
    const summaryOf = async (trail: Trail) => (await trail.runs()).find(each => each.run === run)
    const { root, seq: head } = (await summaryOf(made.trail))!
    const now = await throughRestarts(made, async ({ trail }, time) => {
      expect(await summaryOf(trail), time).toMatchObject({ root: script.root, seq: head, ended: true })
      expect(await trail.run(run).model(), time).toMatchObject({ root, ended: true })
      const left = unwrap(await trail.run(run).query({ event_type: 'workspace_created' })).entries
      expect(left, time).toEqual([])
      await expectSound(trail)
    })
    // Nothing but what follows an end is taken, and what is left of the run goes where the rest went.
    const again = goingOn(script, now)
    const [added, parent] = ['ws-late' as WorkspaceId, script.root]
    const created = again.entry('workspace_created', added, 'system', { workspace_id: added, parent })
    expect(codeOf(await again.append(created))).toBe('invalid_entry')
    const next = now.trail.storage
    await compact(next, again, now)
    expect(codeOf(await next.expire(run, later(ended, -DAY), RETENTION))).toBe('retention_active')
    expect(unwrap(await next.expire(run, late, RETENTION))).toBe(1)
    await expectSound(now.trail)
  })
})

/** The numbers of the archives in a folder. */
const archives = (folder: string) => names(folder).flatMap(name => Number(/^(\d+)\.zst$/.exec(name)?.[1]) || [])

async function openedCold(folder: string, trusted?: ReadonlySet<string>) {
  const opened = await openCold(folder, trusted ? { trusted } : {})
  onTestFinished(() => opened.trail.close())
  return opened
}

describe('the cold tier and its replica', () => {
  const signer = () => ed25519Signer(Buffer.alloc(32, 5))

  test('W-TRAIL-26 a run is read and verified from the cold tier or the replica alone, when all else is gone', async () => {
    const replica = temporaryFolder()
    const made = await compactedRun({ replica, signer: signer() })
    const { script, objects, run, compactor, ended, house, profile, trail } = made
    const { script: second } = await addRun(made, 3)
    await compact(compactor, second, made)
    unwrap(await compactor.expire(run, later(ended, RETENTION.warm), RETENTION))
    const before = await seen(script.run, objects)
    const head = await script.run.head()
    await trail.close()
    const cold = join(temporaryFolder(), 'cold')
    renameSync(join(profile, 'trail', 'cold'), cold)
    rmSync(profile, { recursive: true })
    const key = signer().id
    for (const folder of [cold, replica]) {
      const { trail: alone, incomplete } = await openedCold(folder, new Set([key]))
      // Of the other run only what compaction archived has come here yet.
      expect(incomplete).toEqual([second.run.id])
      expect((await alone.runs()).map(each => each.run)).toEqual([run])
      const now = await seen(alone.run(run), objects)
      expectPrefix(now, before)
      expect(now.entries).toEqual(before.entries)
      const report = await alone.verifyAll()
      expect(report).toMatchObject({ unreadable: [], runs: [{ run, head, findings: [] }] })
      expect(await alone.checkBlobs()).toMatchObject({ missing: [], damaged: [] })
      const late = script.drafts([script.entry('integrity_violation', null, 'protocol')])
      expect(codeOf(await alone.run(run).append({ entries: late }))).toBe('trail_read_only')
      const at = formatTimestamp(made.strict.take())
      expect(await alone.storage.compactRun(run, at)).toMatchObject({ ok: false, error: { code: 'trail_read_only' } })
      expect((await alone.run(house.run.id).head()).seq).toBe(0)
    }
    const { trail: untrusted } = await openedCold(replica, new Set([ed25519Signer(Buffer.alloc(32, 6)).id]))
    expect((await untrusted.verifyAll()).runs[0]!.findings[0]).toMatchObject({ damage: 'signature' })
  })

  test('W-TRAIL-16 an archive that is missing from a copy of the cold tier is found, by the head that is known there', async () => {
    const { run, profile, trail } = await coldRun()
    await trail.close()
    const cold = join(temporaryFolder(), 'cold')
    cpSync(join(profile, 'trail', 'cold'), cold, { recursive: true })
    const last = Math.max(...archives(join(cold, run)))
    for (const ending of ['zst', 'json.zst']) rmSync(join(cold, run, `${last}.${ending}`))
    const { trail: alone } = await openedCold(cold)
    const [report] = (await alone.verifyAll()).runs
    expect(report!.findings.map(finding => finding.damage)).toContain('truncated')
  })

  test('a folder that is not there is refused, and not made', async () => {
    const missing = join(temporaryFolder(), 'none')
    await expect(openCold(missing)).rejects.toMatchObject({ code: 'cold_not_found' })
    expect(existsSync(missing)).toBe(false)
  })

  test('W-TRAIL-26 without its replica nothing goes to the cold tier and nothing leaves the log; with it, the work goes on', async () => {
    const replica = join(temporaryFolder(), 'device')
    const made = await finishedRun({ replica })
    const { trail, script, objects, profile } = made
    const compactor = trail.storage
    const before = await seen(script.run, objects)
    const refused = await compactor.compactRun(script.run.id, formatTimestamp(made.strict.take()))
    expect(refused).toMatchObject({ ok: false, error: { code: 'replica_unavailable', retryable: true } })
    expect(existsSync(replica)).toBe(false)
    expect(unwrap(await compactor.reclaim())).toBe(0)
    expect(await compactor.pending()).toMatchObject([{ run: script.run.id }])
    expectPrefix(await seen(script.run, objects), before)
    mkdirSync(replica)
    await compact(compactor, script, made)
    expect(names(replica)).toEqual(['replica.json', script.run.id].sort())
    // An empty mount point is not the device.
    renameSync(replica, `${replica}.away`)
    mkdirSync(replica)
    const moved = later(made.strict.take(), RETENTION.warm)
    expect(codeOf(await compactor.expire(script.run.id, moved, RETENTION))).toBe('replica_unavailable')
    expect(names(replica)).toEqual([])
    expect(names(profile, 'trail', 'runs', script.run.id)).toHaveLength(2)
    expectPrefix(await seen(script.run, objects), before)
    rmSync(replica, { recursive: true })
    renameSync(`${replica}.away`, replica)
    unwrap(await compactor.expire(script.run.id, moved, RETENTION))
    expect(names(profile, 'trail', 'runs', script.run.id)).toEqual([])
    const { trail: alone } = await openedCold(replica)
    expectPrefix(await seen(alone.run(script.run.id), objects), before)
    await expectSound(alone)
    await expectSound(trail)
  })

  test('W-TRAIL-26 a replica that cannot be written, or is full, changes nothing, and later gets everything', async () => {
    const disks = { ...memoryDisks(), replica: new FaultyFiles() }
    const { store, trail, clock: strict, at, start } = await memoryTrail(disks, SIZES)
    const { script, objects } = await addRun({ start }, 5)
    const before = await seen(script.run, objects)
    const compactor = trail.storage
    const run = script.run.id
    const broken = async (work: () => Promise<Result<unknown>>) => {
      expect(await work()).toMatchObject({ ok: false, error: { code: 'replica_unavailable' } })
      disks.replica.mend()
      await expectSound(trail)
      expectPrefix(await seen(script.run, objects), before)
    }
    for (const fault of ['write', 'sync', 'folder', 'open'] as const) {
      disks.replica.fail(fault, { times: 1000 })
      await broken(() => compactor.compactRun(run, at()))
      expect(disks.trail.list(`cold/${run}`).filter(name => name.includes('json'))).toEqual([])
    }
    disks.replica.capacity = 300
    await broken(() => compactor.compactRun(run, at()))
    await compact(compactor, script, { strict })
    for (const after of [0, 1, 2]) {
      disks.replica.fail('write', { after, times: 1000 })
      await broken(() => compactor.expire(run, strict.take(), { warm: 0, cold: 0 }))
      expect(await compactor.warm()).toEqual([run])
    }
    unwrap(await compactor.expire(run, strict.take(), { warm: 0, cold: 0 }))
    await store.close()
    const alone = new Trail({ store: await openMemoryCold(disks.replica) })
    expectPrefix(await seen(alone.run(run), objects), before)
    await expectSound(alone)
  })

  test('W-TRAIL-26 the replica of another trail is not used', async () => {
    const replica = temporaryFolder()
    const first = await finishedRun({ replica })
    await compact(first.trail.storage, first.script, first)
    const other = await finishedRun({ replica })
    const at = formatTimestamp(other.strict.take())
    expect(codeOf(await other.trail.storage.compactRun(other.script.run.id, at))).toBe('replica_unavailable')
  })

  test('W-TRAIL-29 a damaged archive is read from the replica, and restored from it', async () => {
    const replica = temporaryFolder()
    const made = await coldRun({ replica })
    const { script, objects, run, profile } = made
    const before = await seen(script.run, objects)
    await made.trail.close()
    const folder = join(profile, 'trail', 'cold', run)
    const files = archives(folder).map(number => `${number}.zst`)
    const good = new Map(files.map(name => [name, readFileSync(join(folder, name))]))
    // One is flipped, one is gone, and so is a blob.
    const [flipped, ...gone] = files
    const bytes = Buffer.from(good.get(flipped!)!)
    bytes[bytes.length >> 1]! ^= 1
    writeFileSync(join(folder, flipped!), bytes)
    for (const name of gone) rmSync(join(folder, name))
    rmSync(join(profile, 'trail', 'cold', 'blobs.d'), { recursive: true })
    rmSync(join(profile, 'blobs'), { recursive: true })
    removeIndex(profile)
    const now = await made.reopen()
    expectPrefix(await seen(now.trail.run(run), objects), before)
    await expectSound(now.trail)
    const report = await now.trail.storage.restore()
    expect(report.lost).toEqual([])
    expect(report.restored).toHaveLength(files.length + 1)
    for (const [name, content] of good) expect(readFileSync(join(folder, name)).equals(content)).toBe(true)
    expect((await now.trail.storage.restore()).restored).toEqual([])
    await expectSound(now.trail)
  })

  test('W-TRAIL-28 what was deleted does not come back from a replica that was away then, whichever copy has lost its manifest', async () => {
    const replica = temporaryFolder()
    const made = await coldRun({ replica })
    const { script, run, ended, profile } = made
    const [here, there] = [join(profile, 'trail', 'cold', run), join(replica, run)]
    const records = '1.zst'
    const kept = readFileSync(join(there, records))
    unwrap(await made.trail.storage.deleteArchive(run, 1, later(ended, 2 * RETENTION.cold), RETENTION))
    const left = unwrap(await script.run.query({ limit: 1000 })).entries
    let now = made as TestTrail
    const losses: readonly (readonly [string, () => void, readonly string[]])[] = [
      ['its manifest here', () => rmSync(join(here, '1.json.zst')), ['1.json.zst']],
      ['what its manifest here says', () => writeFileSync(join(here, '1.json.zst'), 'x'), ['1.json.zst']],
      ['its manifest there', () => rmSync(join(there, '1.json.zst')), []],
      ['nothing', () => {}, []],
    ]
    for (const [what, lose, restored] of losses) {
      await now.trail.close()
      // The replica was pulled out after the deletion was noted there, and before its records went.
      writeFileSync(join(there, records), kept)
      lose()
      removeIndex(profile)
      now = await now.reopen()
      const report = await now.trail.storage.restore()
      const files = restored.map(name => `cold/${run}/${name}`)
      expect(report, what).toEqual({ restored: files, lost: [] })
      expect(names(here), what).not.toContain(records)
      await expectSound(now.trail)
      expect(unwrap(await now.trail.run(run).query({ limit: 1000 })).entries, what).toEqual(left)
      expect((await now.trail.replica())?.lacking, what).toBeGreaterThan(0)
      await now.trail.storage.replicate()
      expect(names(there), what).not.toContain(records)
      expect((await now.trail.replica())?.lacking, what).toBe(0)
      const { trail: alone } = await openedCold(replica)
      await expectSound(alone)
      expect(unwrap(await alone.run(run).query({ limit: 1000 })).entries, what).toEqual(left)
    }
  })

  test('W-TRAIL-26 records that a crash left without a manifest are not lost, and go with the next pass; a last copy stays', async () => {
    const made = await coldRun()
    const { script, run, ended, moved, profile } = made
    const cold = join(profile, 'trail', 'cold', run)
    const first = Math.min(...archives(cold))
    const left = Math.max(...archives(cold)) + 1
    // What a crash leaves that comes between the records and their manifest, and in the middle of one.
    cpSync(join(cold, `${first}.zst`), join(cold, `${left}.zst`))
    writeFileSync(join(cold, `${left}.json.zst.tmp`), 'half')
    const now = await made.reopen()
    expect(await now.trail.storage.restore()).toEqual({ restored: [], lost: [] })
    const again = goingOn(script, now)
    now.clock.set(later(moved, DAY))
    await freeze({ ...now, script: again }, 5)
    await compact(now.trail.storage, again, now)
    expect(names(cold).filter(name => name.startsWith(`${left}.`))).toEqual([])
    expect(names(profile, 'trail', 'runs', run)).toContain(`${left + 1}.json.zst`)
    await expectSound(now.trail)
    unwrap(await now.trail.storage.reclaim())
    await now.trail.close()
    // Whoever has only lost its manifest is missed, and is not touched.
    rmSync(join(cold, `${first}.json.zst`))
    removeIndex(profile)
    const after = await now.reopen()
    expect((await after.trail.storage.restore()).lost).toEqual([`cold/${run}/${first}.json.zst`])
    await after.trail.storage.expire(run, later(ended, 2 * RETENTION.warm), RETENTION)
    expect(names(cold)).toContain(`${first}.zst`)
  })

  test('W-TRAIL-29 without a replica, what a damaged archive held is missing from answers, and they say so', async () => {
    const made = await compactedRun()
    const { run, profile } = made
    await made.trail.close()
    const first = `${archives(join(profile, 'trail', 'cold', run))[0]}.zst`
    rmSync(join(profile, 'trail', 'cold', run, first))
    for (const index of ['kept', 'made anew']) {
      if (index !== 'kept') removeIndex(profile)
      const now = await made.reopen()
      const page = unwrap(await now.trail.run(run).query({}))
      expect(page.partial?.length, index).toBeGreaterThan(0)
      expect(page.entries.length, index).toBeGreaterThan(10)
      expect((await now.trail.run(run).verify()).findings.length, index).toBeGreaterThan(0)
      expect((await now.trail.storage.restore()).lost, index).toEqual([`cold/${run}/${first}`])
      await now.trail.close()
    }
  })

  test('W-TRAIL-26 a replica that is named later is brought up to date, snapshots included', async () => {
    const made = await compactedRun()
    const { script, objects, run, compactor, ended } = made
    await freeze(made, 4)
    await compact(compactor, script, made)
    unwrap(await compactor.expire(run, later(ended, RETENTION.warm), RETENTION))
    const before = await seen(script.run, objects)
    await made.trail.close()
    const replica = temporaryFolder()
    const now = await temporaryTrail({ ...SIZES, profile: made.profile, replica, ids: made.ids })
    expect(await now.trail.storage.replicate()).toBeGreaterThan(5)
    expect(await now.trail.storage.replicate()).toBe(0)
    expect(names(replica, 'snapshots.d')).toEqual(['snap.zst'])
    const { trail: alone } = await openedCold(replica)
    expectPrefix(await seen(alone.run(run), objects), before)
    await expectSound(alone)
  })

  test('archives from before runs had files still open, are read, moved and deleted', async () => {
    const made = await finishedRun()
    const { script, objects, profile } = made
    const run = script.run.id
    const { summaries } = unwrap(await made.trail.storage.compactRun(run, formatTimestamp(made.strict.take())))
    unwrap(await script.append(...summaries))
    const before = await seen(script.run, objects)
    await made.trail.close()
    const folder = join(profile, 'trail', 'cold', run)
    for (const name of names(folder).filter(each => each.endsWith('.json.zst'))) {
      const manifest = JSON.parse(zstdDecompressSync(readFileSync(join(folder, name))).toString())
      const { archive, archived_at, archive_hash, bytes, workspace, entries } = manifest
      const first = entries.map(({ workspace: _, ...listed }: Record<string, unknown>) => listed)
      const old = { version: 1, run, workspace, archive, archived_at, archive_hash, bytes, deleted: false }
      writeFileSync(join(folder, name.replace('.zst', '')), `${JSON.stringify({ ...old, entries: first })}\n`)
      rmSync(join(folder, name))
    }
    removeIndex(profile)
    const now = await made.reopen()
    expectPrefix(await seen(now.trail.run(run), objects), before)
    await expectSound(now.trail)
    const again = now.trail.storage
    const compacted = unwrap(await again.compactRun(run, formatTimestamp(now.strict.take())))
    expect(compacted).toMatchObject({ done: true, archived: 0 })
    const ended = now.strict.take()
    unwrap(await again.expire(run, later(ended, RETENTION.warm), RETENTION))
    const { trail: alone } = await openedCold(join(profile, 'trail', 'cold'))
    expectPrefix(await seen(alone.run(run), objects), before)
    unwrap(await again.deleteArchive(run, 1, later(ended, 2 * RETENTION.cold), RETENTION))
    expect(names(folder).filter(name => name.startsWith('1.'))).toEqual(['1.json.zst'])
    await expectSound(now.trail)
  })

  test('compacted runs take less room than the log', async () => {
    const made = await finishedRun({}, 150)
    const sizeOf = (folder: string): number =>
      names(folder).reduce((sum, name) => {
        const path = join(folder, name)
        return sum + (statSync(path).isDirectory() ? sizeOf(path) : statSync(path).size)
      }, 0)
    const hot = segments(made.profile).reduce((sum, name) => sum + statSync(join(made.profile, 'trail', name)).size, 0)
    await compact(made.trail.storage, made.script, made)
    const warm = ['runs', 'cold'].reduce((sum, name) => sum + sizeOf(join(made.profile, 'trail', name)), 0)
    expect(warm * 2).toBeLessThan(hot)
  })
})
