// People: log-ins, capabilities, gates (wacp-primitives 8; wacp-mechanisms 5).
import { deepStrictEqual } from 'node:assert'
import { deniedUser, failure, taskStatus } from '../../entry-rows.ts'
import { ANY } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-082 a person is known from the first log-in on; who is not believed is on record',
  { level: 2, rules: ['W-USER-01', 'W-USER-04'], users: ['ux'] },
  async kit => {
    const alice = { user: 'alice', proven: true }
    await kit.do('outsider', 'authenticate', alice)
    await kit.expectAdded([
      ['user_created', null, 'system', { user_id: 'alice', created_by: 'system' }],
      ['authentication_succeeded', null, 'alice', { user_id: 'alice', method: ANY }],
    ])
    await kit.do('outsider', 'authenticate', alice)
    await kit.expectAdded([['authentication_succeeded', null, 'alice', { user_id: 'alice' }]])
    await kit.refuses('PERMISSION_DENIED', 'outsider', 'authenticate', { ...alice, proven: false })
    await kit.expectAdded([['authentication_failed', null, 'protocol', { entity: 'alice' }]])
    for (const user of ['system', 'worker']) {
      await kit.refuses('PERMISSION_DENIED', 'outsider', 'authenticate', { user, proven: true })
      await kit.expectAdded([['authentication_failed', null, 'protocol', { entity: user, reason: 'unknown_identity' }]])
    }
  },
)

scenario(
  'WP-086 a user does what the capabilities allow, to whom they allow it',
  { level: 2, rules: ['W-USER-12', 'W-USER-13', 'W-USER-14', 'W-USER-15'], users: ['ux', 'uy'] },
  async kit => {
    await kit.user('ux', ['abort_own'])
    await kit.worker('mine', { owner: 'ux' })
    await kit.worker('other', { owner: 'ux' })
    await kit.worker('foreign', { owner: 'uy' })
    await kit.mark()
    await kit.do('ux', 'abort', { workspace: 'mine' })
    await kit.expectAdded(failure('mine', 'active', 'aborted_by_human', { actor: 'ux' }))
    await kit.refuses('PERMISSION_DENIED', 'ux', 'abort', { workspace: 'foreign' }, 'wrong_scope')
    await kit.expectAdded([deniedUser('ux', ANY, 'wrong_scope')])
    await kit.refuses(
      'PERMISSION_DENIED',
      'ux',
      'suspend',
      { workspace: 'other', reason: 'wait' },
      'missing_capability',
    )
    await kit.expectAdded([deniedUser('ux', ANY, 'missing_capability')])
    await kit.do('runtime', 'grant_capability', { user: 'ux', capability: 'suspend_any' })
    await kit.expectAdded([['capability_granted', null, 'system', { user_id: 'ux', capability: 'suspend_any' }]])
    await kit.do('ux', 'suspend', { workspace: 'other', reason: 'wait' })
    await kit.expectAmong([['suspension_started', 'other', 'ux', { workspace_id: 'other', reason: 'wait' }]])
    await kit.refuses('INVALID_ARGUMENT', 'runtime', 'revoke_capability', {
      user: 'ux',
      capability: 'view_trail_own',
    })
  },
)

const waiting = { gates: { task_approval: true }, gate_defaults: { timeout: 10_000, fallback: 'reject' } }

scenario(
  'WM-063 gates are answered in any order, and each that is not ends at its own time',
  { level: 2, rules: ['W-HWY-06'], run: { highway: waiting } },
  async kit => {
    await kit.user('ux', ['create_workspace'])
    await kit.mark()
    for (const task of ['A', 'B', 'C']) {
      await kit.graph({ [task]: {} }, { graph: `graph${task}` })
      await kit.advance(1000)
    }
    deepStrictEqual(await kit.gates(), ['G1', 'G2', 'G3'])
    await kit.expectAmong(
      ['G1', 'G2', 'G3'].map((gate_id, queue_position) => [
        'gate_triggered',
        null,
        'protocol',
        { gate_id, gate_type: 'task_approval', queue_position, timeout: 10_000, fallback: 'reject' },
      ]),
    )
    await kit.do('ux', 'answer_gate', { gate: 'G2', action: 'approve' })
    await kit.expectAdded([
      ['gate_resolved', null, 'ux', { gate_id: 'G2', action: 'approve', actor: 'ux' }],
      ['task_approved', 'R', 'ux', { task_id: 'B', approval_source: 'human' }],
      taskStatus('B', 'draft', 'pending', 'ux'),
    ])
    await kit.refuses('INVALID_STATE', 'ux', 'answer_gate', { gate: 'G2', action: 'reject' }, 'gate_not_pending')
    const ended = (gate_id: string, task: string) =>
      [
        ['gate_timeout', null, 'fallback', { gate_id, fallback_action: 'reject' }],
        ['gate_resolved', null, 'fallback', { gate_id, action: 'reject', actor: 'fallback' }],
        taskStatus(task, 'draft', 'cancelled', 'fallback'),
      ] as const
    await kit.advance(7001)
    await kit.expectAdded(ended('G1', 'A'))
    await kit.advance(2000)
    await kit.expectAdded(ended('G3', 'C'))
  },
)
