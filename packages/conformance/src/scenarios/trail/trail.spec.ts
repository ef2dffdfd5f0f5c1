// The trail: chains, queries, access, damage, denials (wacp-mechanisms 1, 2, 3, 4).
import { deepStrictEqual } from 'node:assert'
import { chainProblems, hashesOf } from '../../chain.ts'
import { denied } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WM-013 both chains can be recomputed by anyone, and hold every entry in its place',
  { level: 2, rules: ['W-TRAIL-12', 'W-SEC-11'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.settle()
    const entries = await kit.entries()
    deepStrictEqual(chainProblems(entries), [])
    const last = entries.at(-1)!
    const shown = hashesOf(last, null, last.prev_hash ?? null).global
    const moved = hashesOf(last, null, 'another').global
    deepStrictEqual(shown === moved, false)
    const { entries: local } = await kit.do('runtime', 'query_trail', { scope: 'local', workspace: 'W' })
    const global = entries.filter(({ workspace }) => workspace === kit.id('W'))
    deepStrictEqual(
      local.map(({ id }) => id),
      global.map(({ id }) => id),
    )
    deepStrictEqual(local[0]?.prev_hash, null)
    deepStrictEqual(local[1]?.prev_hash === global[1]?.prev_hash, false)
  },
)

scenario(
  'WM-017 filters are joined, and an owner is whoever it was at the time',
  { level: 2, rules: ['W-TRAIL-17'] },
  async kit => {
    await kit.worker('W', { owner: 'ux' })
    await kit.worker('W2', { owner: 'uy' })
    await kit.do('R', 'transfer_ownership', { workspace: 'W', owner: 'uy' })
    await kit.bring('W', 'failed')
    await kit.settle()
    const all = await kit.entries()
    const found = async (query: Record<string, unknown>) =>
      (await kit.do('runtime', 'query_trail', query)).entries.map(({ seq }) => seq)
    const wanted = (keep: (entry: Entry) => boolean) => all.filter(keep).map(({ seq }) => seq)
    const [W, from, to] = [kit.id('W'), all[4]!.timestamp, all.at(-3)!.timestamp]
    deepStrictEqual(
      await found({ event_type: 'signal_emitted', workspace: 'W', from, to }),
      wanted(
        each =>
          each.event_type === 'signal_emitted' &&
          each.workspace === W &&
          each.timestamp >= from &&
          each.timestamp <= to,
      ),
    )
    deepStrictEqual(
      await found({ body: { to_state: 'failed' } }),
      wanted(({ body }) => body.to_state === 'failed'),
    )
    deepStrictEqual(
      await found({ originator: 'system', workspace: 'W' }),
      wanted(({ workspace }) => workspace === W),
    )
    const moved = all.find(({ event_type }) => event_type === 'workspace_ownership_transferred')!.seq
    const owned = new Set(await found({ owner: 'ux', workspace: 'W' }))
    deepStrictEqual(owned, new Set(wanted(({ workspace, seq }) => workspace === W && seq < moved)))
    await kit.refuses('INVALID_ARGUMENT', 'runtime', 'query_trail', { from: 'yesterday' }, 'invalid_query')
  },
)

scenario(
  'WM-019 an agent reads what it sees, and an attempt at more is on record',
  { level: 1, rules: ['W-TRAIL-19', 'W-SEC-14'] },
  async kit => {
    await kit.worker('W1')
    await kit.worker('W2')
    await kit.observer('O', { visibility: [kit.id('W1')] })
    await kit.mark()
    const read = async (by: string, query: Record<string, unknown>) =>
      (await kit.do(by, 'query_trail', query)).entries.map(({ workspace }) =>
        workspace === null ? null : kit.names.of(workspace),
      )
    const refusedRead = (by: string, actor: string, scope: string) =>
      kit.expectAdded([['trail_access_denied', by, actor, { requested_scope: scope }]])
    deepStrictEqual(await read('W1', { workspace: 'W2' }), [])
    await refusedRead('W1', 'worker', 'local')
    deepStrictEqual(new Set(await read('W1', {})), new Set(['W1']))
    await kit.expectAdded([])
    deepStrictEqual(new Set(await read('O', { workspace: 'W1' })), new Set(['W1']))
    await kit.expectAdded([])
    deepStrictEqual(await read('O', { scope: 'global' }), [])
    await refusedRead('O', 'observer', 'global')
  },
)

scenario(
  'WM-041 an entry that was altered in the middle halts its run',
  { level: 2, rules: ['W-REC-13'], sound: false },
  async kit => {
    await kit.worker('W')
    await kit.settle()
    const count = (await kit.entries()).length
    const { halted } = await kit.restart({
      meanwhile: () =>
        kit.faults.stored.rewrite(kit.run, records =>
          records.map(record =>
            record.kind === 'entry' && record.entry.seq === 5
              ? { ...record, entry: { ...record.entry, actor: `${record.entry.actor}x` } }
              : record,
          ),
        ),
    })
    deepStrictEqual(
      halted.map(({ run }) => run),
      [kit.run],
    )
    await kit.refuses('HALTED', 'W', 'emit_signal', { type: 'blocked', reason: 'waiting' })
    await kit.refuses('HALTED', 'R', 'create_workspace', { role: 'worker' })
    deepStrictEqual((await kit.entries()).length, count, 'nothing was written')
  },
)

scenario(
  'WM-055 an envelope that was altered on its way is never placed',
  { level: 2, rules: ['W-SEC-02', 'W-SEC-07', 'W-SEC-10'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    type Envelope = Readonly<Record<string, unknown>>
    const variants: readonly (readonly [alter: (envelope: Envelope) => unknown, violation: string])[] = [
      [envelope => ({ ...envelope, payload: { format: 'markdown', content: 'other' } }), 'hash_mismatch'],
      [envelope => ({ ...envelope, originator: 'mallory' }), 'hash_mismatch'],
      [({ integrity: _integrity, ...envelope }) => envelope, 'proof_missing'],
    ]
    for (const [alter, violation] of variants) {
      kit.faults.transport.rule(({ kind }) => (kind === 'envelope' ? { alter } : 'pass'))
      await kit.send('E', 'R', 'W', 'directive')
      await kit.expectAdded([
        ['envelope_created', 'R', 'system', { envelope_id: 'E' }],
        [
          'integrity_violation',
          null,
          'protocol',
          { subject_type: 'envelope', subject_id: 'E', violation, action_taken: 'rejected' },
        ],
        ['envelope_rejected', 'R', 'protocol', { envelope_id: 'E', reason: 'integrity_violation' }],
      ])
      deepStrictEqual(await kit.inbox('W'), [])
    }
  },
)

scenario('WM-057 what a role may not do is denied and on record', { level: 1, rules: ['W-SEC-12'] }, async kit => {
  await kit.observer('O')
  await kit.worker('W')
  await kit.mark()
  await kit.refuses('PERMISSION_DENIED', 'O', 'emit_signal', { type: 'blocked', reason: 'waiting' })
  await kit.refuses('PERMISSION_DENIED', 'W', 'emit_signal', { type: 'pause' })
  await kit.refuses('PERMISSION_DENIED', 'W', 'create_workspace', { role: 'worker' })
  await kit.expectAdded([
    denied('O', 'observer', 'emit:blocked'),
    denied('W', 'worker', 'emit:pause'),
    denied('W', 'worker', 'operation:create_workspace'),
  ])
})
