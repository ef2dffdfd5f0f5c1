// How gates end: by an answer, with changes, or with their subject.
import { unwrap, type WorkspaceId } from '@parley/core'
import { GATE_TYPES, type GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { completedOn, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'
import { approveAll, ended, gateOf, only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'
import { person, withUsers } from '../testing/people.ts'
import { bound, decided, graphOf, status, statusOf, taskOf } from '../testing/tasks.ts'

test('W-HWY-07 whoever asked learns how the gate ended and what came of it', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_create') } })
  const gate = gateOf(f, await f.root.createWorkspace({ role: 'worker' }))
  expect(f.notices.at(-1)).toMatchObject({ kind: 'gate_opened', to: f.root.workspace, gate, addressee: 'ux' })
  const settled = f.run.settled(gate)
  const outcome = unwrap(await f.runtime.user('ux').approve(f.run.id, gate, 'go ahead'))
  const { workspace } = unwrap(outcome.result!) as { readonly workspace: WorkspaceId }
  expect(unwrap(await settled)).toEqual(outcome)
  expect(outcome).toMatchObject({ gate, action: 'approve', actor: 'ux', reason: 'go ahead' })
  expect(f.notices).toContainEqual({ kind: 'gate_ended', to: f.root.workspace, ...outcome })
  await f.settle()
  expect(await f.run.read(run => run.workspaces.get(workspace)?.ready)).toBe(true)
  // Later the trail still says how it ended.
  expect(unwrap(await f.run.settled(gate))).toMatchObject({ action: 'approve', actor: 'ux', result: undefined })
  expect(refused(await f.run.settled('gate_unknown' as never))).toBe('not_found')
})

test('W-HWY-07 a delegate hears how its own request ended, and the coordinator too', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  const D = await f.worker('D', { delegate: true })
  const C = await f.worker('C', {}, D)
  const gate = gateOf(f, await D.abort(C.workspace))
  unwrap(await f.runtime.user('ux').reject(f.run.id, gate, 'not yet'))
  const told = f.notices.filter(notice => notice.kind === 'gate_ended').map(({ to }) => f.nameOf(to))
  expect(told).toEqual(['R', 'D'])
  expect(await f.state('C')).toBe('active')
})

test('W-HWY-07 an approval runs the ordinary checks again; what fails now is refused as ever', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_create') } })
  const graph = await graphOf(f, { A: {}, B: {} })
  const { workspace: D } = await made(f, 'D', { delegate: true })
  const first = gateOf(f, await f.root.createWorkspace({ role: 'worker', task: graph.id('A') }), 'GA')
  const second = gateOf(f, await f.root.createWorkspace({ role: 'worker', parent: D, visibility: [D] }), 'GB')
  unwrap(await f.root.suspend(D, 'later'))
  await f.mark()
  const outcome = unwrap(await f.runtime.user('ux').approve(f.run.id, second))
  expect(refused(outcome.result!)).toBe('rejected(parent_not_accepting)')
  await f.expectAdded([
    ended('GB', 'workspace_create', 'D', 'approve', 'ux'),
    ['workspace_rejected', 'R', 'protocol', { reason: 'parent_not_accepting', capacity_details: {} }],
  ])
  expect(unwrap(await f.runtime.user('ux').approve(f.run.id, first)).result?.ok).toBe(true)
  expect(await statusOf(f, graph.id('A'))).toBe('assigned')
})

