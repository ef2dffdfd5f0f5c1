// Integration: decisions against the work, conflicts, order, conflicts of a salvage (wacp-mechanisms 6).
import { deepStrictEqual } from 'node:assert'
import { emit, failure, SC, taskStatus } from '../../entry-rows.ts'
import { another, invalidated, resolved, triggered } from '../../gated.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

/** A highway without gates of its own: only what is escalated waits, without end. */
const OPEN = { gates: { task_approval: false }, gate_defaults: { timeout: null, fallback: 'reject' } }
const CONTRADICTION = { type: 'semantic_contradiction', resources: ['b.txt'], description: 'cannot both be' }

/** A worker bound to a task that has completed it. */
async function finished(kit: Kit, workspace: string, task: string, files?: readonly string[]): Promise<void> {
  await kit.bound(workspace, task)
  await kit.emit(workspace, 'started')
  await kit.final(workspace, files)
  await kit.emit(workspace, 'complete')
}

function settled(
  conflict: string,
  outcome: 'closed' | 'failed',
  more: Readonly<Record<string, unknown>> = {},
  actor = '*',
): Row {
  return ['conflict_resolved', 'W', actor, { workspace_id: 'W', conflict_id: conflict, outcome, ...more }]
}

function settle(kit: Kit, conflict: string, strategy: string, resolution = 'keep both') {
  return kit.call('R', 'resolve_conflict', { source: 'W', conflict, strategy, resolution })
}

scenario(
  'WM-082 work that is revised or rejected fails, and nothing leads back from completion',
  { level: 1, rules: ['W-INT-03', 'W-INT-04', 'W-INT-16'] },
  async kit => {
    await kit.graph({ T1: {}, T2: {}, T3: {} })
    await finished(kit, 'W1', 'T1')
    await finished(kit, 'W2', 'T2')
    await kit.bound('W3', 'T3')
    await kit.emit('W3', 'started')
    await kit.emit('W3', 'complete')
    await kit.mark()
    for (const [source, task, decision, reason] of [
      ['W1', 'T1', 'revise', 'revision_required'],
      ['W2', 'T2', 'reject', 'rejected'],
    ] as const) {
      await kit.do('R', 'begin_integration', { source, strategy: 'direct' })
      await kit.do('R', 'decide_integration', { source, decision })
      const added = await kit.expectAmong([
        emit('integrate', 'R', 'system', { ref: source }),
        ['integration_started', source, 'system', { source, checkpoint_ref: `K${source}` }],
        ['integration_aborted', source, '*', { source, target: 'R', mode: 'normal', reason }],
        SC(source, 'integrating', 'failed', reason, { actor: 'system' }),
        taskStatus(task, 'completed', 'failed'),
        ['task_failed', 'R', '*', { task_id: task }],
      ])
      deepStrictEqual(
        added.filter(each => each.event_type === 'integration_completed'),
        [],
      )
    }
    await kit.refuses('INVALID_STATE', 'R', 'begin_integration', { source: 'W3' }, 'no_final_checkpoint')
    await kit.expectAdded([])

    for (const workspace of ['W1', 'W2', 'W3']) await kit.refuses('INVALID_STATE', 'R', 'resume', { workspace })
    const reopen = { source: 'W3', decision: 'reopen' }
    await kit.refuses('INVALID_ARGUMENT', 'R', 'decide_integration', reopen, 'invalid_decision')
    deepStrictEqual(await kit.emit('W3', 'started'), 'absorbed')
    await kit.expectNone('workspace_state_changed')
    deepStrictEqual(await kit.state('W3'), 'integrating')
  },
)

