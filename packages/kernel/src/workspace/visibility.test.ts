// Who sees whom, and how that grows (W-WS-15, -16, W-TOPO-VIS-01 to -06, W-SEC-14, -15).
import { type EnvelopeId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const unread = (reader: string, kind: string, target: string, actor = 'worker'): Row => [
  'capability_denied',
  reader,
  actor,
  {
    user_id: null,
    capability: 'access:read',
    action: `read_${kind}`,
    target,
    reason: 'permission_denied',
  },
]

const granted = (workspace: string, target: string, reason: string, actor = 'system'): Row => [
  'visibility_granted',
  workspace,
  actor,
  { workspace_id: workspace, target, reason },
]

test('WP-021 a grant opens memory, register and local trail of another workspace, and nothing to write', async () => {
  const f = await fixture()
  const [worker, other] = [await f.worker('W'), await f.worker('W2')]
  unwrap(await other.writeMemory('k', 'v'))
  const { checkpoint } = unwrap(await f.checkpoint('W2'))
  f.name(checkpoint, 'K')
  await f.mark()
  expect(refused(await worker.look(f.id('W2')))).toBe('not_found')
  expect(refused(await worker.readMemory('k', f.id('W2')))).toBe('not_found')
  await f.expectAdded([unread('W', 'workspace', 'W2'), unread('W', 'workspace', 'W2')])
  expect(unwrap(await worker.query({ scope: 'local', workspace: f.id('W2') })).entries).toEqual([])
  await f.expectAmong([['trail_access_denied', 'W', 'worker', {}]])

  unwrap(await f.root.grantVisibility(f.id('W'), f.id('W2'), 'builds on it'))
  await f.expectAdded([granted('W', 'W2', 'builds on it')])
  expect(unwrap(await worker.look(f.id('W2'))).register.map(({ id }) => id)).toEqual([checkpoint])
  expect(unwrap(await worker.readMemory('k', f.id('W2')))).toBe('v')
  expect(unwrap(await worker.readCheckpoint(checkpoint)).id).toBe(checkpoint)
  const local = unwrap(await worker.query({ scope: 'local', workspace: f.id('W2') })).entries
  expect(local).toEqual(unwrap(await other.query({ scope: 'local', workspace: f.id('W2') })).entries)
  expect(local.length).toBeGreaterThan(0)
  await f.expectAdded([])

  expect(refused(await worker.writeMemory('k', 'w', f.id('W2')))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'access:write', 'permission_denied', 'W2')])
  // One way only, and nobody else.
  expect(refused(await other.look(f.id('W')))).toBe('not_found')
  await f.restart()
  expect(unwrap(await f.agent('W').look(f.id('W2'))).id).toBe(f.id('W2'))
})

test.each(['suspended', 'migrating', 'integrating', 'conflicted', 'closed', 'failed'])(
  'WP-022 a workspace that is %s is given nothing more to see',
  async state => {
    const f = await fixture()
    await f.worker('W')
    await f.worker('W2')
    await f.force('W', state)
    const before = await f.picture()
    expect(refused(await f.root.grantVisibility(f.id('W'), f.id('W2'), 'x'))).toBe('invalid_state')
    await f.expectAdded([])
    expect(await f.picture()).toEqual(before)
  },
)

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

test('WP-022 nobody is shown what those above do not see, and nothing is ever taken back', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', {}, d)
  await f.worker('W')
  await f.mark()
  const code = 'containment(containment_violation)'
  expect(refused(await f.root.grantVisibility(f.id('C'), f.id('W'), 'x'))).toBe(code)
  expect(refused(await d.grantVisibility(f.id('C'), f.id('W'), 'x'))).toBe(code)
  const reason = 'containment_violation'
  await f.expectAdded([
    denial('R', 'system', 'operation:grant_visibility', reason, 'W'),
    denial('D', 'worker', 'operation:grant_visibility', reason, 'W'),
  ])
  // The delegate first, then its child (AMB-54).
  unwrap(await f.root.grantVisibility(f.id('D'), f.id('W'), 'for the team'))
  unwrap(await d.grantVisibility(f.id('C'), f.id('W'), 'to read'))
  await f.expectAdded([granted('D', 'W', 'for the team'), granted('C', 'W', 'to read', 'worker')])

  expect(refused(await f.root.revokeVisibility(f.id('C')))).toBe('immutable(irrevocable)')
  await f.expectAdded([denial('R', 'system', 'operation:revoke_visibility', 'irrevocable', 'C')])
  expect(unwrap(await c.look(f.id('W'))).id).toBe(f.id('W'))
})

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
    expect(refused(await f.root.grantVisibility(workspace as never, target as never, reason as never))).toBe(
      answer,
    )
  await f.expectAdded([])
  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.mark()
  expect(refused(await d.grantVisibility(f.id('C'), f.id('D'), 'x'))).toBe('invalid_state(permission_denied)')
  await f.expectAdded([denial('D', 'worker', 'operation:grant_visibility', 'permission_denied', 'C')])
})

