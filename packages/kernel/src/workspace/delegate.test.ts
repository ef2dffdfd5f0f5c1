// Delegates (W-ROLE-10 to -12): what they gain inside their subtree, what they never gain, and how signals of their children travel.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/agent.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { arrived, rejected, send } from '../testing/mail.ts'
import { grant } from '../testing/rights.ts'
import { changed, decided, delivered, emitted } from '../testing/tasks.ts'
import { cascaded, denial, orphaned, tied } from '../testing/topology.ts'

const count = (f: Fixture) => f.run.read(run => run.workspaces.size)

/** R over D, a delegate, over C; W beside D. */
async function team(): Promise<{ f: Fixture; d: AgentHandle; c: AgentHandle }> {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', {}, d)
  await f.worker('W')
  await f.mark()
  return { f, d, c }
}

test('WP-005 a delegate hands out nothing that it does not have itself', async () => {
  const f = await fixture()
  const budget = { compute_budget: { token_limit: 1000 } }
  const d = await f.worker('D', { delegate: true, budget, resources: ['src'] })
  await f.worker('W')
  await f.mark()
  const before = await count(f)
  for (const draft of [
    { visibility: [f.id('W')] },
    { budget: { compute_budget: { token_limit: 1001 } } },
    { resources: ['src', 'docs'] },
  ])
    expect(refused(await d.createWorkspace({ role: 'worker', ...draft }))).toBe(
      'containment(containment_violation)',
    )
  const refusal = denial('D', 'worker', 'operation:create_workspace', 'containment_violation')
  await f.expectAdded([refusal, refusal, refusal])
  expect(await count(f)).toBe(before)
  // The coordinator is held to the same when it creates below the delegate.
  const below = { role: 'worker', parent: f.id('D'), resources: ['docs'] }
  expect(refused(await f.root.createWorkspace(below))).toBe('containment(containment_violation)')
  await f.expectAdded([denial('R', 'system', 'operation:create_workspace', 'containment_violation')])
  const inside = { role: 'worker', visibility: [f.id('D')], resources: ['src'], budget }
  expect(refused(await d.createWorkspace(inside))).toBe('ok')
})

test('WP-046 a signal goes one step up; whoever stands higher finds it in the trail', async () => {
  const { f, c } = await team()
  f.notices.length = 0
  unwrap(await c.blocked('no input'))
  await f.expectAdded([
    emitted('sig1', 'C', 'blocked', 'worker', { reason: 'no input' }),
    changed('C', 'active', 'blocked', 'agent_blocked', 'protocol', 'worker'),
    delivered('sig1', 'C', 'D'),
  ])
  expect(f.notices.filter(each => each.kind === 'signal').map(each => f.nameOf(each.to))).toEqual(['D'])
  const filter = { event_type: 'signal_emitted', body: { type: 'blocked' } } as const
  const page = unwrap(await f.root.query(filter))
  expect(page.entries.map(entry => f.nameOf(entry.workspace!))).toEqual(['C'])
})

