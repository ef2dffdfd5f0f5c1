// The conformance scenarios of the trail (docs/specs/wacp-mechanisms.md, section 10), on a real trail on disk. Each asserts on results
// and on the trail.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatTimestamp, parseTimestamp, type Ticks, unwrap, type WorkspaceId } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { archiveHash } from './archive/contents.ts'
import { CausalOrder } from './causality.ts'
import { localHashOf } from './chain.ts'
import type { EntryDraft } from './entry.ts'
import { type Entry, stamp } from './entry.ts'
import type { RunTrail } from './run-trail.ts'
import { ed25519Signer } from './signing.ts'
import { edited, tamper } from './testing/tamper.ts'
import { temporaryTrail } from './testing/temporary.ts'
import { verifyLocal } from './verify-local.ts'
import { compareRuns, highwayActivity, messageFlow, runOverview, workspaceTimeline } from './views.ts'

async function entriesOf(
  run: RunTrail,
  query: Parameters<RunTrail['query']>[0] = {},
): Promise<readonly Entry[]> {
  return unwrap(await run.query(query)).entries
}

async function seqsOf(run: RunTrail, query: Parameters<RunTrail['query']>[0]): Promise<number[]> {
  return (await entriesOf(run, query)).map(entry => entry.seq)
}

function bytesOf(profile: string): Buffer {
  const folder = join(profile, 'trail')
  return Buffer.concat(
    readdirSync(folder)
      .filter(name => name.endsWith('.seg'))
      .map(name => readFileSync(join(folder, name))),
  )
}