test('W-HWY-03 cancelling a task that is worked on waits as a whole; a rejection drops it', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  const graph = await graphOf(f, { T: {}, U: {} })
  await bound(f, 'W', graph.id('T'))
  await f.mark()
  // Nothing to abort: nothing to ask.
  unwrap(await f.root.cancelTask(graph.id('U')))
  await f.expectAdded([status('U', 'pending', 'cancelled', null, 'system')])
  const gate = gateOf(f, await f.root.cancelTask(graph.id('T')))
  await f.expectAdded([['gate_triggered', 'W', 'protocol']])
  unwrap(await f.runtime.user('ux').reject(f.run.id, gate))
  expect(await statusOf(f, graph.id('T'))).toBe('assigned')
  const again = gateOf(f, await f.root.cancelTask(graph.id('T')), 'G2')
  await f.mark()
  unwrap(await f.runtime.user('ux').approve(f.run.id, again))
  await f.expectAdded([
    ended('G2', 'workspace_abort', 'W', 'approve', 'ux'),
    status('T', 'assigned', 'cancelled', 'W', 'system'),
    ['signal_emitted', 'W', 'system'],
    decided('W', 'active', 'failed', 'aborted_by_coordinator'),
    ['signal_delivered', 'R', 'protocol'],
  ])
})

test('W-HWY-23 a gate for somebody who is deactivated goes to the owner of the root, at its opening and later', async () => {
  const f = await withUsers({ run: { owner: 'ux', highway: only('workspace_abort') } })
  const ux = await person(f, 'ux', 'abort_own')
  await person(f, 'alice', 'abort_own')
  for (const name of ['W', 'V']) await f.worker(name, { owner: 'alice' })
  const before = gateOf(f, await f.root.abort(f.id('W')), 'G1')
  expect(refused(await ux.approve(f.run.id, before))).toBe('permission_denied(wrong_scope)')
  unwrap(await f.runtime.users.deactivate('alice', { reason: 'left' }))
  const after = gateOf(f, await f.root.abort(f.id('V')), 'G2')
  expect((await f.run.gates()).map(({ addressee }) => addressee)).toEqual(['ux', 'ux'])
  expect(f.notices.at(-1)).toMatchObject({ kind: 'gate_opened', gate: after, addressee: 'ux' })
  unwrap(await ux.approve(f.run.id, before))
  unwrap(await ux.approve(f.run.id, after))
})

test('W-HWY-23 tasks are put to whoever asked for their graph, and a new owner answers for a workspace', async () => {
  const f = await withUsers({ run: { owner: 'ux', highway: { gates: { workspace_abort: true } } } })
  await person(f, 'ux', 'create_workspace', 'inject_directive', 'abort_own')
  const alice = await person(f, 'alice', 'create_workspace', 'inject_directive', 'abort_own')
  const wish = unwrap(await alice.inject(f.run.id, f.mail('R', 'directive')))
  const tasks = [{ name: 'T', description: 'do it' }]
  expect(refused(await f.root.submitGraph(tasks, 'env_unknown' as never))).toBe('invalid_argument')
  const { graph } = unwrap(await f.root.submitGraph(tasks, wish.envelope))
  unwrap(await f.root.addTasks(graph, tasks))
  unwrap(await f.root.submitGraph(tasks))
  const gates = await f.run.gates()
  expect(gates.map(({ addressee }) => addressee)).toEqual(['alice', 'alice', 'ux'])
  await f.restart()
  expect((await f.run.gates()).map(({ addressee }) => addressee)).toEqual(['alice', 'alice', 'ux'])
  expect(refused(await f.runtime.user('ux').approve(f.run.id, gates[0]!.id))).toBe('permission_denied(wrong_scope)')
  unwrap(await f.runtime.user('alice').approve(f.run.id, gates[0]!.id))
  await f.worker('W', { owner: 'alice' })
  const abort = gateOf(f, await f.root.abort(f.id('W')))
  unwrap(await f.root.transferOwnership(f.id('W'), 'ux', 'holiday'))
  expect(refused(await f.runtime.user('alice').approve(f.run.id, abort))).toBe('permission_denied(wrong_scope)')
  unwrap(await f.runtime.user('ux').approve(f.run.id, abort))
})

