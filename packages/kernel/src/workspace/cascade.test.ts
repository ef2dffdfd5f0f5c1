// What an end takes along (W-WS-12, -13), and that the tree stays one tree.
import { unwrap } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openSalvage } from '../integration/integration.ts'
import type { Run } from '../run/run.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { begunBare } from '../testing/bare.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { anyStep, commandOf } from '../testing/random-commands.ts'
import { aborted, changed, decided, delivered, emitted } from '../testing/tasks.ts'
import { cascaded, denial, orphaned, reassigned } from '../testing/topology.ts'
import { carriedFixture } from '../testing/transport.ts'
import { childrenOf, ended, isAbove } from './workspace.ts'

const ABORTED = 'aborted_by_coordinator'

/** A delegate below the one given, at work. */
function delegate(f: Fixture, name: string, owner: string, parent?: AgentHandle): Promise<AgentHandle> {
  return f.worker(name, { delegate: true, owner, ...(parent && { parent: parent.workspace }) })
}

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

test('W-SIG-11 a signal that a transport carries to a parent that fails reaches the root, once', async () => {
  const { f, transport } = await carriedFixture({}, true)
  const keep = () => transport.begin(f.clock, (_attempt, { kind }) => (kind === 'signal' ? 'delay' : 'pass'))
  const pass = () => transport.begin(f.clock, () => 'pass')
  const d = await delegate(f, 'D', 'ux')
  const c = await f.worker('C', { owner: 'uy' }, d)
  await f.mark()
  keep()
  unwrap(await c.escalate('help'))
  await f.expectAdded([emitted('sig1', 'C', 'escalation', 'worker', { reason: 'help' })])
  pass()
  unwrap(await f.root.abort(f.id('D')))
  const rows = (await f.added()).map(entry => f.row(entry))
  expect(rows.filter(row => row[3]?.signal_id === 'sig1')).toEqual([delivered('sig1', 'C', 'R')])
  // What was on its way to the old parent comes to nothing.
  transport.release()
  await f.expectAdded([])

  await delegate(f, 'P', 'uy')
  await f.mark()
  keep()
  unwrap(await c.escalate('again'))
  pass()
  unwrap(await f.root.reparent(f.id('C'), f.id('P')))
  await f.expectAmong([reassigned('C', 'P'), delivered('sig3', 'C', 'P')])
  transport.release()
  await f.expectAdded([])
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

test('W-TOPO-TREE-09 revising a delegate remains possible and takes its children along', async () => {
  const f = await fixture()
  const d = await delegate(f, 'D', 'ux')
  for (const name of ['C1', 'C2']) await f.worker(name, {}, d)
  await f.force('D', 'integrating')
  unwrap(await f.root.revise(f.id('D')))
  await f.expectAmong([
    ['workspace_state_changed', 'D', 'system', { to_state: 'failed', trigger: 'revision_required' }],
    cascaded('C1'),
    cascaded('C2'),
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect(await f.run.read(run => run.workspaces.size)).toBe(4)
})

const RUNS = process.env.PARLEY_SOAK ? 10_000 : 200
const steps = fc.array(anyStep, { minLength: 1, maxLength: 80, size: 'max' })

/** What is wrong with the tree; a look at every workspace after every step must be quick. */
function* flaws(run: Run): Generator<string> {
  const all = [...run.workspaces.values()]
  for (const each of all) {
    const { id, parent } = each
    if ((parent === null) !== (each === run.root)) yield `${id} has no parent and is not the root`
    if (isAbove(each, each)) yield `${id} lies below itself`
    if (each.orphan && parent !== run.root) yield `${id} is an orphan and not with the root`
    if (parent && childrenOf(parent).filter(child => child === each).length !== 1)
      yield `${id} is not just once among the children of its parent`
    if (parent && !ended(each) && ended(parent)) yield `${id} outlives its parent`
    const born = childrenOf(each).map(child => child.created)
    if (born.some((at, index) => index > 0 && at < born[index - 1]!)) yield `${id} mixes up its children`
    for (const signal of each.waiting ?? []) {
      if (ended(run.workspaces.get(signal.to)!)) yield `${signal.id} waits for one that has ended`
      if (signal.upward && signal.to !== parent?.id) yield `${signal.id} does not wait for the parent`
    }
    if (run.signalling.has(each) !== (each.waiting !== undefined)) yield `${id} waits unseen`
    if (each.integration && each.integration.target !== parent) yield `${id} is merged into another`
    const holder = each.merging && (openSalvage(run, each.merging.id) ?? each.merging.integration)
    if (each.merging && holder?.target !== each) yield `${id} is locked by nobody`
    if (each.group !== null && !run.groups.get(each.group)?.includes(each)) yield `${id} lost its group`
  }
}

test('W-WS-12 the tree stays one tree, nobody outlives a parent, and no signal waits for the dead', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (all, carriesSignals) => {
      const bare = begunBare()
      for (const step of all) {
        bare.ask(commandOf(bare.run, step), carriesSignals)
        expect([...flaws(bare.run)]).toEqual([])
      }
    }),
    { numRuns: RUNS },
  )
})
