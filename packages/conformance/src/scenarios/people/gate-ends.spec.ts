// How gates end: by their fallback, with their subject, by the first who may answer; and what was decided is not asked
// again (wacp-mechanisms 5.2, 5.5).
import { deepStrictEqual, ok } from 'node:assert'
import { deniedUser, failure, SC, taskStatus } from '../../entry-rows.ts'
import {
  ANSWERING,
  another,
  approveAll,
  expired,
  invalidated,
  lastMade,
  only,
  resolved,
  triggered,
} from '../../gated.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const PERIOD = 10_000
const DAY = 24 * 60 * 60_000
const ESCALATE = 'escalate_to_coordinator'

function approved(task: string, actor: string, approval_source: string): readonly Row[] {
  return [
    ['task_approved', 'R', actor, { task_id: task, approval_source }],
    taskStatus(task, 'draft', 'pending', actor),
  ]
}

/** Gates of tasks by their tasks: GA waits for A. */
async function taskGates(kit: Kit): Promise<void> {
  for (const { id, task_ref } of await kit.do('runtime', 'list_gates')) kit.name(id, `G${kit.names.of(task_ref ?? '')}`)
}

scenario(
  'WM-066 a task gate that nobody answers does at its deadline what its fallback says',
  { level: 2, rules: ['W-HWY-09', 'W-HWY-13'] },
  async kit => {
    for (const fallback of ['approve', 'reject']) {
      await another(kit, only('task_approval', { timeout: PERIOD, fallback }))
      await kit.graph({ T: {} })
      await taskGates(kit)
      await kit.mark()
      await kit.advance(PERIOD - 1)
      await kit.expectAdded([])
      await kit.advance(2)
      await kit.expectAdded([
        expired('GT', 'task_approval', null, fallback, PERIOD),
        resolved('GT', 'task_approval', null, fallback, 'fallback'),
        ...(fallback === 'approve'
          ? approved('T', 'fallback', 'timeout-auto-approve')
          : [taskStatus('T', 'draft', 'cancelled', 'fallback')]),
      ])
    }
  },
)

scenario(
  'WM-067 a gate that falls to the coordinator is answered by it, or its silence is a no',
  {
    level: 2,
    rules: ['W-HWY-10'],
    run: { highway: only('task_approval', { timeout: PERIOD, fallback: ESCALATE }) },
  },
  async kit => {
    await kit.graph({ A: {}, B: {} })
    await taskGates(kit)
    await kit.mark()
    await kit.advance(PERIOD + 1)
    await kit.expectAdded(['GA', 'GB'].map(gate => expired(gate, 'task_approval', null, ESCALATE, PERIOD)))
    deepStrictEqual(
      (await kit.do('runtime', 'list_gates')).map(gate => gate.handed_over),
      [true, true],
    )
    const told = (await kit.notices('gate')).filter(({ detail }) => detail === 'handed_over')
    deepStrictEqual(
      told.map(({ to, subject }) => [to, subject]),
      [
        ['R', 'GA'],
        ['R', 'GB'],
      ],
    )
    await kit.do('R', 'answer_gate', { gate: 'GA', action: 'approve' })
    await kit.expectAdded([
      resolved('GA', 'task_approval', null, 'approve', 'system', { reason: 'coordinator_decision' }),
      ...approved('A', 'system', 'timeout-auto-approve'),
    ])
    await kit.advance(PERIOD - 3)
    await kit.expectAdded([])
    await kit.advance(4)
    await kit.expectAdded([
      resolved('GB', 'task_approval', null, 'reject', 'fallback', { reason: 'coordinator_no_decision' }),
      taskStatus('B', 'draft', 'cancelled', 'fallback'),
    ])
  },
)