test('WP-049 what a child sends to a paused parent waits, and goes to the new one if that fails', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', { owner: 'uy' }, d)
  const own = await f.worker('Own', {}, d)
  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.mark()
  for (let turn = 0; turn < 2; turn++) unwrap(await f.checkpoint('C'))
  const rows = (await f.added()).map(entry => f.row(entry))
  expect(rows.map(([type]) => type)).toEqual([
    'checkpoint_created',
    'signal_emitted',
    'checkpoint_created',
    'signal_emitted',
  ])
  const [first, second] = rows.filter(([type]) => type === 'signal_emitted').map(row => row[3]!.signal_id)
  unwrap(await f.root.resume(f.id('D')))
  await f.expectAmong([
    changed('D', 'suspended', 'active', 'resumed_by_coordinator', 'system', 'coordinator'),
    delivered(first as string, 'C', 'D'),
    delivered(second as string, 'C', 'D'),
  ])

  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.mark()
  unwrap(await c.escalate('one'))
  unwrap(await own.escalate('lost with it'))
  unwrap(await c.blocked('two'))
  const sent = (await f.added()).map(entry => f.row(entry)).filter(([type]) => type === 'signal_emitted')
  const [one, lost, two] = sent.map(row => row[3]!.signal_id as string)
  // Those that wait are still waiting after a restart.
  await f.restart()
  await f.mark()
  f.notices.length = 0
  unwrap(await f.root.abort(f.id('D')))
  const added = (await f.added()).map(entry => f.row(entry))
  const failed = added[0]![3]!.signal_id as string
  expect(added).toEqual([
    emitted(failed, 'D', 'failed', 'system', { reason: 'aborted_by_coordinator' }),
    decided('D', 'suspended', 'failed', 'aborted_by_coordinator'),
    orphaned('C', 'D'),
    ...tied(1, 'R', 'C'),
    cascaded('Own'),
    delivered(failed, 'D', 'R'),
    delivered(one!, 'C', 'R'),
    delivered(two!, 'C', 'R'),
  ])
  expect(JSON.stringify(added)).not.toContain(lost)
  const told = f.notices.filter(each => each.kind === 'signal')
  expect(told.map(each => [f.nameOf(each.to), f.nameOf(each.from), each.type])).toEqual([
    ['R', 'D', 'failed'],
    ['R', 'C', 'escalation'],
    ['R', 'C', 'blocked'],
  ])
  expect(await f.run.read(run => run.signalling.size)).toBe(0)
  unwrap(await f.agent('C').started())
  await f.expectAmong([['signal_delivered', 'R', 'protocol', { from: 'C', delivered_to: 'R' }]])
})

test('WP-071 a delegate leads its own children and is a worker to everybody else', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  await f.worker('W')
  await f.mark()
  const c = await f.workspace('C', {}, d)
  const right = (id: string, right_type: string, holder: string, target: string): Row => [
    'port_right_created',
    holder,
    'worker',
    { right_id: id, right_type, holder, target, created_by: 'D' },
  ]
  const created = await f.expectAmong([
    ['workspace_created', 'C', 'worker', { parent: 'D', role: 'worker', delegate: false }],
    right('right1', 'receive', 'C', 'C'),
    right('right2', 'send', 'D', 'C'),
    right('right3', 'send', 'C', 'D'),
    ['signal_delivered', 'D', 'protocol', { from: 'C' }],
  ])
  expect(created.filter(each => each.event_type === 'port_right_created')).toHaveLength(3)
  await send(f, d, 'E1', 'C', 'directive')
  const directive = { id: 'E1', from: 'D', to: 'C', type: 'directive' }
  const query = { id: 'E2', from: 'C', to: 'D', type: 'query' }
  await f.expectAmong(arrived('sig', directive).slice(0, 2))
  await send(f, c, 'E2', 'D', 'query')
  await f.expectAmong(arrived('sig', query).slice(0, 2))
  expect(await f.state('C')).toBe('active')

  await f.mark()
  for (const [name, from, to, type, reason] of [
    ['E3', c, 'R', 'query', 'no_send_right'],
    ['E4', d, 'W', 'feedback', 'permission_denied'],
  ] as const) {
    const result = await from.send(f.mail(to, type))
    expect(refused(result)).toBe(`rejected(${reason})`)
    if (!result.ok) f.name(result.error.details.envelope as string, name)
  }
  await f.expectAdded([
    rejected({ id: 'E3', from: 'C', to: 'R', type: 'query' }, 'no_send_right'),
    rejected({ id: 'E4', from: 'D', to: 'W', type: 'feedback' }, 'permission_denied'),
  ])
})

test('WP-072 a delegate creates beneath itself only and makes no delegates; the coordinator may, below it', async () => {
  const { f, d } = await team()
  const before = await count(f)
  expect(refused(await d.createWorkspace({ role: 'worker', parent: f.id('R') }))).toBe('permission_denied')
  await f.expectAdded([denial('D', 'worker', 'operation:create_workspace')])
  expect(refused(await d.createWorkspace({ role: 'worker', delegate: true }))).toBe('permission_denied')
  expect(refused(await f.root.createWorkspace({ role: 'observer', delegate: true }))).toBe(
    'permission_denied',
  )
  const grants = (workspace: string, actor: string): Row => [
    'capability_denied',
    workspace,
    actor,
    {
      user_id: null,
      capability: 'operation:grant_delegation',
      action: 'create_workspace',
      reason: 'permission_denied',
    },
  ]
  await f.expectAdded([grants('D', 'worker'), grants('R', 'system')])
  expect(await count(f)).toBe(before)
  const g = await f.worker('G', { parent: f.id('D'), delegate: true })
  await f.expectAmong([['workspace_created', 'G', 'system', { parent: 'D', delegate: true }]])
  await f.worker('H', {}, g)
  expect(unwrap(await f.root.topology.upward(f.id('H')))).toEqual([f.id('G'), f.id('D'), f.id('R')])
})