describe('entries', () => {
  test('WM-004 an unknown type, a body without a field and an embedded payload are refused and leave no entry', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const worker = await script.workspace()
    const before = await entriesOf(script.run)
    const attempt = async (event_type: string, body: object) => {
      const [draft] = script.drafts([
        script.entry('checkpoint_created', worker, 'worker', { workspace: worker }),
      ])
      const result = await script.run.append({ entries: [{ ...draft!, event_type, body } as EntryDraft] })
      return result.ok ? 'appended' : result.error.code
    }
    const [good] = script.drafts([
      script.entry('checkpoint_created', worker, 'worker', { workspace: worker }),
    ])
    const { status: _status, ...withoutStatus } = good!.body as { status: string }
    expect(await attempt('foo_bar', good!.body)).toBe('unknown_event_type')
    expect(await attempt('checkpoint_created', withoutStatus)).toBe('invalid_body')
    expect(await attempt('checkpoint_created', { ...good!.body, payload: { diff: '…' } })).toBe(
      'invalid_body',
    )
    expect(await entriesOf(script.run)).toEqual(before)
  })

  test('WM-007 each local trail is the global one filtered by workspace, and system-level entries are in none', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const workspaces = [await script.workspace(), await script.workspace(), await script.workspace()]
    for (let round = 0; round < 5; round++) {
      for (const workspace of workspaces) await script.checkpoint(workspace)
      await script.envelope(script.root, workspaces[round % 3]!, 'system')
      unwrap(await script.append(script.entry('user_created', null, 'system', { user_id: `user${round}` })))
    }
    const global = await entriesOf(script.run, { scope: 'global' })
    const systemLevel = global.filter(entry => entry.workspace === null)
    expect(systemLevel).toHaveLength(5)
    for (const workspace of [script.root, ...workspaces]) {
      const local = await entriesOf(script.run, { scope: 'local', workspace })
      expect(local.map(entry => entry.id)).toEqual(
        global.filter(entry => entry.workspace === workspace).map(entry => entry.id),
      )
      expect(local.some(entry => entry.workspace === null)).toBe(false)
    }
  })

  test('WM-008 order and cursor follow seq; equal timestamps of two workspaces are concurrent; a cause precedes its effect', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const [w1, w2] = [await script.workspace(), await script.workspace()]
    const at = (offset: number) => formatTimestamp((2_000_000_000_000_000 + offset) as Ticks)
    const entry = (workspace: WorkspaceId, offset: number, proposal: Parameters<typeof stamp>[0]) =>
      stamp({ ...proposal, workspace } as never, script.id('e') as never, at(offset))
    const from = { from: w1, to: script.root, envelope_id: 'env_1' }
    const delivered = entry(script.root, 1, script.entry('envelope_delivered', script.root, 'protocol', from))
    unwrap(
      await script.run.append({
        entries: [
          entry(w1, 5, script.entry('checkpoint_created', w1, 'worker', { workspace: w1 })),
          entry(w2, 5, script.entry('checkpoint_created', w2, 'worker', { workspace: w2 })),
          entry(w1, 9, script.entry('envelope_created', w1, 'worker', { ...from, in_reply_to: null })),
          // The receiver's clock value is lower than the sender's: nothing may be inferred from that.
          { ...delivered, body: { ...delivered.body, delivered_at: at(1) } as never },
        ],
      }),
    )
    const all = await entriesOf(script.run)
    expect(all.map(each => each.seq)).toEqual(all.map((_, index) => index + 1))
    const [tie1, tie2, created, deliveredSeq] = all.slice(-4).map(each => each.seq) as [
      number,
      number,
      number,
      number,
    ]
    const firstPage = unwrap(await script.run.query({ limit: 4 }))
    expect(firstPage.cursor).toBe(4)
    expect(await seqsOf(script.run, { after: firstPage.cursor })).toEqual(all.slice(4).map(each => each.seq))
    const order = new CausalOrder(all)
    expect(order.relation(tie1, tie2)).toBe('concurrent')
    expect(order.relation(created, deliveredSeq)).toBe('before')
    expect(order.relation(deliveredSeq, created)).toBe('after')
    expect(order.relation(tie1, deliveredSeq)).toBe('before')
    expect(order.relation(tie2, deliveredSeq)).toBe('concurrent')
    expect(all.at(-1)!.timestamp < all.at(-2)!.timestamp).toBe(true)
  })

  test('WM-010 update and delete are refused, and the bytes stay', async () => {
    const { start, profile } = await temporaryTrail()
    const script = await start()
    const [entry] = await entriesOf(script.run)
    const before = bytesOf(profile)
    for (const result of [script.run.update(entry!.id), script.run.delete(entry!.id)]) {
      expect(result).toMatchObject({ ok: false, error: { code: 'immutable' } })
    }
    expect(bytesOf(profile).equals(before)).toBe(true)
    expect(await entriesOf(script.run)).toEqual([entry])
  })
})

