// One workspace through its states: observers, blocking, completion, failure, rework, suspension (wacp-primitives 2,
// 14).
import { deepStrictEqual } from 'node:assert'
import { arrived, deliver, denied, emit, noCheckpoint, rejected, SC, signalled, taskStatus } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-007 an observer begins by saying so and shows what it saw; a worker waits for mail',
  { level: 1, rules: ['W-LIFE-06', 'W-ROLE-03', 'W-CP-12', 'W-SIG-01'] },
  async kit => {
    await kit.workspace('O', { role: 'observer' })
    await kit.workspace('W')
    await kit.mark()
    await kit.emit('O', 'started')
    await kit.expectAdded([
      emit('started', 'O', 'observer', { signal_id: '?started' }),
      SC('O', 'idle', 'active', 'agent_started', { initiator: 'observer' }),
      deliver('O', 'R', { signal_id: '?started' }),
    ])
    await kit.checkpoint('K', 'O', { type: 'observation' })
    await kit.expectAdded([
      ['checkpoint_created', 'O', 'observer', { checkpoint_id: 'K', workspace: 'O', type: 'observation' }],
      ...signalled('seen', 'checkpoint', 'O', 'R', 'protocol', { ref: 'K' }),
    ])
    await kit.emit('W', 'started')
    await kit.expectAdded(signalled('early', 'started', 'W', 'R'))
    deepStrictEqual(await kit.state('W'), 'idle')
  },
)

scenario(
  'WP-008 a blocked worker gets mail, says when it goes on, and its task knows nothing of it',
  { level: 1, rules: ['W-LIFE-07', 'W-SIG-01', 'W-TASK-09'] },
  async kit => {
    await kit.graph({ T: {} })
    await kit.bound('W', 'T')
    await kit.emit('W', 'started')
    deepStrictEqual((await kit.task('T')).status, 'in_progress')
    await kit.mark()
    await kit.emit('W', 'blocked', { reason: 'no key' })
    await kit.expectAdded([
      emit('blocked', 'W', 'worker', { signal_id: '?b', reason: 'no key' }),
      SC('W', 'active', 'blocked', 'agent_blocked', { initiator: 'worker' }),
      deliver('W', 'R', { signal_id: '?b' }),
    ])
    deepStrictEqual((await kit.task('T')).status, 'in_progress')
    await kit.send('E', 'R', 'W', 'feedback')
    await kit.expectAdded(arrived('E', 'R', 'W', 'feedback'))
    deepStrictEqual([await kit.inbox('W'), await kit.state('W')], [['E'], 'blocked'])
    await kit.emit('W', 'started')
    await kit.expectAdded([
      emit('started', 'W', 'worker', { signal_id: '?s' }),
      SC('W', 'blocked', 'active', 'agent_started', { initiator: 'worker' }),
      deliver('W', 'R', { signal_id: '?s' }),
    ])
    deepStrictEqual((await kit.task('T')).status, 'in_progress')
  },
)

scenario(
  'WP-010 a worker that completes is integrated, and its task with it',
  {
    level: 1,
    rules: ['W-LIFE-08', 'W-LIFE-09', 'W-TASK-10', 'W-TASK-16', 'W-TASK-04', 'W-TASK-06'],
  },
  async kit => {
    await kit.graph({ T: {} })
    await kit.bound('W', 'T')
    await kit.emit('W', 'started')
    await kit.checkpoint('K', 'W', { status: 'final' })
    // The deliverable is the newest final one, whatever is drafted behind it.
    await kit.checkpoint('draft', 'W')
    await kit.mark()
    await kit.emit('W', 'complete')
    await kit.expectAdded([
      emit('complete', 'W', 'worker', { signal_id: '?c' }),
      SC('W', 'active', 'integrating', 'agent_complete', { initiator: 'worker' }),
      taskStatus('T', 'in_progress', 'completed', 'protocol', { workspace_id: 'W' }),
      ['task_completed', 'R', 'protocol', { task_id: 'T', workspace_id: 'W', checkpoint_id: 'K' }],
      deliver('W', 'R', { signal_id: '?c' }),
    ])
    deepStrictEqual((await kit.task('T')).checkpoint_ref, kit.id('K'))
    await kit.do('R', 'decide_integration', { source: 'W', decision: 'accept' })
    await kit.expectAmong([
      SC('W', 'integrating', 'closed', 'integration_succeeded', { actor: 'system' }),
      taskStatus('T', 'completed', 'integrated'),
    ])
    const { status, workspace_ref, workspace_history } = await kit.task('T')
    deepStrictEqual([status, workspace_ref, workspace_history], ['integrated', null, [kit.id('W')]])
  },
)

async function localTrail(kit: Kit, workspace: string): Promise<readonly unknown[]> {
  return (await kit.do('runtime', 'query_trail', { scope: 'local', workspace })).entries
}

