// Failures that hit many at once: the coordinator finds them in the trail, says so, and acts (W-REC-04, -05).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const report = { reason: 'provider is away', scope: 'systemic', action: 'pause_dispatch' } as const

const degraded = (body: object): Row => [
  'system_degraded',
  null,
  'system',
  { reason: 'provider is away', scope: 'systemic', affected_workspaces: [], ...body },
]

test('WM-034 the coordinator sees that one cause failed many, records it, and ends the group', async () => {
  const f = await fixture()
  const group = 'batch'
  const reason = 'external_api_unavailable'
  const names = ['A', 'B', 'C', 'D']
  for (const name of [...names, 'E']) await f.worker(name, { group })
  await f.worker('W')
  const from = (await f.run.entries()).at(-1)!.timestamp
  for (const name of names) {
    unwrap(await f.agent(name).failed(reason))
    await f.advance(500)
  }
  unwrap(await f.agent('W').failed('own fault'))
  await f.mark()
  const to = (await f.run.entries()).at(-1)!.timestamp

  // By reason, by group, and in time.
  const filter = { event_type: 'signal_emitted', body: { type: 'failed' }, from, to } as const
  const byReason = unwrap(await f.root.aggregate({ filter, group: 'body.reason' })).rows
  expect(byReason.map(({ key, count }) => [key, count])).toEqual(
    expect.arrayContaining([
      [reason, 4],
      ['own fault', 1],
    ]),
  )
  const inGroup = unwrap(await f.root.query({ ...filter, group })).entries
  expect(inGroup.map(entry => f.nameOf(entry.workspace!))).toEqual(names)
  const byGroup = unwrap(await f.root.aggregate({ filter, group: 'group' })).rows
  expect(byGroup.find(row => row.key === group)?.count).toBe(4)

  const affected = inGroup.map(entry => entry.workspace!)
  unwrap(await f.root.reportDegraded({ ...report, workspaces: affected }))
  unwrap(await f.root.batchAbort(group))
  await f.expectAmong([
    degraded({ affected_workspaces: names, coordinator_action: 'pause_dispatch' }),
    ['workspace_state_changed', 'E', 'system', { to_state: 'failed', trigger: 'batch_abort' }],
    [
      'batch_abort',
      'R',
      'system',
      { group_id: group, affected_workspaces: ['E'], skipped_workspaces: names },
    ],
  ])
})

test('W-REC-05 only the coordinator reports, in words of the registry, about what exists', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  unwrap(await f.root.reportDegraded(report))
  unwrap(await f.root.reportDegraded({ ...report, scope: 'transport', action: 'wait' }))
  await f.expectAdded([
    degraded({ coordinator_action: 'pause_dispatch' }),
    degraded({ scope: 'transport', coordinator_action: 'wait' }),
  ])
  expect(refused(await worker.reportDegraded(report))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'operation:report_degraded')])
  for (const [bad, answer] of [
    [{ reason: '' }, 'invalid_argument'],
    [{ scope: 'everything' }, 'invalid_argument'],
    [{ action: 'panic' }, 'invalid_argument'],
    [{ workspaces: 'W' }, 'invalid_argument'],
    [{ workspaces: ['ws_none'] }, 'not_found'],
  ] as const)
    expect(refused(await f.root.reportDegraded({ ...report, ...bad } as never))).toBe(answer)
  await f.expectAdded([])
  // Nothing is detected or stopped by itself.
  expect(await f.state('W')).toBe('active')
  expect(refused(await f.root.createWorkspace({ role: 'worker' }))).toBe('ok')
})