describe('tamper evidence', () => {
  test('WM-011 a removed entry is reported at the one behind it', async () => {
    const first = await temporaryTrail()
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 8; count++) await script.checkpoint(worker)
    expect(await entriesOf(script.run)).toHaveLength(10)
    await first.trail.close()
    tamper(first.profile, records => records.filter(record => record.seq !== 5))
    const { trail } = await first.reopen()
    const report = await trail.run(script.run.id).verify()
    expect(report.findings).toHaveLength(1)
    expect(report.findings[0]).toMatchObject({ seq: 6, damage: 'missing', violation: 'chain_broken' })
    expect(report.violations).toEqual([
      {
        event_type: 'integrity_violation',
        workspace: null,
        actor: 'protocol',
        body: expect.objectContaining({
          subject_type: 'trail_entry',
          subject_id: report.findings[0]!.entry,
          violation: 'chain_broken',
          action_taken: 'flagged',
        }),
      },
    ])
  })

  test('WM-012 key order does not change a hash, and NaN has no canonical form', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const worker = await script.workspace()
    const [draft] = script.drafts([
      script.entry('checkpoint_created', worker, 'worker', { workspace: worker }),
    ])
    const reversed = Object.fromEntries(Object.entries(draft!.body).toReversed()) as EntryDraft['body']
    expect(Object.keys(reversed)).not.toEqual(Object.keys(draft!.body))
    expect(localHashOf({ ...draft!, body: reversed }, null)).toBe(localHashOf(draft!, null))
    const before = await entriesOf(script.run)
    const nan = {
      ...draft!,
      body: { ...draft!.body, resource_usage: { tokens_consumed: 1, wall_time: 1, cost: Number.NaN } },
    }
    expect(await script.run.append({ entries: [nan as EntryDraft] })).toMatchObject({
      ok: false,
      error: { code: 'invalid_body' },
    })
    expect(await entriesOf(script.run)).toEqual(before)
    unwrap(await script.run.append({ entries: [{ ...draft!, body: reversed }] }))
    const [previous, recorded] = (await entriesOf(script.run)).slice(-2)
    expect(recorded!.integrity.local_hash).toBe(localHashOf(draft!, previous!.integrity.local_hash!))
  })

  test('WM-013 an independent checker recomputes both chains', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const [w1, w2] = [await script.workspace(), await script.workspace()]
    for (const workspace of [w1, w2, w1]) await script.checkpoint(workspace)
    unwrap(await script.append(script.entry('user_created', null, 'system')))
    const entries = await entriesOf(script.run)
    let last: string | null = null
    const locals = new Map<string, string>()
    for (const entry of entries) {
      const { id, timestamp, workspace, actor, event_type, body } = entry
      const common = { id, timestamp, workspace, actor, event_type, body }
      const local =
        workspace === null
          ? undefined
          : independentHash({
              ...common,
              prev_hash: locals.get(workspace) ?? null,
              integrity: { algorithm: 'sha-256' },
            })
      const integrity = { algorithm: 'sha-256', ...(local && { local_hash: local }) }
      expect(entry.prev_hash).toBe(last)
      expect(entry.integrity.local_hash).toBe(local)
      expect(entry.integrity.entry_hash).toBe(independentHash({ ...common, prev_hash: last, integrity }))
      expect(independentHash({ ...common, prev_hash: 'other', integrity })).not.toBe(
        entry.integrity.entry_hash,
      )
      last = entry.integrity.entry_hash
      if (workspace !== null) locals.set(workspace, local!)
    }
    const [, local] = await entriesOf(script.run, { scope: 'local', workspace: w1 })
    const global = entries.find(entry => entry.id === local!.id)
    expect(local!.prev_hash).not.toBe(global!.prev_hash)
    expect(local!.integrity.entry_hash).toBe(global!.integrity.local_hash)
  })

  test('WM-015 a rewritten local trail passes alone and fails against its anchors', async () => {
    const first = await temporaryTrail()
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 4; count++) await script.checkpoint(worker, { confidence: 'low' })
    const local = await entriesOf(script.run, { scope: 'local', workspace: worker })
    const rewritten: Entry[] = []
    for (const entry of local) {
      const changed = {
        ...entry,
        body: entry.event_type === 'checkpoint_created' ? { ...entry.body, confidence: 'high' } : entry.body,
      } as Entry
      const prev_hash = rewritten.at(-1)?.integrity.entry_hash ?? null
      rewritten.push({
        ...changed,
        prev_hash,
        integrity: { ...entry.integrity, entry_hash: localHashOf(changed, prev_hash) },
      })
    }
    expect(verifyLocal(local)).toEqual([])
    expect(verifyLocal(rewritten)).toEqual([])
    const held = await script.run.verifyLocal(rewritten)
    expect(held.findings.map(finding => [finding.seq, finding.violation])).toEqual(
      rewritten
        .filter(each => each.event_type === 'checkpoint_created')
        .map(each => [each.seq, 'hash_mismatch']),
    )
    expect(held.violations[0]).toMatchObject({
      event_type: 'integrity_violation',
      body: { subject_type: 'trail_entry', violation: 'hash_mismatch', action_taken: 'flagged' },
    })
    expect((await script.run.verifyLocal(local)).findings).toEqual([])
    await first.trail.close()
    // The same at rest: bodies and local hashes are the rewritten ones.
    const localHashes = new Map(rewritten.map(each => [each.seq, each.integrity.entry_hash]))
    tamper(first.profile, records =>
      records.map(record => {
        if (record.kind !== 'entry' || !record.view.includes('"confidence":"low"')) return record
        const { integrity } = JSON.parse(record.view) as Entry
        const changed = edited(record, '"confidence":"low"', '"confidence":"high"')
        return edited(changed, integrity.local_hash!, localHashes.get(record.seq)!)
      }),
    )
    const { trail } = await first.reopen()
    const report = await trail.run(script.run.id).verify()
    expect(report.findings.map(finding => finding.violation)).toEqual(
      Array.from({ length: 4 }, () => 'hash_mismatch'),
    )
    expect(report.violations).toHaveLength(4)
  })

  test('WM-016 one replaced signature is found; the others verify with the public key', async () => {
    const signer = ed25519Signer(Buffer.alloc(32, 7))
    const first = await temporaryTrail({ signer })
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 3; count++) await script.checkpoint(worker)
    expect((await script.run.verify()).findings).toEqual([])
    expect((await entriesOf(script.run)).every(entry => entry.integrity.signer === signer.id)).toBe(true)
    await first.trail.close()
    tamper(
      first.profile,
      records =>
        records.map(record =>
          record.seq === 3 ? { ...record, signature: '00'.repeat(64) } : record,
        ) as never,
    )
    const { trail } = await first.reopen()
    const report = await trail.run(script.run.id).verify()
    expect(report.findings).toMatchObject([{ seq: 3, violation: 'signature_invalid' }])
    expect(report.violations).toMatchObject([
      { event_type: 'integrity_violation', body: { violation: 'signature_invalid' } },
    ])
    expect(report.entries).toBe(5)
  })
})

