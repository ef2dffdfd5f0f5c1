import type { EnvelopeId, TaskId, WorkspaceId } from '@parley/core'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'

const rejection = (reason: string, by = 'R'): Row => [
  'workspace_rejected',
  by,
  'protocol',
  { reason, capacity_details: {} },
]

const denial = (
  capability = 'operation:create_workspace',
  reason = 'permission_denied',
  [name, actor] = ['R', 'system'],
): Row => [
  'capability_denied',
  name,
  actor,
  { user_id: null, capability, action: 'create_workspace', reason },
]

/** Asks for a workspace with whatever a caller might send, and says what came of it; a refusal must change nothing. */
async function attempt(f: Fixture, draft: object, by = f.root): Promise<string> {
  const before = await f.picture()
  const result = refused(await by.createWorkspace(draft as never))
  if (result !== 'ok') expect(await f.picture()).toEqual(before)
  return result
}

test('WP-004 a creation that cannot be is refused with its reason, on record, and nothing exists', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('X')
  await f.force('X', 'failed')
  const unknown = 'ws_zzzzzzzzzzzzzzzzzzzzzzzzzz'
  const cases: readonly (readonly [object, string, Row])[] = [
    [{ role: 'butler' }, 'rejected(unregistered_role)', rejection('unregistered_role')],
    [{ role: 'coordinator' }, 'permission_denied', denial()],
    [{ role: 'worker', parent: unknown }, 'rejected(parent_not_found)', rejection('parent_not_found')],
    [{ role: 'worker', parent: f.id('X') }, 'rejected(parent_terminal)', rejection('parent_terminal')],
    [
      { role: 'worker', parent: f.id('W') },
      'rejected(parent_not_accepting)',
      rejection('parent_not_accepting'),
    ],
    [
      { role: 'worker', visibility: [unknown] },
      'rejected(dangling_reference)',
      rejection('dangling_reference'),
    ],
    [{ role: 'worker', id: 'ws_mine' }, 'rejected(invalid_parameters)', rejection('invalid_parameters')],
    [{ role: 'worker', timeout: -1 }, 'rejected(invalid_parameters)', rejection('invalid_parameters')],
    [{ role: 'worker', originator: 'ux' }, 'permission_denied', denial('set:originator')],
  ]
  for (const [draft, result, row] of cases) {
    expect(await attempt(f, draft), JSON.stringify(draft)).toBe(result)
    await f.expectAdded([row])
  }
  expect(await f.run.read(run => run.workspaces.size)).toBe(3)
})

test('WP-004 every other fault of a request has its own place in the order of checks', async () => {
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
  for (const [draft, result] of cases)
    expect(await attempt(f, draft as object), JSON.stringify(draft)).toBe(result)
  expect(await f.run.read(run => run.workspaces.size)).toBe(2)
})

test('WP-004 a delegate creates directly beneath itself, while it is active, and makes no delegates', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('D2', { delegate: true })
  await f.mark()
  const own = ['D', 'worker'] as [string, string]
  expect(await attempt(f, { role: 'worker', delegate: true }, delegate)).toBe('permission_denied')
  await f.expectAdded([denial('operation:grant_delegation', 'permission_denied', own)])
  expect(await attempt(f, { role: 'worker', visibility: [f.id('D2')] }, delegate)).toBe(
    'containment(containment_violation)',
  )
  await f.expectAdded([denial(undefined, 'containment_violation', own)])
  expect(await attempt(f, { role: 'worker', resources: ['/etc'] }, delegate)).toBe(
    'containment(containment_violation)',
  )
  await f.expectAdded([denial(undefined, 'containment_violation', own)])
  expect(await attempt(f, { role: 'butler' }, delegate)).toBe('rejected(unregistered_role)')
  await f.expectAdded([rejection('unregistered_role', 'D')])
  // Row 1 comes before everything: whose parent it names is not even looked up.
  for (const parent of [f.id('R'), f.id('D2'), 'ws_none'])
    expect(await attempt(f, { role: 'butler', parent }, delegate)).toBe('permission_denied')
  await f.expectAdded([
    denial(undefined, undefined, own),
    denial(undefined, undefined, own),
    denial(undefined, undefined, own),
  ])
  await f.force('D', 'blocked')
  expect(await attempt(f, { role: 'worker' }, delegate)).toBe('permission_denied')
  await f.expectAdded([denial(undefined, undefined, own)])
  // The root may still create beneath a delegate that waits (row 8).
  expect(await attempt(f, { role: 'worker', parent: f.id('D') })).toBe('ok')
})

test('WM-029 a duration that is no positive whole number of milliseconds creates nothing', async () => {
  const f = await fixture()
  const wrong = [{ timeout: -1 }, { timeout: 0 }, { timeout: 1.5 }, { liveness_interval: -1 }]
  for (const duration of wrong) {
    expect(await attempt(f, { role: 'worker', ...duration })).toBe('rejected(invalid_parameters)')
    await f.expectAdded([rejection('invalid_parameters')])
  }
  expect(await f.run.read(run => run.workspaces.size)).toBe(1)
  await f.workspace('W', { timeout: 1, liveness_interval: 1 })
  expect(unwrap(await f.agent('W').look())).toMatchObject({ timeout: 1, liveness_interval: 1 })
})

test('W-WS-06 an agent that cannot be bound fails its workspace, and the creator learns it', async () => {
  const bind = (agent: { readonly role: string }) => {
    if (agent.role === 'observer') throw new Error('no such agent')
  }
  const f = await fixture({ bind })
  const result = await f.root.createWorkspace({ role: 'observer' })
  expect(refused(result)).toBe('rejected(creation_error)')
  f.name(result.ok ? '' : String(result.error.details.workspace), 'O')
  await f.expectAdded([
    ['workspace_created', 'O', 'system'],
    ['port_right_created', 'O', 'system'],
    [
      'signal_emitted',
      'O',
      'protocol',
      { signal_id: 'sig1', from: 'O', type: 'failed', reason: 'creation_error' },
    ],
    [
      'workspace_state_changed',
      'O',
      'protocol',
      {
        workspace_id: 'O',
        from_state: 'idle',
        to_state: 'failed',
        trigger: 'creation_error',
        initiator: 'protocol',
        reason: 'creation_error',
      },
    ],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'O', delivered_to: 'R' }],
  ])
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
  expect(await f.run.read(run => [...run.workspaces.values()].every(each => each.status === 'failed'))).toBe(
    true,
  )
})
