import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { completedOn } from '../testing/conflicts.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { ended, expired, gateOf, only, waiting } from '../testing/gates.ts'
import { decided, graphOf, status, statusOf } from '../testing/tasks.ts'

/** Stamps run a little ahead of the clock, which stands still while a test writes. */
const PERIOD = 100
const PASSED = PERIOD + 1

const approvedTask = (task: string, actor: string, approval_source: string): readonly Row[] => [
  ['task_approved', 'R', actor, { task_id: task, approval_source }],
  status(task, 'draft', 'pending', null, actor),
]

test('WP-058 drafts leave their gate by a human with or without changes, or by its fallback', async () => {
  const f = await fixture({
    run: { owner: 'ux', highway: { gate_defaults: { timeout: PERIOD, fallback: 'approve' } } },
  })
  const ux = f.runtime.user('ux')
  const graph = await graphOf(f, { T1: {}, T2: {}, T3: {} })
  const [first, second] = await waiting(f)
  await f.mark()
  expect(refused(await ux.modify(f.run.id, first!, { depends_on: ['x'] }))).toBe(
    'invalid_argument(modification_not_allowed)',
  )
  unwrap(await ux.modify(f.run.id, first!, { priority: 'urgent' }))
  unwrap(await ux.reject(f.run.id, second!))
  await f.expectAdded([
    ended('G1', 'task_approval', null, 'modify', 'ux', { modifications: { priority: 'urgent' } }),
    ...approvedTask('T1', 'ux', 'human'),
    ended('G2', 'task_approval', null, 'reject', 'ux'),
    status('T2', 'draft', 'cancelled', null, 'ux'),
  ])
  await f.advance(PASSED)
  await f.expectAdded([
    expired('G3', 'task_approval', null, 'approve', PERIOD),
    ended('G3', 'task_approval', null, 'approve', 'fallback'),
    ...approvedTask('T3', 'fallback', 'timeout-auto-approve'),
  ])
  expect(await Promise.all(['T1', 'T2', 'T3'].map(name => statusOf(f, graph.id(name))))).toEqual([
    'pending',
    'cancelled',
    'pending',
  ])

  const other = await fixture({
    run: { owner: 'ux', highway: { gate_defaults: { timeout: PERIOD, fallback: 'reject' } } },
  })
  await graphOf(other, { T4: {} })
  await waiting(other)
  await other.mark()
  await other.advance(PASSED)
  await other.expectAdded([
    expired('G1', 'task_approval', null, 'reject', PERIOD),
    ended('G1', 'task_approval', null, 'reject', 'fallback'),
    status('T4', 'draft', 'cancelled', null, 'fallback'),
  ])
})

test.each(['approve', 'reject'] as const)(
  'WM-066 a task gate that nobody answers falls back to %s at its deadline, not before',
  async fallback => {
    const highway = { gate_defaults: { timeout: PERIOD, fallback } }
    const f = await fixture({ run: { owner: 'ux', highway } })
    const graph = await graphOf(f, { T: {} })
    await waiting(f)
    await f.mark()
    await f.advance(PERIOD - 1)
    await f.expectAdded([])
    await f.advance(2)
    await f.expectAdded([
      expired('G1', 'task_approval', null, fallback, PERIOD),
      ended('G1', 'task_approval', null, fallback, 'fallback'),
      ...(fallback === 'approve'
        ? approvedTask('T', 'fallback', 'timeout-auto-approve')
        : [status('T', 'draft', 'cancelled', null, 'fallback')]),
    ])
    expect(await statusOf(f, graph.id('T'))).toBe(fallback === 'approve' ? 'pending' : 'cancelled')
    await f.advance(10 * PERIOD)
    await f.expectAdded([])
  },
)