describe('reading', () => {
  test('WM-017 filters are joined by AND; the owner is the one at the time of the entry', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const moved = await script.workspace({ owner: 'alice', originator: 'alice' })
    const other = await script.workspace({ owner: 'bob', originator: 'system' })
    await script.checkpoint(moved)
    const transfer = { workspace_id: moved, from_user: 'alice', to_user: 'bob', transferred_by: 'system' }
    unwrap(await script.append(script.entry('workspace_ownership_transferred', moved, 'system', transfer)))
    await script.checkpoint(moved)
    await script.checkpoint(other)
    await script.state(moved, 'active', 'failed')
    const all = await entriesOf(script.run)
    const expectExactly = async (
      query: Parameters<RunTrail['query']>[0],
      keep: (entry: Entry) => boolean,
    ) => {
      const expected = all.filter(keep).map(entry => entry.seq)
      expect(expected.length).toBeGreaterThan(0)
      expect(await seqsOf(script.run, query)).toEqual(expected)
    }
    const [from, to] = [all[3]!.timestamp, all[5]!.timestamp]
    await expectExactly(
      { event_type: 'checkpoint_created', workspace: moved, from, to },
      entry =>
        entry.event_type === 'checkpoint_created' &&
        entry.workspace === moved &&
        entry.timestamp >= from &&
        entry.timestamp <= to,
    )
    await expectExactly(
      { body: { to_state: 'failed' } },
      entry => (entry.body as { to_state?: string }).to_state === 'failed',
    )
    await expectExactly(
      { originator: 'system' },
      entry => entry.workspace === script.root || entry.workspace === other,
    )
    const at = all.find(entry => entry.event_type === 'workspace_ownership_transferred')!.seq
    await expectExactly({ owner: 'alice' }, entry => entry.workspace === moved && entry.seq < at)
    await expectExactly(
      { owner: 'bob' },
      entry => (entry.workspace === moved && entry.seq >= at) || entry.workspace === other,
    )
    for (const malformed of [
      { from: 'yesterday' },
      { limit: 0 },
      { colour: 'red' },
      { scope: 'local' },
      { body: { 'a..b': 1 } },
    ]) {
      expect(await script.run.query(malformed as never)).toMatchObject({
        ok: false,
        error: { code: 'invalid_query' },
      })
    }
    expect(await entriesOf(script.run)).toEqual(all)
  })

  test('WM-018 aggregates are exact, and a text cannot be summed', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const worker = await script.workspace()
    for (const tokens_consumed of [10, 20, 30, 40, 55]) {
      await script.checkpoint(worker, { resource_usage: { tokens_consumed, wall_time: 5, cost: 0.5 } })
    }
    const filter = { event_type: 'checkpoint_created' }
    expect(unwrap(await script.run.aggregate({ filter })).rows).toEqual([{ key: null, count: 5, sum: 0 }])
    const sum = 'resource_usage.tokens_consumed'
    expect(unwrap(await script.run.aggregate({ filter, sum })).rows).toEqual([
      { key: null, count: 5, sum: 155 },
    ])
    const grouped = unwrap(await script.run.aggregate({ filter: {}, group: 'event_type' })).rows
    expect(grouped.map(row => [row.key, row.count]).toSorted()).toEqual([
      ['checkpoint_created', 5],
      ['workspace_created', 2],
    ])
    expect(await script.run.aggregate({ filter, sum: 'status' })).toMatchObject({
      ok: false,
      error: { code: 'invalid_query' },
    })
    expect(await entriesOf(script.run)).toHaveLength(7)
  })

  test('WM-021 a reader that never reads costs nothing; another gets everything in order and resumes where it was cut off', async () => {
    const { start } = await temporaryTrail()
    const script = await start()
    const worker = await script.workspace()
    const stop = new AbortController()
    const idle = script.run.watch({}, undefined, stop.signal)
    await idle.next()
    const seen: number[] = []
    const read = async (after: number, until: number) => {
      for await (const page of script.run.watch({ after }, undefined, stop.signal)) {
        seen.push(...page.entries.map(entry => entry.seq))
        if (seen.at(-1)! >= until) return
      }
    }
    const reading = read(0, 500)
    const proposal = script.entry('checkpoint_created', worker, 'worker', { workspace: worker })
    const results = await Promise.all(Array.from({ length: 1000 }, () => script.append(proposal)))
    expect(results.every(result => result.ok)).toBe(true)
    await reading
    // Cut off after some page: it resumes behind its last seq.
    await read(seen.at(-1)!, 1002)
    expect(seen).toEqual(Array.from({ length: 1002 }, (_, index) => index + 1))
    expect(await entriesOf(script.run, { event_type: ['trail_access_denied'] })).toEqual([])
    expect((await script.run.head()).seq).toBe(1002)
    stop.abort()
  })

  test('WM-022 the five views and the comparison of two finished runs', async () => {
    const { start } = await temporaryTrail()
    const finished = []
    for (const retries of [0, 1]) {
      const script = await start()
      const [active, failed] = [await script.workspace(), await script.workspace()]
      await script.state(active, 'idle', 'active')
      await script.state(failed, 'idle', 'active')
      const task_id = script.id('task')
      const tasks = [
        script.entry('task_created', script.root, 'system', { task_id, depends_on: [] }),
        script.entry('task_assigned', script.root, 'system', {
          task_id,
          workspace_id: active,
          attempt_number: 1 + retries,
        }),
        script.entry('task_completed', script.root, 'protocol', { task_id, workspace_id: active }),
        script.entry('task_status_changed', script.root, 'protocol', {
          task_id,
          from_status: 'in_progress',
          to_status: 'completed',
        }),
      ]
      unwrap(await script.append(...tasks))
      const envelope = await script.envelope(script.root, active, 'system')
      await script.checkpoint(active, { resource_usage: { tokens_consumed: 10, wall_time: 5, cost: 0.25 } })
      const gate_id = script.id('gate')
      const gate = { gate_id, gate_type: 'integration', workspace: active } as const
      unwrap(await script.append(script.entry('gate_triggered', active, 'protocol', gate)))
      unwrap(
        await script.append(
          script.entry('gate_resolved', active, 'alice', {
            gate_id,
            gate_type: 'integration',
            actor: 'alice',
          }),
        ),
      )
      unwrap(await script.append(script.entry('recovery_completed', null, 'protocol')))
      await script.state(failed, 'active', 'failed')
      await script.state(active, 'active', 'integrating')
      finished.push({ script, active, failed, envelope })
    }
    const [one] = finished
    const overview = unwrap(await runOverview(one!.script.run))
    expect(overview.workspaces).toEqual({
      productive: [{ workspace: one!.script.root, state: 'idle' }],
      suspended: [],
      resolution: [{ workspace: one!.active, state: 'integrating' }],
      terminal: [{ workspace: one!.failed, state: 'failed' }],
    })
    expect(overview.tasks).toEqual({ done: 1, total: 1 })
    const all = await entriesOf(one!.script.run)
    const recovery = all.find(entry => entry.event_type === 'recovery_completed')!.seq
    expect(overview.recoveries).toEqual([recovery])
    const timeline = unwrap(await workspaceTimeline(one!.script.run, one!.active))
    expect(timeline.entries).toEqual(all.filter(entry => entry.workspace === one!.active))
    expect(timeline.recoveries).toEqual([recovery])
    const flow = unwrap(await messageFlow(one!.script.run))
    expect(flow.edges).toMatchObject([
      { kind: 'envelope', id: one!.envelope, from: one!.script.root, to: one!.active },
    ])
    expect(flow.edges[0]!.delivered).toBeGreaterThan(flow.edges[0]!.sent)
    const highway = unwrap(await highwayActivity(one!.script.run))
    expect(highway.entries.map(entry => [entry.event_type, entry.actor])).toEqual([
      ['gate_triggered', 'protocol'],
      ['gate_resolved', 'alice'],
    ])
    expect(
      unwrap(await highwayActivity(one!.script.run, 'alice')).entries.map(entry => entry.event_type),
    ).toEqual(['gate_resolved'])
    const compared = unwrap(await compareRuns(finished.map(({ script }) => script.run)))
    expect(compared.map(Object.keys)).toEqual([Object.keys(compared[0]!), Object.keys(compared[0]!)])
    expect(compared.map(metrics => metrics.retry_count)).toEqual([0, 1])
    expect(compared[0]).toMatchObject({
      total_cost: 0.25,
      workspace_count: 3,
      failure_count: 1,
      checkpoint_count: 1,
      human_intervention_count: 1,
    })
  })
})

