// Who sees whom, and how that grows (W-WS-15, -16, W-TOPO-VIS-01 to -06, W-SEC-14, -15).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const granted = (workspace: string, target: string, reason: string, actor = 'system'): Row => [
  'visibility_granted',
  workspace,
  actor,
  { workspace_id: workspace, target, reason },
]

test.each(['idle', 'active', 'blocked'])(
  'W-WS-16 a workspace that is %s is given more to see, of one in any state',
  async state => {
    const f = await fixture()
    await (state === 'idle' ? f.workspace('W') : f.worker('W'))
    await f.worker('F')
    await f.force('W', state)
    await f.force('F', 'failed')
    unwrap(await f.root.grantVisibility(f.id('W'), f.id('F'), 'learn from it'))
    await f.expectAdded([granted('W', 'F', 'learn from it')])
    // What it sees already is no news.
    unwrap(await f.root.grantVisibility(f.id('W'), f.id('F'), 'again'))
    unwrap(await f.root.grantVisibility(f.id('W'), f.id('W'), 'itself'))
    unwrap(await f.root.grantVisibility(f.id('R'), f.id('W'), 'the root sees all'))
    await f.expectAdded([])
  },
)

test('W-WS-16 only the coordinator and a delegate above grant, with a reason, what exists', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', {}, d)
  const w = await f.worker('W')
  await f.mark()
  for (const [caller, name, to] of [
    [w, 'W', 'W'],
    [c, 'C', 'C'],
    [d, 'D', 'D'],
    [d, 'D', 'W'],
  ] as const) {
    expect(refused(await caller.grantVisibility(f.id(to), f.id('C'), 'x'))).toBe('permission_denied')
    await f.expectAdded([denial(name, 'worker', 'operation:grant_visibility', 'permission_denied', to)])
  }
  for (const [workspace, target, reason, answer] of [
    ['ws_none', f.id('W'), 'x', 'not_found'],
    [f.id('W'), 'ws_none', 'x', 'not_found'],
    [f.id('W'), f.id('C'), '', 'invalid_argument'],
    [f.id('W'), f.id('C'), undefined, 'invalid_argument'],
  ] as const)
    expect(refused(await f.root.grantVisibility(workspace as never, target as never, reason as never))).toBe(answer)
  await f.expectAdded([])
  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.mark()
  expect(refused(await d.grantVisibility(f.id('C'), f.id('D'), 'x'))).toBe('invalid_state(permission_denied)')
  await f.expectAdded([denial('D', 'worker', 'operation:grant_visibility', 'permission_denied', 'C')])
})

test('W-WS-16 what one workspace may be given to see is bounded', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.worker('W2')
  await f.run.read(run => {
    const many = Array.from({ length: kernelLimits.visibility }, (_, at) => `ws_${at}` as never)
    run.workspaces.get(f.id('W'))!.visibility = new Set(many)
  })
  await f.mark()
  expect(refused(await f.root.grantVisibility(f.id('W'), f.id('W2'), 'x'))).toBe('limit_reached')
  await f.expectAdded([])
})
