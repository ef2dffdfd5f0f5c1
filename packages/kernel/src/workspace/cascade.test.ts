// How far a failure reaches (W-WS-12), who outlives it (W-WS-13), and what becomes of them.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/agent.ts'
import type { Delivery, Transport } from '../runtime/transport.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { aborted, changed, decided, delivered, emitted } from '../testing/tasks.ts'
import { cascaded, denial, orphaned, reassigned, tied } from '../testing/topology.ts'
import type { Workspace } from './workspace.ts'

const ABORTED = 'aborted_by_coordinator'

/** A delegate below the one given, at work. */
function delegate(f: Fixture, name: string, owner: string, parent?: AgentHandle): Promise<AgentHandle> {
  return f.worker(name, { delegate: true, owner, ...(parent && { parent: parent.workspace }) })
}

function facts(f: Fixture, name: string) {
  return f.run.read(run => {
    const each = run.workspaces.get(f.id(name)) as Workspace
    const { status, owner, originator, role, authority, priority, orphan } = each
    const names = (ids: Iterable<{ readonly id: string }>) => [...ids].map(({ id }) => f.nameOf(id))
    return {
      status,
      owner,
      originator,
      role,
      authority,
      priority,
      orphan,
      parent: each.parent && f.nameOf(each.parent.id),
      children: names(each.children ?? []),
      visibility: [...(each.visibility ?? [])].map(id => f.nameOf(id)),
    }
  })
}

test('WP-014 a failure takes everything below along in one batch, without a signal for each', async () => {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  const c = await delegate(f, 'C', 'ux', d)
  await f.worker('G', {}, c)
  await f.worker('G2', {}, c)
  await f.worker('C2', {}, d)
  await f.mark()
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAdded([
    emitted('sig1', 'D', 'failed', 'system', { reason: ABORTED }),
    decided('D', 'active', 'failed', ABORTED),
    cascaded('C'),
    cascaded('G'),
    cascaded('G2'),
    cascaded('C2'),
    delivered('sig1', 'D', 'R'),
  ])
})

/** D (ux) over C1 (ux) and C2 (uy) with G (uy); P, a delegate of uy, and W beside D. */
async function twoOwners(): Promise<Fixture> {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  await f.worker('C1', {}, d)
  const c2 = await delegate(f, 'C2', 'uy', d)
  await f.worker('G', {}, c2)
  await delegate(f, 'P', 'uy')
  await f.worker('W')
  await f.mark()
  return f
}

test('WP-015 what belongs to somebody else outlives its parent and goes to the root with its subtree', async () => {
  const f = await twoOwners()
  const [before, grandchild] = [await facts(f, 'C2'), await facts(f, 'G')]
  f.notices.length = 0
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAdded([
    emitted('sig1', 'D', 'failed', 'system', { reason: ABORTED }),
    decided('D', 'active', 'failed', ABORTED),
    cascaded('C1'),
    orphaned('C2', 'D'),
    ...tied(1, 'R', 'C2'),
    delivered('sig1', 'D', 'R'),
  ])
  expect(await facts(f, 'C2')).toEqual({ ...before, parent: 'R', orphan: true })
  expect(await facts(f, 'G')).toEqual(grandchild)
  expect((await facts(f, 'R')).children).toEqual(['D', 'C2', 'P', 'W'])
  expect((await facts(f, 'D')).children).toEqual(['C1'])
  const reason = 'parent_aborted_cross_ownership'
  const notice = { workspace: f.id('C2'), from: f.id('D'), parent: f.id('R'), reason }
  expect(f.notices.filter(each => each.kind === 'reparented')).toEqual([
    { kind: 'reparented', to: f.id('R'), ...notice },
  ])

  // Its signals and its mail go to the root now.
  unwrap(await f.agent('C2').blocked('what now'))
  await f.expectAmong([
    ['signal_emitted', 'C2', 'worker', { type: 'blocked' }],
    ['signal_delivered', 'R', 'protocol', { from: 'C2', delivered_to: 'R' }],
  ])
  expect(refused(await f.agent('C2').send(f.mail('R', 'query')))).toBe('ok')
  expect(refused(await f.root.send(f.mail('C2', 'feedback')))).toBe('ok')
  await f.settle()
  const picture = await f.picture()
  await f.restart()
  expect(await f.picture()).toEqual(picture)
  expect(await f.root.topology.orphans()).toEqual([f.id('C2')])
})