test('W-HWY-23 tasks that somebody caused who may not approve them are put to the owner of the root, as long as that is so', async () => {
  const f = await withUsers({ run: { owner: 'ux', highway: {} } })
  const ux = await person(f, 'ux', 'create_workspace')
  const peer = await person(f, 'peer', 'inject_directive')
  const wish = unwrap(await peer.inject(f.run.id, f.mail('R', 'directive')))
  unwrap(await f.root.submitGraph([{ name: 'T', description: 'do it' }], wish.envelope))
  const addressees = async () => (await f.run.gates()).map(({ addressee }) => addressee)
  expect(await addressees()).toEqual(['ux'])
  const [gate] = await f.run.gates()
  expect(refused(await peer.approve(f.run.id, gate!.id))).toBe('permission_denied(missing_capability)')
  unwrap(await f.runtime.users.grant('peer', 'create_workspace'))
  expect(await addressees()).toEqual(['peer'])
  unwrap(await f.runtime.users.revoke('peer', 'create_workspace', { reason: 'enough' }))
  unwrap(await ux.approve(f.run.id, gate!.id))
})

test('W-HWY-07 an answer that is none of the three, or has no proper reason, changes nothing', async () => {
  const f = await withWorker({ run: { owner: 'ux', highway: only('workspace_abort') } })
  const gate = gateOf(f, await f.root.abort(f.id('W')))
  await f.mark()
  const answer = (rest: object) => f.run.submit({ type: 'resolve_gate', user: 'ux', gate, ...rest } as never)
  expect(refused(await answer({ action: 'maybe' }))).toBe('invalid_argument')
  expect(refused(await answer({ action: 'approve', reason: '' }))).toBe('invalid_argument')
  expect(refused(await answer({ action: 'approve', modifications: { reason: 'x' } }))).toBe(
    'invalid_argument(modification_not_allowed)',
  )
  await f.expectAdded([])
  await approveAll(f)
  expect(await f.state('W')).toBe('failed')
})

const NOT_ALLOWED = 'invalid_argument(modification_not_allowed)'

test('W-TASK-01 name, description and estimate of a draft change at its gate, and survive a restart', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const graph = await graphOf(f, { T: { resource_estimate: { tokens: 1 } } })
  const [gate] = await waiting(f)
  const changes = {
    name: 'T2',
    description: 'do it better',
    resource_estimate: { tokens: 5, wall_time: 10, cost: 0.5 },
  }
  unwrap(await f.runtime.user('ux').modify(f.run.id, gate!, changes))
  const seen = await taskOf(f, graph.id('T'))
  expect(seen).toMatchObject({ ...changes, status: 'pending' })
  // W-TASK-20: the words stay off the trail.
  expect(JSON.stringify(await f.run.entries())).not.toContain('do it better')
  await f.restart()
  expect(await taskOf(f, graph.id('T'))).toEqual(seen)
})

/** For each type: what may be changed, and what may not. */
const CHANGES: { readonly [Type in GateType]: { readonly good: object; readonly bad: readonly object[] } } = {
  task_approval: {
    good: { name: 'other' },
    bad: [
      { graph_ref: 'x' },
      { depends_on: [] },
      { id: 'x' },
      { timestamp: 'x' },
      { name: '' },
      { priority: 'critical' },
      { resource_estimate: { wall_time: 1.5 } },
    ],
  },
  workspace_create: {
    good: { priority: 'background' },
    bad: [{ role: 'observer' }, { visibility: ['ws_unknown'] }, { budget: { cost_limit: 0 } }, { priority: 'urgent' }],
  },
  envelope_delivery: {
    good: { payload: { format: 'json', content: '{}' } },
    bad: [{ payload: { content: 'x' } }, { to: 'x' }, { priority: 'urgent' }],
  },
  integration: { good: { strategy: 'layered' }, bad: [{ strategy: 'magic' }, { source: 'x' }] },
  conflict_resolution: {
    good: { resolution: 'keep mine' },
    bad: [{ strategy: 'escalate' }, { strategy: 'guess' }, { resolution: '' }],
  },
  workspace_abort: { good: { reason: 'it is stuck' }, bad: [{ reason: '' }, { workspace: 'x' }] },
}

