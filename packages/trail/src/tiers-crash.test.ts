// Power loss during the life cycle of runs (W-TRAIL-25): whichever operation is the last, every record is there once,
// nothing is damaged, and the work can be finished afterwards.
import { ManualClock, type RunId, SeededIds, StrictClock, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { StoredRecord } from './entry.ts'
import type { TrailStore } from './store/store.ts'
import { FaultyFiles } from './testing/memory/faulty-files.ts'
import { type MemoryDisks, openMemoryCold, openMemoryStore } from './testing/memory/open-memory.ts'
import { PowerCut } from './testing/power-cut.ts'
import { seededRandom } from './testing/random.ts'
import { ScriptedRun } from './testing/scripted-run.ts'
import { compact, expectSound } from './testing/steps.ts'
import { Trail } from './trail.ts'

const START = 1_772_355_900_000_000 as Ticks
const SIZES = { firstSegmentBytes: 8 * 1024, segmentBytes: 16 * 1024 }
/** Every nth operation is tried as the last one, each with another outcome of the power loss. */
const STEP = process.env.PARLEY_SOAK ? 1 : 3

interface Disks extends MemoryDisks {
  readonly replica: FaultyFiles
}

interface World {
  readonly disks: Disks
  readonly clock: StrictClock
  readonly ids: SeededIds
  /** What each run holds, record by record. */
  readonly records: ReadonlyMap<RunId, readonly string[]>
  readonly ended: readonly RunId[]
  readonly live: RunId
}

async function build(): Promise<World> {
  const disks: Disks = { trail: new FaultyFiles(), blobs: new FaultyFiles(), replica: new FaultyFiles() }
  const clock = new StrictClock(new ManualClock(START))
  const ids = new SeededIds(7)
  const store = await openMemoryStore(disks, SIZES)
  const trail = new Trail({ store })
  const house = await ScriptedRun.start(trail, ids, clock)
  const ended: RunId[] = []
  for (let count = 0; count < 3; count++) {
    const script = await ScriptedRun.start(trail, ids, clock)
    const worker = await script.workspace()
    for (let turn = 0; turn < 5; turn++) {
      const size = turn === 3 ? 70_000 : 300
      const object = { id: script.id('obj') as never, kind: 'payload', value: `${turn}`.repeat(size) }
      const body = { checkpoint_id: script.id('cp'), workspace: worker }
      unwrap(await script.appendWith([object], script.entry('checkpoint_created', worker, 'worker', body)))
      await script.envelope(script.root, worker, 'system')
      await house.checkpoint(await house.workspace())
    }
    await script.state(worker, 'integrating', 'closed', { reason: 'integrated' } as never)
    await script.end()
    ended.push(script.run.id)
  }
  const records = await contents(store)
  await store.close()
  return { disks, clock, ids, records, ended, live: house.run.id }
}

const lineOf = (record: StoredRecord) =>
  record.kind === 'entry' ? `e ${record.seq} ${record.hash}` : `o ${record.seq} ${record.id}`

/** Each record of each run as a scan finds it, and as a replay does: both must agree. */
async function contents(store: TrailStore): Promise<Map<RunId, string[]>> {
  const scanned = new Map<RunId, string[]>()
  for await (const records of store.scan()) {
    for (const record of records) {
      if (record.kind !== 'entry' && record.kind !== 'object')
        throw new Error(`${record.kind}: ${JSON.stringify(record)}`)
      const list = scanned.get(record.run) ?? []
      scanned.set(record.run, list)
      list.push(lineOf(record))
    }
  }
  for (const [run, list] of scanned) {
    const replayed: string[] = []
    for await (const record of store.replay(run)) {
      if (record.kind === 'object') expect((await store.object(run, record.id))?.data).toBe(record.data)
      replayed.push(lineOf(record))
    }
    expect(replayed).toEqual(list)
  }
  return scanned
}

/** What a runtime does: compacts what has ended, appends the summaries, frees the log, moves runs to the cold tier. */
async function live(world: World, disks: Disks, files: (disk: FaultyFiles) => FaultyFiles): Promise<void> {
  const store = await openMemoryStore(each(disks, files), SIZES)
  try {
    const trail = new Trail({ store })
    const compactor = trail.storage
    const clock = new StrictClock(new ManualClock(START))
    clock.anchor(store.floor)
    const runs = await store.runs()
    for (const run of world.ended) {
      const { root } = runs.find(each => each.run === run)!
      await compact(compactor, new ScriptedRun(trail, world.ids, clock, { run, root }), { strict: clock })
    }
    unwrap(await compactor.reclaim())
    for (const run of world.ended) unwrap(await compactor.expire(run, clock.take(), { warm: 0, cold: 0 }))
  } finally {
    await store.close().catch(() => {})
  }
}

/** All that was there before is there, once and in order; what was added behind it are summaries. */
async function check(world: World, disks: Disks, say: string): Promise<void> {
  const store = await openMemoryStore(disks, SIZES)
  expect(store.damage, say).toEqual([])
  const found = await contents(store)
  for (const [run, records] of world.records) expect(found.get(run)?.slice(0, records.length), say).toEqual(records)
  await expectSound(new Trail({ store }), say)
  expect((await store.checkBlobs()).missing, say).toEqual([])
  await store.close()
}

const each = ({ trail, blobs, replica }: Disks, take: (disk: FaultyFiles) => FaultyFiles): Disks => ({
  trail: take(trail),
  blobs: take(blobs),
  replica: take(replica),
})

const copyOf = (disks: Disks) => each(disks, disk => disk.copy())

/** What the machine finds after a power loss. */
function crashed(disks: Disks, seed: number): Disks {
  const random = seededRandom(seed)
  return each(disks, disk => disk.crash(random))
}

test('W-TRAIL-25 whichever operation a power loss ends, every record is there once and the work can be finished', async () => {
  const world = await build()
  const untouched = new PowerCut(Number.MAX_SAFE_INTEGER)
  const finished = copyOf(world.disks)
  await live(world, finished, disk => untouched.on(disk) as FaultyFiles)
  await check(world, finished, 'without a power loss')
  for (let last = 0; last < untouched.done; last += STEP) {
    const disks = copyOf(world.disks)
    const cut = new PowerCut(last)
    await live(world, disks, disk => cut.on(disk) as FaultyFiles).catch(() => {})
    const found = crashed(disks, last)
    const say = `operation ${last} of ${untouched.done}`
    await check(world, found, say)
    await live(world, found, disk => disk)
    await check(world, found, `${say}, finished`)
    for (const run of world.ended) expect(found.trail.list(`runs/${run}`), say).toEqual([])
    const cold = await openMemoryCold(found.replica)
    const alone = await contents(cold)
    for (const run of world.ended) {
      const records = world.records.get(run)!
      expect(alone.get(run)?.slice(0, records.length), say).toEqual(records)
    }
    await expectSound(new Trail({ store: cold }), say)
    await cold.close()
  }
}, 600_000)

test('W-TRAIL-26 W-TRAIL-28 whichever operation of a deletion a power loss ends, the replica alone holds all that the trail does', async () => {
  const world = await build()
  await live(world, world.disks, disk => disk)
  const [run] = world.ended as [RunId]
  const opened = (disks: Disks, cut: PowerCut) =>
    openMemoryStore(
      each(disks, disk => cut.on(disk) as FaultyFiles),
      SIZES,
    )
  const remove = async (store: TrailStore) => {
    const { archive } = (await store.tiers.manifests(run)).find(({ kind }) => kind === 'workspace')!
    return new Trail({ store }).storage.deleteArchive(run, archive, (store.floor + 1) as Ticks, { cold: 0 })
  }
  const held = async (store: TrailStore) => {
    expect((await new Trail({ store }).run(run).verify()).findings).toEqual([])
    const records: number[] = []
    for await (const record of store.replay(run)) if (record.kind === 'entry') records.push(record.seq)
    return records
  }
  const untouched = new PowerCut(Number.MAX_SAFE_INTEGER)
  const whole = await opened(copyOf(world.disks), untouched)
  const all = await held(whole)
  unwrap(await remove(whole))
  const left = await held(whole)
  for (let last = 0; last < untouched.done; last++) {
    const disks = copyOf(world.disks)
    await remove(await opened(disks, new PowerCut(last))).catch(() => {})
    const found = crashed(disks, last)
    const say = `operation ${last} of ${untouched.done}`
    const store = await openMemoryStore(found, SIZES)
    const here = await held(store)
    const alone = async () => {
      const cold = await openMemoryCold(found.replica.copy())
      const records = await held(cold)
      await cold.close()
      return records
    }
    const there = await alone()
    expect(there, say).toEqual(expect.arrayContaining(here))
    // As whoever keeps the house does: the deletion is tried again where it did not count, and the replica follows
    // where it is behind.
    const again = await remove(store)
    expect(again.ok || again.error.code, say).toBe(here.length === all.length ? true : 'not_found')
    if ((await store.tiers.replica())!.lacking > 0) await store.tiers.replicate()
    expect([await held(store), await alone()], `${say}, finished`).toEqual([left, left])
    await store.close()
  }
})
