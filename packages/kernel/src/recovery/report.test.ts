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
