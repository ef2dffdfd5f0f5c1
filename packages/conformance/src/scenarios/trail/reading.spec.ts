// Reading the trail: who acted, aggregates, what people see, views and comparisons (wacp-mechanisms 1.1, 1.3).
import { deepStrictEqual } from 'node:assert'
import { deniedUser, SC, taskStatus } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import { scenario } from '../../scenario.ts'
import { must } from '../../stage.ts'
import type { EntriesView, MessagesView, OverviewView, RunMetrics } from '../../views.ts'

const seqs = (entries: readonly Entry[]) => entries.map(({ seq }) => seq)

scenario(
  'WM-002 every entry says who acted: the coordinator, the runtime, a person, a fallback',
  {
    level: 2,
    rules: ['W-TRAIL-02', 'W-TRAIL-31', 'W-HWY-24'],
    users: ['alice'],
    run: {
      owner: 'alice',
      highway: { gates: { task_approval: true }, gate_defaults: { timeout: 500, fallback: 'approve' } },
    },
  },
  async kit => {
    await kit.user('alice', ['create_workspace'])
    await kit.mark()
    await kit.worker('W', { timeout: 100 })
    await kit.expectAmong([['workspace_created', 'W', 'system', { workspace_id: 'W' }]])
    await kit.advance(101)
    await kit.expectAmong([SC('W', 'active', 'failed', 'timeout', { actor: 'protocol' })])
    await kit.graph({ A: {}, B: {} })
    const [first, second] = await kit.gates()
    await kit.mark()
    await kit.do('alice', 'answer_gate', { gate: first, action: 'approve' })
    await kit.expectAdded([
      ['gate_resolved', null, 'alice', { gate_id: first, action: 'approve', actor: 'alice' }],
      ['task_approved', 'R', 'alice', { task_id: 'A', approval_source: 'human' }],
      taskStatus('A', 'draft', 'pending', 'alice'),
    ])
    await kit.advance(501)
    await kit.expectAdded([
      ['gate_timeout', null, 'fallback', { gate_id: second }],
      ['gate_resolved', null, 'fallback', { gate_id: second, action: 'approve', actor: 'fallback' }],
      ['task_approved', 'R', 'fallback', { task_id: 'B', approval_source: 'timeout-auto-approve' }],
      taskStatus('B', 'draft', 'pending', 'fallback'),
    ])
    const all = await kit.entries()
    const by = async (actor: string) => seqs((await kit.do('R', 'query_trail', { scope: 'global', actor })).entries)
    const of = (actor: string) => seqs(all.filter(entry => entry.actor === actor))
    deepStrictEqual([of('system').length > 0, of('alice').length], [true, 3])
    deepStrictEqual(await by('coordinator'), of('system'))
    deepStrictEqual(await by('alice'), of('alice'))
  },
)

scenario('WM-018 aggregates are exact, and a text cannot be summed', { level: 2, rules: ['W-TRAIL-18'] }, async kit => {
  await kit.worker('W')
  const used = [10, 20, 30, 40, 55]
  for (const [index, tokens_consumed] of used.entries()) {
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: tokens_consumed })
    await kit.checkpoint(`K${index}`, 'W', { resource_usage: { tokens_consumed, wall_time: 0, cost: 0 } })
  }
  await kit.mark()
  const all = await kit.entries()
  const filter = { event_type: 'checkpoint_created' }
  const sum = 'resource_usage.tokens_consumed'
  const [counted, ...others] = await kit.do('runtime', 'aggregate_trail', { filter })
  deepStrictEqual([counted?.count, others], [5, []])
  const [summed] = await kit.do('runtime', 'aggregate_trail', { filter, sum })
  deepStrictEqual([summed?.count, summed?.sum], [5, 155])
  const grouped = await kit.do('runtime', 'aggregate_trail', { filter: {}, group: 'event_type' })
  const counts = new Map<string, number>()
  for (const { event_type } of all) counts.set(event_type, (counts.get(event_type) ?? 0) + 1)
  deepStrictEqual(new Map(grouped.map(({ key, count }) => [String(key), count])), counts)
  const text = { filter, sum: 'status' }
  await kit.refuses('INVALID_ARGUMENT', 'runtime', 'aggregate_trail', text, 'invalid_query')
  await kit.expectAdded([])
})

scenario(
  'WM-020 a person sees what is hers, and everything only with the capability for it; a reach for more is on record',
  { level: 2, rules: ['W-TRAIL-20'], users: ['ux', 'alice', 'bob'] },
  async kit => {
    await kit.user('carol', ['view_trail_any'])
    await kit.worker('W1', { owner: 'alice' })
    await kit.worker('W2', { owner: 'bob' })
    await kit.mark()
    const read = async (user: string, query: Readonly<Record<string, unknown>>) =>
      (await kit.do(user, 'query_trail', query)).entries
    const both = await read('alice', { workspace: ['W1', 'W2'] })
    const own = (await kit.entries()).filter(({ workspace }) => workspace === kit.id('W1'))
    deepStrictEqual(seqs(both), seqs(own))
    await kit.expectAdded([deniedUser('alice', 'view_trail_any', 'wrong_scope', { action: 'query_trail' })])
    // What was merely narrowed is no reach, and neither is what carol may.
    deepStrictEqual(seqs(await read('alice', {})), seqs(own))
    const all = await read('carol', { scope: 'global' })
    deepStrictEqual(seqs(all), seqs(await kit.entries()))
    deepStrictEqual(
      all.some(({ workspace }) => workspace === null),
      true,
    )
    await kit.expectAdded([])
    deepStrictEqual(await read('bob', { scope: 'global' }), [])
    await kit.expectAdded([deniedUser('bob', 'view_trail_any', 'missing_capability')])
  },
)