scenario(
  'WM-068 what a fallback decided opens no second gate; what a person decided does',
  { level: 2, rules: ['W-HWY-11'] },
  async kit => {
    await kit.user('ux', ANSWERING)
    const abort = (workspace: string) => kit.call('R', 'abort', { workspace })
    const blocked = (converted_to: string): Row => [
      'gate_reentry_blocked',
      'W',
      'protocol',
      {
        gate_id: 'G1',
        gate_type: 'workspace_abort',
        subject_id: `${kit.id('W')}:aborted_by_coordinator`,
        converted_to,
      },
    ]

    // It fell to the coordinator, which asks again instead of answering.
    await another(kit, only('workspace_abort', { timeout: PERIOD, fallback: ESCALATE }))
    await kit.worker('W')
    kit.gate(await abort('W'))
    await kit.advance(PERIOD + 1)
    await kit.mark()
    ok((await abort('W')).ok)
    await kit.expectAdded([
      blocked('approve'),
      resolved('G1', 'workspace_abort', 'W', 'approve', 'fallback'),
      ...failure('W', 'active', 'aborted_by_coordinator', { actor: 'system' }),
    ])

    // The fallback rejected it, and the caller sees no error.
    await another(kit, only('workspace_abort', { timeout: PERIOD, fallback: 'reject' }))
    await kit.worker('W')
    kit.gate(await abort('W'))
    await kit.advance(PERIOD + 1)
    await kit.mark()
    ok((await abort('W')).ok)
    await kit.expectAdded([blocked('reject')])
    deepStrictEqual(await kit.state('W'), 'active')

    // A person rejected a proposal.
    await another(kit, only('conflict_resolution'))
    await kit.inState('W', 'conflicted')
    const proposal = { source: 'W', conflict: 'X1', strategy: 'coordinator_resolve', resolution: 'both' }
    kit.gate(await kit.call('R', 'resolve_conflict', proposal), 'G1')
    await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'reject' })
    await kit.mark()
    const again = kit.gate(await kit.call('R', 'resolve_conflict', proposal), 'G2')
    await kit.expectAdded([triggered('G2', 'conflict_resolution', 'W')])
    ok(again !== kit.id('G1'))
  },
)

scenario(
  'WM-069 a gate ends with its subject, and a late answer finds nothing',
  { level: 2, rules: ['W-HWY-12'], run: { owner: 'alice', highway: only('integration') }, users: ['alice'] },
  async kit => {
    await kit.user('alice', ['approve_integration', 'abort_own'])
    await kit.completed({ W: ['f'] })
    kit.gate(await kit.call('R', 'begin_integration', { source: 'W' }))
    await kit.mark()
    await kit.do('alice', 'abort', { workspace: 'W' })
    await kit.expectAdded([
      ...failure('W', 'integrating', 'aborted_by_human', { actor: 'alice' }),
      invalidated('G1', 'integration', null),
    ])
    const late = { gate: 'G1', action: 'approve' }
    await kit.refuses('INVALID_STATE', 'alice', 'answer_gate', late, 'gate_not_pending')
    await kit.expectAdded([])
  },
)

scenario(
  'WM-070 by default every task waits for a person, one that is added later as well',
  { level: 2, rules: ['W-HWY-13'], run: { highway: {} } },
  async kit => {
    await kit.graph({ A: {}, B: { depends_on: ['A'] }, C: { depends_on: ['B'] } })
    await kit.graph({ B1: { parent_task: 'B' } }, { into: 'G' })
    const waiting = (task: string, queue_position: number): Row =>
      triggered(`?G${task}`, 'task_approval', null, { task_ref: task, graph_ref: 'G', queue_position })
    const added = await kit.expectAmong(['A', 'B', 'C', 'B1'].map(waiting))
    deepStrictEqual(added.filter(entry => entry.event_type === 'gate_triggered').length, 4)
    for (const task of ['A', 'B', 'C', 'B1']) {
      deepStrictEqual((await kit.task(task)).status, 'draft')
      await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker', task }, 'not_dispatchable')
    }
    await kit.expectNone('workspace_created', 'task_approved')
  },
)

scenario(
  'WM-071 where everything is gated only that waits, however long; a forced stop ends it all',
  { level: 2, rules: ['W-HWY-16'], run: { highway: 'gated' } },
  async kit => {
    await kit.user('ux', ANSWERING)
    const draft = { role: 'observer', timeout: 100 * DAY }
    kit.gate(await kit.call('R', 'create_workspace', draft), 'made')
    await approveAll(kit)
    await lastMade(kit, 'O')
    await kit.emit('O', 'started')
    await kit.graph({ T: {} })
    await taskGates(kit)
    kit.gate(await kit.call('R', 'create_workspace', { role: 'worker' }), 'GW')
    kit.gate(await kit.call('R', 'abort', { workspace: 'O' }), 'GO')
    await kit.mark()
    await kit.advance(30 * DAY)
    await kit.expectAdded([])
    deepStrictEqual((await kit.do('runtime', 'list_gates')).length, 3)
    await kit.checkpoint('K', 'O')
    await kit.expectAmong([['checkpoint_created', 'O', 'observer', { checkpoint_id: 'K' }]])
    await kit.do('runtime', 'stop_run')
    await kit.expectAmong([
      SC('O', 'active', 'failed', 'system_shutdown'),
      invalidated('GT', 'task_approval', null),
      invalidated('GW', 'workspace_create', 'R'),
      invalidated('GO', 'workspace_abort', null),
      ['system_degraded', null, 'protocol', { reason: 'forced_shutdown' }],
      SC('R', 'active', 'failed', 'system_shutdown'),
    ])
    const entries = await kit.entries()
    deepStrictEqual(
      entries.filter(each => each.event_type === 'gate_timeout'),
      [],
    )
  },
)