test('W-HWY-09 a rejection by fallback has the same reason strings as one by a human', async () => {
  const highway = only('integration', { timeout: PERIOD, fallback: 'reject' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  await completedOn(f, { I: ['f'] })
  gateOf(f, await f.root.accept(f.id('I')))
  await f.mark()
  await f.advance(PASSED)
  await f.expectAdded([
    expired('G1', 'integration', 'I', 'reject', PERIOD),
    ended('G1', 'integration', 'I', 'reject', 'fallback'),
    ['signal_emitted', 'I', 'protocol'],
    ['workspace_state_changed', 'I', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect((await f.run.entries()).at(-2)?.body).toMatchObject({
    reason: 'gate_rejected_by_human',
    initiator: 'protocol',
  })
})

test('WM-067 a gate that falls to the coordinator is answered by it, or its silence counts as no', async () => {
  const highway = { gate_defaults: { timeout: PERIOD, fallback: 'escalate_to_coordinator' } } as const
  const f = await fixture({ run: { owner: 'ux', highway } })
  const graph = await graphOf(f, { T1: {}, T2: {}, T3: {} })
  const [first, second, third] = await waiting(f)
  expect(refused(await f.root.answerGate(first!, 'approve'))).toBe('invalid_state(not_permitted)')
  await f.mark()
  await f.advance(PASSED)
  await f.expectAdded([
    expired('G1', 'task_approval', null, 'escalate_to_coordinator', PERIOD),
    expired('G2', 'task_approval', null, 'escalate_to_coordinator', PERIOD),
    expired('G3', 'task_approval', null, 'escalate_to_coordinator', PERIOD),
  ])
  expect((await f.run.gates()).map(each => each.handed_over)).toEqual([true, true, true])
  expect(f.notices.filter(({ kind }) => kind === 'gate_handed_over')).toHaveLength(3)
  await f.worker('W')
  await f.mark()
  expect(refused(await f.agent('W').answerGate(first!, 'approve'))).toBe('permission_denied')
  await f.expectAdded([['capability_denied', 'W', 'worker']])
  expect(refused(await f.root.answerGate(first!, 'modify' as never))).toBe('invalid_argument')
  const reason = 'coordinator_decision'
  unwrap(await f.root.answerGate(first!, 'approve'))
  unwrap(await f.root.answerGate(second!, 'reject'))
  await f.expectAdded([
    ended('G1', 'task_approval', null, 'approve', 'system', { reason }),
    ...approvedTask('T1', 'system', 'timeout-auto-approve'),
    ended('G2', 'task_approval', null, 'reject', 'system', { reason }),
    status('T2', 'draft', 'cancelled', null, 'system'),
  ])
  expect(refused(await f.root.answerGate(first!, 'approve'))).toBe('invalid_state(gate_not_pending)')
  await f.advance(PERIOD - 2)
  await f.expectAdded([])
  await f.advance(3)
  await f.expectAdded([
    ended('G3', 'task_approval', null, 'reject', 'fallback', { reason: 'coordinator_no_decision' }),
    status('T3', 'draft', 'cancelled', null, 'fallback'),
  ])
  expect(refused(await f.runtime.user('ux').approve(f.run.id, third!))).toBe(
    'invalid_state(gate_not_pending)',
  )
  expect(await statusOf(f, graph.id('T3'))).toBe('cancelled')
})

test('W-HWY-10 a human who answers late is still in time while the coordinator is silent', async () => {
  const highway = only('workspace_abort', { timeout: PERIOD, fallback: 'escalate_to_coordinator' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  await f.worker('W')
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.advance(PASSED)
  await f.mark()
  unwrap(await f.runtime.user('ux').reject(f.run.id, gate))
  await f.expectAdded([ended('G1', 'workspace_abort', 'W', 'reject', 'ux')])
  await f.advance(3 * PERIOD)
  await f.expectAdded([])
})

test('WM-068 what a fallback decided opens no second gate; what a human decided does', async () => {
  const blocked = (name: string, converted_to: string): Row => [
    'gate_reentry_blocked',
    name,
    'protocol',
    {
      gate_id: `G${name}`,
      gate_type: 'workspace_abort',
      subject_id: `${name}:aborted_by_coordinator`,
      converted_to,
    },
  ]
  const escalating = only('workspace_abort', { timeout: PERIOD, fallback: 'escalate_to_coordinator' })
  const f = await fixture({ run: { owner: 'ux', highway: escalating } })
  for (const name of ['A', 'B', 'C']) await f.worker(name)
  // Fell to the coordinator, which asks again instead of answering.
  gateOf(f, await f.root.abort(f.id('A')), 'GA')
  // Answered by a human.
  unwrap(await f.runtime.user('ux').reject(f.run.id, gateOf(f, await f.root.abort(f.id('B')), 'GB')))
  // Fell to the coordinator, which said nothing.
  await f.advance(PASSED)
  gateOf(f, await f.root.abort(f.id('C')), 'GC')
  await f.mark()
  expect(unwrap(await f.root.abort(f.id('A')))).toEqual({ outcome: 'applied' })
  const rows = (await f.added()).map(entry => subjects(f.row(entry), f.id('A'), 'A'))
  expect(rows).toMatchObject([
    blocked('A', 'approve'),
    ended('GA', 'workspace_abort', 'A', 'approve', 'fallback'),
    ['signal_emitted', 'A', 'system', {}],
    decided('A', 'active', 'failed', 'aborted_by_coordinator'),
    ['signal_delivered', 'R', 'protocol', {}],
  ])
  gateOf(f, await f.root.abort(f.id('B')), 'GB2')
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['gate_triggered'])

  const rejecting = only('workspace_abort', { timeout: PERIOD, fallback: 'reject' })
  const g = await fixture({ run: { owner: 'ux', highway: rejecting } })
  await g.worker('W')
  gateOf(g, await g.root.abort(g.id('W')), 'GW')
  await g.advance(PASSED)
  await g.restart()
  await g.mark()
  // The caller sees no error, and is told that the workspace goes on.
  expect(unwrap(await g.root.abort(g.id('W')))).toEqual({ outcome: 'rejected' })
  expect((await g.added()).map(entry => subjects(g.row(entry), g.id('W'), 'W'))).toEqual([
    blocked('W', 'reject'),
  ])
  expect(await g.state('W')).toBe('active')
})

test('WX-036 an abort says what came of it: applied, or rejected where a fallback had said no', async () => {
  const f = await fixture({
    run: { owner: 'ux', highway: only('workspace_abort', { timeout: PERIOD, fallback: 'reject' }) },
  })
  await f.worker('W')
  gateOf(f, await f.root.abort(f.id('W')))
  await f.advance(PASSED)
  const before = await f.picture()
  await f.mark()
  expect(unwrap(await f.root.abort(f.id('W')))).toEqual({ outcome: 'rejected' })
  const added = await f.expectAmong([
    ['gate_reentry_blocked', 'W', 'protocol', { gate_id: 'G1', converted_to: 'reject' }],
  ])
  expect(added).toHaveLength(1)
  expect(await f.picture()).toEqual(before)

  const ungated = await fixture()
  await ungated.worker('W')
  await ungated.mark()
  expect(unwrap(await ungated.root.abort(ungated.id('W')))).toEqual({ outcome: 'applied' })
  await ungated.expectAmong([['workspace_state_changed', 'W', 'system', { to_state: 'failed' }]])
})

test('WX-037 cancelling a task says the same of the abort that it needs', async () => {
  const f = await fixture({
    run: { owner: 'ux', highway: only('workspace_abort', { timeout: PERIOD, fallback: 'reject' }) },
  })
  const graph = await graphOf(f, { T1: {}, T2: {} })
  await f.worker('W', { task: graph.id('T1'), directive: null })
  gateOf(f, await f.root.cancelTask(graph.id('T1')))
  await f.advance(PASSED)
  await f.mark()
  expect(unwrap(await f.root.cancelTask(graph.id('T1')))).toEqual({ outcome: 'rejected' })
  await f.expectAdded([['gate_reentry_blocked', 'W', 'protocol']])
  expect(await statusOf(f, graph.id('T1'))).toBe('assigned')
  expect(unwrap(await f.root.cancelTask(graph.id('T2')))).toEqual({ outcome: 'applied' })
  await f.expectAdded([status('T2', 'pending', 'cancelled', null, 'system')])
})

test('W-HWY-11 a creation for the same attempt of a task that a fallback rejected stays rejected', async () => {
  const highway = only('workspace_create', { timeout: PERIOD, fallback: 'reject' })
  const f = await fixture({ run: { owner: 'ux', highway } })
  const graph = await graphOf(f, { T: {} })
  const create = () => f.root.createWorkspace({ role: 'worker', task: graph.id('T') })
  gateOf(f, await create())
  await f.advance(PASSED)
  await f.mark()
  expect(refused(await create())).toBe('rejected(gate_rejected_by_human)')
  await f.expectAdded([
    ['gate_reentry_blocked', 'R', 'protocol'],
    ['workspace_rejected', 'R', 'protocol', { reason: 'gate_rejected_by_human', capacity_details: {} }],
  ])
})

/** Subject ids are composite: the workspace in them gets its name too. */
function subjects(row: Row, id: string, name: string): Row {
  const [type, workspace, actor, body] = row
  const subject_id = (body?.subject_id as string | undefined)?.replace(id, name)
  return [type, workspace, actor, { ...body, ...(subject_id !== undefined && { subject_id }) }]
}

test('WM-002 every entry says who acted: the coordinator, the runtime, a human, a fallback', async () => {
  const f = await fixture({
    run: { owner: 'alice', highway: { gate_defaults: { timeout: 500, fallback: 'approve' } } },
  })
  await f.mark()
  await graphOf(f, { T1: {}, T2: {} })
  const [first] = await waiting(f)
  unwrap(await f.runtime.user('alice').approve(f.run.id, first!))
  await f.worker('W', { timeout: 100 })
  await f.advance(150)
  await f.advance(500)
  const added = await f.added()
  const actors = (type: string) => [
    ...new Set(added.filter(each => each.event_type === type).map(({ actor }) => actor)),
  ]
  expect(actors('workspace_created')).toEqual(['system'])
  expect(
    added.find(each => each.event_type === 'workspace_state_changed' && 'reason' in each.body),
  ).toMatchObject({
    actor: 'protocol',
    body: { to_state: 'failed', trigger: 'timeout' },
  })
  expect(actors('gate_resolved')).toEqual(['alice', 'fallback'])
  expect(actors('task_approved')).toEqual(['alice', 'fallback'])

  const by = async (actor: string) =>
    unwrap(await f.root.query({ scope: 'global', actor } as never)).entries.map(each => each.actor)
  const all = await f.run.entries()
  const coordinator = await by('coordinator')
  expect(coordinator).toEqual(all.filter(each => each.actor === 'system').map(() => 'system'))
  const alice = unwrap(await f.root.query({ scope: 'global', actor: 'alice' } as never)).entries
  expect(alice.map(each => each.event_type)).toEqual([
    'gate_resolved',
    'task_approved',
    'task_status_changed',
  ])
  // W-HWY-24: header and body name the same person.
  expect(alice[0]?.body).toMatchObject({ actor: 'alice' })
})