/**
 * A run in which something of everything happened, and that has ended; the last task takes a second attempt where it is
 * retried.
 */
async function finished(kit: Kit, retried: boolean): Promise<readonly Entry[]> {
  must(await kit.start())
  await kit.emit('R', 'started')
  await kit.graph({ A: {}, B: {} })
  for (const gate of await kit.gates()) await kit.do('ux', 'answer_gate', { gate, action: 'approve' })
  await kit.bound('A1', 'A')
  await kit.faults.meter(kit.run, kit.id('A1'), { cost: 0.25 })
  const payload = { content: 'done' }
  await kit.checkpoint('K1', 'A1', {
    status: 'final',
    payload,
    resource_usage: { tokens_consumed: 0, wall_time: 0, cost: 0.25 },
  })
  await kit.emit('A1', 'complete')
  await kit.bound('B1', 'B')
  if (retried) {
    await kit.emit('B1', 'failed', { reason: 'broken' })
    await kit.do('R', 'retry_task', { task: 'B' })
    await kit.bound('B2', 'B')
  }
  const last = retried ? 'B2' : 'B1'
  await kit.emit(last, 'blocked', { reason: 'waiting' })
  await kit.workspace('I')
  await kit.settle()
  const [overview, metrics] = [
    (await kit.do('runtime', 'trail_view', { view: 'overview' })) as OverviewView,
    (await kit.do('runtime', 'trail_view', { view: 'metrics' })) as RunMetrics,
  ]
  const grouped = Object.fromEntries(
    Object.entries(overview.workspaces).map(([group, each]) => [
      group,
      each.map(({ workspace, state }) => `${kit.names.of(workspace)} ${state}`).toSorted(),
    ]),
  )
  deepStrictEqual(grouped, {
    productive: ['I idle', 'R active'],
    suspended: [`${last} blocked`],
    resolution: ['A1 integrating'],
    terminal: retried ? ['B1 failed'] : [],
  })
  deepStrictEqual(overview.tasks, { done: 1, total: 2 })
  deepStrictEqual(metrics.workspace_count, retried ? 5 : 4)
  await kit.do('runtime', 'stop_run')
  await kit.settle()
  return kit.entries()
}

const HIGHWAY = /^(gate_|escalation_|human_injection$)/

scenario(
  'WM-022 five views show a run, and two runs are compared by the same numbers',
  {
    level: 3,
    rules: ['W-TRAIL-22', 'W-TRAIL-23'],
    run: { highway: { gates: { task_approval: true }, gate_defaults: { timeout: null } } },
    opened: false,
  },
  async kit => {
    must(await kit.open())
    await kit.user('ux', ['create_workspace'])
    await finished(kit, false)
    const other = kit.run
    const all = await finished(kit, true)
    const view = (name: string, more = {}) => kit.do('runtime', 'trail_view', { view: name, ...more })
    const overview = (await view('overview')) as OverviewView
    const { terminal, ...living } = overview.workspaces
    deepStrictEqual(living, { productive: [], suspended: [], resolution: [] })
    deepStrictEqual([terminal.length, new Set(terminal.map(({ state }) => state))], [5, new Set(['failed'])])
    const timeline = (await view('timeline', { workspace: 'A1' })) as EntriesView
    deepStrictEqual(seqs(timeline.entries), seqs(all.filter(({ workspace }) => workspace === kit.id('A1'))))
    const { edges } = (await view('messages')) as MessagesView
    const sent = all.filter(({ event_type }) => /^(envelope_created|signal_emitted)$/.test(event_type))
    deepStrictEqual(
      new Set(edges.map(({ kind, id, from, type }) => `${kind} ${id} ${from} ${type}`)),
      new Set(
        sent.map(({ event_type, body }) => {
          const kind = event_type === 'envelope_created' ? 'envelope' : 'signal'
          return `${kind} ${body[`${kind}_id`]} ${body.from} ${body.type}`
        }),
      ),
    )
    const highway = (await view('highway')) as EntriesView
    const wanted = all.filter(({ actor, event_type }) => actor === 'ux' || HIGHWAY.test(event_type))
    deepStrictEqual(wanted.length > 4, true)
    deepStrictEqual(seqs(highway.entries), seqs(wanted))
    const [first, second] = await kit.do('runtime', 'compare_runs', { runs: [other, kit.run] })
    deepStrictEqual(Object.keys(first!).toSorted(), Object.keys(second!).toSorted())
    const metrics = (await view('metrics')) as RunMetrics
    deepStrictEqual(metrics, second)
    const seen = (of: RunMetrics | undefined) => [
      of?.total_cost,
      of?.workspace_count,
      of?.failure_count,
      of?.retry_count,
      of?.checkpoint_count,
      Object.keys(of?.task_completion_ms ?? {}).length,
    ]
    deepStrictEqual(
      [seen(first), seen(second)],
      [
        [0.25, 4, 4, 0, 1, 1],
        [0.25, 5, 5, 1, 1, 1],
      ],
    )
    // What counts as one intervention is left free; both runs saw the same ones.
    deepStrictEqual(second!.human_intervention_count > 0, true)
    deepStrictEqual(first!.human_intervention_count, second!.human_intervention_count)
    deepStrictEqual(typeof second!.total_wall_time_ms, 'number')
  },
)
