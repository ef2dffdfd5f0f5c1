// What is checked of an unfinished run when it is opened (W-REC-12 step 1): hashes and links, anchors, signatures; and
// what a kept state spares.
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { fileStateCache, type StoredEntry, type StoredRecord } from '@parley/trail'
import { tamper } from '@parley/trail/testing'
import { expect, onTestFinished, test } from 'vitest'
import { type Fixture, type FixtureOptions, fixture } from '../testing/fixture.ts'
import { rewrite } from '../testing/foreign.ts'

/** A run on a signed trail, with a worker and some checkpoints. */
async function signed(options: (profile: string) => FixtureOptions = () => ({})): Promise<Fixture> {
  const profile = mkdtempSync(join(tmpdir(), 'parley-test-'))
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }))
  const f = await fixture({ profile, ...options(profile) })
  const worker = await f.workspace('W', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await worker.receive())
  for (let count = 0; count < 5; count++) unwrap(await f.checkpoint('W'))
  return f
}

/** Changes one entry of the run, the one with this `seq`. */
function changed(f: Fixture, seq: number, change: (entry: StoredEntry) => StoredEntry) {
  return (records: readonly StoredRecord[]) =>
    records.map(record =>
      record.kind === 'entry' && record.run === f.run.id && record.seq === seq ? change(record) : record,
    )
}

const withOtherSignature = (entry: StoredEntry): StoredEntry => ({
  ...entry,
  signature: `${entry.signature!.startsWith('0') ? '1' : '0'}${entry.signature!.slice(1)}`,
})

test('W-REC-12 a signature that does not fit halts its run, and no other', async () => {
  const f = await signed()
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  await f.reopen(() => tamper(f.options.profile!, changed(f, 7, withOtherSignature)))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/entry 7 .* has a signature that does not fit/)
  expect(f.runtime.active).toEqual([other.id])
})

test('W-REC-12 an entry without the signature that its run has halts it', async () => {
  const f = await signed()
  const bare = ({ signature: _signature, signer: _signer, ...entry }: StoredEntry): StoredEntry => entry
  await f.reopen(() => tamper(f.options.profile!, changed(f, 7, bare)))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/entry 7 .* is not signed, though its run is/)
})

test('W-REC-12 a local trail that was put in order again halts its run, though every link holds', async () => {
  const f = await fixture()
  await f.worker('W')
  for (let count = 0; count < 3; count++) unwrap(await f.checkpoint('W'))
  const at = (await f.run.entries()).findLast(each => each.event_type === 'checkpoint_created')!.seq
  await f.settle()
  await f.reopen(() => rewrite(f, records => anchoredElsewhere(records, at)))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(`entry ${at} `)
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/does not match the local trail/)
})

/** Another anchor in one entry, and the global chain computed anew from there on. */
function anchoredElsewhere(records: readonly StoredRecord[], at: number): StoredRecord[] {
  let last: string | undefined
  return records.map(record => {
    if (record.kind !== 'entry' || record.seq < at) return record
    const anchor = /"local_hash":"[0-9a-f]{64}"/
    const moved = record.seq === at ? record.view.replace(anchor, `"local_hash":"${'0'.repeat(64)}"`) : record.view
    const view = last === undefined ? moved : moved.replace(/"prev_hash":"[0-9a-f]{64}"/, `"prev_hash":"${last}"`)
    last = hash('sha256', view, 'hex')
    return { ...record, view, hash: last }
  })
}

test('W-REC-12 what stands before a kept state is not looked at again; `verify` does that', async () => {
  const secret = new Uint8Array(32).fill(42)
  const f = await signed(profile => ({ secret, stateCache: fileStateCache(profile), stateCacheEntries: 1 }))
  await f.reopen()
  const run = unwrap(await f.runtime.open(f.run.id))
  unwrap(await run.coordinator.look(f.id('W')))
  await f.reopen(() => {
    tamper(f.options.profile!, changed(f, 7, withOtherSignature))
    f.clock.advance(1000)
  })
  expect(f.runtime.halted.size).toBe(0)
  const { findings } = await f.trail.run(f.run.id).verify()
  expect(findings.map(({ seq, damage }) => [seq, damage])).toEqual([[7, 'signature']])
})
