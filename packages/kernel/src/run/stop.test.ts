import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Transport } from '../runtime/actor/transport.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'

const changed = (name: string, from_state: string, to_state: string, trigger: string, reason?: string): Row => [
  'workspace_state_changed',
  name,
  'protocol',
  {
    workspace_id: name,
    from_state,
    to_state,
    trigger,
    initiator: 'protocol',
    ...(reason !== undefined && { reason }),
  },
]

test('W-LIFE-13 what was asked together with the end of a run comes too late as well', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.force('W', 'closed')
  const [closed, ...late] = await Promise.all([
    f.run.close(),
    f.root.createWorkspace({ role: 'worker' }),
    f.agent('W').complete(),
    f.root.send(f.mail('W', 'feedback')),
    f.agent('W').writeMemory('k', 1),
    f.run.close(),
  ])
  expect(refused(closed)).toBe('ok')
  expect(new Set(late.map(refused))).toEqual(new Set(['invalid_state']))
  await f.expectAdded([
    changed('R', 'active', 'integrating', 'run_complete'),
    changed('R', 'integrating', 'closed', 'run_complete'),
  ])
})

test('W-LIFE-13 a root that has not started cannot close the run', async () => {
  const f = await fixture({ active: false })
  expect(refused(await f.run.close())).toBe('invalid_state')
  await f.expectAdded([])
})

test('W-LIFE-13 mail on its way to the root is given up before the run closes', async () => {
  const lost = new Set<string>()
  const carry: Transport['carry'] = (delivery, arrive) =>
    lost.has(delivery.to) ? new Promise(() => undefined) : arrive()
  const f = await fixture({ transport: { carry } })
  const worker = await f.worker('W')
  lost.add(f.id('R'))
  f.name(unwrap(await worker.send(f.mail('R', 'query'))).envelope, 'E')
  await f.force('W', 'failed')
  unwrap(await f.run.close())
  await f.expectAdded([
    changed('R', 'active', 'integrating', 'run_complete'),
    // Its sender is terminal: the entry is filed under no workspace.
    ['envelope_undeliverable', null, 'protocol', { envelope_id: 'E', from: 'W', to: 'R', reason: 'integrating' }],
    changed('R', 'integrating', 'closed', 'run_complete'),
  ])
})

test('W-LIFE-14 a forced stop gives up mail that is on its way, and ends open integrations', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.bring('W', 'integrating')
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.bring('W2', 'suspended')
  const { envelope } = unwrap(await f.root.send(f.mail('W2', 'feedback')))
  f.name(envelope, 'E')
  await f.mark()
  unwrap(await f.run.stop())
  await f.expectAdded([
    changed('W2', 'suspended', 'failed', 'system_shutdown', 'system_shutdown'),
    ['integration_aborted', 'W', 'protocol', { source: 'W', target: 'R', mode: 'normal', reason: 'system_shutdown' }],
    changed('W', 'integrating', 'failed', 'system_shutdown', 'system_shutdown'),
    ['envelope_undeliverable', 'R', 'protocol', { envelope_id: 'E', from: 'R', to: 'W2', reason: 'failed' }],
    [
      'system_degraded',
      null,
      'protocol',
      {
        reason: 'forced_shutdown',
        scope: 'systemic',
        affected_workspaces: ['W2', 'W'],
        coordinator_action: 'batch_abort',
      },
    ],
    changed('R', 'active', 'failed', 'system_shutdown', 'system_shutdown'),
  ])
})