test('WP-073 a delegate suspends, resumes, aborts and connects its own, and nobody else', async () => {
  const { f, d } = await team()
  await f.worker('C2', {}, d)
  const held = unwrap(await f.root.topology.rightsHeldBy(f.id('W')))
  await f.mark()
  unwrap(await d.suspend(f.id('C'), 'pause'))
  unwrap(await d.resume(f.id('C')))
  f.name(unwrap(await d.grantRight('send', f.id('C'), f.id('C2'))), 'X')
  unwrap(await d.abort(f.id('C')))
  await f.expectAmong([
    ['suspension_started', 'C', 'worker', { workspace_id: 'C', pre_suspension_state: 'active' }],
    changed('C', 'active', 'suspended', 'suspended_by_coordinator', 'worker', 'worker'),
    changed('C', 'suspended', 'active', 'resumed_by_coordinator', 'worker', 'worker'),
    ['port_right_created', 'C', 'worker', { right_id: 'X', holder: 'C', target: 'C2', created_by: 'D' }],
    changed('C', 'active', 'failed', 'aborted_by_coordinator', 'worker', 'worker'),
  ])
  const before = await f.picture()
  expect(refused(await d.suspend(f.id('W'), 'x'))).toBe('permission_denied')
  expect(refused(await d.revokeRight(held[0]!.id, 'x'))).toBe('permission_denied')
  expect(refused(await d.transferOwnership(f.id('C2'), 'uy'))).toBe('permission_denied')
  expect(refused(await d.grantRight('send', f.id('C2'), f.id('W')))).toBe('permission_denied')
  await f.expectAdded([
    denial('D', 'worker', 'operation:suspend', 'permission_denied', 'W'),
    denial('D', 'worker', 'operation:revoke_right'),
    denial('D', 'worker', 'operation:transfer_ownership', 'permission_denied', 'C2'),
    denial('D', 'worker', 'operation:create_right', 'permission_denied', 'W'),
  ])
  expect(await f.picture()).toEqual(before)
})

test('W-ROLE-11 a delegate integrates its own children, and the root integrates the delegate', async () => {
  const { f, d } = await team()
  await f.bring('C', 'integrating')
  await f.mark()
  expect(refused(await f.root.accept(f.id('C')))).toBe('permission_denied')
  await f.expectAdded([denial('R', 'system', 'operation:integrate', 'permission_denied', 'C')])
  unwrap(await d.accept(f.id('C')))
  await f.expectAmong([
    ['signal_emitted', 'D', 'worker', { type: 'integrate', ref: 'C' }],
    ['integration_completed', 'C', 'worker', { source: 'C', target: 'D' }],
    changed('C', 'integrating', 'closed', 'integration_succeeded', 'worker', 'worker'),
  ])
  await f.bring('D', 'integrating')
  await f.mark()
  unwrap(await f.root.accept(f.id('D')))
  await f.expectAmong([decided('D', 'integrating', 'closed', 'integration_succeeded')])
})

test('W-TOPO-CHAN-08 rights between children last as long as both of them', async () => {
  const { f } = await team()
  await grant(f, 'X', 'send_once', 'C', 'W')
  const shown = async () =>
    unwrap(await f.root.topology.rightsTo(f.id('W')))
      .filter(each => each.type !== 'receive')
      .map(each => [f.nameOf(each.holder), each.type, each.status])
  expect(await shown()).toEqual([
    ['R', 'send', 'active'],
    ['C', 'send_once', 'active'],
  ])
  unwrap(await f.root.abort(f.id('D')))
  expect(await shown()).toEqual([['R', 'send', 'active']])
})