describe('storage life cycle', () => {
  const CLOSED = { from_state: 'integrating', to_state: 'closed', trigger: 'integration_succeeded' } as const

  test('WM-023 a closed workspace moves from hot to warm, byte for byte, and never back', async () => {
    const { start, trail } = await temporaryTrail()
    const script = await start()
    const worker = await script.workspace()
    await script.checkpoint(worker)
    const lifecycle = trail.lifecycle(script.run.id)
    const before = await entriesOf(script.run, { workspace: worker })
    const tiers = async () => Promise.all(before.map(entry => lifecycle.tierOf(entry.seq)))
    expect(await tiers()).toEqual(['hot', 'hot'])
    await script.state(worker, 'integrating', 'closed', CLOSED)
    expect(await tiers()).toEqual(['warm', 'warm'])
    expect(await lifecycle.tierOf(1)).toBe('hot')
    expect((await entriesOf(script.run, { workspace: worker })).slice(0, 2)).toEqual(before)
    const back = script.entry('workspace_state_changed', worker, 'protocol', {
      workspace_id: worker,
      from_state: 'closed',
      to_state: 'active',
    })
    expect(await script.append(back)).toMatchObject({ ok: false, error: { code: 'invalid_entry' } })
    expect(await tiers()).toEqual(['warm', 'warm'])
  })

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
        (entry.event_type === 'workspace_state_changed' &&
          (entry.body as { to_state: string }).to_state !== 'closed'),
    )
    const lifecycle = first.trail.lifecycle(script.run.id)
    const at = formatTimestamp(first.strict.take())
    const result = unwrap(await lifecycle.compact(worker, at))
    return { ...first, script, worker, archivable, lifecycle, at, result }
  }

  test('WM-025 compaction archives what is archivable, sums it up, and finds nothing the second time', async () => {
    const { script, worker, archivable, lifecycle, at, result } = await compacted()
    expect(archivable).toHaveLength(7)
    expect(result.archived).toBe(7)
    const summary = {
      workspace: worker,
      entries_archived: 7,
      entries_preserved: 4,
      archive_range: { from: archivable[0]!.timestamp, to: archivable.at(-1)!.timestamp },
      archive_hash: archiveHash(archivable.map(entry => entry.integrity.local_hash!)),
    }
    expect(result.summaries).toEqual([
      { event_type: 'trail_compacted', workspace: null, actor: 'protocol', body: summary },
    ])
    unwrap(await script.append(...result.summaries))
    expect(await entriesOf(script.run, { event_type: 'trail_compacted' })).toMatchObject([
      { workspace: null, actor: 'protocol', body: summary },
    ])
    const before = (await script.run.head()).seq
    expect(unwrap(await lifecycle.compact(worker, at))).toEqual({ archived: 0, summaries: [] })
    expect((await script.run.head()).seq).toBe(before)
    expect(await Promise.all(archivable.map(entry => lifecycle.tierOf(entry.seq)))).toEqual(
      archivable.map(() => 'cold'),
    )
  })

  test('WM-026 cold entries are found; deletion waits for retention; afterwards the manifest bridges the chain', async () => {
    const first = await compacted()
    const { script, worker, archivable, lifecycle, at, result } = first
    unwrap(await script.append(...result.summaries))
    const all = await entriesOf(script.run, { workspace: worker })
    expect(all.map(entry => entry.seq)).toEqual(expect.arrayContaining(archivable.map(entry => entry.seq)))
    const retention = { cold: 30 * 24 * 3600 * 1000 }
    const archivedAt = parseTimestamp(at)!
    const early = (archivedAt + 1000) as Ticks
    expect(await lifecycle.deleteArchive(1, early, retention)).toMatchObject({
      ok: false,
      error: { code: 'retention_active' },
    })
    expect(await entriesOf(script.run, { workspace: worker })).toEqual(all)
    const late = (archivedAt + retention.cold * 1000) as Ticks
    // Enough further entries that the segments which held the archived ones are finished.
    for (let count = 0; count < 30; count++) await script.checkpoint(await script.workspace())
    unwrap(await lifecycle.deleteArchive(1, late, retention))
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
    expect(
      (await entriesOf(again, { originator: 'alice', workspace: worker })).map(entry => entry.seq),
    ).toEqual(all.map(entry => entry.seq).filter(seq => !gone.has(seq)))
    const head = (await again.head()).seq
    const drafts = script.drafts([script.entry('user_created', null, 'system')])
    expect(unwrap(await again.append({ entries: drafts })).first).toBe(head + 1)
    expect((await again.verify()).findings).toEqual([])
  })

  test('W-TRAIL-29 after a deletion a local trail has the links that it had, and holds against its anchors; a rewritten one does not', async () => {
    const { script, worker, archivable, lifecycle, at, result } = await compacted()
    unwrap(await script.append(...result.summaries))
    const local = () => entriesOf(script.run, { scope: 'local', workspace: worker })
    const held = async (entries: readonly Entry[]) =>
      (await script.run.verifyLocal(entries)).findings.map(({ seq, damage }) => [seq, damage])
    const before = await local()
    unwrap(await lifecycle.deleteArchive(1, parseTimestamp(at)!, { cold: 0 }))
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

  test('WM-027 a finished run is frozen at a place; a broken chain gives no snapshot but a finding', async () => {
    const first = await temporaryTrail()
    const script = await first.start()
    const worker = await script.workspace()
    for (let count = 0; count < 4; count++) await script.checkpoint(worker, { confidence: 'low' })
    expect(await first.trail.lifecycle(script.run.id).snapshot('snap_0', 3)).toMatchObject({
      ok: false,
      error: { code: 'invalid_state' },
    })
    await script.end()
    const entries = await entriesOf(script.run)
    const proposal = unwrap(await first.trail.lifecycle(script.run.id).snapshot('snap_1', 5))
    const body = {
      snapshot_id: 'snap_1',
      up_to: 5,
      entry_count: 5,
      head_hash: entries[4]!.integrity.entry_hash,
    }
    expect(proposal).toMatchObject({ event_type: 'trail_snapshot_created', workspace: null, body })
    unwrap(await script.append(proposal))
    expect(await entriesOf(script.run, { event_type: 'trail_snapshot_created' })).toMatchObject([{ body }])
    await first.trail.close()
    expect(readdirSync(join(first.profile, 'trail', 'snapshots'))).toEqual(['snap_1.zst'])
    tamper(first.profile, records =>
      records.map(record => (record.seq === 4 ? edited(record, '"low"', '"high"') : record)),
    )
    const { trail } = await first.reopen()
    const refused = await trail.lifecycle(script.run.id).snapshot('snap_2', 5)
    expect(refused).toMatchObject({ ok: false, error: { code: 'trail_damaged' } })
    expect(refused.violations).toMatchObject([
      { event_type: 'integrity_violation', body: { violation: 'hash_mismatch' } },
    ])
    expect(readdirSync(join(first.profile, 'trail', 'snapshots'))).toEqual(['snap_1.zst'])
  })
})

