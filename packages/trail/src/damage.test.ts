// Damage at rest: what verification finds and names, for entries and for whole runs.
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type EntryId, type RunId, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { StoredEntry, StoredRecord } from './entry.ts'
import { ed25519Signer } from './signing.ts'
import { compact, filledTrail } from './testing/steps.ts'
import { edited, forged, removeIndex, replaced, type TamperOptions, tamper } from './testing/tamper.ts'
import { type TestTrail, temporaryFolder, temporaryTrail } from './testing/temporary.ts'
import type { Trail } from './trail.ts'

const COUNT = 12

async function findingsAfter(change: (records: StoredRecord[]) => StoredRecord[], options?: TamperOptions) {
  const { first, script } = await filledTrail(COUNT)
  // The index follows the log at its own pace; a query waits for it, so that it knows of everything.
  unwrap(await script.run.query({}))
  await first.trail.close()
  tamper(first.profile, change, options)
  const { trail } = await first.reopen()
  const report = await trail.run(script.run.id).verify()
  return { findings: report.findings, run: script.run, trail }
}

describe('what is found in a damaged trail', () => {
  test('an edited entry', async () => {
    const { findings } = await findingsAfter(replaced(6, record => edited(record, '"low"', '"high"')))
    expect(findings).toMatchObject([{ seq: 6, damage: 'edited', violation: 'hash_mismatch' }])
    expect(findings[0]!.message).toMatch(/entry 6 \(e_\w+\) does not match its hash/)
  })

  test('an edited entry whose own hash was made to fit again', async () => {
    const { findings } = await findingsAfter(replaced(6, record => forged(record, '"low"', '"high"')))
    // Its anchor betrays the entry itself, and the next one no longer follows it.
    expect(findings).toMatchObject([
      { seq: 6, damage: 'edited', violation: 'hash_mismatch' },
      { seq: 7, damage: 'spliced', violation: 'chain_broken' },
    ])
  })

  test('a deleted entry', async () => {
    const { findings } = await findingsAfter(records => records.filter(record => record.seq !== 6))
    expect(findings).toMatchObject([{ seq: 7, damage: 'missing', violation: 'chain_broken' }])
    expect(findings[0]!.message).toContain('entry 6 is missing')
  })

  test('a deleted entry with the numbers closed up behind it', async () => {
    const { findings } = await findingsAfter(
      records =>
        records
          .filter(record => record.seq !== 6)
          .map(record => (record.seq > 6 ? { ...record, seq: record.seq - 1 } : record)),
      { removeHeads: true },
    )
    expect(findings).toMatchObject([{ seq: 6, damage: 'spliced', violation: 'chain_broken' }])
  })

  test('two entries that changed places', async () => {
    const { findings } = await findingsAfter(records => {
      const [a, b] = [records.findIndex(each => each.seq === 6), records.findIndex(each => each.seq === 7)]
      return records.with(a, records[b]!).with(b, records[a]!)
    })
    expect(findings[0]).toMatchObject({ seq: 6, damage: 'reordered', violation: 'chain_broken' })
  })

  test('a fork: a second entry at the place of another', async () => {
    const { findings } = await findingsAfter(records => [
      ...records,
      forged(records.find(each => each.seq === COUNT)!, '"low"', '"high"'),
    ])
    expect(findings).toMatchObject([{ seq: COUNT, damage: 'forked', violation: 'chain_broken' }])
  })

  test('a splice: an entry of another chain in the place of one', async () => {
    const { first, script } = await filledTrail(COUNT)
    const other = await first.start()
    const worker = await other.workspace()
    for (let count = 0; count < 6; count++) await other.checkpoint(worker)
    await first.trail.close()
    const { id: run } = script.run
    tamper(first.profile, records => {
      const foreign = records.find(record => record.run === other.run.id && record.seq === 6)!
      return records.map(record => (record.run === run && record.seq === 6 ? { ...foreign, run } : record))
    })
    const { trail } = await first.reopen()
    const report = await trail.run(script.run.id).verify()
    expect(report.findings[0]).toMatchObject({ seq: 6, damage: 'spliced', violation: 'chain_broken' })
  })

  test.each([
    ['index', { keepIndex: true, removeHeads: true }],
    ['heads file', { removeHeads: false }],
  ] as const)('a truncated trail, by what the %s knows; the run is halted', async (_who, options) => {
    const { findings, run, trail } = await findingsAfter(records => records.filter(record => record.seq <= 8), options)
    expect(findings).toMatchObject([{ seq: 9, damage: 'truncated', violation: 'chain_broken' }])
    expect(findings[0]!.message).toContain(`ends at 8, but ${COUNT} was acknowledged`)
    expect(trail.damage).toMatchObject([{ code: 'trail_truncated', runs: [run.id] }])
    const refused = await trail.run(run.id).append({ entries: [{ id: 'x' as EntryId } as never] })
    expect(refused).toMatchObject({ ok: false, error: { code: 'trail_damaged' } })
    await trail.close()
  })

  test('a truncated trail, by a head that was exported', async () => {
    const { first, script } = await filledTrail(COUNT)
    const { seq, hash } = await script.run.head()
    await first.trail.close()
    tamper(first.profile, records => records.filter(record => record.seq <= 8), { removeHeads: true })
    const run = (await first.reopen()).trail.run(script.run.id)
    expect((await run.verify()).findings).toEqual([])
    const report = await run.verify({ knownHeads: [{ run: run.id, seq, hash: hash! }] })
    expect(report.findings).toMatchObject([{ seq: 9, damage: 'truncated' }])
  })

  test('a roll back to an old tail, with other entries written behind it', async () => {
    const first = await temporaryTrail()
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 4; count++) await script.checkpoint(worker)
    await first.trail.close()
    const backup = join(temporaryFolder(), 'backup')
    cpSync(join(first.profile, 'trail'), backup, { recursive: true })
    const second = await first.reopen()
    const later = second.trail.run(script.run.id)
    const drafts = () => script.drafts([script.entry('checkpoint_created', worker, 'worker', { workspace: worker })])
    for (let count = 0; count < 4; count++) unwrap(await later.append({ entries: drafts() }))
    await second.trail.close()
    const heads = join(first.profile, 'trail', 'heads')
    const kept = join(temporaryFolder(), 'heads')
    cpSync(heads, kept, { recursive: true })
    // The old files come back over the new ones, the index goes, and the process writes on from the old tail.
    rmSync(join(first.profile, 'trail'), { recursive: true })
    cpSync(backup, join(first.profile, 'trail'), { recursive: true })
    removeIndex(first.profile)
    const third = await second.reopen()
    for (let count = 0; count < 6; count++) unwrap(await third.trail.run(script.run.id).append({ entries: drafts() }))
    await third.trail.close()
    for (const name of readdirSync(kept)) cpSync(join(kept, name), join(heads, `old-${name}`))
    const fourth = await third.reopen()
    const report = await fourth.trail.run(script.run.id).verify()
    expect(report.findings).toMatchObject([{ seq: 10, damage: 'rolled_back', violation: 'chain_broken' }])
  })

  test('a missing signature in a signed run', async () => {
    const first = await temporaryTrail({ signs: true })
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 3; count++) await script.checkpoint(worker)
    await first.trail.close()
    tamper(
      first.profile,
      replaced(4, ({ signature: _signature, signer: _signer, ...bare }) => bare),
    )
    const { trail } = await first.reopen()
    expect((await trail.run(script.run.id).verify()).findings).toMatchObject([
      { seq: 4, damage: 'signature', violation: 'proof_missing' },
    ])
  })

  test('a run signed with a key that the trail does not know', async () => {
    const first = await temporaryTrail({ signer: ed25519Signer(Buffer.alloc(32, 1)) })
    const script = await first.start()
    const stranger = ed25519Signer(Buffer.alloc(32, 2))
    await first.trail.close()
    tamper(first.profile, records =>
      records.map(record => ({
        ...(record as StoredEntry),
        signer: stranger.id,
        signature: stranger.sign((record as StoredEntry).hash),
      })),
    )
    const { trail } = await first.reopen()
    expect((await trail.run(script.run.id).verify()).findings).toMatchObject([
      { seq: 1, violation: 'signature_invalid' },
    ])
  })

  test('a sound trail has no findings, and says how much was verified', async () => {
    const { script } = await filledTrail(COUNT)
    const report = await script.run.verify()
    expect(report).toMatchObject({ entries: COUNT, findings: [], violations: [], head: { seq: COUNT } })
  })
})

