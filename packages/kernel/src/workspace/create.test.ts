// Creating workspaces (W-WS-05), delegates (W-ROLE-11, -12) and groups (W-WS-19).
import { type EnvelopeId, type TaskId, unwrap, type WorkspaceId } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { only, waiting } from '../testing/gates.ts'
import { grant } from '../testing/rights.ts'
import { decided, delivered, emitted } from '../testing/tasks.ts'
import { cascaded, denial, orphaned, tied } from '../testing/topology.ts'

const rejection = (reason: string, by = 'R'): Row => [
  'workspace_rejected',
  by,
  'protocol',
  { reason, capacity_details: {} },
]

/** What D was denied when it asked for work. */
const deniedD = denial('D', 'worker', 'operation:create_workspace')

/** Asks for a workspace with whatever a caller might send, and says what came of it; a refusal must change nothing. */
async function attempt(f: Fixture, draft: object, by = f.root): Promise<string> {
  const before = await f.picture()
  const result = refused(await by.createWorkspace(draft as never))
  if (result !== 'ok') expect(await f.picture()).toEqual(before)
  return result
}

test('W-WS-05 every other fault of a request has its own place in the order of checks', async () => {
  const f = await withWorker()
  const invalid = 'rejected(invalid_parameters)'
  const dangling = 'rejected(dangling_reference)'
  const sent = unwrap(await f.root.send(f.mail('W', 'feedback'))).envelope
  await f.settle()
  const cases: readonly (readonly [object | null, string])[] = [
    [null, invalid],
    [{}, invalid],
    [[], invalid],
    [{ role: 7 }, invalid],
    ...['status', 'agent', 'timestamp', 'actor', 'children'].map(
      field => [{ role: 'worker', [field]: 'x' }, invalid] as const,
    ),
    [{ role: 'worker', priority: 'high' }, invalid],
    [{ role: 'worker', budget: { token_limit: 0 } }, invalid],
    [{ role: 'worker', caused_by: sent }, invalid],
    [{ role: 'worker', caused_by: 'env_none' as EnvelopeId }, dangling],
    [{ role: 'worker', task: 'task_none' as TaskId }, dangling],
    [{ role: 'observer', delegate: true }, 'permission_denied'],
    [{ role: 'worker', owner: 'protocol' }, 'rejected(owner_invalid)'],
    [{ role: 'worker', owner: 'worker' }, 'rejected(owner_invalid)'],
    // The first failure decides, whatever comes later.
    [{ role: 'butler', id: 'x', originator: 'ux' }, invalid],
    [{ role: 'butler', originator: 'ux' }, 'permission_denied'],
    [{ role: 'butler', parent: 'ws_none' as WorkspaceId }, 'rejected(unregistered_role)'],
    [{ role: 'coordinator', parent: 'ws_none' as WorkspaceId }, 'permission_denied'],
    [{ role: 'worker', parent: f.id('W'), visibility: ['ws_none'] }, 'rejected(parent_not_accepting)'],
    [{ role: 'worker', visibility: ['ws_none'], owner: 'protocol' }, dangling],
  ]
  for (const [draft, result] of cases) expect(await attempt(f, draft as object), JSON.stringify(draft)).toBe(result)
  expect(await f.run.read(run => run.workspaces.size)).toBe(2)
})

test('W-ROLE-12 a delegate creates directly beneath itself, and only while it is active', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('D2', { delegate: true })
  await f.mark()
  expect(await attempt(f, { role: 'butler' }, delegate)).toBe('rejected(unregistered_role)')
  await f.expectAdded([rejection('unregistered_role', 'D')])
  // Row 1 comes before everything: whose parent it names is not even looked up.
  for (const parent of [f.id('R'), f.id('D2'), 'ws_none'])
    expect(await attempt(f, { role: 'butler', parent }, delegate)).toBe('permission_denied')
  await f.expectAdded([deniedD, deniedD, deniedD])
  await f.force('D', 'blocked')
  expect(await attempt(f, { role: 'worker' }, delegate)).toBe('permission_denied')
  await f.expectAdded([deniedD])
  // The root may still create beneath a delegate that waits (row 8).
  expect(await attempt(f, { role: 'worker', parent: f.id('D') })).toBe('ok')
})