scenario(
  'WM-084 a merge closes when each of its conflicts is settled, one of them by the owner',
  { level: 2, rules: ['W-INT-06', 'W-INT-12', 'W-INT-13', 'W-INT-15'], run: { highway: OPEN } },
  async kit => {
    await kit.user('ux', ['approve_integration'])
    await kit.graph({ T: {} })
    await finished(kit, 'W', 'T')
    await kit.do('R', 'begin_integration', { source: 'W', strategy: 'evaluated' })
    await kit.mark()
    await kit.conflicts('W', [{}, CONTRADICTION])
    const found = (conflict_id: string, conflict_type: string): Row => [
      'conflict_detected',
      'W',
      'system',
      { workspace_id: 'W', conflict_id, conflict_type },
    ]
    await kit.expectAdded([
      found('X1', 'content_overlap'),
      found('X2', 'semantic_contradiction'),
      SC('W', 'integrating', 'conflicted', 'conflict_detected', { actor: 'system' }),
    ])
    await settle(kit, 'X1', 'coordinator_resolve')
    await kit.expectAdded([
      settled('X1', 'closed', { resolution_strategy: 'coordinator_resolve', resolution: 'keep both' }, 'system'),
    ])
    await kit.refuses('INVALID_STATE', 'R', 'decide_integration', { source: 'W', decision: 'accept' })
    await kit.expectAdded([])
    deepStrictEqual(await kit.state('W'), 'conflicted')

    kit.gate(await settle(kit, 'X2', 'escalate'))
    await kit.expectAdded([
      triggered('G1', 'conflict_resolution', 'W', {
        addressee: 'ux',
        task_ref: nullOr('T'),
        graph_ref: nullOr('G'),
      }),
    ])
    await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'approve' })
    await kit.expectAdded([
      resolved('G1', 'conflict_resolution', 'W', 'approve', 'ux'),
      settled('X2', 'closed', { resolution_strategy: 'escalate' }, 'ux'),
      ['integration_completed', 'W', 'system', { source: 'W', result: 'conflict_resolved' }],
      ['workspace_state_changed', 'W', '*', { from_state: 'conflicted', to_state: 'closed' }],
      taskStatus('T', 'completed', 'integrated'),
    ])
    const made = (await kit.entries()).filter(each => each.event_type === 'checkpoint_created')
    deepStrictEqual(
      made.map(each => kit.names.of(String(each.workspace))),
      ['W'],
    )
    const merge = await kit.do('R', 'get_integration', { source: 'W' })
    deepStrictEqual(
      merge?.conflicts.map(each => each.strategy),
      ['coordinator_resolve', 'escalate'],
    )
  },
)

/** Null, or what a gate may name besides. */
function nullOr(name: string): (value: unknown) => boolean {
  return value => value === null || value === name
}

scenario(
  'WM-085 one conflict that sends the work back fails it with all of them, and nothing new begins by itself',
  { level: 2, rules: ['W-INT-12', 'W-INT-13'], run: { highway: OPEN } },
  async kit => {
    await kit.user('ux', ['approve_integration'])
    for (const strategy of ['agent_rework', 'escalate']) {
      await another(kit, OPEN)
      await kit.completed({ W: ['a.txt'] })
      await kit.do('R', 'begin_integration', { source: 'W', strategy: 'evaluated' })
      await kit.conflicts('W', [{}, CONTRADICTION])
      await kit.mark()
      const outcome = await settle(kit, 'X1', strategy, 'start anew')
      const rework = strategy === 'agent_rework'
      if (!rework) {
        kit.gate(outcome)
        await kit.mark()
        await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'reject' })
      }
      const reason = (value: unknown) => (rework ? value === 'agent_rework' : typeof value === 'string')
      const added = await kit.expectAmong([
        ...(rework ? [] : [resolved('G1', 'conflict_resolution', 'W', 'reject', 'ux')]),
        settled('X1', 'failed', { resolution_strategy: strategy }),
        settled('X2', 'failed'),
        ['integration_aborted', 'W', '*', { source: 'W', reason }],
        SC('W', 'conflicted', 'failed', 'conflict_unresolvable', { actor: rework ? 'system' : 'ux' }),
      ])
      deepStrictEqual(
        added.filter(each => each.event_type === 'workspace_created'),
        [],
        strategy,
      )
      deepStrictEqual(await kit.do('runtime', 'topology', { question: 'downward', about: 'R' }), [kit.id('W')])
      await kit.worker('W2')
      await kit.expectAmong([['workspace_created', 'W2', 'system']])
    }
  },
)

scenario(
  'WM-086 conflicts that outlast the time of their workspace fail it, and the gate that waits goes with it',
  { level: 2, rules: ['W-INT-14'], run: { highway: OPEN } },
  async kit => {
    await kit.worker('W', { timeout: 20_000 })
    await kit.advance(15_000)
    await kit.bring('W', 'conflicted')
    kit.gate(await settle(kit, 'X1', 'escalate'))
    await kit.mark()
    await kit.advance(4990)
    await kit.expectAdded([])
    await kit.advance(11)
    const [signal, state, told] = failure('W', 'conflicted', 'conflict_timeout')
    const added = await kit.expectAmong([
      settled('X1', 'failed', { resolution_strategy: 'timeout' }, 'protocol'),
      ['integration_aborted', 'W', 'protocol', { source: 'W', reason: 'conflict_timeout' }],
      state,
      invalidated('G1', 'conflict_resolution', null),
    ])
    deepStrictEqual(
      added.map(each => each.event_type).toSorted(),
      ['conflict_resolved', 'integration_aborted', signal[0], state[0], told[0], 'gate_resolved'].toSorted(),
    )
  },
)

