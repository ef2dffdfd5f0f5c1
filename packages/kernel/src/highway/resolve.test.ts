import { unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { approveAll, ended, gateOf, only } from '../testing/gates.ts'
import { person, withUsers } from '../testing/people.ts'
import { bound, decided, graphOf, status, statusOf } from '../testing/tasks.ts'

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
