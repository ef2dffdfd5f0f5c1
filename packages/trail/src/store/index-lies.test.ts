// The index may say where a record lies, never whether there is one: whatever an index on disk has lost, a run is read
// as the log holds it, and nothing is written into a place that is taken.
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import { DiskFiles } from '../log/disk-files.ts'
import type { LogFile } from '../log/files.ts'
import { openSegmentStore } from '../open-trail.ts'
import { RunTrail } from '../run/run-trail.ts'
import { memoryDisks, openMemoryStore } from '../testing/memory/open-memory.ts'
import { ScriptedRun } from '../testing/scripted-run.ts'
import { filledTrail, memoryTrail, recordsOf } from '../testing/steps.ts'
import { type TestTrail, temporaryTrail } from '../testing/temporary.ts'
import { Trail } from '../trail.ts'

const COUNT = 40

async function written(): Promise<{ first: TestTrail; script: ScriptedRun }> {
  const { first, script } = await filledTrail(COUNT)
  unwrap(await script.run.query({}))
  await first.trail.close()
  return { first, script }
}

/** As a commit that was lost left an index before: rows are missing, and the index takes them for known. */
function lose(profile: string, condition: string, head: number): void {
  const database = new DatabaseSync(join(profile, 'trail.index.db'))
  database.exec(`
    DELETE FROM entries WHERE ${condition};
    DELETE FROM objects WHERE ${condition};
    UPDATE runs SET head = ${head}, entries = (SELECT count(*) FROM entries);
  `)
  database.close()
}

/** As a reader of the log opens a file: for reading alone, which a read-only disk allows. */
function readOnly<Read>(path: string, read: (file: LogFile) => Read): Read {
  chmodSync(path, 0o400)
  const file = new DiskFiles(dirname(path)).open(basename(path), 'reading')
  try {
    expect(() => file.write(Buffer.from('x'), 0)).toThrow(/EBADF/)
    return read(file)
  } finally {
    file.close()
    chmodSync(path, 0o600)
  }
}

const losses = [
  ['its end', 'seq > 10', 10],
  ['a part of its middle', 'seq BETWEEN 10 AND 20', COUNT],
  ['all of it', 'seq > 0', -1],
] as const

for (const [what, condition, head] of losses) {
  test(`a run of which the index has lost ${what} is read whole, listed, and goes on behind its end`, async () => {
    const { first, script } = await written()
    lose(first.profile, condition, head)
    const { trail } = await first.reopen()
    const run = trail.run(script.run.id)
    expect(await run.head()).toMatchObject({ seq: COUNT })
    expect(await trail.runs()).toMatchObject([{ run: script.run.id, seq: COUNT, entries: COUNT }])
    const replayed = (await recordsOf(run)).flatMap(record => ('seq' in record ? record.seq : []))
    expect(replayed).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1))
    expect(unwrap(await run.query({ limit: 1000 })).entries).toHaveLength(COUNT)
    expect((await run.verify()).findings).toEqual([])
  })
}

test('a run that cannot be read as far as the log goes is not gone on with', async () => {
  const { first, script } = await written()
  const store = await openSegmentStore(first.profile)
  onTestFinished(() => store.close())
  const honest = store.replay.bind(store)
  store.replay = async function* (run, after) {
    for await (const record of honest(run, after)) if (record.seq <= 10) yield record
  }
  const damaged = { code: 'trail_damaged', message: expect.stringContaining(`up to entry ${COUNT}`) }
  await expect(new RunTrail(script.run.id, store).head()).rejects.toMatchObject(damaged)
  const reading = async () => {
    for await (const _ of new RunTrail(script.run.id, store).replay({ sound: true }));
  }
  await expect(reading()).rejects.toMatchObject(damaged)
})

