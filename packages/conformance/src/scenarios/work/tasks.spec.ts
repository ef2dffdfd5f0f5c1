// Task graphs: what they refuse, how drafts leave their gate, binding, the way of a task, cancelling, what hangs on
// others, parts of tasks, estimates (wacp-primitives 6).
import { deepStrictEqual } from 'node:assert'
import type { TaskDraft } from '../../drafts.ts'
import { autoApproved, deliver, denied, emit, failure, notCreated, SC, taskStatus } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { OperationName } from '../../operations.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { must } from '../../stage.ts'

/** Drafts wait until somebody answers. */
const HELD = { gates: { task_approval: true }, gate_defaults: { timeout: null } }

const drafts = (tasks: Readonly<Record<string, Partial<TaskDraft>>>) =>
  Object.entries(tasks).map(([name, draft]) => ({ key: name, name, description: `do ${name}`, ...draft }))

/** A fresh run whose R is active. */
async function freshRun(kit: Kit, highway: unknown = 'off'): Promise<void> {
  must(await kit.start({ highway }), 'Starting another run')
  await kit.emit('R', 'started')
  await kit.mark()
}

/** Approves the drafts of these tasks; all others stay where they are. */
async function approve(kit: Kit, ...tasks: readonly string[]): Promise<void> {
  for (const { id, task_ref } of await kit.do('runtime', 'list_gates'))
    if (tasks.includes(kit.names.of(task_ref ?? ''))) await kit.do('ux', 'answer_gate', { gate: id, action: 'approve' })
  await kit.mark()
}

/** A task is completed in a workspace of its own. */
async function finish(kit: Kit, workspace: string, task: string): Promise<void> {
  await kit.bound(workspace, task)
  await kit.emit(workspace, 'started')
  await kit.bring(workspace, 'integrating')
}

const statusOf = async (kit: Kit, task: string) => (await kit.task(task)).status

scenario(
  'WP-057 a graph refuses cycles and what it does not know, and never changes an edge or loses a task',
  { level: 1, rules: ['W-TASK-03'] },
  async kit => {
    await kit.graph({ A: {}, B: { depends_on: ['A'] } }, { graph: 'G1' })
    await kit.graph({ A2: {} }, { graph: 'G2' })
    await kit.mark()
    const before = await kit.picture()
    const faulty = [
      ['CYCLE', { C: { depends_on: ['D'] }, D: { depends_on: ['A', 'C'] } }],
      ['CYCLE', { C: { depends_on: ['C'] } }],
      ['CYCLE', { C: { parent_task: 'D' }, D: { parent_task: 'C' } }],
      ['UNKNOWN_DEPENDENCY', { C: {}, D: { depends_on: ['nothing'] } }],
      ['CROSS_GRAPH', { C: { depends_on: ['A2'] } }],
      ['CROSS_GRAPH', { C: { parent_task: 'A2' } }],
    ] as const
    for (const [code, tasks] of faulty) await kit.refuses(code, 'R', 'add_tasks', { graph: 'G1', tasks: drafts(tasks) })
    await kit.refuses('CYCLE', 'R', 'submit_graph', {
      tasks: drafts({ fine: {}, C: { depends_on: ['D'] }, D: { depends_on: ['C'] } }),
    })
    await kit.expectAdded([])
    for (const changes of [{ depends_on: [] }, { parent_task: 'A' }])
      await kit.refuses('IMMUTABLE', 'R', 'change_task', { task: 'B', changes })
    await kit.refuses('IMMUTABLE', 'R', 'remove_task', { task: 'B' })
    const frozen = denied('R', 'system', 'set:task', 'frozen', { target: 'B' })
    await kit.expectAdded([frozen, frozen, frozen])
    deepStrictEqual(await kit.picture(), before)
    for (const [graph, names] of [
      ['G1', ['A', 'B']],
      ['G2', ['A2']],
    ] as const) {
      const { tasks } = await kit.do('runtime', 'get_graph', { graph })
      deepStrictEqual(
        tasks.map(({ name }) => name),
        names,
      )
    }
  },
)

const falling = (fallback: string) => ({ ...HELD, gate_defaults: { timeout: 1000, fallback } })

