import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Transport } from '../runtime/transport.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'

const changed = (
  name: string,
  from_state: string,
  to_state: string,
  trigger: string,
  reason?: string,
): Row => [
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

/** Everything that could still be asked of a run that has ended, each by its code. */
async function afterTheEnd(f: Fixture): Promise<readonly string[]> {
  const worker = f.agent('W')
  const results = [
    await f.root.createWorkspace({ role: 'worker' }),
    await f.root.started(),
    await f.root.abort(f.id('W')),
    await f.root.suspend(f.id('W'), 'late'),
    await f.root.send(f.mail('W', 'feedback')),
    await f.root.submitGraph([]),
    await f.root.setAuthority(f.id('W')),
    await worker.complete(),
    await worker.send(f.mail('R', 'query')),
    await worker.writeMemory('k', 1),
    await worker.consume(),
    await worker.createWorkspace({ role: 'worker' }),
    await f.run.close(),
    await f.run.stop(),
  ]
  return results.map(refused)
}

test('WP-018 a run closes only when all its work is terminal, and takes nothing afterwards', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.force('W', 'closed')
  const before = await f.picture()
  expect(refused(await f.run.close())).toBe('invalid_state')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)

  await f.force('W2', 'closed')
  expect(refused(await f.run.close())).toBe('ok')
  await f.expectAdded([
    changed('R', 'active', 'integrating', 'run_complete'),
    changed('R', 'integrating', 'closed', 'run_complete'),
  ])
  expect(new Set(await afterTheEnd(f))).toEqual(new Set(['invalid_state']))
  await f.expectAdded([])

  await f.restart()
  expect(new Set(await afterTheEnd(f))).toEqual(new Set(['invalid_state']))
  await f.expectAdded([])
  expect(unwrap(await f.root.look(f.id('W')))).toMatchObject({ status: 'closed' })
})

test('WP-018 what was asked together with the end of a run comes too late as well', async () => {
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

test('WP-018 a root that has not started cannot close the run', async () => {
  const f = await fixture({ active: false })
  expect(refused(await f.run.close())).toBe('invalid_state')
  await f.expectAdded([])
})

test('WP-018 mail on its way to the root is given up before the run closes', async () => {
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
    [
      'envelope_undeliverable',
      null,
      'protocol',
      { envelope_id: 'E', from: 'W', to: 'R', reason: 'integrating' },
    ],
    changed('R', 'integrating', 'closed', 'run_complete'),
  ])
})

test('WP-019 a forced stop fails everything, children before parents, and ends with the root', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('C', {}, delegate)
  await f.worker('X')
  await f.bring('X', 'failed')
  await f.bring('W2', 'suspended')
  await f.mark()
  expect(refused(await f.run.stop())).toBe('ok')
  const failed = (name: string, from = 'active') =>
    changed(name, from, 'failed', 'system_shutdown', 'system_shutdown')
  await f.expectAdded([
    failed('C'),
    failed('D'),
    failed('W2', 'suspended'),
    failed('W'),
    [
      'system_degraded',
      null,
      'protocol',
      {
        reason: 'forced_shutdown',
        scope: 'systemic',
        affected_workspaces: ['C', 'D', 'W2', 'W'],
        coordinator_action: 'batch_abort',
      },
    ],
    failed('R'),
  ])
  expect(new Set(await afterTheEnd(f))).toEqual(new Set(['invalid_state']))
  await f.expectAdded([])
})

test('WP-019 a forced stop gives up mail that is on its way, and ends open integrations', async () => {
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
    [
      'integration_aborted',
      'W',
      'protocol',
      { source: 'W', target: 'R', mode: 'normal', reason: 'system_shutdown' },
    ],
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