test('WP-015 the coordinator gives an orphan one other parent of the same owner, once', async () => {
  const f = await twoOwners()
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  f.notices.length = 0
  const before = await facts(f, 'C2')
  unwrap(await f.root.reparent(f.id('C2'), f.id('P')))
  await f.expectAdded([reassigned('C2', 'P'), ...tied(1, 'P', 'C2', 'system')])
  expect(await facts(f, 'C2')).toEqual({ ...before, parent: 'P', orphan: false })
  expect((await facts(f, 'R')).children).toEqual(['D', 'P', 'W'])
  // The new parent learns of its child; the coordinator, who did it, has it on record.
  expect(f.notices.map(each => [each.kind, f.nameOf(each.to)])).toEqual([
    ['reparented', 'R'],
    ['reparented', 'P'],
  ])
  unwrap(await f.agent('C2').escalate('here'))
  await f.expectAmong([['signal_delivered', 'P', 'protocol', { from: 'C2', delivered_to: 'P' }]])
  expect(refused(await f.agent('P').suspend(f.id('G'), 'mine now'))).toBe('ok')

  await f.mark()
  for (const name of ['C2', 'W', 'G'])
    expect(refused(await f.root.reparent(f.id(name), f.id('P')))).toBe('permission_denied(not_permitted)')
  await f.expectAdded(
    ['C2', 'W', 'G'].map(name => denial('R', 'system', 'operation:reparent', 'not_permitted', name)),
  )
  await f.restart()
  expect((await facts(f, 'C2')).parent).toBe('P')
  expect(refused(await f.root.reparent(f.id('C2'), f.id('P')))).toBe('permission_denied(not_permitted)')
})

test('W-WS-13 only the coordinator moves an orphan, only to a parent that takes it, and the root never moves', async () => {
  const f = await twoOwners()
  await delegate(f, 'X', 'ux')
  await delegate(f, 'S', 'uy')
  unwrap(await f.root.suspend(f.id('S'), 'pause'))
  await delegate(f, 'Q', 'uy')
  unwrap(await f.root.abort(f.id('Q')))
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  const before = await f.picture()
  for (const caller of ['P', 'C2', 'W'])
    expect(refused(await f.agent(caller).reparent(f.id('C2'), f.id('P')))).toBe('permission_denied')
  await f.expectAdded(
    ['P', 'C2', 'W'].map(name => denial(name, 'worker', 'operation:reparent', 'permission_denied', 'C2')),
  )
  for (const [parent, answer] of [
    ['ws_none', 'not_found'],
    [f.id('X'), 'invalid_state'],
    [f.id('S'), 'invalid_state'],
    [f.id('Q'), 'invalid_state'],
    [f.id('W'), 'invalid_state'],
    [f.id('G'), 'invalid_state'],
    [f.id('C2'), 'invalid_state'],
    [f.id('R'), 'invalid_state'],
  ])
    expect(refused(await f.root.reparent(f.id('C2'), parent as never)), f.nameOf(parent!)).toBe(answer)
  expect(refused(await f.root.reparent(f.id('R'), f.id('P')))).toBe('invalid_state')
  expect(refused(await f.root.reparent('ws_none' as never, f.id('P')))).toBe('not_found')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})

test('W-WS-13 an orphan that sees or may use more than its new parent stays with the root', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true, owner: 'ux', resources: ['src', 'docs'] })
  await f.worker('W')
  unwrap(await f.root.grantVisibility(f.id('D'), f.id('W'), 'context'))
  const visibility = [f.id('W')]
  await f.worker('Sees', { owner: 'uy', visibility, resources: [] }, d)
  await f.worker('Uses', { owner: 'uy', resources: ['src'] }, d)
  await f.worker('P', { delegate: true, owner: 'uy', resources: ['docs'] })
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  for (const name of ['Sees', 'Uses'])
    expect(refused(await f.root.reparent(f.id(name), f.id('P')))).toBe('containment(containment_violation)')
  const reason = 'containment_violation'
  await f.expectAdded(['Sees', 'Uses'].map(name => denial('R', 'system', 'operation:reparent', reason, name)))
  unwrap(await f.root.grantVisibility(f.id('P'), f.id('W'), 'context'))
  expect(refused(await f.root.reparent(f.id('Sees'), f.id('P')))).toBe('ok')
})

test('W-WS-13 an orphan whose budget does not fit into what its new parent has left stays with the root', async () => {
  const f = await fixture()
  const tokens = (token_limit: number) => ({ budget: { compute_budget: { token_limit } } })
  const d = await delegate(f, 'D', 'ux')
  await f.worker('C', { owner: 'uy', ...tokens(100) }, d)
  await f.worker('N', { owner: 'uy' }, d)
  await f.worker('P', { delegate: true, owner: 'uy', ...tokens(150) })
  await f.worker('K', tokens(51), f.agent('P'))
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  for (const name of ['C', 'N'])
    expect(refused(await f.root.reparent(f.id(name), f.id('P')))).toBe('containment(containment_violation)')
  const reason = 'containment_violation'
  await f.expectAdded(['C', 'N'].map(name => denial('R', 'system', 'operation:reparent', reason, name)))
  unwrap(await f.root.abort(f.id('K')))
  expect(refused(await f.root.reparent(f.id('C'), f.id('P')))).toBe('ok')
})