scenario(
  'WM-087 one integration at a time into one target, and each sees what those before it left',
  { level: 1, rules: ['W-INT-08', 'W-INT-09'] },
  async kit => {
    await kit.graph({ A: {}, B: { depends_on: ['A'] } })
    await finished(kit, 'WA', 'A', ['f'])
    await finished(kit, 'WB', 'B', ['f'])
    await kit.mark()
    const basis = 'dependencies'
    const order = (order_index: number) => (kit.level >= 3 ? { order_index, order_basis: basis } : {})
    const strategy = kit.level >= 2 ? 'layered' : 'direct'
    await kit.do('R', 'begin_integration', { source: 'WA', strategy: 'direct', basis })
    await kit.expectAmong([['integration_started', 'WA', 'system', { source: 'WA', target: 'R', ...order(1) }]])
    const waiting = kit.call('R', 'begin_integration', { source: 'WB', strategy, basis })
    await kit.settle()
    await kit.expectAdded([])
    await kit.do('R', 'decide_integration', { source: 'WA', decision: 'accept', strategy: 'direct' })
    const begun = await waiting
    deepStrictEqual(begun.ok, true)
    await kit.expectAmong([
      ['integration_completed', 'WA', 'system', { source: 'WA', result: 'success' }],
      SC('WA', 'integrating', 'closed', 'integration_succeeded', { actor: 'system' }),
      ['integration_started', 'WB', 'system', { source: 'WB', target: 'R', ...order(2) }],
    ])
    await kit.do('R', 'decide_integration', { source: 'WB', decision: 'accept', strategy })
    // Both changed the same file: what the first one left is what the second one meets.
    if (kit.level >= 2)
      await kit.expectAmong([
        ['conflict_detected', 'WB', 'protocol', { conflict_type: 'content_overlap', resources: ['f'] }],
      ])
    else await kit.expectAmong([['integration_completed', 'WB', 'system', { source: 'WB', result: 'success' }]])
  },
)

scenario(
  'WM-089 a salvage that meets a conflict settles or drops it without touching any state',
  { level: 3, rules: ['W-INT-20'] },
  async kit => {
    for (const strategy of ['coordinator_resolve', 'agent_rework']) {
      await another(kit, 'off')
      await kit.completed({ A: ['f'] })
      await kit.do('R', 'decide_integration', { source: 'A', decision: 'accept', strategy: 'direct' })
      await kit.graph({ T: {} })
      await kit.bound('W', 'T')
      await kit.emit('W', 'started')
      await kit.final('W', ['f'])
      await kit.bring('W', 'failed')
      const states = async () => [await kit.state('R'), await kit.state('A'), await kit.look('W'), await kit.task('T')]
      const before = await states()
      await kit.do('R', 'begin_salvage', { source: 'W', strategy: 'evaluated' })
      await kit.mark()
      await kit.conflicts('W', [{ resources: ['f'] }])
      const about = {
        workspace_id: 'W',
        conflict_id: 'X1',
        conflict_type: 'content_overlap',
        mode: 'salvage',
      }
      await kit.expectAdded([['conflict_detected', 'R', '*', about]])
      deepStrictEqual(await states(), before)
      // Nothing is merged over an open conflict.
      await kit.refuses('INVALID_STATE', 'R', 'decide_salvage', { source: 'W', decision: 'accept' })
      await kit.expectAdded([])
      await kit.do('R', 'resolve_conflict', { source: 'W', conflict: 'X1', strategy, resolution: 'both' })
      const rework = strategy === 'agent_rework'
      const outcome = rework ? 'failed' : 'closed'
      const merge = { source: 'W', target: 'R', mode: 'salvage' }
      await kit.expectAdded([
        ['conflict_resolved', 'R', 'system', { ...about, resolution_strategy: strategy, outcome }],
        rework
          ? ['integration_aborted', 'R', '*', { ...merge, reason: 'agent_rework' }]
          : ['integration_completed', 'R', 'system', { ...merge, result: 'conflict_resolved' }],
      ])
      deepStrictEqual(await states(), before, strategy)
    }
  },
)