/**
 * A run that is over and in the warm tier. A segment of the log that is as good as empty is kept, and a small run with
 * it.
 */
async function warmRun(turns: number): Promise<TestTrail & { readonly run: RunId }> {
  const made = await temporaryTrail()
  const script = await made.start()
  const worker = await script.workspace()
  for (let turn = 0; turn < turns; turn++) await script.envelope(script.root, worker, 'system')
  await script.end()
  const { id: run } = script.run
  const compactor = made.trail.storage
  await compact(compactor, script, made)
  unwrap(await compactor.reclaim())
  return { ...made, run }
}

const INDEX = ['trail.index.db', 'trail.index.db-wal', 'trail.index.db-shm']

async function removeAndReopen(made: TestTrail & { readonly run: RunId }, also: readonly string[]) {
  await made.trail.close()
  for (const name of [`trail/runs/${made.run}`, ...also])
    rmSync(join(made.profile, name), { recursive: true, force: true })
  return (await made.reopen()).trail
}

async function found(trail: Trail, run: RunId): Promise<readonly (readonly [string, boolean])[]> {
  const one = (await trail.run(run).verify()).findings.map(({ damage }) => damage)
  const all = (await trail.verifyAll()).runs.flatMap(({ findings }) => findings)
  expect(all.map(({ damage }) => damage)).toEqual(one)
  return all.map(({ damage, message }) => [damage, message.includes(run)])
}

