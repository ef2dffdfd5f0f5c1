// Task graphs as structures: acyclic and whole, readiness, decomposition, queries (wacp-mechanisms 7.2).
import { deepStrictEqual, ok } from 'node:assert'
import { autoApproved, notCreated, SC, taskStatus } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { TopologyQuestion } from '../../operations.ts'
import { scenario } from '../../scenario.ts'

async function tasks(kit: Kit, question: TopologyQuestion, about: string): Promise<readonly string[]> {
  const found = await kit.do('runtime', 'topology', { question, about })
  return found.map(id => kit.names.of(id))
}

/** A worker bound to a task that has completed it, named W and the task's name. */
async function finished(kit: Kit, task: string): Promise<void> {
  const workspace = `W${task}`
  await kit.bound(workspace, task)
  await kit.emit(workspace, 'started')
  await kit.final(workspace)
  await kit.emit(workspace, 'complete')
}

const DIAMOND = { A: {}, B: { depends_on: ['A'] }, C: { depends_on: ['A'] }, D: { depends_on: ['B', 'C'] } }

function drafts(given: Readonly<Record<string, readonly string[]>>): object {
  const list = Object.entries(given).map(([key, depends_on]) => ({
    key,
    name: key,
    description: `do ${key}`,
    depends_on,
  }))
  return { tasks: list }
}

scenario(
  'WM-094 a graph is acyclic and closed, is made whole or not at all, and never shrinks',
  { level: 1, rules: ['W-TOPO-GRAPH-01', 'W-TOPO-GRAPH-06'] },
  async kit => {
    await kit.graph({ F: {} }, { graph: 'other' })
    await kit.mark()
    await kit.refuses('CYCLE', 'R', 'submit_graph', { ...drafts({ P: ['Q'], Q: ['S'], S: ['P'], X: [] }) })
    await kit.refuses('CROSS_GRAPH', 'R', 'submit_graph', { ...drafts({ P: [], Q: ['F'] }) })
    await kit.expectAdded([])

    await kit.graph({ A: {}, B: { depends_on: ['A'] }, alone: {} })
    const made = (task_id: string, depends_on: readonly string[]) =>
      ['task_created', 'R', 'system', { task_id, graph_id: 'G', depends_on }] as const
    const added = await kit.expectAmong([
      ['graph_created', 'R', 'system', { graph_id: 'G', task_count: 3 }],
      made('A', []),
      made('B', ['A']),
    ])
    deepStrictEqual(added.filter(each => each.event_type === 'task_created').length, 3)

    const closing = { graph: 'G', ...drafts({ X: ['B', 'Y'], Y: ['X'] }) }
    await kit.refuses('CYCLE', 'R', 'add_tasks', closing)
    await kit.expectAdded([])
    const listed = async () =>
      (await kit.do('R', 'get_graph', { graph: 'G' })).tasks.map(task => [task.name, task.status])
    deepStrictEqual((await listed()).length, 3)

    await kit.do('R', 'cancel_task', { task: 'A' })
    await kit.expectAdded([taskStatus('A', 'pending', 'cancelled', 'system')])
    deepStrictEqual((await listed()).toSorted(), [
      ['A', 'cancelled'],
      ['B', 'pending'],
      ['alone', 'pending'],
    ])
  },
)

scenario(
  'WM-095 a task can be bound when all that it depends on are done, not before, and not after that is withdrawn',
  { level: 2, rules: ['W-TOPO-GRAPH-02', 'W-TOPO-GRAPH-03', 'W-TOPO-GRAPH-07'] },
  async kit => {
    await kit.graph(DIAMOND)
    deepStrictEqual(await kit.dispatchable(), ['A'])
    await finished(kit, 'A')
    deepStrictEqual(await kit.dispatchable(), ['B', 'C'])
    await kit.mark()
    await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker', task: 'D' }, 'not_dispatchable')
    await kit.expectAdded([notCreated('R', 'not_dispatchable')])
    await finished(kit, 'B')
    deepStrictEqual(await kit.dispatchable(), ['C'])
    await finished(kit, 'C')
    deepStrictEqual(await kit.dispatchable(), ['D'])
    for (const task of ['A', 'B', 'C']) {
      deepStrictEqual((await kit.look(`W${task}`)).task_ref, kit.id(task))
      deepStrictEqual((await kit.task(task)).workspace_ref, kit.id(`W${task}`))
    }
    await kit.mark()
    await kit.do('R', 'cancel_task', { task: 'C' })
    await kit.expectAmong([
      taskStatus('C', 'completed', 'cancelled', 'system'),
      SC('WC', 'integrating', 'failed', 'aborted_by_coordinator', { actor: 'system' }),
    ])
    deepStrictEqual(await kit.dispatchable(), [])
    await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker', task: 'D' }, 'not_dispatchable')
    const { workspace_ref, workspace_history } = await kit.task('C')
    deepStrictEqual([workspace_ref, workspace_history], [null, [kit.id('WC')]])
  },
)

scenario(
  'WM-096 a task is decomposed while its graph runs, and what rests on what is known over any distance',
  { level: 2, rules: ['W-TOPO-GRAPH-04', 'W-TOPO-GRAPH-05'] },
  async kit => {
    await kit.graph(DIAMOND)
    await finished(kit, 'A')
    await kit.bound('WB', 'B')
    await kit.emit('WB', 'started')
    await kit.mark()
    const below = { parent_task: 'B' }
    await kit.graph({ B1: below, B2: { ...below, depends_on: ['B1', 'A'] } }, { into: 'G' })
    await kit.expectAdded([
      ['task_created', 'R', 'system', { task_id: 'B1', graph_id: 'G', parent_task: 'B' }],
      ['task_created', 'R', 'system', { task_id: 'B2', graph_id: 'G', parent_task: 'B', depends_on: ['B1', 'A'] }],
      ...autoApproved('B1'),
      ...autoApproved('B2'),
    ])
    for (const task of ['B1', 'B2']) {
      const { graph, parent_task } = await kit.task(task)
      deepStrictEqual([graph, parent_task], [kit.id('G'), kit.id('B')])
      await kit.refuses('IMMUTABLE', 'R', 'change_task', { task, changes: { parent_task: null } })
      await finished(kit, task)
    }
    deepStrictEqual((await kit.task('B')).status, 'in_progress')

    const sets: readonly [TopologyQuestion, string, readonly string[]][] = [
      ['dependencies', 'D', ['A', 'B', 'C']],
      ['dependencies', 'B2', ['A', 'B1']],
      ['dependencies', 'A', []],
      ['dependents', 'A', ['B', 'B2', 'C', 'D']],
      ['dependents', 'D', []],
      ['sources', 'G', ['A', 'B1']],
      ['sinks', 'G', ['B2', 'D']],
    ]
    for (const [question, about, expected] of sets)
      deepStrictEqual((await tasks(kit, question, about)).toSorted(), expected, `${question} of ${about}`)
    const order = await tasks(kit, 'order', 'G')
    deepStrictEqual(order.toSorted(), ['A', 'B', 'B1', 'B2', 'C', 'D'])
    for (const { name, depends_on } of (await kit.do('R', 'get_graph', { graph: 'G' })).tasks)
      for (const dependency of depends_on)
        ok(order.indexOf(kit.names.of(dependency)) < order.indexOf(name), `${name} comes after what it needs`)
  },
)
