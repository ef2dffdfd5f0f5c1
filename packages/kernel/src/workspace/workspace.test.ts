import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'

test('WP-002 a worker is created idle, with its rights, and says ready', async () => {
  const f = await fixture()
  await f.workspace('W', { owner: 'ux' })
  const created = {
    workspace_id: 'W',
    role: 'worker',
    parent: 'R',
    delegate: false,
    originator: 'system',
    owner: 'ux',
    visibility_set: ['W'],
    authority_set: { resources: ['**'], actions: expect.arrayContaining(['send:query', 'create:artifact']) },
    timeout: 86_400_000,
    priority: 'normal',
    group: null,
    agent: 'agent:W',
    directive: null,
    task_ref: null,
    liveness_interval: null,
    mounts: [],
  }
  await f.expectAdded([
    ['workspace_created', 'W', 'system', created],
    [
      'port_right_created',
      'W',
      'system',
      { right_id: 'right1', right_type: 'receive', holder: 'W', target: 'W', created_by: 'R' },
    ],
    [
      'port_right_created',
      'R',
      'system',
      { right_id: 'right2', right_type: 'send', holder: 'R', target: 'W', created_by: 'R' },
    ],
    [
      'port_right_created',
      'W',
      'system',
      { right_id: 'right3', right_type: 'send', holder: 'W', target: 'R', created_by: 'R' },
    ],
    ['signal_emitted', 'W', 'worker', { signal_id: 'sig1', from: 'W', type: 'ready' }],
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'W', delivered_to: 'R' }],
  ])
  const view = await f.agent('W').look()
  expect(view.ok && view.value).toMatchObject({
    status: 'idle',
    register: [],
    inbox: [],
    memory: [],
    visibility: [f.id('W')],
    originator: 'system',
    meter: { tokens: 0, cost: 0 },
  })
})

test('WP-003 a worker that tries to create a workspace is denied, and that is on record', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  expect(refused(await worker.createWorkspace({ role: 'worker' }))).toBe('permission_denied')
  const denial = {
    user_id: null,
    capability: 'operation:create_workspace',
    action: 'create_workspace',
    reason: 'permission_denied',
  }
  await f.expectAdded([['capability_denied', 'W', 'worker', denial]])
  expect(await f.run.read(run => run.workspaces.size)).toBe(2)
})
