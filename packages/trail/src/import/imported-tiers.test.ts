// An imported run with entries that retention had deleted before it came, through all tiers: compacted, moved to the
// cold tier and its replica, kept where nothing of ours covers it, and verified from either copy alone.
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { formatTimestamp, type ObjectId, SeededIds, type Ticks, unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { Manifest } from '../archive/manifest.ts'
import type { StoredEntry, StoredRecord } from '../entry.ts'
import { verifyExport } from '../export/verify-export.ts'
import { exportRun } from '../export/write.ts'
import { viewTail } from '../log/view.ts'
import { openCold } from '../open-cold.ts'
import { ed25519Signer } from '../signing.ts'
import { bytesInMemory } from '../testing/bytes.ts'
import type { ScriptedRun } from '../testing/scripted-run.ts'
import { AT, exported, recordsIn, recordsOf, sourceOf, throughRestarts } from '../testing/steps.ts'
import { type TestTrail, temporaryFolder, temporaryTrail } from '../testing/temporary.ts'
import type { Trail } from '../trail.ts'

const DAY = 24 * 3600 * 1000
const RETENTION = { warm: DAY, cold: DAY }

const signer = () => ed25519Signer(Buffer.alloc(32, 8))

/** A run of 17 entries: the root, a worker, twelve with content, two ends, and a snapshot told of behind them. */
async function sourceRun(): Promise<{ one: TestTrail; script: ScriptedRun; records: StoredRecord[] }> {
  const one = await temporaryTrail({ signer: signer() })
  const script = await one.start()
  const worker = await script.workspace()
  for (let count = 0; count < 12; count++) {
    const value = count === 5 ? 'x'.repeat(80_000) : { count }
    const object = { id: script.id('obj') as ObjectId, kind: 'payload', value }
    const entry = script.entry('checkpoint_rejected', worker, 'protocol', { workspace: worker })
    unwrap(await script.appendWith([object], entry))
  }
  await script.state(worker, 'active', 'closed')
  await script.end()
  const { seq } = await script.run.head()
  unwrap(await script.append(unwrap(await one.trail.storage.snapshot(script.run.id, 'theirs', seq))))
  return { one, script, records: await recordsIn(await exported(one, script)) }
}

/** The run as it is exported where retention has deleted some of it. */
async function exportedWithout(script: ScriptedRun, records: readonly StoredRecord[], gone: (seq: number) => boolean) {
  const entries = records.filter((each): each is StoredEntry => each.kind === 'entry' && gone(each.seq))
  const listed = entries.map(({ seq, hash, view }): Manifest['entries'][number] => {
    const { id, timestamp } = JSON.parse(view)
    const { workspace, localHash } = viewTail(view)!
    return { seq, id, timestamp, workspace, hash, local_hash: localHash ?? null, at: 0, length: 1 }
  })
  const source = sourceOf(
    records.filter(each => !gone(each.seq)),
    { deleted: true, entries: listed } as Manifest,
  )
  const { seq, hash } = records.findLast((each): each is StoredEntry => each.kind === 'entry')!
  const head = { run: script.run.id, seq, hash }
  const keys = [{ key: signer().id, since: null, until: null }]
  const options = { head, at: AT, keys, signer: signer(), content: 'stored' } as const
  return buffer(exportRun(source, options))
}

async function seqsOf(trail: Trail, script: ScriptedRun): Promise<number[]> {
  return (await recordsOf(trail.run(script.run.id))).flatMap(record => ('seq' in record ? record.seq : []))
}

const names = (...path: string[]) => readdirSync(join(...path)).sort()
const after = (milliseconds: number) => (1_772_355_900_000_000 + milliseconds * 1000) as Ticks

const ALL = Array.from({ length: 17 }, (_, index) => index + 1)
const CASES: readonly (readonly [string, (seq: number) => boolean])[] = [
  ['nowhere', () => false],
  ['at the beginning', seq => seq <= 4],
  ['in the middle', seq => seq >= 6 && seq <= 9],
  ['at several places', seq => seq === 1 || seq === 5 || seq === 8 || seq === 9],
  ['at the end, which it had reached', seq => seq === 17],
  ['from the beginning to the end, up to the snapshot', seq => seq <= 16],
  ['at the beginning, with the end and what is behind it', seq => seq <= 3 || seq >= 16],
]

test.each(CASES)('W-TRAIL-29 an imported run that has holes %s goes through all tiers', async (_, gone) => {
  const { script, records } = await sourceRun()
  const replica = temporaryFolder()
  const other = await temporaryTrail({ signs: true, ids: new SeededIds(77), replica })
  const house = (await other.start()).run.id
  const file = await exportedWithout(script, records, gone)
  const run = script.run.id
  const keys = [signer().id]
  const importing = (trail: Trail) => trail.import(bytesInMemory(file), { keys, at: AT })
  expect(unwrap(await importing(other.trail))).toMatchObject({ already: false, report: { sound: true } })
  const left = ALL.filter(seq => !gone(seq))
  const head = { seq: 17, hash: records.findLast(each => each.kind === 'entry')!.hash }
  // Its end is told by the entry about it, or by the snapshot behind it.
  const ended = left.includes(16) || left.includes(17)
  expect(await other.trail.run(run).head()).toEqual(head)
  const sound = async (trail: Trail) => {
    expect(await seqsOf(trail, script)).toEqual(left)
    const { runs: all, unreadable } = await trail.verifyAll()
    const runs = all.filter(each => each.run !== house)
    expect([unreadable, runs]).toMatchObject([[], [{ run, entries: 17, head, findings: [] }]])
    expect((await trail.run(run).verify()).findings).toEqual([])
  }
  let t = other
  const everywhere = async () => {
    t = await throughRestarts(t, async ({ trail }, opened) => {
      await sound(trail)
      const summary = (await trail.runs()).find(each => each.run === run)
      expect(summary, opened).toMatchObject({ ...head, ended, root: script.root })
      expect(await trail.run(run).head(), opened).toEqual(head)
      expect((await trail.run(run).model()).ended, opened).toBe(ended)
    })
  }
  await everywhere()
  const compacted = await t.trail.storage.compactRun(run, formatTimestamp(after(DAY)))
  if (!ended) {
    expect(compacted).toMatchObject({ error: { code: 'invalid_state' } })
    return expect(await t.trail.storage.warm()).toEqual([])
  }
  expect(compacted).toMatchObject({ ok: true, value: { done: true, archived: 0, summaries: [] } })
  await sound(t.trail)
  const compactor = t.trail.storage
  expect(await compactor.warm()).toEqual([run])
  expect(await compactor.expire(run, after(DAY / 2), RETENTION)).toMatchObject({ error: { code: 'retention_active' } })
  expect(unwrap(await compactor.expire(run, after(2 * DAY), RETENTION))).toBeGreaterThan(0)
  expect(await compactor.warm()).toEqual([])
  expect(unwrap(await compactor.deleteExpired(run, after(9 * DAY), RETENTION))).toBe(0)
  await everywhere()
  expect(unwrap(await importing(t.trail))).toMatchObject({ already: true })
  expect(await t.trail.replica()).toMatchObject({ lacking: 0 })
  expect(await t.trail.storage.replicate()).toBe(0)
  const passed = await exported(t, script)
  const both = [...keys, t.trail.keys.at(-1)!.key]
  const bridges = { sound: true, head, bridged: 17 - left.length }
  expect(await verifyExport(bytesInMemory(passed), { keys: both })).toMatchObject(bridges)
  const cold = join(temporaryFolder(), 'cold')
  cpSync(join(t.profile, 'trail', 'cold'), cold, { recursive: true })
  for (const folder of [cold, replica]) {
    const alone = await openCold(folder, { trusted: new Set(keys) })
    onTestFinished(() => alone.trail.close())
    expect(alone.incomplete).toEqual([])
    await sound(alone.trail)
  }
  // A copy that lost a bridge is not sound, whichever it was.
  const bridged = names(cold, run).filter(
    each => /^\d+\.json\.zst$/.test(each) && !names(cold, run).includes(each.replace('.json', '')),
  )
  expect(bridged.length > 0).toBe(left.length < 17)
  for (const each of bridged) rmSync(join(cold, run, each))
  const torn = await openCold(cold, { trusted: new Set(keys) })
  onTestFinished(() => torn.trail.close())
  expect((await torn.trail.verifyAll()).runs[0]!.findings.length > 0).toBe(bridged.length > 0)
})

test('W-TRAIL-28 the snapshot that an imported run tells of is with whoever took it: here it lets nothing be deleted', async () => {
  const { script, records } = await sourceRun()
  const { trail, profile } = await temporaryTrail({ ids: new SeededIds(77) })
  const file = await exportedWithout(script, records, seq => seq === 8)
  const run = script.run.id
  unwrap(await trail.import(bytesInMemory(file), { keys: [signer().id], at: AT }))
  // As whoever keeps the house does it: nothing of the run is in the log, so its files move as they came.
  const compactor = trail.storage
  expect(await compactor.pending()).toEqual([])
  expect(unwrap(await compactor.expire(run, after(2 * DAY), RETENTION))).toBe(3)
  const late = after(9 * DAY)
  expect(unwrap(await compactor.deleteExpired(run, late, RETENTION))).toBe(0)
  const numbers = names(profile, 'trail', 'cold', run).flatMap(each => /^(\d+)\.json/.exec(each)?.[1] ?? [])
  const codes: string[] = []
  for (const number of numbers) {
    const gone = await trail.storage.deleteArchive(run, Number(number), late, RETENTION)
    codes.push(gone.ok ? 'deleted' : gone.error.code)
  }
  expect(codes).toEqual(['retention_active', 'not_found', 'retention_active'])
  expect(await seqsOf(trail, script)).toEqual(ALL.filter(seq => seq !== 8))
})