test('WM-059 knowing an id opens nothing; a grant opens the checkpoint and never a payload', async () => {
  const f = await fixture()
  const [w1, w2] = [await f.worker('W1'), await f.worker('W2')]
  const { checkpoint } = unwrap(await f.checkpoint('W2'))
  f.name(checkpoint, 'K')
  const { envelope } = unwrap(await w2.send(f.mail('R', 'query')))
  f.name(envelope, 'E')
  await f.mark()
  expect(refused(await w1.readCheckpoint(checkpoint))).toBe('not_found')
  expect(refused(await w1.readEnvelope(envelope))).toBe('not_found')
  await f.expectAdded([unread('W1', 'checkpoint', 'K'), unread('W1', 'envelope', 'E')])
  unwrap(await f.root.grantVisibility(f.id('W1'), f.id('W2'), 'review'))
  await f.expectAdded([granted('W1', 'W2', 'review')])
  expect(unwrap(await w1.readCheckpoint(checkpoint)).workspace).toBe(f.id('W2'))
  expect(refused(await w1.readEnvelope(envelope as EnvelopeId))).toBe('not_found')
  await f.expectAdded([unread('W1', 'envelope', 'E')])
  for (const reader of [f.root, w2]) expect(unwrap(await reader.readEnvelope(envelope)).payload).toBeTruthy()
})

const names = (f: Fixture, ids: readonly string[]) => ids.map(id => f.nameOf(id))

test('WM-102 sight follows descent and grants, one way, and can be asked about from both ends', async () => {
  const f = await fixture()
  const [w1, w2] = [await f.worker('W1'), await f.worker('W2')]
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', {}, d)
  await f.mark()
  expect(refused(await w1.look(f.id('W2')))).toBe('not_found')
  expect(refused(await c.look(f.id('D')))).toBe('not_found')
  await f.expectAdded([unread('W1', 'workspace', 'W2'), unread('C', 'workspace', 'D')])
  expect(unwrap(await d.look(f.id('C'))).id).toBe(f.id('C'))

  f.notices.length = 0
  const told: unknown[] = []
  w2.subscribe(notice => told.push(notice))
  const before = unwrap(await w2.query({ scope: 'local', workspace: f.id('W2') })).entries
  unwrap(await f.root.grantVisibility(f.id('W1'), f.id('W2'), 'share'))
  await f.expectAdded([granted('W1', 'W2', 'share')])
  expect(unwrap(await w1.look(f.id('W2'))).id).toBe(f.id('W2'))
  await f.settle()
  expect(told).toEqual([])
  expect(unwrap(await w2.query({ scope: 'local', workspace: f.id('W2') })).entries).toEqual(before)

  const { topology } = f.root
  const seen = async (name: string) => names(f, unwrap(await topology.visibleTo(f.id(name))))
  const viewers = async (name: string) => names(f, unwrap(await topology.viewersOf(f.id(name))))
  expect(await seen('R')).toEqual(['R', 'W1', 'W2', 'D', 'C'])
  expect(await seen('W1')).toEqual(['W1', 'W2'])
  expect(await seen('D')).toEqual(['D', 'C'])
  expect(await viewers('W2')).toEqual(['R', 'W1', 'W2'])
  expect(await viewers('C')).toEqual(['R', 'D', 'C'])
  expect(await viewers('R')).toEqual(['R'])
  expect(refused(await topology.visibleTo('ws_none' as never))).toBe('not_found')
  expect(refused(await topology.viewersOf('ws_none' as never))).toBe('not_found')

  unwrap(await f.root.suspend(f.id('W1'), 'pause'))
  await f.mark()
  expect(refused(await f.root.grantVisibility(f.id('W1'), f.id('D'), 'x'))).toBe('invalid_state')
  await f.expectAdded([])
  expect(refused(await f.root.grantVisibility(f.id('C'), f.id('W1'), 'x'))).toBe(
    'containment(containment_violation)',
  )
  expect(refused(await f.root.revokeVisibility(f.id('W1')))).toBe('immutable(irrevocable)')
  await f.expectAdded([
    denial('R', 'system', 'operation:grant_visibility', 'containment_violation', 'W1'),
    denial('R', 'system', 'operation:revoke_visibility', 'irrevocable', 'W1'),
  ])
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
