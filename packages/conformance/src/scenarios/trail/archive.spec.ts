// How entries are kept: durable at once, in tiers, archived and deleted, frozen (wacp-mechanisms 1.4).
import { deepStrictEqual } from 'node:assert'
import type { Entry } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import type { OperationName } from '../../operations.ts'
import { scenario } from '../../scenario.ts'
import { changing } from '../stored.ts'

const DAY = 24 * 3600 * 1000

async function local(kit: Kit, name: string): Promise<readonly Entry[]> {
  await kit.settle()
  return (await kit.entries()).filter(({ workspace }) => workspace === kit.id(name))
}

scenario(
  'WM-023 what an ended workspace left is warm, byte for byte as it was, and never hot again',
  { level: 3, rules: ['W-TRAIL-24', 'W-TRAIL-25'] },
  async kit => {
    await kit.worker('W')
    await kit.checkpoint('K', 'W')
    const before = await local(kit, 'W')
    const tiers = async () => {
      const found = new Set<string | null>()
      for (const { seq } of before) found.add((await kit.do('runtime', 'tier_of', { seq })).tier)
      return [...found]
    }
    deepStrictEqual(await tiers(), ['hot'])
    await kit.bring('W', 'closed')
    deepStrictEqual(await tiers(), ['warm'])
    deepStrictEqual((await local(kit, 'W')).slice(0, before.length), before)
    deepStrictEqual((await kit.do('runtime', 'tier_of', { seq: 1 })).tier, 'hot')
    // Nothing brings it back.
    const attempts: readonly (readonly [caller: string, operation: OperationName, params: object])[] = [
      ['W', 'emit_signal', { type: 'started' }],
      ['R', 'send_envelope', kit.mail('W', 'feedback')],
      ['R', 'resume', { workspace: 'W' }],
      ['R', 'suspend', { workspace: 'W', reason: 'pause' }],
    ]
    for (const [caller, operation, params] of attempts) await kit.call(caller, operation, { ...params })
    await kit.settle()
    deepStrictEqual([await kit.state('W'), await tiers()], ['closed', ['warm']])
    await kit.restart()
    deepStrictEqual([await tiers(), (await local(kit, 'W')).slice(0, before.length)], [['warm'], before])
  },
)

scenario(
  'WM-024 what was acknowledged is there after a kill, and the state follows from it',
  { level: 2, rules: ['W-TRAIL-26', 'W-REC-14'] },
  async kit => {
    await kit.worker('W')
    const steps: readonly (readonly [
      caller: string,
      operation: OperationName,
      params: object,
      type: string,
      state: string,
    ])[] = [
      ['W', 'emit_signal', { type: 'blocked', reason: 'waiting' }, 'signal_emitted', 'blocked'],
      ['W', 'emit_signal', { type: 'started' }, 'signal_emitted', 'active'],
      ['W', 'create_checkpoint', { ...(await kit.checkpointDraft('W')) }, 'checkpoint_created', 'active'],
      ['R', 'suspend', { workspace: 'W', reason: 'pause' }, 'suspension_started', 'suspended'],
      ['R', 'abort', { workspace: 'W' }, 'workspace_state_changed', 'failed'],
    ]
    for (const [caller, operation, params, type, state] of steps) {
      await kit.mark()
      await kit.do(caller, operation, { ...params })
      // At once: nothing that still goes on may be waited for.
      await kit.system.restart({ crash: true })
      const added = (await kit.added()).map(({ event_type }) => event_type)
      deepStrictEqual([added.includes(type), await kit.state('W')], [true, state], `${operation} ${state}`)
    }
    deepStrictEqual((await kit.look('W')).register.length, 1)
  },
)

scenario(
  'WM-026 what is archived is found, is deleted only when its time is over, and the chain holds without it',
  { level: 3, rules: ['W-TRAIL-28', 'W-TRAIL-29'], setup: { retention: 30 * DAY }, sound: false },
  async kit => {
    await kit.worker('W')
    await kit.send('E', 'R', 'W', 'feedback')
    await kit.bring('W', 'closed')
    const before = await local(kit, 'W')
    const archivable = before.filter(
      ({ event_type, body }) =>
        event_type === 'envelope_delivered' || (event_type === 'workspace_state_changed' && body.to_state !== 'closed'),
    )
    const { archived } = await kit.do('runtime', 'compact', { workspace: 'W' })
    deepStrictEqual(archived, archivable.length)
    const query = async () =>
      (await kit.do('runtime', 'query_trail', { workspace: 'W' })).entries.map(({ seq, id, body }) => ({
        seq,
        id,
        body,
      }))
    const all = await query()
    deepStrictEqual(
      all,
      before.map(({ seq, id, body }) => ({ seq, id, body })),
    )
    await kit.advance(30 * DAY - 1000)
    await kit.refuses('INVALID_STATE', 'runtime', 'delete_archive', { workspace: 'W' }, 'retention_active')
    deepStrictEqual(await query(), all)
    await kit.advance(2000)
    await kit.do('runtime', 'delete_archive', { workspace: 'W' })
    const gone = new Set(archivable.map(({ seq }) => seq))
    const left = (await query()).filter(({ seq }) => gone.has(seq))
    // Deleting is allowed and not demanded: what is still there is what was there.
    deepStrictEqual(
      left,
      all.filter(each => left.some(({ seq }) => seq === each.seq)),
    )
    deepStrictEqual((await kit.do('runtime', 'verify_trail')).findings, [])
    await kit.restart()
    deepStrictEqual((await kit.do('runtime', 'verify_trail')).findings, [])
    await kit.mark()
    await kit.worker('V')
    deepStrictEqual((await kit.do('runtime', 'verify_trail')).findings, [])
  },
)

scenario(
  'WM-027 a finished run is frozen at a place; where its chain is broken nothing is frozen, and that is on record',
  { level: 3, rules: ['W-TRAIL-30'], sound: false },
  async kit => {
    await kit.worker('W')
    await kit.checkpoint('K', 'W')
    await kit.do('R', 'abort', { workspace: 'W' })
    await kit.do('runtime', 'close_run')
    await kit.mark()
    const entries = await kit.entries()
    const up_to = entries.length - 2
    await kit.do('runtime', 'take_snapshot', { up_to })
    const { entry_hash: head_hash } = entries[up_to - 1]!.integrity!
    const snapshot_id = (id: unknown) => typeof id === 'string' && id !== ''
    await kit.expectAdded([
      ['trail_snapshot_created', null, '*', { snapshot_id, up_to, entry_count: up_to, head_hash }],
    ])
    await kit.restart({
      meanwhile: () =>
        kit.faults.stored.rewrite(
          kit.run,
          changing(entry => (entry.seq === 4 ? { ...entry, actor: `${entry.actor}x` } : entry)),
        ),
    })
    await kit.mark()
    deepStrictEqual((await kit.call('runtime', 'take_snapshot', { up_to: up_to - 1 })).ok, false)
    const added = await kit.expectAmong([
      ['integrity_violation', null, 'protocol', { subject_type: 'trail_entry', violation: 'hash_mismatch' }],
    ])
    deepStrictEqual(
      added.filter(({ event_type }) => event_type === 'trail_snapshot_created'),
      [],
    )
  },
)