test('a run that is full refuses more work until some of it has ended, and can still be stopped at once', async () => {
  const f = await fixture()
  const create = () => f.root.createWorkspace({ role: 'observer' })
  const made = []
  while (made.length < kernelLimits.openWorkspaces - 1)
    made.push(...(await Promise.all(Array.from({ length: 89 }, create))))
  expect(made.every(result => result.ok)).toBe(true)
  await f.mark()
  const before = await f.picture()
  const full = await create()
  expect(refused(full)).toBe('limit_reached')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)

  const [first] = made
  unwrap(await f.root.abort(unwrap(first!).workspace))
  expect(refused(await create())).toBe('ok')
  expect(refused(await create())).toBe('limit_reached')
  unwrap(await f.run.stop())
  expect(await f.run.read(run => [...run.workspaces.values()].every(each => each.status === 'failed'))).toBe(true)
})

test('W-TOPO-CHAN-08 rights between children last as long as both of them', async () => {
  const f = await fixture()
  await f.worker('C', {}, await f.worker('D', { delegate: true }))
  await f.worker('W')
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

const repriced = (workspace: string, old_priority: string, new_priority: string, actor = 'system'): Row => [
  'priority_changed',
  workspace,
  actor,
  { workspace_id: workspace, old_priority, new_priority },
]

const failedByBatch = (signal: string, workspace: string, from: string, parent = 'R'): Row[] => [
  emitted(signal, workspace, 'failed', 'system', { reason: 'batch_abort' }),
  decided(workspace, from, 'failed', 'batch_abort'),
  delivered(signal, workspace, parent),
]

const summary = (affected: string[], skipped: string[]): Row => [
  'batch_abort',
  'R',
  'system',
  { group_id: 'g', affected_workspaces: affected, skipped_workspaces: skipped },
]

test('W-WS-19 a member that fell with another, or outlived it, is dealt with where it stands by then', async () => {
  const f = await fixture()
  const group = 'g'
  const d = await f.worker('D', { delegate: true, group })
  await f.worker('Own', { group }, d)
  await f.worker('Other', { group, owner: 'uy' }, d)
  await f.worker('Free', { owner: 'uy' }, d)
  await f.mark()
  unwrap(await f.root.batchAbort('g'))
  await f.expectAdded([
    emitted('sig1', 'D', 'failed', 'system', { reason: 'batch_abort' }),
    decided('D', 'active', 'failed', 'batch_abort'),
    cascaded('Own'),
    orphaned('Other', 'D'),
    ...tied(1, 'R', 'Other'),
    orphaned('Free', 'D'),
    ...tied(3, 'R', 'Free'),
    delivered('sig1', 'D', 'R'),
    ...failedByBatch('sig2', 'Other', 'active'),
    summary(['D', 'Other'], ['Own']),
  ])
  const picture = await f.picture()
  await f.restart()
  expect(await f.picture()).toEqual(picture)
})

test('W-WS-19 a member whose parent comes later in the group fails once', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  await f.worker('C', { group: 'g', owner: 'uy' }, d)
  await f.worker('P', { delegate: true, group: 'g', owner: 'uy' })
  unwrap(await f.root.abort(f.id('D')))
  unwrap(await f.root.reparent(f.id('C'), f.id('P')))
  await f.mark()
  unwrap(await f.root.batchAbort('g'))
  await f.expectAdded([
    ...failedByBatch('sig1', 'C', 'active', 'P'),
    ...failedByBatch('sig2', 'P', 'active'),
    summary(['C', 'P'], []),
  ])
})

test('W-WS-19 where aborts are gated each member has its own gate, and the summary waits for the last', async () => {
  const f = await fixture({ run: { highway: only('workspace_abort') } })
  const group = 'g'
  for (const name of ['A', 'B', 'C', 'D']) await f.worker(name, { group })
  const outcome = unwrap(await f.root.batchAbort('g'))
  expect(outcome).toEqual({ group, affected: [], skipped: [], waiting: ['A', 'B', 'C', 'D'].map(f.id, f) })
  const gates = await waiting(f)
  expect(gates).toHaveLength(4)
  expect(refused(await f.root.batchAbort('g'))).toBe('invalid_state')
  await f.mark()
  const user = f.runtime.user('ux')
  unwrap(await user.approve(f.run.id, gates[2]!))
  unwrap(await user.reject(f.run.id, gates[1]!))
  // One of them ends by itself meanwhile, and a restart forgets nothing.
  unwrap(await f.agent('D').failed('own fault'))
  await f.restart()
  const ended = (await f.added()).map(entry => entry.event_type)
  expect(ended.filter(type => type === 'gate_resolved')).toHaveLength(3)
  expect(ended).not.toContain('batch_abort')
  unwrap(await f.runtime.user('ux').approve(f.run.id, gates[0]!))
  const added = (await f.added()).map(entry => f.row(entry))
  expect(added.at(-1)).toEqual(summary(['A', 'C'], ['B', 'D']))
  expect(added.map(([type]) => type)).toContain('workspace_state_changed')
  expect(await f.run.read(run => run.batchAborts.size)).toBe(0)
  expect([await f.state('A'), await f.state('B')]).toEqual(['failed', 'active'])
})

test('W-WS-19 the end of a run ends a batch abort that waits, whatever its size', async () => {
  const f = await fixture({ run: { highway: only('workspace_abort') } })
  for (let count = 0; count < 40; count++) await f.workspace(`W${count}`, { group: 'g' })
  unwrap(await f.root.batchAbort('g'))
  await f.mark()
  unwrap(await f.run.stop())
  const closing = (await f.added()).filter(entry => entry.event_type === 'batch_abort')
  expect(closing).toHaveLength(1)
  expect(closing[0]!.body).toMatchObject({ group_id: 'g', affected_workspaces: [] })
})

test('W-WS-19 groups are the coordinator’s: nobody else acts on them, and an unknown one is not found', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  await f.worker('C', { group: 'g' }, d)
  const w = await f.worker('W', { group: 'g' })
  await f.mark()
  expect(refused(await f.root.batchAbort('none'))).toBe('not_found')
  expect(refused(await f.root.batchAbort(7 as never))).toBe('not_found')
  expect(refused(await f.root.batchPriority('none', 'normal'))).toBe('not_found')
  expect(refused(await f.root.batchPriority('g', 'high' as never))).toBe('invalid_argument')
  expect(refused(await f.root.changePriority(f.id('W'), 'high' as never))).toBe('invalid_argument')
  expect(refused(await f.root.changePriority('ws_none' as never, 'normal'))).toBe('not_found')
  await f.expectAdded([])
  for (const [caller, name] of [
    [d, 'D'],
    [w, 'W'],
  ] as const) {
    expect(refused(await caller.batchAbort('g'))).toBe('permission_denied')
    expect(refused(await caller.batchPriority('g', 'critical'))).toBe('permission_denied')
    expect(refused(await caller.changePriority(f.id('W'), 'critical'))).toBe('permission_denied')
    await f.expectAdded([
      denial(name, 'worker', 'operation:batch_abort'),
      denial(name, 'worker', 'operation:batch_priority'),
      denial(name, 'worker', 'operation:change_priority', 'permission_denied', 'W'),
    ])
  }
  unwrap(await d.changePriority(f.id('C'), 'background'))
  await f.expectAdded([repriced('C', 'normal', 'background', 'worker')])
  expect(unwrap(await f.root.topology.group('g'))).toEqual([f.id('C'), f.id('W')])
  expect(refused(await f.root.topology.group('none'))).toBe('not_found')
})

test('W-WS-19 a group has as many members as one entry can name', async () => {
  const f = await withWorker({}, { group: 'g' })
  await f.run.read(run => {
    const [member] = run.groups.get('g')!
    run.groups.set(
      'g',
      Array.from({ length: kernelLimits.groupMembers }, () => member!),
    )
  })
  await f.mark()
  expect(refused(await f.root.createWorkspace({ role: 'worker', group: 'g' }))).toBe('limit_reached')
  await f.expectAdded([])
})