test.each(GATE_TYPES)(
  'W-HWY-08 a %s gate takes only its own changes; all else leaves it waiting, without an entry',
  async type => {
    const f = await fixture({ run: { owner: 'ux', highway: only(type) } })
    await prepare(f, type)
    await TRANSITIONS[type](f)
    const [gate] = await waiting(f)
    await f.mark()
    const ux = f.runtime.user('ux')
    const { good, bad } = CHANGES[type]
    for (const change of [{}, { nothing: 1 }, ...bad, ...bad.map(each => ({ ...good, ...each }))])
      expect([change, refused(await ux.modify(f.run.id, gate!, change))]).toEqual([change, NOT_ALLOWED])
    await f.expectAdded([])
    expect(await waiting(f)).toEqual([gate])
    unwrap(await ux.modify(f.run.id, gate!, good))
    const [first] = await f.added()
    expect(first).toMatchObject({ event_type: 'gate_resolved', body: { action: 'modify' } })
    expect(await waiting(f)).toEqual([])
  },
)

test('W-HWY-08 a changed strategy is the one that is used; a changed reason leaves the code of an abort as it is', async () => {
  const f = await fixture({
    run: { owner: 'ux', highway: { gates: { task_approval: false, integration: true, workspace_abort: true } } },
  })
  await completedOn(f, { I: ['f'] })
  await f.worker('W')
  const ux = f.runtime.user('ux')
  const merge = gateOf(f, await f.root.beginIntegration(f.id('I')), 'GI')
  const abort = gateOf(f, await f.root.abort(f.id('W')), 'GW')
  await f.mark()
  unwrap(await ux.modify(f.run.id, merge, { strategy: 'evaluated' }))
  unwrap(await ux.modify(f.run.id, abort, { reason: 'it is stuck' }))
  await f.expectAmong([
    ended('GI', 'integration', 'I', 'modify', 'ux', { modifications: { strategy: 'evaluated' } }),
    ['integration_started', 'I', 'system', { strategy: 'evaluated' }],
    ended('GW', 'workspace_abort', 'W', 'modify', 'ux', { modifications: { reason: 'it is stuck' } }),
    ['workspace_state_changed', 'W', 'system', { trigger: 'aborted_by_coordinator' }],
  ])
})

test('a deliverable without files is merged without a gate only where the integrator asks for that', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: { gates: { task_approval: false, integration: true } } } })
  await completedOn(f, { A: [], B: [], C: [], F: ['f'] })
  const ask = { ungatedIfEmpty: true } as const
  expect(refused(await f.root.accept(f.id('A')))).toBe('gated')
  unwrap(await f.root.accept(f.id('B'), ask))
  expect(refused(await f.root.accept(f.id('F'), ask))).toBe('gated')
  // The integrator of `evaluated` brings files of its own.
  expect(refused(await f.root.accept(f.id('C'), { ...ask, strategy: 'evaluated' }))).toBe('gated')
  expect(refused(await f.root.accept(f.id('C'), { ungatedIfEmpty: 1 as never }))).toBe('invalid_argument')
})

const INVALID = { reason: 'subject_invalidated' }