scenario(
  'WP-012 a failed workspace is frozen: what its agent still tries is on record outside its trail',
  { level: 1, rules: ['W-WS-08', 'W-SIG-10', 'W-WS-03'] },
  async kit => {
    await kit.worker('W')
    await kit.checkpoint('K', 'W')
    await kit.do('W', 'write_memory', { key: 'k', value: 'v' })
    await kit.send('E', 'R', 'W', 'feedback')
    await kit.bring('W', 'failed')
    await kit.mark()
    const [picture, trail] = [await kit.picture(), await localTrail(kit, 'W')]
    deepStrictEqual(await kit.emit('W', 'complete'), 'absorbed')
    const draft = await kit.checkpointDraft('W', { status: 'final' })
    await kit.refuses('REJECTED', 'W', 'create_checkpoint', { ...draft }, 'workspace_not_active')
    await kit.expectAdded([
      ['signal_emitted', null, 'worker', { from: 'W', type: 'complete' }],
      noCheckpoint('W', 'workspace_not_active', { under: null }),
    ])
    await kit.refuses('INVALID_STATE', 'R', 'suspend', { workspace: 'W', reason: 'late' })
    await kit.refuses('INVALID_STATE', 'R', 'resume', { workspace: 'W' })
    await kit.refuses('INVALID_STATE', 'R', 'abort', { workspace: 'W' })
    await kit.expectAdded([])
    deepStrictEqual(await kit.picture(), picture)
    deepStrictEqual(await localTrail(kit, 'W'), trail)
    const { event_type, body } = trail.at(-1) as { event_type: string; body: Record<string, unknown> }
    deepStrictEqual([event_type, body.to_state], ['workspace_state_changed', 'failed'])
    deepStrictEqual(await kit.do('runtime', 'read_memory', { key: 'k', workspace: 'W' }), 'v')
  },
)

scenario(
  'WP-013 an agent that says it failed has failed, unless its work is being integrated already',
  { level: 1, rules: ['W-LIFE-10', 'W-SIG-01', 'W-TASK-11'] },
  async kit => {
    await kit.graph({ T: {} })
    const task: readonly Row[] = [
      taskStatus('T', 'assigned', 'failed'),
      [
        'task_failed',
        'R',
        'protocol',
        { task_id: 'T', workspace_id: 'active', attempt_number: 1, failure_reason: 'x' },
      ],
    ]
    for (const state of ['idle', 'active', 'blocked'] as const) {
      await kit.inState(state, state, state === 'active' ? { task: 'T', directive: null } : {})
      await kit.emit(state, 'failed', { reason: 'x' })
      await kit.expectAdded([
        emit('failed', state, 'worker', { signal_id: `?${state}Signal`, reason: 'x' }),
        SC(state, state, 'failed', 'agent_failed', { reason: 'x', initiator: 'worker' }),
        ...(state === 'active' ? task : []),
        deliver(state, 'R', { signal_id: `?${state}Signal` }),
      ])
    }
    await kit.inState('W', 'integrating')
    deepStrictEqual(await kit.emit('W', 'failed', { reason: 'x' }), 'absorbed')
    await kit.expectAdded(signalled('late', 'failed', 'W', 'R', 'worker', { reason: 'x' }))
    deepStrictEqual(await kit.state('W'), 'integrating')
  },
)

scenario(
  'WP-020 rework is done in a new workspace: the old one has failed for ever',
  { level: 1, rules: ['W-LIFE-09', 'W-WS-03', 'W-TASK-04', 'W-TASK-12'] },
  async kit => {
    await kit.graph({ T: {} })
    await kit.bound('W', 'T')
    await kit.bring('W', 'integrating')
    await kit.mark()
    await kit.do('R', 'decide_integration', { source: 'W', decision: 'revise' })
    await kit.expectAmong([
      SC('W', 'integrating', 'failed', 'revision_required', { actor: 'system' }),
      taskStatus('T', 'completed', 'failed'),
      [
        'task_failed',
        'R',
        'protocol',
        { task_id: 'T', workspace_id: 'W', attempt_number: 1, failure_reason: 'revision_required' },
      ],
    ])
    await kit.do('R', 'retry_task', { task: 'T' })
    await kit.expectAdded([taskStatus('T', 'failed', 'pending', 'system')])
    deepStrictEqual((await kit.task('T')).checkpoint_ref, null)
    await kit.bound('W2', 'T')
    await kit.expectAmong([
      ['workspace_created', 'W2', 'system', { workspace_id: 'W2' }],
      ['task_assigned', 'R', 'system', { task_id: 'T', workspace_id: 'W2', attempt_number: 2 }],
      taskStatus('T', 'pending', 'assigned', 'system'),
    ])
    await kit.bring('W2', 'closed')
    deepStrictEqual([await kit.state('W'), (await kit.task('T')).status], ['failed', 'integrated'])
  },
)

scenario(
  'WP-028 a suspended agent does nothing, and nobody suspends or resumes out of turn',
  { level: 1, rules: ['W-MIG-01', 'W-MIG-02', 'W-SIG-05', 'W-CP-04'] },
  async kit => {
    await kit.worker('W2')
    await kit.inState('W', 'suspended')
    const before = await kit.picture()
    await kit.refuses('PERMISSION_DENIED', 'W', 'emit_signal', { type: 'started' })
    await kit.expectAdded([denied('W', 'worker', 'emit:started', 'frozen')])
    const draft = await kit.checkpointDraft('W')
    await kit.refuses('REJECTED', 'W', 'create_checkpoint', { ...draft }, 'workspace_not_active')
    await kit.expectAdded([noCheckpoint('W', 'workspace_not_active')])
    await kit.refuses('REJECTED', 'W', 'send_envelope', { ...kit.mail('R', 'query') }, 'permission_denied')
    await kit.expectAdded([rejected('W', 'permission_denied')])
    await kit.refuses('PERMISSION_DENIED', 'W', 'suspend', { workspace: 'W', reason: 'rest' })
    await kit.expectAdded([denied('W', 'worker', 'operation:suspend')])
    await kit.refuses('INVALID_STATE', 'R', 'suspend', { workspace: 'W', reason: 'again' })
    await kit.refuses('INVALID_STATE', 'R', 'resume', { workspace: 'W2' })
    await kit.expectAdded([])
    deepStrictEqual(await kit.picture(), before)
  },
)