test('W-SIG-11 a signal that a transport carries to a parent that fails reaches the root, once', async () => {
  const transport = new SignalTransport()
  const f = await fixture({ transport })
  const d = await delegate(f, 'D', 'ux')
  const c = await f.worker('C', { owner: 'uy' }, d)
  await f.mark()
  transport.keeps = true
  unwrap(await c.escalate('help'))
  await f.expectAdded([emitted('sig1', 'C', 'escalation', 'worker', { reason: 'help' })])
  transport.keeps = false
  unwrap(await f.root.abort(f.id('D')))
  const rows = (await f.added()).map(entry => f.row(entry))
  expect(rows.filter(row => row[3]?.signal_id === 'sig1')).toEqual([delivered('sig1', 'C', 'R')])
  // What was on its way to the old parent comes to nothing.
  await transport.release()
  await f.expectAdded([])

  await delegate(f, 'P', 'uy')
  await f.mark()
  transport.keeps = true
  unwrap(await c.escalate('again'))
  transport.keeps = false
  unwrap(await f.root.reparent(f.id('C'), f.id('P')))
  await f.expectAmong([reassigned('C', 'P'), delivered('sig3', 'C', 'P')])
  await transport.release()
  await f.expectAdded([])
})

/** Carries signals too; while it keeps them they arrive when they are released. */
class SignalTransport implements Transport {
  readonly signals = true
  keeps = false
  #kept: (() => Promise<void>)[] = []

  carry(delivery: Delivery, arrive: () => Promise<void>): Promise<void> {
    if (!this.keeps || delivery.kind !== 'signal') return arrive()
    return new Promise((resolve, reject) => {
      this.#kept.push(() => arrive().then(resolve, reject))
    })
  }

  async release(): Promise<void> {
    for (const arrive of this.#kept.splice(0)) await arrive().catch(() => undefined)
  }
}

test('WM-092 a failure stops at the boundary of its owner, at every depth, and nobody beyond is touched', async () => {
  const f = await fixture()
  const x1 = await delegate(f, 'X1', 'alice')
  const x2 = await delegate(f, 'X2', 'alice', x1)
  const x3 = await delegate(f, 'X3', 'bob', x1)
  await f.worker('X4', { owner: 'bob' }, x2)
  await f.worker('X5', { owner: 'alice' }, x3)
  await delegate(f, 'B', 'bob')
  await f.worker('W')
  await f.mark()
  const before = Object.fromEntries(
    await Promise.all(['X3', 'X4', 'X5'].map(async name => [name, await facts(f, name)] as const)),
  )
  unwrap(await x1.failed('lost'))
  await f.expectAdded([
    emitted('sig1', 'X1', 'failed', 'worker', { reason: 'lost' }),
    changed('X1', 'active', 'failed', 'agent_failed', 'protocol', 'worker', 'lost'),
    cascaded('X2'),
    orphaned('X4', 'X2'),
    ...tied(1, 'R', 'X4'),
    orphaned('X3', 'X1'),
    ...tied(3, 'R', 'X3'),
    delivered('sig1', 'X1', 'R'),
  ])
  for (const [name, parent, orphan] of [
    ['X3', 'R', true],
    ['X4', 'R', true],
    ['X5', 'X3', false],
  ] as const)
    expect(await facts(f, name)).toEqual({ ...before[name], parent, orphan })
  expect((await facts(f, 'R')).children).toEqual(['X1', 'X3', 'X4', 'B', 'W'])

  unwrap(await f.root.reparent(f.id('X3'), f.id('B')))
  await f.expectAdded([reassigned('X3', 'B'), ...tied(5, 'B', 'X3', 'system')])
  expect(refused(await f.root.reparent(f.id('W'), f.id('B')))).toBe('permission_denied(not_permitted)')
  await f.expectAdded([denial('R', 'system', 'operation:reparent', 'not_permitted', 'W')])
  expect(await facts(f, 'X3')).toMatchObject({ owner: 'bob', originator: 'system', status: 'active' })
  // What ended keeps its place: nothing is pruned (W-TOPO-TREE-08).
  expect(unwrap(await f.root.look(f.id('X2'))).parent).toBe(f.id('X1'))
  const picture = await f.picture()
  await f.restart()
  expect(await f.picture()).toEqual(picture)
})

test('W-WS-12 an orphan of the run fails with the root, and a later failure of its new parent takes it along', async () => {
  const f = await twoOwners()
  unwrap(await f.root.abort(f.id('D')))
  unwrap(await f.root.reparent(f.id('C2'), f.id('P')))
  await f.mark()
  unwrap(await f.root.abort(f.id('P')))
  await f.expectAmong([decided('P', 'active', 'failed', ABORTED), cascaded('C2'), cascaded('G')])
  // A transfer moves the boundary at once (W-TOPO-OWN-04).
  const e = await delegate(f, 'E', 'ux')
  await f.worker('K', {}, e)
  unwrap(await f.root.transferOwnership(f.id('K'), 'uz'))
  unwrap(await f.root.abort(f.id('E')))
  await f.expectAmong([orphaned('K', 'E')])
  unwrap(await f.root.failed('lost'))
  const added = await f.added()
  expect(added.map(entry => f.row(entry)).slice(-3)).toEqual([
    cascaded('W'),
    cascaded('K'),
    changed('R', 'active', 'failed', 'agent_failed', 'protocol', 'coordinator', 'lost'),
  ])
})

test('W-WS-13 an integration that is open when its target fails goes on in the root', async () => {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  await f.worker('C', { owner: 'uy' }, d)
  await f.bring('C', 'integrating')
  unwrap(await d.beginIntegration(f.id('C')))
  unwrap(await f.root.abort(f.id('D')))
  expect(await f.state('C')).toBe('integrating')
  await f.mark()
  unwrap(await f.root.accept(f.id('C')))
  await f.expectAmong([
    ['integration_completed', 'C', 'system', { source: 'C', target: 'R' }],
    decided('C', 'integrating', 'closed', 'integration_succeeded'),
  ])
  await f.worker('W')
  await f.bring('W', 'closed')
})

test('W-INT-02 an integration that moved to the root in the batch that aborts its source ends there, and leaves the root free', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true, owner: 'ux', group: 'g' })
  await f.worker('C', { owner: 'uy', group: 'g' }, d)
  await f.bring('C', 'integrating')
  unwrap(await d.beginIntegration(f.id('C')))
  await f.mark()
  unwrap(await f.root.batchAbort('g'))
  await f.expectAmong([
    orphaned('C', 'D'),
    ['integration_aborted', 'C', 'system', { source: 'C', target: 'R', reason: 'batch_abort' }],
  ])
  expect(await f.run.read(run => run.root?.merging)).toBeUndefined()
  await f.worker('W')
  await f.bring('W', 'closed')
})