test('W-HWY-12 each type ends when its subject cannot proceed, and not before', async () => {
  const gates = {
    task_approval: true,
    workspace_create: true,
    envelope_delivery: true,
    integration: true,
    conflict_resolution: true,
    workspace_abort: true,
  }
  const f = await fixture({ run: { owner: 'ux', highway: { gates, gate_defaults: { timeout: null } } } })
  const ux = f.runtime.user('ux')
  const invalidated = async (name: string, under: string | null, act: () => Promise<unknown>) => {
    await f.mark()
    await act()
    const added = (await f.added()).map(entry => f.row(entry))
    expect(added.filter(([type]) => type === 'gate_resolved')).toMatchObject([
      ['gate_resolved', under, 'protocol', { gate_id: name, action: 'reject', ...INVALID }],
    ])
    expect(await f.run.read(run => run.gates.size)).toBe(0)
  }

  // A task that is cancelled.
  const graph = await graphOf(f, { T: {}, S: {} })
  await waiting(f)
  unwrap(await ux.approve(f.run.id, (await waiting(f))[1]!))
  await invalidated('G1', null, async () => unwrap(await f.root.cancelTask(graph.id('T'))))

  // A creation whose task is cancelled, and one whose parent fails.
  gateOf(f, await f.root.createWorkspace({ role: 'worker', resources: ['**'], task: graph.id('S') }), 'G2')
  await invalidated('G2', 'R', async () => unwrap(await f.root.cancelTask(graph.id('S'))))
  const D = await made(f, 'D', { delegate: true })
  gateOf(f, await f.root.createWorkspace({ role: 'worker', parent: D.workspace }), 'G3')
  await invalidated('G3', null, async () => unwrap(await ux.abort(f.run.id, D.workspace)))

  // A letter whose receiver is sealed; the envelope is undeliverable.
  const W = await made(f, 'W')
  unwrap(await f.agent('W').started())
  gateOf(f, await f.root.send(f.mail('W', 'feedback')), 'G4')
  await f.mark()
  unwrap(await W.blocked('still here'))
  expect(await f.run.read(run => run.gates.size)).toBe(1)
  unwrap(await W.started())
  unwrap(await f.final('W'))
  await f.mark()
  unwrap(await W.complete())
  const sealed = (await f.added()).map(entry => f.row(entry))
  expect(sealed.at(-1)).toEqual(ended('G4', 'envelope_delivery', 'W', 'reject', 'protocol', INVALID))
  expect(sealed.map(([type]) => type)).toContain('envelope_undeliverable')

  // A conflict of a workspace that fails, and an abort of one that is gone.
  unwrap(await ux.approve(f.run.id, gateOf(f, await f.root.beginIntegration(W.workspace, 'evaluated'), 'G5')))
  const [conflict] = unwrap(await f.root.reportConflicts(W.workspace, [overlap]))
  gateOf(f, await f.root.resolveConflict(W.workspace, conflict!, 'coordinator_resolve', 'both'), 'G6')
  await invalidated('G6', null, async () => unwrap(await ux.abort(f.run.id, W.workspace)))
  const V = await made(f, 'V')
  gateOf(f, await f.root.abort(V.workspace), 'G7')
  await invalidated('G7', null, async () => unwrap(await V.failed('broken')))
})

test('W-HWY-12 a member that fails while its batch abort waits is skipped, and the summary follows', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  for (const name of ['A', 'B']) await f.worker(name, { group: 'g' })
  unwrap(await f.root.batchAbort('g'))
  const [first, second] = await waiting(f)
  unwrap(await f.runtime.user('ux').approve(f.run.id, second!))
  await f.mark()
  unwrap(await f.agent('A').failed('broken'))
  await f.expectAmong([
    ended('G1', 'workspace_abort', null, 'reject', 'protocol', INVALID),
    ['batch_abort', 'R', 'system', { group_id: 'g', affected_workspaces: ['B'], skipped_workspaces: ['A'] }],
  ])
  expect(first).toBeDefined()
})

test('W-HWY-12 a run that closes, and one whose root fails, end their gates before the last entry', async () => {
  for (const end of ['close', 'fail'] as const) {
    const f = await fixture({ run: { owner: 'ux', highway: {} } })
    await graphOf(f, { T: {} })
    await waiting(f)
    await f.mark()
    if (end === 'close') unwrap(await f.run.close())
    else unwrap(await f.root.failed('broken'))
    const added = (await f.added()).map(entry => f.row(entry))
    expect(added.at(-2)).toEqual(ended('G1', 'task_approval', null, 'reject', 'protocol', INVALID))
    expect(added.at(-1)?.slice(0, 2)).toEqual(['workspace_state_changed', 'R'])
  }
})

/** A worker or delegate of a run in which everything is gated. */
async function made(f: Fixture, name: string, draft: object = {}) {
  const directive = { format: 'markdown', content: 'work' }
  gateOf(f, await f.root.createWorkspace({ role: 'worker', resources: ['**'], directive, ...draft }), `made ${name}`)
  await approveAll(f)
  const agent = await f.adopt(name, await f.run.read(run => [...run.workspaces.keys()].at(-1)!))
  unwrap(await agent.consume())
  return agent
}
