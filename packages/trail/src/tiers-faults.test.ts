// Disks that fail and readers that are in the way while records move (W-TRAIL-25, -27, -28): what goes wrong is told as
// what it is, and nothing sound is taken for damaged.
import { type ObjectId, type Result, SeededIds, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { FaultyFiles } from './testing/memory/faulty-files.ts'
import { IndexDisk } from './testing/memory/index-disk.ts'
import { type MemoryStoreOptions, memoryDisks, openMemoryCold, openMemoryStore } from './testing/memory/open-memory.ts'
import { ScriptedRun } from './testing/scripted-run.ts'
import { codeOf, compact, mailRun, memoryTrail } from './testing/steps.ts'
import { Trail } from './trail.ts'

async function finished(sizes: MemoryStoreOptions = {}, disks = memoryDisks()) {
  const made = await memoryTrail(disks, sizes)
  return { ...made, ...(await mailRun(made)) }
}

test('W-TRAIL-27 an error of the disk is worth another attempt, whatever was being moved', async () => {
  const { disks, store, trail, clock, script, worker, at, run } = await finished()
  const compactor = trail.storage
  const attempts = [
    () => trail.storage.compactWorkspace(run, worker, at()),
    () => trail.storage.compactWorkspaces(run, at()),
    () => compactor.compactRun(run, at()),
    () => trail.storage.snapshot(run, 'frozen', 1),
  ]
  for (const attempt of attempts) {
    disks.trail.fail('write')
    expect(await attempt()).toMatchObject({ error: { code: 'trail_unavailable', retryable: true } })
    disks.trail.mend()
    disks.trail.capacity = 1
    expect(await attempt()).toMatchObject({ error: { code: 'trail_full', retryable: true } })
    disks.trail.mend()
  }
  unwrap(await script.append(...unwrap(await trail.storage.compactWorkspaces(run, at())).summaries))
  unwrap(await compactor.compactRun(run, at()))
  // Numbers that failed attempts took are not given out again.
  const [first] = await store.tiers.manifests(run)
  const later: readonly (() => Promise<Result<unknown>>)[] = [
    () => compactor.expire(run, clock.take(), { cold: 0 }),
    () => trail.storage.deleteArchive(run, first!.archive, clock.take(), { cold: 0 }),
  ]
  for (const attempt of later) {
    disks.trail.fail('write')
    expect(await attempt()).toMatchObject({ error: { code: 'trail_unavailable', retryable: true } })
    disks.trail.mend()
    unwrap(await attempt())
  }
  expect((await script.run.verify()).findings).toEqual([])
})

test('W-TRAIL-26 W-TRAIL-28 an archive that could not be deleted is in both copies until another attempt deletes it', async () => {
  const disks = { ...memoryDisks(), replica: new FaultyFiles() }
  const { store, trail, clock, script, run } = await finished({}, disks)
  const compactor = trail.storage
  await compact(compactor, script, { strict: clock })
  unwrap(await compactor.expire(run, clock.take(), { cold: 0 }))
  const { seq: head } = await script.run.head()
  const { archive, entries } = (await store.tiers.manifests(run)).find(({ kind }) => kind === 'workspace')!
  const inBoth = async () => {
    const cold = await openMemoryCold(disks.replica.copy())
    const counts: number[] = []
    for (const trails of [trail, new Trail({ store: cold })]) {
      expect((await trails.run(run).verify()).findings).toEqual([])
      counts.push(unwrap(await trails.run(run).query({ limit: 1000 })).entries.length)
    }
    await cold.close()
    return counts
  }
  const attempt = () => trail.storage.deleteArchive(run, archive, clock.take(), { cold: 0 })
  const troubles: readonly (readonly [string, () => void])[] = [
    ['trail_unavailable', () => disks.trail.fail('write')],
    ['trail_unavailable', () => disks.trail.fail('sync')],
    ['trail_unavailable', () => disks.trail.fail('folder')],
    // The first write notes it here; behind it, the log is wiped.
    ['trail_unavailable', () => disks.trail.fail('write', { after: 1, times: 9 })],
    ['replica_unavailable', () => disks.replica.fail('write')],
    ['replica_unavailable', () => Object.assign(disks.replica, { capacity: 1 })],
    ['replica_unavailable', () => Object.assign(disks.replica, { dead: true })],
  ]
  for (const [code, trouble] of troubles) {
    trouble()
    expect(await attempt()).toMatchObject({ error: { code, retryable: true } })
    disks.trail.mend()
    disks.replica.mend()
    disks.replica.dead = false
    expect(await inBoth(), `${trouble}`).toEqual([head, head])
    expect((await store.tiers.manifests(run)).some(({ deleted }) => deleted)).toBe(false)
  }
  // By now both manifests say that it is to be deleted: what is damaged here is put back all the same.
  const damaged = disks.trail.open(`cold/${run}/${archive}.zst`, 'existing')
  damaged.truncate(3)
  damaged.close()
  expect((await store.tiers.restore()).restored).toEqual([`cold/${run}/${archive}.zst`])
  expect(await inBoth()).toEqual([head, head])
  // A replica that fails when its records are to go is behind, and nothing else.
  disks.replica.fail('folder', { after: 2 })
  unwrap(await attempt())
  disks.replica.mend()
  const left = head - entries.length
  await store.tiers.replicate()
  expect(await inBoth()).toEqual([left, left])
  expect((await store.tiers.replica())?.lacking).toBe(0)
})

test.each(['verify', 'delete'] as const)(
  'W-TRAIL-28 what is deleted while somebody verifies is bridged, and not damaged: %s begins first',
  async first => {
    // The other begins at every moment of it, up to one that comes when it is over: one of them is when the reader
    // knows the archive as it was, and comes to its records when these are gone.
    for (let turns = 0, over = false; !over; turns++) {
      const { trail, store, clock, script, worker, at, run } = await finished()
      unwrap(await script.append(...unwrap(await trail.storage.compactWorkspace(run, worker, at())).summaries))
      const acts = {
        verify: async () => expect((await script.run.verify()).findings, `after ${turns} turns`).toEqual([]),
        delete: async () => void unwrap(await trail.storage.deleteArchive(run, 1, clock.take(), { cold: 0 })),
      }
      let done = false
      const begun = acts[first]().then(() => {
        done = true
      })
      for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
      over = done
      await Promise.all([begun, acts[first === 'verify' ? 'delete' : 'verify']()])
      await store.close()
    }
  },
)

test('W-TRAIL-07 behind a segment that was begun to free another one, the log goes on in order', async () => {
  const sizes = { firstSegmentBytes: 32 * 1024, segmentBytes: 32 * 1024 }
  const { disks, trail, store, clock, script, worker, at, run } = await finished(sizes)
  unwrap(await script.append(...unwrap(await trail.storage.compactWorkspace(run, worker, at())).summaries))
  const note = (count: number) => ({ id: script.id('obj') as ObjectId, kind: 'note', value: `${count}`.repeat(1500) })
  // More than half of the segment is full, so that the next one lies ready.
  for (let count = 0; count < 8; count++)
    unwrap(await script.appendWith([note(count)], script.entry('integrity_violation', null, 'protocol')))
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  unwrap(await trail.storage.deleteArchive(run, 1, clock.take(), { cold: 0 }))
  for (let count = 0; count < 40; count++) {
    unwrap(await script.appendWith([note(count)], script.entry('integrity_violation', null, 'protocol')))
    expect((await store.head(run))?.seq).toBe((await script.run.head()).seq)
  }
  const head = await store.head(run)
  await trail.close()
  const again = await openMemoryStore(disks, sizes)
  expect(again.damage).toEqual([])
  expect(await again.head(run)).toEqual(head)
  expect((await new Trail({ store: again }).run(run).verify()).findings).toEqual([])
})

test('W-TRAIL-27 of a run that goes on only terminal workspaces are compacted', async () => {
  const { store, trail, at, start } = await memoryTrail()
  const script = await start()
  const [done, busy] = [await script.workspace(), await script.workspace()]
  for (const worker of [done, busy]) await script.envelope(script.root, worker, 'system')
  await script.state(done, 'integrating', 'closed', { trigger: 'integration_succeeded' } as never)
  const { archived, summaries } = unwrap(await trail.storage.compactWorkspaces(script.run.id, at()))
  expect([archived, summaries.map(({ body }) => (body as { workspace: string }).workspace)]).toEqual([1, [done]])
  expect((await store.tiers.manifests(script.run.id)).map(({ workspace }) => workspace)).toEqual([done])
  await trail.close()
})

test('W-TRAIL-25 a run of which the log has lost entries stays where it is', async () => {
  const { disks, trail, run, at } = await finished()
  await trail.close()
  const { size } = disks.trail.open('00000001.seg', 'existing')
  disks.trail.flip('00000001.seg', Math.floor(size / 2))
  const store = await openMemoryStore(disks)
  await expect(store.tiers.moveRun(run, at())).rejects.toMatchObject({ code: 'trail_damaged' })
  expect(await store.tiers.manifests(run)).toEqual([])
  await store.close()
})

test('W-TRAIL-27 a run that is compacted twice at once has every entry archived once', async () => {
  const { trail, store, script, at, run } = await finished()
  // A finished run that nobody holds: the compactor opens it for each piece of work.
  await trail.release(run)
  const compactor = trail.storage
  const [one, two] = await Promise.all([compactor.compactRun(run, at()), compactor.compactRun(run, at())])
  expect(unwrap(one).archived).toBeGreaterThan(0)
  expect(unwrap(two).archived).toBe(0)
  const seqs = (await store.tiers.manifests(run)).flatMap(({ entries }) => entries.map(({ seq }) => seq))
  expect(new Set(seqs).size).toBe(seqs.length)
  expect((await trail.run(script.run.id).verify()).findings).toEqual([])
})

test('W-TRAIL-25 W-TRAIL-28 an archive that the index could not be told of holds what no other one does, and goes with its records', async () => {
  const disks = { ...memoryDisks(), index: new IndexDisk() }
  const { store, trail, clock, script, worker, at, run } = await finished({}, disks)
  await script.run.head()
  disks.index.fail('undone')
  expect(await trail.storage.compactWorkspace(run, worker, at())).toMatchObject({ error: { code: 'index_failed' } })
  const [untold] = await store.tiers.manifests(run)
  expect(await store.tiers.whereIs(run, untold!.entries[0]!.seq)).toBe('cold')
  const compactor = trail.storage
  await compact(compactor, script, { strict: clock })
  const manifests = await store.tiers.manifests(run)
  const seqs = manifests.flatMap(({ entries }) => entries.map(({ seq }) => seq))
  expect(seqs.toSorted((a, b) => a - b)).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
  const [first] = manifests
  unwrap(await trail.storage.deleteArchive(run, first!.archive, clock.take(), { cold: 0 }))
  const bridged: number[] = []
  for await (const records of store.scan(run))
    for (const record of records) if (record.kind === 'bridge') bridged.push(record.seq)
  expect(bridged).toEqual(first!.entries.map(({ seq }) => seq))
  expect((await script.run.verify()).findings).toEqual([])
  await store.close()
})

test('W-TRAIL-03 a run that has left the log and was only read goes on where it stood', async () => {
  const sizes = { firstSegmentBytes: 4096, segmentBytes: 4096 }
  const { disks, store, trail, clock, script, at, run } = await finished(sizes)
  const compactor = trail.storage
  await compact(compactor, script, { strict: clock })
  // Another run fills the log behind it.
  const other = await ScriptedRun.start(trail, new SeededIds(8), clock)
  for (let turn = 0; turn < 12; turn++) await other.workspace()
  expect(await store.tiers.reclaim()).toBeGreaterThan(0)
  const { seq } = await script.run.head()
  await store.close()
  const again = await openMemoryStore(disks)
  const read = new Trail({ store: again }).run(run)
  for await (const _ of read.replay({}));
  const last = unwrap(await read.query({ order: 'descending', limit: 1 })).entries[0]!
  const entry = { ...last, id: 'e_behind' as never, timestamp: at() }
  expect(unwrap(await read.append({ entries: [entry] })).last).toBe(seq + 1)
  await again.close()
})

test('W-TRAIL-26 W-TRAIL-28 what only the replica has of an archive that never counted is not brought back, and goes with its records', async () => {
  const disks = { ...memoryDisks(), replica: new FaultyFiles() }
  const { store, trail, clock, script, worker, at, run } = await finished({}, disks)
  // Its records and the mark of the replica are written here, and the replica has all of the archive, when its manifest
  // cannot be.
  disks.trail.fail('write', { after: 2 })
  expect(codeOf(await trail.storage.compactWorkspace(run, worker, at()))).toBe('trail_unavailable')
  disks.trail.mend()
  const copies = () => disks.replica.list(run).filter(name => name.endsWith('.zst'))
  expect(copies()).toEqual(['1.json.zst', '1.zst'])
  unwrap(await script.append(...unwrap(await trail.storage.compactWorkspace(run, worker, at())).summaries))
  expect((await store.tiers.restore()).restored).toEqual([])
  expect((await store.tiers.manifests(run)).map(({ archive }) => archive)).toEqual([2])
  const { seq: head } = await script.run.head()
  const { entries } = (await store.tiers.manifests(run))[0]!

  // Nor is it where everything here is lost, or deleted.
  const before = disks.replica.copy()
  for (const name of disks.trail.list(`cold/${run}`)) disks.trail.remove(`cold/${run}/${name}`)
  expect((await store.tiers.restore()).restored).toEqual([`cold/${run}/2.zst`, `cold/${run}/2.json.zst`])
  unwrap(await trail.storage.deleteArchive(run, 2, clock.take(), { cold: 0 }))
  expect(copies()).toEqual(['2.json.zst'])
  expect((await store.tiers.restore()).restored).toEqual([])
  await store.close()
  const again = await openMemoryStore(disks)
  const left = unwrap(await new Trail({ store: again }).run(run).query({ limit: 1000 })).entries
  expect(left).toHaveLength(head - entries.length)
  await again.close()

  // A replica that was away when it was deleted follows later.
  const late = await openMemoryStore({ ...disks, replica: before })
  await late.tiers.replicate()
  expect(before.list(run).filter(name => name.endsWith('.zst'))).toEqual(['2.json.zst'])
  await late.close()
})