test('W-WS-13 the lock of a target stays with the integration that holds it when an orphan brings another', async () => {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  await f.worker('C', { owner: 'uy' }, d)
  await f.worker('W')
  for (const name of ['C', 'W']) await f.bring(name, 'integrating')
  unwrap(await d.beginIntegration(f.id('C')))
  unwrap(await f.root.beginIntegration(f.id('W')))
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  // It waits until the other one has ended.
  const waiting = f.root.accept(f.id('C'))
  await f.settle()
  expect(await f.state('C')).toBe('integrating')
  unwrap(await f.root.reject(f.id('W')))
  unwrap(await waiting)
  await f.expectAmong([
    aborted('W', 'rejected'),
    ['integration_completed', 'C', 'system', { source: 'C', target: 'R' }],
  ])
})

test('W-WS-13 whoever waited for an integration into a parent that failed is answered', async () => {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  for (const name of ['C', 'E']) {
    await f.worker(name, { owner: 'uy' }, d)
    await f.bring(name, 'integrating')
  }
  unwrap(await d.beginIntegration(f.id('C')))
  const waiting = d.beginIntegration(f.id('E'))
  await f.settle()
  unwrap(await f.root.abort(f.id('D')))
  expect(refused(await waiting)).toBe('permission_denied')
})

test('WP-017 nothing closes above a child that is still at work, whoever owns the child', async () => {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  await f.worker('C', {}, d)
  const c2 = await f.worker('C2', { owner: 'uy' }, d)
  await f.bring('D', 'integrating')
  await f.mark()
  const before = await f.picture()
  for (let turn = 0; turn < 2; turn++) {
    expect(refused(await f.root.beginIntegration(f.id('D')))).toBe('invalid_state')
    expect(refused(await f.root.accept(f.id('D')))).toBe('invalid_state')
    await f.expectAdded([])
    expect(await f.picture()).toEqual(before)
    if (turn === 1) break
    unwrap(await f.root.abort(f.id('C')))
    await f.mark()
    Object.assign(before, await f.picture())
    expect(await facts(f, 'C2')).toMatchObject({ parent: 'D', status: 'active', orphan: false })
  }
  unwrap(await c2.failed('no more'))
  await f.mark()
  unwrap(await f.root.accept(f.id('D')))
  await f.expectAmong([
    ['integration_completed', 'D', 'system', { source: 'D', target: 'R' }],
    decided('D', 'integrating', 'closed', 'integration_succeeded'),
  ])
})