describe('clock', () => {
  test('WM-028 timestamps rise by a tick where the wall clock stands or steps back, and a batch takes consecutive ones', async () => {
    const { start, clock } = await temporaryTrail()
    const script = await start()
    const [w1, w2] = [await script.workspace(), await script.workspace()]
    clock.set((clock.now() - 5_000_000) as Ticks)
    const proposals = Array.from({ length: 47 }, (_, index) => {
      const workspace = index % 2 ? w1 : w2
      return script.entry('checkpoint_created', workspace, 'worker', { workspace })
    })
    for (const proposal of proposals) unwrap(await script.append(proposal))
    unwrap(await script.append(proposals[0]!, proposals[1]!, proposals[2]!))
    const entries = await entriesOf(script.run)
    expect(entries).toHaveLength(53)
    const ticks = entries.map(entry => parseTimestamp(entry.timestamp)!)
    for (const [index, tick] of ticks.entries()) if (index > 0) expect(tick - ticks[index - 1]!).toBe(1)
    expect(
      entries.every(
        entry =>
          /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(entry.timestamp) && entry.timestamp.length === 27,
      ),
    ).toBe(true)
    const [base, second, third] = ticks.slice(-3)
    expect([second! - base!, third! - base!]).toEqual([1, 2])
  })

  test('WM-031 after a restart every timestamp exceeds the greatest on record', async () => {
    const first = await temporaryTrail()
    const wall = first.clock.now()
    first.clock.set((wall + 3_600_000_000) as Ticks)
    const script = await first.start()
    const before = (await entriesOf(script.run)).at(-1)!.timestamp
    first.clock.set(wall)
    const second = await first.reopen()
    expect(second.trail.floor).toBe(parseTimestamp(before))
    const later = await second.start()
    const [entry] = await entriesOf(later.run)
    expect(entry!.timestamp > before).toBe(true)
    expect(parseTimestamp(entry!.timestamp)).toBe(parseTimestamp(before)! + 1)
  })
})

/** SHA-256 of the canonical form, written apart from the code under test. */
function independentHash(value: unknown): string {
  const canonical = (each: unknown): string => {
    if (Array.isArray(each)) return `[${each.map(canonical).join(',')}]`
    if (each === null || typeof each !== 'object') return JSON.stringify(each)
    const members = Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
  }
  return createHash('sha256').update(canonical(value)).digest('hex')
}