scenario(
  'WP-058 drafts leave their gate by a person, with changes or without, or by its fallback',
  { level: 2, rules: ['W-TASK-05', 'W-TASK-04'], run: { highway: falling('approve') } },
  async kit => {
    await kit.user('ux', ['create_workspace'])
    await kit.graph({ T1: {}, T2: {}, T3: {} })
    const [first, second] = await kit.gates()
    await kit.mark()
    const edges = { gate: first, action: 'modify', modifications: { depends_on: ['T2'] } }
    await kit.refuses('INVALID_ARGUMENT', 'ux', 'answer_gate', edges, 'modification_not_allowed')
    await kit.expectAdded([])
    deepStrictEqual(await statusOf(kit, 'T1'), 'draft')
    const modifications = { priority: 'urgent' }
    await kit.do('ux', 'answer_gate', { gate: first, action: 'modify', modifications })
    await kit.do('ux', 'answer_gate', { gate: second, action: 'reject' })
    await kit.expectAdded([
      ['gate_resolved', null, 'ux', { gate_id: first, action: 'modify' }],
      ['task_approved', 'R', 'ux', { task_id: 'T1', approval_source: 'human' }],
      taskStatus('T1', 'draft', 'pending', 'ux'),
      ['gate_resolved', null, 'ux', { gate_id: second, action: 'reject' }],
      taskStatus('T2', 'draft', 'cancelled', 'ux'),
    ])
    deepStrictEqual((await kit.task('T1')).priority, 'urgent')
    const fellTo = (action: string, more: readonly Row[]): readonly Row[] => [
      ['gate_timeout', null, 'fallback', { fallback_action: action }],
      ['gate_resolved', null, 'fallback', { action, actor: 'fallback' }],
      ...more,
    ]
    await kit.advance(1001)
    await kit.expectAdded(fellTo('approve', autoApproved('T3')))

    await freshRun(kit, falling('reject'))
    await kit.graph({ T4: {} })
    await kit.mark()
    await kit.advance(1001)
    await kit.expectAdded(fellTo('reject', [taskStatus('T4', 'draft', 'cancelled', 'fallback')]))
  },
)

const bind = (task: string) => ({ role: 'worker', task, directive: null })

scenario(
  'WP-059 only a pending task whose dependencies are done can be bound, once, and the most urgent come first',
  { level: 1, rules: ['W-TASK-06', 'W-TASK-07', 'W-TASK-08', 'W-WS-05'] },
  async kit => {
    const refusesToBind = async (task: string) => {
      await kit.refuses('REJECTED', 'R', 'create_workspace', bind(task), 'not_dispatchable')
      await kit.expectAdded([notCreated('R', 'not_dispatchable')])
    }
    await kit.graph({ A: {}, B: { depends_on: ['A'] } })
    await kit.mark()
    await refusesToBind('B')
    await kit.workspace('W', bind('A'))
    await kit.expectAmong([
      ['workspace_created', 'W', 'system', { task_ref: 'A' }],
      ['task_assigned', 'R', 'system', { task_id: 'A', workspace_id: 'W', attempt_number: 1 }],
      taskStatus('A', 'pending', 'assigned', 'system', { workspace_id: 'W' }),
    ])
    const { status, workspace_ref, workspace_history } = await kit.task('A')
    deepStrictEqual(
      { status, workspace_ref, workspace_history },
      { status: 'assigned', workspace_ref: kit.id('W'), workspace_history: [kit.id('W')] },
    )
    deepStrictEqual((await kit.look('W')).task_ref, kit.id('A'))
    await kit.mark()
    await refusesToBind('A')

    const ranked = { N1: 'normal', E1: 'elevated', U1: 'urgent', N2: 'normal', U2: 'urgent', E2: 'elevated' }
    const tasks = Object.entries(ranked).map(([name, priority]) => [name, { priority }] as const)
    await kit.graph(Object.fromEntries(tasks) as Record<string, Partial<TaskDraft>>, { graph: 'ranked' })
    deepStrictEqual(await kit.dispatchable('ranked'), ['U1', 'U2', 'E1', 'E2', 'N1', 'N2'])

    // Without a highway nothing stays a draft.
    if (kit.level < 2) return
    await freshRun(kit, HELD)
    await kit.graph({ X: {} })
    await kit.mark()
    deepStrictEqual([await statusOf(kit, 'X'), await kit.dispatchable()], ['draft', []])
    await refusesToBind('X')
  },
)