scenario(
  'WM-079 whether somebody may answer is looked at when they do; the first who may decides',
  { level: 2, rules: ['W-HWY-23', 'W-HWY-07'], run: { highway: only('integration') }, users: ['ux'] },
  async kit => {
    await kit.user('alice', ['approve_integration'])
    await kit.user('bob', ['approve_integration'])
    await kit.user('carol', ['approve_integration_any'])
    for (const name of ['I', 'J']) await kit.inState(name, 'integrating', { owner: 'alice' })
    kit.gate(await kit.call('R', 'begin_integration', { source: 'I' }), 'G1')
    await kit.expectAmong([triggered('G1', 'integration', 'I', { addressee: 'alice' })])
    const yes = { gate: 'G1', action: 'approve' }
    await kit.refuses('PERMISSION_DENIED', 'bob', 'answer_gate', yes, 'wrong_scope')
    await kit.expectAdded([deniedUser('bob', 'approve_integration', 'wrong_scope')])
    const answers = await Promise.all([kit.call('carol', 'answer_gate', yes), kit.call('alice', 'answer_gate', yes)])
    const winner = answers[0]!.ok ? 'carol' : 'alice'
    deepStrictEqual(answers.map(each => (each.ok ? 'ok' : each.reason)).toSorted(), ['gate_not_pending', 'ok'])
    const added = await kit.expectAmong([
      resolved('G1', 'integration', 'I', 'approve', winner),
      ['integration_started', 'I', 'system', { source: 'I' }],
    ])
    deepStrictEqual(added.filter(each => each.event_type === 'gate_resolved').length, 1)
    await kit.do('R', 'decide_integration', { source: 'I', decision: 'accept' })

    kit.gate(await kit.call('R', 'begin_integration', { source: 'J' }), 'G2')
    await kit.do('runtime', 'revoke_capability', {
      user: 'alice',
      capability: 'approve_integration',
      reason: 'moved on',
    })
    await kit.mark()
    const later = { gate: 'G2', action: 'approve' }
    await kit.refuses('PERMISSION_DENIED', 'alice', 'answer_gate', later, 'missing_capability')
    await kit.expectAdded([deniedUser('alice', 'approve_integration', 'missing_capability')])
    deepStrictEqual(await kit.gates(), ['G2'])
  },
)

scenario(
  'WM-080 answers that are sent together stay single answers, and a bad one stops no other',
  { level: 2, rules: ['W-HWY-26'], run: { highway: {} } },
  async kit => {
    await kit.user('ux', ['create_workspace'])
    const tasks = Array.from({ length: 10 }, (_, index) => `T${index}`)
    await kit.graph(Object.fromEntries(tasks.map(task => [task, {}])))
    await taskGates(kit)
    await kit.mark()
    const [first, ...others] = tasks.map((task, index) => ({
      gate: `G${task}`,
      action: index % 2 === 0 ? 'approve' : 'reject',
    }))
    const batch = [first!, { gate: 'no such gate', action: 'approve' }, ...others]
    const answers = await Promise.all(batch.map(each => kit.call('ux', 'answer_gate', each)))
    deepStrictEqual(
      answers.map(each => (each.ok ? 'ok' : each.reason)),
      batch.map((_, index) => (index === 1 ? 'gate_not_pending' : 'ok')),
    )
    const added = await kit.added()
    const ended = added.filter(each => each.event_type === 'gate_resolved')
    deepStrictEqual(
      ended.map(each => kit.names.of(String(each.body.gate_id))).toSorted(),
      tasks.map(task => `G${task}`),
    )
    for (const [index, task] of tasks.entries())
      deepStrictEqual((await kit.task(task)).status, index % 2 === 0 ? 'pending' : 'cancelled', task)
  },
)
