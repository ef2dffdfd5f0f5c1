// The storage life cycle of a run on a real disk (W-TRAIL-28 to -30): what deletion leaves of the bytes and of the
// chains, and what a snapshot freezes.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatTimestamp, parseTimestamp, type Ticks, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import type { Entry } from './entry.ts'
import { localHashOf } from './run/chain.ts'
import type { RunTrail } from './run/run-trail.ts'
import { codeOf } from './testing/steps.ts'
import { edited, replaced, tamper } from './testing/tamper.ts'
import { temporaryTrail } from './testing/temporary.ts'

async function entriesOf(run: RunTrail, query: Parameters<RunTrail['query']>[0] = {}): Promise<readonly Entry[]> {
  return unwrap(await run.query(query)).entries
}

function bytesOf(profile: string): Buffer {
  const folder = join(profile, 'trail')
  return Buffer.concat(
    readdirSync(folder)
      .filter(name => name.endsWith('.seg'))
      .map(name => readFileSync(join(folder, name))),
  )
}

describe('storage life cycle', () => {
  const CLOSED = { from_state: 'integrating', to_state: 'closed', trigger: 'integration_succeeded' } as const

  /** A closed workspace with 4 non-terminal state changes, 3 deliveries and 2 checkpoints, compacted once. */
  async function compacted() {
    const first = await temporaryTrail({ firstSegmentBytes: 8192, segmentBytes: 8192 })
    const script = await first.start()
    const worker = await script.workspace()
    const states = ['idle', 'active', 'blocked', 'active', 'integrating'] as const
    for (const [index, to] of states.slice(1).entries()) await script.state(worker, states[index]!, to)
    for (let count = 0; count < 3; count++) await script.envelope(script.root, worker, 'system')
    for (let count = 0; count < 2; count++) await script.checkpoint(worker)
    await script.state(worker, 'integrating', 'closed', CLOSED)
    const archivable = (await entriesOf(script.run, { workspace: worker })).filter(
      entry =>
        entry.event_type === 'envelope_delivered' ||
        (entry.event_type === 'workspace_state_changed' && (entry.body as { to_state: string }).to_state !== 'closed'),
    )
    const at = formatTimestamp(first.strict.take())
    const result = unwrap(await first.trail.storage.compactWorkspace(script.run.id, worker, at))
    const { storage } = first.trail
    return { ...first, script, worker, archivable, storage, at, result }
  }

  test('W-TRAIL-28 W-TRAIL-29 cold entries are found; deletion waits for retention; afterwards the manifest bridges the chain', async () => {
    const first = await compacted()
    const { script, worker, archivable, storage, at, result } = first
    unwrap(await script.append(...result.summaries))
    const all = await entriesOf(script.run, { workspace: worker })
    expect(all.map(entry => entry.seq)).toEqual(expect.arrayContaining(archivable.map(entry => entry.seq)))
    const retention = { cold: 30 * 24 * 3600 * 1000 }
    const archivedAt = parseTimestamp(at)!
    const early = (archivedAt + 1000) as Ticks
    expect(codeOf(await storage.deleteArchive(script.run.id, 1, early, retention))).toBe('retention_active')
    expect(await entriesOf(script.run, { workspace: worker })).toEqual(all)
    const late = (archivedAt + retention.cold * 1000) as Ticks
    // Enough further entries that the segments which held the archived ones are finished.
    for (let count = 0; count < 30; count++) await script.checkpoint(await script.workspace())
    unwrap(await storage.deleteArchive(script.run.id, 1, late, retention))
    const gone = new Set(archivable.map(entry => entry.seq))
    expect((await entriesOf(script.run, { workspace: worker })).map(entry => entry.seq)).toEqual(
      all.map(entry => entry.seq).filter(seq => !gone.has(seq)),
    )
    const bytes = bytesOf(first.profile).toString('latin1')
    expect(archivable.filter(entry => bytes.includes(entry.id))).toEqual([])
    expect((await script.run.verify()).findings).toEqual([])
    // Opened again, the run goes on over the hole, and what needs its read model still answers.
    const { trail } = await first.reopen()
    const again = trail.run(script.run.id)
    expect((await again.verify()).findings).toEqual([])
    expect((await entriesOf(again, { originator: 'alice', workspace: worker })).map(entry => entry.seq)).toEqual(
      all.map(entry => entry.seq).filter(seq => !gone.has(seq)),
    )
    const head = (await again.head()).seq
    const drafts = script.drafts([script.entry('user_created', null, 'system')])
    expect(unwrap(await again.append({ entries: drafts })).first).toBe(head + 1)
    expect((await again.verify()).findings).toEqual([])
  })

  test('W-TRAIL-29 after a deletion a local trail has the links that it had, and holds against its anchors; a rewritten one does not', async () => {
    const { script, worker, archivable, storage, at, result } = await compacted()
    unwrap(await script.append(...result.summaries))
    const local = () => entriesOf(script.run, { scope: 'local', workspace: worker })
    const held = async (entries: readonly Entry[]) =>
      (await script.run.verifyLocal(entries)).findings.map(({ seq, damage }) => [seq, damage])
    const before = await local()
    unwrap(await storage.deleteArchive(script.run.id, 1, parseTimestamp(at)!, { cold: 0 }))
    const gone = new Set(archivable.map(entry => entry.seq))
    const left = before.filter(entry => !gone.has(entry.seq))
    expect(await local()).toEqual(left)
    // A copy from before the deletion holds as well.
    expect([await held(left), await held(before)]).toEqual([[], []])
    // The deletion is no way to link what is left anew.
    const [genesis, next, ...rest] = left as [Entry, Entry, ...Entry[]]
    const prev_hash = genesis.integrity.entry_hash
    expect(next.prev_hash).not.toBe(prev_hash)
    const entry_hash = localHashOf(next, prev_hash)
    const relinked = { ...next, prev_hash, integrity: { ...next.integrity, entry_hash } }
    expect((await held([genesis, relinked, ...rest]))[0]).toEqual([next.seq, 'spliced'])
    expect((await held([genesis, ...rest]))[0]).toEqual([rest[0]!.seq, 'spliced'])
    const rewritten = { ...genesis, actor: 'worker' } as Entry
    expect((await held([rewritten, ...before.slice(1)]))[0]).toEqual([genesis.seq, 'edited'])
  })

  test('W-TRAIL-30 a finished run is frozen at a place; a broken chain gives no snapshot but a finding', async () => {
    const first = await temporaryTrail()
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 4; count++) await script.checkpoint(worker, { confidence: 'low' })
    expect(codeOf(await first.trail.storage.snapshot(script.run.id, 'snap_0', 3))).toBe('invalid_state')
    await script.end()
    const entries = await entriesOf(script.run)
    const proposal = unwrap(await first.trail.storage.snapshot(script.run.id, 'snap_1', 5))
    const body = { snapshot_id: 'snap_1', up_to: 5, entry_count: 5, head_hash: entries[4]!.integrity.entry_hash }
    expect(proposal).toMatchObject({ event_type: 'trail_snapshot_created', workspace: null, body })
    unwrap(await script.append(proposal))
    expect(await entriesOf(script.run, { event_type: 'trail_snapshot_created' })).toMatchObject([{ body }])
    await first.trail.close()
    expect(readdirSync(join(first.profile, 'trail', 'snapshots'))).toEqual(['snap_1.zst'])
    tamper(
      first.profile,
      replaced(4, record => edited(record, '"low"', '"high"')),
    )
    const { trail } = await first.reopen()
    const refused = await trail.storage.snapshot(script.run.id, 'snap_2', 5)
    expect(refused).toMatchObject({ ok: false, error: { code: 'trail_damaged' } })
    expect(refused.violations).toMatchObject([
      { event_type: 'integrity_violation', body: { violation: 'hash_mismatch' } },
    ])
    expect(readdirSync(join(first.profile, 'trail', 'snapshots'))).toEqual(['snap_1.zst'])
  })
})