scenario(
  'WP-060 a task follows the signals of its workspace, and completing it readies what depends on it',
  { level: 1, rules: ['W-TASK-04', 'W-TASK-08', 'W-SIG-01'] },
  async kit => {
    await kit.graph({ A: {}, B: { depends_on: ['A'] }, C: { depends_on: ['A', 'B'] } })
    await kit.bound('W', 'A')
    await kit.mark()
    await kit.emit('W', 'started')
    await kit.expectAdded([
      emit('started', 'W', 'worker'),
      taskStatus('A', 'assigned', 'in_progress', 'protocol', { workspace_id: 'W' }),
      deliver('W', 'R'),
    ])
    const completion = (workspace: string, task: string, first: readonly Row[] = []): readonly Row[] => [
      emit('complete', workspace, 'worker'),
      SC(workspace, 'active', 'integrating', 'agent_complete'),
      ...first,
      taskStatus(task, 'in_progress', 'completed'),
      ['task_completed', 'R', 'protocol', { task_id: task, workspace_id: workspace, checkpoint_id: `K${workspace}` }],
      deliver(workspace, 'R'),
    ]
    await kit.final('W')
    await kit.mark()
    deepStrictEqual(await kit.dispatchable(), [])
    await kit.emit('W', 'complete')
    await kit.expectAdded(completion('W', 'A'))
    deepStrictEqual(await kit.dispatchable(), ['B'])

    await kit.graph({ A2: {}, B2: { depends_on: ['A2'] } }, { graph: 'G2' })
    await kit.bound('W2', 'A2')
    await kit.final('W2')
    await kit.mark()
    await kit.emit('W2', 'complete')
    await kit.expectAdded(completion('W2', 'A2', [taskStatus('A2', 'assigned', 'in_progress')]))
    deepStrictEqual(await kit.dispatchable('G2'), ['B2'])
  },
)

const ABORTED = 'aborted_by_coordinator'

scenario(
  'WP-062 cancelling a task aborts whoever works on it, and does not fail the task',
  { level: 1, rules: ['W-TASK-13', 'W-WS-09'] },
  async kit => {
    await kit.graph({ A: {} })
    await kit.bound('W', 'A')
    await kit.emit('W', 'started')
    await kit.mark()
    await kit.do('R', 'cancel_task', { task: 'A' })
    await kit.expectAdded([
      taskStatus('A', 'in_progress', 'cancelled', 'system'),
      ...failure('W', 'active', ABORTED, { actor: 'system' }),
    ])
    await kit.refuses('INVALID_STATE', 'R', 'cancel_task', { task: 'A' })
    await kit.expectAdded([])
    const { tasks } = await kit.do('runtime', 'get_graph', { graph: 'G' })
    deepStrictEqual(
      tasks.map(({ name, status, workspace_ref }) => [name, status, workspace_ref]),
      [['A', 'cancelled', null]],
    )
  },
)

scenario(
  'WP-063 what depends on a failed task waits, on a cancelled one can never run, and nothing happens by itself',
  { level: 1, rules: ['W-TASK-14', 'W-TASK-08'] },
  async kit => {
    const names = async (operation: 'list_dispatchable' | 'list_unresolvable', graph = 'G') =>
      (await kit.do('R', operation, { graph })).map(({ name }) => name)
    // E is still a draft where there are gates.
    const [gated, waiting] = kit.level >= 2 ? [HELD, 'draft'] : ['off', 'pending']
    const chained = async (A: string, B: string, E: string) => {
      await freshRun(kit, gated)
      await kit.graph({ [A]: {}, [B]: { depends_on: [A] }, [E]: { depends_on: [B] } })
      await approve(kit, A, B)
      deepStrictEqual([await statusOf(kit, B), await statusOf(kit, E)], ['pending', waiting])
    }
    if (kit.level >= 2) await kit.user('ux', ['create_workspace'])

    await chained('A', 'B', 'E')
    await kit.bound('W', 'A')
    await kit.emit('W', 'failed', { reason: 'broken' })
    await kit.mark()
    deepStrictEqual([await names('list_dispatchable'), await names('list_unresolvable')], [[], []])
    deepStrictEqual([await statusOf(kit, 'B'), await statusOf(kit, 'E')], ['pending', waiting])
    await kit.do('R', 'retry_task', { task: 'A' })
    await kit.expectAdded([taskStatus('A', 'failed', 'pending', 'system')])
    await finish(kit, 'W2', 'A')
    deepStrictEqual(await names('list_dispatchable'), ['B'])

    await chained('A1', 'B1', 'E1')
    await kit.do('R', 'cancel_task', { task: 'A1' })
    await kit.expectAdded([taskStatus('A1', 'pending', 'cancelled', 'system')])
    deepStrictEqual((await names('list_unresolvable')).toSorted(), ['B1', 'E1'])
    deepStrictEqual(await names('list_dispatchable'), [])
    deepStrictEqual([await statusOf(kit, 'B1'), await statusOf(kit, 'E1')], ['pending', waiting])
    const told = (await kit.notices('unresolvable')).filter(({ subject }) => subject === 'G')
    deepStrictEqual(
      told.map(({ to }) => to),
      ['R'],
    )

    await freshRun(kit)
    await kit.graph({ A2: {}, B2: { depends_on: ['A2'] }, E2: { depends_on: ['A2'] } })
    await finish(kit, 'V', 'A2')
    await kit.bound('V2', 'B2')
    await kit.emit('V2', 'started')
    await kit.mark()
    deepStrictEqual(await names('list_dispatchable'), ['E2'])
    await kit.do('R', 'cancel_task', { task: 'A2' })
    await kit.expectAdded([
      taskStatus('A2', 'completed', 'cancelled', 'system'),
      ...failure('V', 'integrating', ABORTED, { actor: 'system' }),
    ])
    deepStrictEqual([await names('list_dispatchable'), await names('list_unresolvable')], [[], ['E2']])
    await kit.refuses('REJECTED', 'R', 'create_workspace', bind('E2'), 'not_dispatchable')
    await kit.expectAdded([notCreated('R', 'not_dispatchable')])
    await kit.bring('V2', 'integrating')
    deepStrictEqual(await statusOf(kit, 'B2'), 'completed')
  },
)