test('a run whose files are gone is found although the log still has all of it', async () => {
  const made = await warmRun(10)
  expect((await made.trail.verifyAll()).runs.flatMap(({ findings }) => findings)).toEqual([])
  const trail = await removeAndReopen(made, [])
  expect(unwrap(await trail.run(made.run).query({})).entries).toEqual([])
  expect(await found(trail, made.run)).toEqual([['missing', true]])
  await trail.close()
})

test('without its index it is whole again: what the log has is shown', async () => {
  const made = await warmRun(10)
  const trail = await removeAndReopen(made, INDEX)
  expect(unwrap(await trail.run(made.run).query({})).entries.length).toBeGreaterThan(0)
  expect(await found(trail, made.run)).toEqual([])
  await trail.close()
})

test.each([
  ['the index knows of it', [], [['missing', true]]],
  ['the heads of the log know of it', INDEX, [['truncated', true]]],
  ['nobody knows of it: only a head that was kept elsewhere tells', [...INDEX, 'trail/heads'], []],
] as const)('a run that the log has dropped too: %s', async (_, also, findings) => {
  const made = await warmRun(150)
  const head = (await made.trail.runs()).find(({ run }) => run === made.run)!
  const trail = await removeAndReopen(made, also)
  expect(await found(trail, made.run)).toEqual(findings)
  const { runs } = await trail.verifyAll({ knownHeads: [{ run: made.run, seq: head.seq, hash: head.hash }] })
  expect(runs.flatMap(each => each.findings).length).toBeGreaterThan(0)
  await trail.close()
})

test('an archive whose manifest somebody made say that it was deleted is missed', async () => {
  const made = await warmRun(2000)
  await made.trail.close()
  const folder = join(made.profile, 'trail', 'runs', made.run)
  for (const name of readdirSync(folder).filter(each => each.endsWith('.json.zst'))) {
    const manifest = JSON.parse(zstdDecompressSync(readFileSync(join(folder, name))).toString())
    writeFileSync(join(folder, name), zstdCompressSync(JSON.stringify({ ...manifest, deleted: true })))
    rmSync(join(folder, name.replace('.json', '')))
  }
  removeIndex(made.profile)
  const { trail } = await made.reopen()
  const [first] = (await trail.run(made.run).verify()).findings
  expect(first).toMatchObject({ seq: 1, damage: 'missing', message: expect.stringContaining('no entry that stays') })
  expect(await found(trail, made.run)).toContainEqual(['missing', true])
  await trail.close()
})
