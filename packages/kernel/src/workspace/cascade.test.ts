// What an end takes along (W-WS-12, -13), and that the tree stays one tree.

import { type RunId, SeededIds, type Ticks, unwrap } from '@parley/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Decision, decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { openSalvage } from '../integration/integration.ts'
import { newRun, type Run } from '../run/run.ts'
import type { Delivery, Transport } from '../runtime/actor/transport.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { anyStep, commandOf, prologue, randomTaxonomy } from '../testing/random-commands.ts'
import { aborted, changed, decided, delivered, emitted } from '../testing/tasks.ts'
import { cascaded, denial, orphaned, reassigned } from '../testing/topology.ts'
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

/** R over D over C1, C2, and W beside D. */
async function family(): Promise<Fixture> {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('C1', {}, delegate)
  await f.worker('W')
  await f.worker('C2', {}, delegate)
  await f.mark()
  return f
}

const count = (f: Fixture) => f.run.read(run => run.workspaces.size)

test('W-TOPO-TREE-09 revising a delegate remains possible and takes its child along', async () => {
  const f = await family()
  await f.force('D', 'integrating')
  unwrap(await f.root.revise(f.id('D')))
  const change = { from_state: 'active', to_state: 'failed', trigger: 'parent_failed', reason: 'parent_failed' }
  await f.expectAmong([
    ['workspace_state_changed', 'D', 'system', { to_state: 'failed', trigger: 'revision_required' }],
    ['workspace_state_changed', 'C1', 'protocol', change],
    ['workspace_state_changed', 'C2', 'protocol', change],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect(await count(f)).toBe(5)
})

const RUNS = process.env.PARLEY_SOAK ? 10_000 : 200
const steps = fc.array(anyStep, { minLength: 1, maxLength: 80, size: 'max' })

class Bare {
  readonly run: Run = newRun('run_1' as RunId)
  #count = 0

  ask(command: Parameters<typeof decide>[1], carriesSignals = false): Decision {
    const now = (1_772_355_900_000_000 + this.#count * 1000) as Ticks
    const decision = decide(this.run, command, { now, ids: new SeededIds(this.#count++), carriesSignals })
    for (const record of [...decision.objects, ...decision.entries]) evolve(this.run, record)
    return decision
  }
}

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
      const bare = new Bare()
      const draft = { taxonomy: randomTaxonomy, owner: 'ux', highway: 'off' }
      unwrap(bare.ask({ type: 'start', draft }).result)
      for (const command of prologue(bare.run)) unwrap(bare.ask(command).result)
      for (const step of all) {
        bare.ask(commandOf(bare.run, step), carriesSignals)
        expect([...flaws(bare.run)]).toEqual([])
      }
    }),
    { numRuns: RUNS },
  )
})