test('whoever believes something else than the log holds is refused once, and then reads it', async () => {
  const { first, script } = await written()
  const store = await openSegmentStore(first.profile)
  onTestFinished(() => store.close())
  const [one, other] = [new Trail({ store }), new Trail({ store })]
  const known = { run: script.run.id, root: script.root }
  const scripts = [one, other].map(trail => new ScriptedRun(trail, first.ids, first.strict, known))
  for (const each of scripts) expect(await each.run.head()).toMatchObject({ seq: COUNT })
  await scripts[0]!.workspace()
  await expect(scripts[1]!.workspace()).rejects.toMatchObject({ code: 'trail_conflict' })
  await scripts[1]!.workspace()
  expect(await store.logHead(script.run.id)).toMatchObject({ seq: COUNT + 2 })
  expect((await one.run(script.run.id).verify()).findings).toEqual([])
})

test('heads files that are missing or damaged cost time and nothing else', async () => {
  const first = await temporaryTrail({ firstSegmentBytes: 4096, segmentBytes: 4096 })
  const script = await first.start()
  const worker = await script.workspace()
  for (let seq = 3; seq <= COUNT; seq++) await script.checkpoint(worker)
  await first.trail.close()
  const heads = join(first.profile, 'trail', 'heads')
  const names = readdirSync(heads)
  expect(names.length).toBeGreaterThan(3)
  const wrong = readFileSync(join(heads, names[0]!), 'utf8').replace(/"seq":\d+/, '"seq":9')
  writeFileSync(join(heads, names[0]!), wrong)
  writeFileSync(join(heads, names[1]!), '{')
  for (const name of names.slice(2)) rmSync(join(heads, name))
  const store = await openSegmentStore(first.profile)
  onTestFinished(() => store.close())
  expect(await store.logHead(script.run.id)).toMatchObject({ seq: COUNT })
  expect(await store.head(script.run.id)).toMatchObject({ seq: COUNT })
})

test('segments grow with what they were used for, not with what failed, and leave nothing behind', async () => {
  const { disks, trail, start } = await memoryTrail()
  const script = await start()
  const worker = await script.workspace()
  for (let fault = 0; fault < 20; fault++) {
    disks.trail.fail('sync', { times: 9 })
    disks.trail.fail('remove', { times: 9 })
    await expect(script.checkpoint(worker)).rejects.toMatchObject({ code: 'trail_unavailable' })
    disks.trail.mend()
  }
  await script.checkpoint(worker)
  await script.checkpoint(worker)
  const names = disks.trail.list('').filter(name => name.endsWith('.seg'))
  const sizes = names.map(name => disks.trail.open(name, 'reading').size)
  expect(sizes.length).toBeLessThanOrEqual(3)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(16 * 1024 * 1024)
  await trail.close()
})

test('a segment is laid out with a small part of what the disk has left', async () => {
  const disks = memoryDisks()
  disks.trail.capacity = 4 * 1024 * 1024
  const { trail, start } = await memoryTrail(disks)
  await start()
  expect(disks.trail.free()).toBeGreaterThan(3 * 1024 * 1024)
  await trail.close()
})

test('what is on a disk that cannot be written any more can still be read', async () => {
  const { first, script } = await written()
  const store = await openSegmentStore(first.profile)
  onTestFinished(() => store.close())
  for (const name of readdirSync(join(first.profile, 'trail')).filter(each => each.endsWith('.seg')))
    expect(readOnly(join(first.profile, 'trail', name), file => file.read(0, 4).toString())).toBe('PLS1')
  expect((await new RunTrail(script.run.id, store).verify()).findings).toEqual([])
})

test('a segment that was given up and could not be removed is no part of the log', async () => {
  const { disks, trail, start } = await memoryTrail()
  const script = await start()
  const worker = await script.workspace()
  // The sync of the segment, and that of the first frame in the next one; laying out the next one succeeds.
  disks.trail.fail('sync')
  disks.trail.fail('sync', { after: 1 })
  disks.trail.fail('remove', { times: 9 })
  await expect(script.checkpoint(worker)).rejects.toMatchObject({ code: 'trail_unavailable' })
  disks.trail.mend()
  const left = disks.trail.list('').length
  await script.checkpoint(worker, { confidence: 'low' })
  expect(disks.trail.list('').length).toBeGreaterThan(left)
  await trail.close()
  const again = await openMemoryStore(disks)
  expect(again.damage).toEqual([])
  const report = await new Trail({ store: again }).run(script.run.id).verify()
  expect(report).toMatchObject({ findings: [], entries: 3 })
})