scenario(
  'WP-064 a running graph takes parts of a task, from the coordinator anywhere and from a delegate below its own',
  { level: 2, rules: ['W-TASK-15'], run: { highway: HELD } },
  async kit => {
    await kit.user('ux', ['create_workspace'])
    await kit.graph({ A: {}, B: {} })
    await approve(kit, 'A', 'B')
    await kit.bound('D', 'B', { delegate: true })
    await kit.emit('D', 'started')
    await kit.mark()
    const part = (task: string, actor: string, more: object = {}): Row => [
      'task_created',
      'R',
      actor,
      { task_id: task, graph_id: 'G', parent_task: 'B', ...more },
    ]
    const parts = { B1: { parent_task: 'B' }, B2: { parent_task: 'B', depends_on: ['B1'] } }
    await kit.graph(parts, { into: 'G' })
    await kit.expectAmong([part('B1', 'system'), part('B2', 'system', { depends_on: ['B1'] })])
    deepStrictEqual([await statusOf(kit, 'B1'), await statusOf(kit, 'B2')], ['draft', 'draft'])
    deepStrictEqual((await kit.gates()).length, 2)
    const circle = { X: { parent_task: 'B', depends_on: ['B1', 'Y'] }, Y: { depends_on: ['X'] } }
    await kit.refuses('CYCLE', 'R', 'add_tasks', { graph: 'G', tasks: drafts(circle) })
    await kit.expectAdded([])

    await kit.graph({ B3: { parent_task: 'B' } }, { into: 'G', by: 'D' })
    await kit.expectAmong([part('B3', 'worker')])
    deepStrictEqual([await statusOf(kit, 'B3'), (await kit.task('B3')).graph], ['draft', kit.id('G')])
    for (const [operation, params] of [
      ['add_tasks', { graph: 'G', tasks: drafts({ A1: { parent_task: 'A' } }) }],
      ['add_tasks', { graph: 'G', tasks: drafts({ alone: {} }) }],
      ['submit_graph', { tasks: drafts({ own: {} }) }],
    ] as const satisfies readonly (readonly [OperationName, object])[]) {
      await kit.refuses('PERMISSION_DENIED', 'D', operation, params)
      await kit.expectAdded([denied('D', 'worker', 'operation:task')])
    }

    await approve(kit, 'B1', 'B2')
    const before = await kit.task('B')
    await finish(kit, 'W1', 'B1')
    await finish(kit, 'W2', 'B2')
    deepStrictEqual([await statusOf(kit, 'B1'), await statusOf(kit, 'B2')], ['completed', 'completed'])
    deepStrictEqual([before.status, await kit.task('B')], ['in_progress', before])
  },
)

scenario(
  'WP-065 an estimate is checked and limits nothing, and an urgent task makes its workspace critical',
  { level: 3, rules: ['W-TASK-17', 'W-TASK-18'] },
  async kit => {
    for (const resource_estimate of [{ tokens: -1 }, { wall_time: 0 }, { tokens: 1.5 }, { cost: -0.1 }])
      await kit.refuses('INVALID_ARGUMENT', 'R', 'submit_graph', {
        tasks: drafts({ T: { resource_estimate } }),
      })
    await kit.expectAdded([])
    const resource_estimate = { tokens: 100, wall_time: 1000, cost: 1 }
    await kit.graph({ T: { resource_estimate, priority: 'urgent' }, M: { priority: 'elevated' }, N: {} })
    deepStrictEqual((await kit.task('T')).resource_estimate, resource_estimate)
    for (const [workspace, task, priority] of [
      ['W', 'T', 'critical'],
      ['V', 'M', 'interactive'],
      ['U', 'N', 'normal'],
    ] as const) {
      await kit.bound(workspace, task)
      deepStrictEqual((await kit.look(workspace)).priority, priority, task)
    }
    await kit.emit('W', 'started')
    await kit.mark()
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: 100_000, cost: 50 })
    await kit.advance(60_000)
    await kit.expectAdded([])
    deepStrictEqual([await kit.state('W'), await statusOf(kit, 'T')], ['active', 'in_progress'])
  },
)
