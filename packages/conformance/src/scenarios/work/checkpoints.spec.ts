// Checkpoints: what creating one leaves behind, what is rejected, that nothing of it changes, and what is delivered
// (wacp-primitives 5).
import { deepStrictEqual, notDeepStrictEqual } from 'node:assert'
import { deliver, denied, emit, noCheckpoint, SC, taskStatus } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import { scenario } from '../../scenario.ts'

/** The ids of a workspace's chain, by name. */
async function chain(kit: Kit, workspace: string): Promise<readonly string[]> {
  return (await kit.look(workspace)).register.map(({ id }) => kit.names.of(id))
}

scenario(
  'WP-051 a checkpoint begins the chain, tells the parent, and makes its artifacts addressable',
  { level: 1, rules: ['W-CP-01', 'W-CP-02', 'W-CP-05', 'W-CP-07', 'W-CP-11', 'W-CP-12'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const artifacts = [{ path: 'a.txt' }, { path: 'b.txt', note: 'two' }]
    const payload = { files_changed: ['a.txt', 'b.txt'], content: 'part', artifacts }
    await kit.checkpoint('K1', 'W', { payload, parent: null })
    const [made] = await kit.expectAmong([
      [
        'checkpoint_created',
        'W',
        'worker',
        {
          checkpoint_id: 'K1',
          workspace: 'W',
          type: 'artifact',
          status: 'provisional',
          confidence: 'medium',
          parent: null,
        },
      ],
      emit('checkpoint', 'W', 'protocol', { signal_id: '?s', ref: 'K1' }),
      deliver('W', 'R', { signal_id: '?s' }),
    ])
    deepStrictEqual(await chain(kit, 'W'), ['K1'])

    const ids = made!.body.artifact_ids as readonly string[]
    deepStrictEqual(new Set(ids).size, 2)
    for (const [index, artifact] of ids.entries())
      for (const reader of ['W', 'R']) {
        const found = await kit.do(reader, 'get_artifact', { artifact })
        const entry = found.artifact as Readonly<Record<string, unknown>>
        deepStrictEqual([found.checkpoint, entry.path], [kit.id('K1'), artifacts[index]!.path])
      }
    await kit.expectAdded([])

    for (const owned of [{ id: 'mine' }, { timestamp: '2026-03-01T09:05:00.000042Z' }]) {
      const draft = await kit.checkpointDraft('W', owned)
      await kit.refuses('REJECTED', 'W', 'create_checkpoint', { ...draft }, 'invalid_structure')
      await kit.expectAdded([noCheckpoint('W', 'invalid_structure', { type: 'artifact' })])
    }
    deepStrictEqual(await chain(kit, 'W'), ['K1'])
  },
)

scenario(
  'WP-052 a checkpoint that fails a check is rejected on record, and no register changes',
  { level: 1, rules: ['W-CP-04', 'W-CP-03', 'W-LIFE-04'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('B')
    await kit.observer('O')
    await kit.checkpoint('K1', 'W')
    await kit.checkpoint('K2', 'W')
    await kit.bring('B', 'blocked')
    await kit.mark()
    const before = await kit.picture()
    const { intent: _intent, ...silent } = await kit.checkpointDraft('W')
    const attempts: readonly (readonly [by: string, changes: object, reason: string])[] = [
      ['B', {}, 'workspace_not_active'],
      ['W', { intent: '' }, 'invalid_structure'],
      ['W', { type: 'sketch' }, 'invalid_type'],
      ['W', { type: 'observation' }, 'permission_denied'],
      ['O', { type: 'artifact' }, 'permission_denied'],
      ['R', {}, 'permission_denied'],
      ['W', { parent: 'K1' }, 'invalid_parent'],
      ['W', { parent: null }, 'invalid_parent'],
      ['W', { confidence: 'sure' }, 'invalid_structure'],
      // Of several faults the first check decides.
      ['B', { intent: '', type: 'sketch' }, 'workspace_not_active'],
      ['W', { intent: '', type: 'sketch', parent: null }, 'invalid_structure'],
      ['W', { type: 'observation', parent: null }, 'permission_denied'],
    ]
    for (const [by, changes, reason] of attempts) {
      const draft = { ...(await kit.checkpointDraft(by)), ...changes }
      await kit.refuses('REJECTED', by, 'create_checkpoint', draft, reason)
      await kit.expectAdded([noCheckpoint(by, reason, { type: draft.type })])
    }
    await kit.refuses('REJECTED', 'W', 'create_checkpoint', silent, 'invalid_structure')
    await kit.expectAdded([noCheckpoint('W', 'invalid_structure')])
    deepStrictEqual(await kit.picture(), before)
    deepStrictEqual(await chain(kit, 'W'), ['K1', 'K2'])
  },
)

/** Overwrites everything in a value that lets itself be overwritten. */
function deface(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) {
    const record = value as Record<string, unknown>
    deface(record[key])
    try {
      record[key] = 'defaced'
    } catch {
      // What is frozen says so in strict code.
    }
  }
}

scenario(
  'WP-053 a checkpoint never changes: not by its copies, not by request, not by a fork',
  { level: 1, rules: ['W-CP-06', 'W-CP-07'] },
  async kit => {
    await kit.worker('W')
    const payload = { content: 'part', artifacts: [{ path: 'a.txt', tags: ['x'] }] }
    await kit.checkpoint('K1', 'W', { payload })
    deface(payload)
    await kit.checkpoint('K2', 'W')
    await kit.mark()
    const read = () => kit.do('W', 'get_checkpoint', { checkpoint: 'K1' })
    const before = structuredClone(await read())
    notDeepStrictEqual((before.payload as typeof payload).content, 'defaced')
    deface(await read())
    deface((await kit.look('W')).register)
    deepStrictEqual(await read(), before)
    deepStrictEqual(await chain(kit, 'W'), ['K1', 'K2'])
    for (const by of ['W', 'R'])
      await kit.refuses('IMMUTABLE', by, 'change_checkpoint', {
        checkpoint: 'K1',
        changes: { status: 'final' },
      })
    await kit.expectAdded([
      denied('W', 'worker', 'set:checkpoint', 'frozen', { target: 'K1' }),
      denied('R', 'system', 'set:checkpoint', 'frozen', { target: 'K1' }),
    ])
    const fork = await kit.checkpointDraft('W', { parent: 'K1' })
    await kit.refuses('REJECTED', 'W', 'create_checkpoint', { ...fork }, 'invalid_parent')
    await kit.expectAdded([noCheckpoint('W', 'invalid_parent')])
    deepStrictEqual([await read(), await chain(kit, 'W')], [before, ['K1', 'K2']])
  },
)

scenario(
  'WP-054 the newest final checkpoint is what is delivered, whatever its confidence and whatever follows it',
  { level: 1, rules: ['W-CP-08', 'W-CP-09', 'W-TASK-10'] },
  async kit => {
    await kit.graph({ T1: {}, T2: {} })
    for (const [workspace, task] of [
      ['W1', 'T1'],
      ['W2', 'T2'],
    ] as const) {
      await kit.bound(workspace, task)
      await kit.emit(workspace, 'started')
    }
    await kit.checkpoint('K1', 'W1', { status: 'final', confidence: 'low' })
    await kit.checkpoint('K2', 'W1', { confidence: 'high' })
    await kit.checkpoint('P', 'W2')
    await kit.mark()
    await kit.emit('W1', 'complete')
    await kit.emit('W2', 'complete')
    await kit.expectAdded([
      emit('complete', 'W1', 'worker'),
      SC('W1', 'active', 'integrating', 'agent_complete'),
      taskStatus('T1', 'in_progress', 'completed'),
      ['task_completed', 'R', 'protocol', { task_id: 'T1', workspace_id: 'W1', checkpoint_id: 'K1' }],
      deliver('W1', 'R'),
      emit('complete', 'W2', 'worker'),
      SC('W2', 'active', 'integrating', 'agent_complete'),
      deliver('W2', 'R'),
    ])
    deepStrictEqual([(await kit.look('W1')).deliverable, (await kit.look('W2')).deliverable], [kit.id('K1'), null])
    deepStrictEqual((await kit.task('T1')).checkpoint_ref, kit.id('K1'))

    await kit.refuses('INVALID_STATE', 'R', 'begin_integration', { source: 'W2' }, 'no_final_checkpoint')
    await kit.refuses('INVALID_STATE', 'R', 'decide_integration', { source: 'W2', decision: 'accept' })
    await kit.expectAdded([])
    deepStrictEqual([await kit.state('W2'), (await kit.task('T2')).status], ['integrating', 'in_progress'])

    await kit.do('R', 'decide_integration', { source: 'W1', decision: 'accept' })
    await kit.expectAmong([
      ['integration_started', 'W1', 'system', { source: 'W1', checkpoint_ref: 'K1' }],
      SC('W1', 'integrating', 'closed', 'integration_succeeded', { actor: 'system' }),
      taskStatus('T1', 'completed', 'integrated'),
    ])
  },
)

scenario(
  'WP-055 a report that the meter contradicts is kept, and each field that differs is on record',
  { level: 3, rules: ['W-CP-10'], setup: { usageTolerance: 1 } },
  async kit => {
    await kit.worker('W')
    // Amounts count from here on.
    await kit.checkpoint('K0', 'W')
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: 900 })
    await kit.advance(10_000)
    await kit.mark()
    const reported = { tokens_consumed: 500, wall_time: 10_000, cost: 0 }
    await kit.checkpoint('K', 'W', { resource_usage: reported })
    const added = await kit.expectAmong([
      ['checkpoint_created', 'W', 'worker', { checkpoint_id: 'K' }],
      [
        'resource_discrepancy',
        'W',
        'protocol',
        {
          checkpoint_id: 'K',
          workspace: 'W',
          field: 'tokens_consumed',
          agent_value: 500,
          runtime_value: 900,
        },
      ],
    ])
    deepStrictEqual(added.filter(({ event_type }) => event_type === 'resource_discrepancy').length, 1)
    const kept = await kit.do('W', 'get_checkpoint', { checkpoint: 'K' })
    deepStrictEqual(kept.resource_usage, reported)
    deepStrictEqual((await kit.look('W')).meter.tokens, 900)

    // Each field that differs, not only the first.
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: 50, cost: 2 })
    await kit.advance(10_000)
    await kit.mark()
    const wrongly = { tokens_consumed: 40, wall_time: 5000, cost: 1 }
    await kit.checkpoint('K2', 'W', { resource_usage: wrongly })
    const differing = (await kit.added()).filter(({ event_type }) => event_type === 'resource_discrepancy')
    deepStrictEqual(
      // The entries themselves take a few microseconds.
      differing
        .map(({ body }) => [body.field, body.agent_value, Math.ceil(Number(body.runtime_value) / 10) * 10])
        .toSorted(),
      [
        ['cost', 1, 10],
        ['tokens_consumed', 40, 50],
        ['wall_time', 5000, 10_000],
      ],
    )
    for (const wrong of [{ tokens_consumed: -1 }, { wall_time: -1 }, { cost: 'much' }]) {
      const draft = await kit.checkpointDraft('W', { resource_usage: { ...reported, ...wrong } })
      await kit.refuses('REJECTED', 'W', 'create_checkpoint', { ...draft }, 'invalid_structure')
      await kit.expectAdded([noCheckpoint('W', 'invalid_structure')])
    }
    deepStrictEqual(await chain(kit, 'W'), ['K0', 'K', 'K2'])
  },
)
