import type { EnvelopeId, TaskId, WorkspaceId } from '@parley/core'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const rejection = (reason: string, by = 'R'): Row => [
  'workspace_rejected',
  by,
  'protocol',
  { reason, capacity_details: {} },
]

/** What D was denied about work that it asked for. */
const deniedD = (reason = 'permission_denied', capability = 'operation:create_workspace'): Row =>
  denial('D', 'worker', capability, reason, undefined, 'create_workspace')

/** Asks for a workspace with whatever a caller might send, and says what came of it; a refusal must change nothing. */
async function attempt(f: Fixture, draft: object, by = f.root): Promise<string> {
  const before = await f.picture()
  const result = refused(await by.createWorkspace(draft as never))
  if (result !== 'ok') expect(await f.picture()).toEqual(before)
  return result
}

test('W-WS-05 every other fault of a request has its own place in the order of checks', async () => {
  const f = await fixture()
  await f.worker('W')
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

test('W-ROLE-12 a delegate creates directly beneath itself, while it is active, and makes no delegates', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('D2', { delegate: true })
  await f.mark()
  expect(await attempt(f, { role: 'worker', delegate: true }, delegate)).toBe('permission_denied')
  await f.expectAdded([deniedD('permission_denied', 'operation:grant_delegation')])
  expect(await attempt(f, { role: 'worker', visibility: [f.id('D2')] }, delegate)).toBe(
    'containment(containment_violation)',
  )
  await f.expectAdded([deniedD('containment_violation')])
  expect(await attempt(f, { role: 'worker', resources: ['/etc'] }, delegate)).toBe('containment(containment_violation)')
  await f.expectAdded([deniedD('containment_violation')])
  expect(await attempt(f, { role: 'butler' }, delegate)).toBe('rejected(unregistered_role)')
  await f.expectAdded([rejection('unregistered_role', 'D')])
  // Row 1 comes before everything: whose parent it names is not even looked up.
  for (const parent of [f.id('R'), f.id('D2'), 'ws_none'])
    expect(await attempt(f, { role: 'butler', parent }, delegate)).toBe('permission_denied')
  await f.expectAdded([deniedD(), deniedD(), deniedD()])
  await f.force('D', 'blocked')
  expect(await attempt(f, { role: 'worker' }, delegate)).toBe('permission_denied')
  await f.expectAdded([deniedD()])
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
