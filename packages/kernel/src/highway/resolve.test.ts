import { unwrap, type WorkspaceId } from '@parley/core'
import { GATE_TYPES, type GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { resolved } from '../testing/conflicts.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { approveAll, ended, gateOf, only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'
import { person, withUsers } from '../testing/people.ts'
import {
  bound,
  changed,
  decided,
  delivered,
  emitted,
  graphOf,
  started,
  status,
  statusOf,
} from '../testing/tasks.ts'

/** What follows `gate_resolved`, exactly (W-HWY-07). */
const APPROVED: { readonly [Type in GateType]: readonly Row[] } = {
  task_approval: [
    ['task_approved', 'R', 'ux', { task_id: 'T', approval_source: 'human' }],
    status('T', 'draft', 'pending', null, 'ux'),
  ],
  workspace_create: [
    ['workspace_created', 'ws1', 'system'],
    ['port_right_created', 'ws1', 'system'],
    ['port_right_created', 'R', 'system'],
    ['port_right_created', 'ws1', 'system'],
    // The runtime binds its agent, since whoever asked could not.
    ['signal_emitted', 'ws1', 'worker'],
    ['signal_delivered', 'R', 'protocol'],
    ['envelope_created', 'R', 'system'],
    ['envelope_delivered', 'ws1', 'protocol'],
    ['workspace_state_changed', 'ws1', 'protocol'],
    ['signal_emitted', 'ws1', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ],
  envelope_delivery: [
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E', from: 'R', to: 'W' }],
    ['workspace_state_changed', 'W', 'protocol'],
    ['signal_emitted', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ],
  integration: [emitted('sig1', 'R', 'integrate', 'system', { ref: 'I' }), started('I', 'KI')],
  conflict_resolution: [
    resolved('X1', 'X', 'ux', {
      type: 'content_overlap',
      strategy: 'coordinator_resolve',
      resolution: 'keep both',
      outcome: 'closed',
    }),
    ['integration_completed', 'X', 'system'],
    ['workspace_state_changed', 'X', 'system'],
  ],
  workspace_abort: [
    emitted('sig1', 'W', 'failed', 'system', { reason: 'aborted_by_coordinator' }),
    decided('W', 'active', 'failed', 'aborted_by_coordinator'),
    delivered('sig1', 'W', 'R'),
  ],
}

const REJECTED: { readonly [Type in GateType]: readonly Row[] } = {
  task_approval: [status('T', 'draft', 'cancelled', null, 'ux')],
  workspace_create: [
    ['workspace_rejected', 'R', 'protocol', { reason: 'gate_rejected_by_human', capacity_details: {} }],
  ],
  envelope_delivery: [
    [
      'envelope_rejected',
      'R',
      'protocol',
      { envelope_id: 'E', from: 'R', to: 'W', type: 'feedback', reason: 'gate_rejected_by_human' },
    ],
  ],
  integration: [
    emitted('sig1', 'I', 'failed', 'protocol', { reason: 'gate_rejected_by_human' }),
    changed('I', 'integrating', 'failed', 'gate_rejected_by_human', 'ux', 'human'),
    delivered('sig1', 'I', 'R'),
  ],
  conflict_resolution: [],
  workspace_abort: [],
}

test.each(GATE_TYPES)(
  'WM-064 an approved %s gate lets through what it held up; a rejected one drops it',
  async type => {
    for (const [action, rows] of [
      ['approve', APPROVED[type]],
      ['reject', REJECTED[type]],
    ] as const) {
      const f = await fixture({ run: { owner: 'ux', highway: only(type) } })
      await prepare(f, type)
      const { under } = await TRANSITIONS[type](f)
      const [gate] = await waiting(f)
      await f.mark()
      unwrap(await f.runtime.user('ux')[action](f.run.id, gate!))
      // Signals of before have names already.
      const added = (await f.added()).map(entry => f.row(entry))
      const first = ended('G1', type, under, action, 'ux')
      expect(added.map(([name, filed, actor]) => [name, filed, actor])).toEqual(
        [first, ...rows].map(([name, filed, actor]) => [name, filed, actor]),
      )
      for (const [index, row] of [first, ...rows].entries())
        if (row[3]) expect(withoutIds(added[index]![3])).toMatchObject(withoutIds(row[3]))
      expect(await f.run.gates()).toEqual([])
    }
  },
)

/** Signals are numbered in the order in which a test meets them. */
function withoutIds(body: Row[3]): object {
  const { signal_id: _signal, ...rest } = body ?? {}
  return rest
}

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
  expect(unwrap(await f.run.settled(gate))).toMatchObject({
    action: 'approve',
    actor: 'ux',
    result: undefined,
  })
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
  const D = await worker()
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

  async function worker(): Promise<WorkspaceId> {
    const gate = gateOf(
      f,
      await f.root.createWorkspace({
        role: 'worker',
        delegate: true,
        directive: { format: 'markdown', content: 'lead' },
      }),
      'GD',
    )
    const { result } = unwrap(await f.runtime.user('ux').approve(f.run.id, gate))
    await f.settle()
    const { workspace } = unwrap(result!) as { readonly workspace: WorkspaceId }
    f.name(workspace, 'D')
    return workspace
  }
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

test('W-HWY-03 a batch abort opens one gate for each member; the summary follows the last and lists who was spared as skipped', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  for (const name of ['A', 'B', 'C']) await f.worker(name, { group: 'g' })
  await f.mark()
  unwrap(await f.root.batchAbort('g'))
  await f.expectAmong(['A', 'B', 'C'].map((name): Row => ['gate_triggered', name, 'protocol']))
  const [first, second, third] = await waiting(f)
  const ux = f.runtime.user('ux')
  unwrap(await ux.approve(f.run.id, third!))
  unwrap(await ux.reject(f.run.id, first!))
  expect((await f.added()).map(entry => entry.event_type)).not.toContain('batch_abort')
  unwrap(await ux.approve(f.run.id, second!))
  await f.expectAmong([
    ended('G2', 'workspace_abort', 'B', 'approve', 'ux'),
    decided('B', 'active', 'failed', 'batch_abort'),
    [
      'batch_abort',
      'R',
      'system',
      { group_id: 'g', affected_workspaces: ['B', 'C'], skipped_workspaces: ['A'] },
    ],
  ])
  expect([await f.state('A'), await f.state('B'), await f.state('C')]).toEqual(['active', 'failed', 'failed'])
})

test('WM-079 who may answer is checked when the answer arrives; the first valid answer counts', async () => {
  const f = await withUsers({ run: { owner: 'ux', highway: only('integration') } })
  const alice = await person(f, 'alice', 'approve_integration')
  const bob = await person(f, 'bob', 'approve_integration')
  const carol = await person(f, 'carol', 'approve_integration_any')
  for (const name of ['I', 'J']) {
    await f.worker(name, { owner: 'alice' })
    await f.bring(name, 'integrating')
  }
  const gate = gateOf(f, await f.root.beginIntegration(f.id('I')))
  expect((await f.run.gates()).map(({ addressee }) => addressee)).toEqual(['alice'])
  await f.mark()
  expect(refused(await bob.approve(f.run.id, gate))).toBe('permission_denied(wrong_scope)')
  await f.expectAdded([
    [
      'capability_denied',
      null,
      'bob',
      {
        user_id: 'bob',
        capability: 'approve_integration',
        action: 'resolve_gate',
        target: 'G1',
        reason: 'wrong_scope',
      },
    ],
  ])
  const answers = await Promise.all([carol.approve(f.run.id, gate), alice.approve(f.run.id, gate)])
  expect(answers.map(refused)).toEqual(['ok', 'invalid_state(gate_not_pending)'])
  await f.expectAdded([
    ended('G1', 'integration', 'I', 'approve', 'carol'),
    ['signal_emitted', 'R', 'system'],
    ['integration_started', 'I', 'system'],
  ])
  unwrap(await f.root.accept(f.id('I')))
  const second = gateOf(f, await f.root.beginIntegration(f.id('J')), 'G2')
  unwrap(await f.runtime.users.revoke('alice', 'approve_integration', { reason: 'moved on' }))
  await f.mark()
  expect(refused(await alice.approve(f.run.id, second))).toBe('permission_denied(missing_capability)')
  await f.expectAdded([['capability_denied', null, 'alice']])
  unwrap(await f.runtime.users.suspend('carol', { reason: 'on leave' }))
  expect(refused(await carol.approve(f.run.id, second))).toBe('permission_denied(user_not_active)')
  // Of a gate that is over, too, an inactive user learns nothing.
  expect(refused(await carol.approve(f.run.id, gate))).toBe('permission_denied(user_not_active)')
  expect((await f.run.gates()).map(({ id }) => id)).toEqual([second])
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
  expect(refused(await f.runtime.user('ux').approve(f.run.id, gates[0]!.id))).toBe(
    'permission_denied(wrong_scope)',
  )
  unwrap(await f.runtime.user('alice').approve(f.run.id, gates[0]!.id))
  await f.worker('W', { owner: 'alice' })
  const abort = gateOf(f, await f.root.abort(f.id('W')))
  unwrap(await f.root.transferOwnership(f.id('W'), 'ux', 'holiday'))
  expect(refused(await f.runtime.user('alice').approve(f.run.id, abort))).toBe(
    'permission_denied(wrong_scope)',
  )
  unwrap(await f.runtime.user('ux').approve(f.run.id, abort))
})

test('WM-080 answers that are sent together stay single answers: a bad one stops no other', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: {} } })
  const names = Array.from({ length: 10 }, (_, index) => `T${index}`)
  const graph = await graphOf(f, Object.fromEntries(names.map(name => [name, {}])))
  const gates = await waiting(f)
  await f.mark()
  const ux = f.runtime.user('ux')
  const answers = await Promise.all([
    ux.approve(f.run.id, 'gate_unknown' as never),
    ...gates.map((gate, index) => (index % 2 ? ux.reject(f.run.id, gate) : ux.approve(f.run.id, gate))),
  ])
  expect(answers.map(refused)).toEqual(['invalid_state(gate_not_pending)', ...gates.map(() => 'ok')])
  const added = await f.added()
  expect(added.filter(entry => entry.event_type === 'gate_resolved')).toHaveLength(10)
  for (const [index, name] of names.entries())
    expect(await statusOf(f, graph.id(name))).toBe(index % 2 ? 'cancelled' : 'pending')
})

test('W-HWY-07 an answer that is none of the three, or has no proper reason, changes nothing', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_abort') } })
  await f.worker('W')
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
