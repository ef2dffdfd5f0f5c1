// People who read the trail (W-TRAIL-20, -31), and who knocks at the highway (W-SEC-05).
import { type GateId, unwrap } from '@parley/core'
import type { Entry } from '@parley/trail'
import { expect, test } from 'vitest'
import { type Fixture, refused } from '../testing/fixture.ts'
import { houseWatch, person, withUsers } from '../testing/people.ts'

function filed(f: Fixture, entries: readonly Entry[]): string[] {
  return [
    ...new Set(entries.map(({ workspace }) => (workspace === null ? 'none' : f.nameOf(workspace)))),
  ].toSorted()
}

test('WM-020 alice sees what is hers, carol sees everything; what is reached for and denied is on record', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice')
  const bob = await person(f, 'bob', 'abort_own')
  const carol = await person(f, 'carol', 'view_trail_any')
  await f.worker('W1', { owner: 'alice' })
  await f.worker('W2', { owner: 'bob' })
  // A system-level entry.
  await bob.abort(f.run.id, f.id('W1'))
  await f.mark()

  const both = unwrap(await alice.query(f.run.id, { workspace: [f.id('W1'), f.id('W2')] }))
  expect(filed(f, both.entries)).toEqual(['W1'])
  const denied = { user_id: 'alice', capability: 'view_trail_any', action: 'query_trail' }
  await f.expectAdded([
    ['capability_denied', null, 'alice', { ...denied, target: 'W2', reason: 'wrong_scope' }],
  ])
  expect(unwrap(await alice.query(f.run.id, { scope: 'global' })).entries).toEqual([])
  await f.expectAdded([['capability_denied', null, 'alice', { ...denied, reason: 'missing_capability' }]])
  // What is merely narrowed is no reach.
  expect(filed(f, unwrap(await alice.query(f.run.id, {})).entries)).toEqual(['W1'])
  await f.expectAdded([])

  const all = unwrap(await carol.query(f.run.id, { scope: 'global' }))
  expect(filed(f, all.entries)).toEqual(['R', 'W1', 'W2', 'none'])
  await f.expectAdded([])

  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  expect(unwrap(await alice.query(f.run.id, { workspace: f.id('W1') })).entries).toEqual([])
  await f.expectAdded([['capability_denied', null, 'alice', { ...denied, reason: 'user_not_active' }]])
})

test('W-TRAIL-20 whoever was never accepted is on record as such, and a finished run stays as it ended', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice')
  await f.mark()
  const stranger = f.runtime.user('stranger')
  expect(refused(await stranger.query(f.run.id, {}))).toBe('permission_denied(unknown_identity)')
  const body = { entity: 'stranger', context: 'highway_access', reason: 'unknown_identity', source: '' }
  await f.expectAdded([['authentication_failed', null, 'protocol', body]])

  unwrap(await f.run.close())
  await f.mark()
  const house = houseWatch(f)
  await house()
  expect(unwrap(await alice.query(f.run.id, { scope: 'global' })).entries).toEqual([])
  expect(refused(await stranger.query(f.run.id, {}))).toBe('permission_denied(unknown_identity)')
  await f.expectAdded([])
  const denied = { user_id: 'alice', capability: 'view_trail_any', action: 'query_trail' }
  expect(await house()).toEqual([
    ['capability_denied', null, 'alice', { ...denied, reason: 'missing_capability' }],
    ['authentication_failed', null, 'protocol', body],
  ])
})

test('W-TRAIL-31 a query by one user_id gives exactly that person’s acts', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice', 'inject_directive_any', 'suspend_any', 'abort_any')
  const bob = await person(f, 'bob', 'suspend_any')
  const carol = await person(f, 'carol', 'view_trail_any')
  await f.worker('W', { owner: 'alice' })
  unwrap(await alice.inject(f.run.id, f.mail('W', 'directive')))
  unwrap(await bob.suspend(f.run.id, f.id('W'), 'wait'))
  unwrap(await alice.resume(f.run.id, f.id('W')))
  await f.settle()
  unwrap(await alice.abort(f.run.id, f.id('W')))
  const acts = async (actor: string) =>
    unwrap(await carol.query(f.run.id, { actor })).entries.map(({ event_type }) => event_type)
  expect(await acts('alice')).toEqual([
    'human_injection',
    'envelope_created',
    'suspension_resumed',
    'workspace_state_changed',
    'workspace_state_changed',
  ])
  expect(await acts('bob')).toEqual(['suspension_started', 'workspace_state_changed'])
})

test('WM-054 at a pending gate: a bad credential, a user who is away, a user who may not', async () => {
  const gates = { task_approval: false, workspace_abort: true }
  const f = await withUsers({ run: { highway: { gates, gate_defaults: { timeout: null } } } })
  await person(f, 'owner', 'abort_own')
  const away = await person(f, 'away', 'abort_any')
  const bob = await person(f, 'bob')
  unwrap(await f.runtime.users.suspend('away', { reason: 'holiday' }))
  await f.worker('W', { owner: 'owner' })
  const asked = await f.root.abort(f.id('W'))
  expect(refused(asked)).toBe('gated')
  const gate = (asked.ok ? undefined : asked.error.details.gate) as GateId
  await f.mark()

  const house = houseWatch(f)
  await house()
  const claim = {
    entity: 'owner',
    context: 'highway_access',
    reason: 'invalid_credential',
    source: '10.0.0.1',
  }
  unwrap(await f.runtime.users.reject(claim))
  expect(await house()).toEqual([['authentication_failed', null, 'protocol', claim]])
  expect(refused(await f.runtime.user('stranger').approve(f.run.id, gate))).toBe(
    'permission_denied(unknown_identity)',
  )
  await f.expectAmong([['authentication_failed', null, 'protocol', { context: 'highway_access' }]])
  expect(refused(await away.approve(f.run.id, gate))).toBe('permission_denied(user_not_active)')
  await f.expectAmong([['capability_denied', null, 'away', { reason: 'user_not_active' }]])
  expect(refused(await bob.approve(f.run.id, gate))).toBe('permission_denied(missing_capability)')
  await f.expectAmong([['capability_denied', null, 'bob', { reason: 'missing_capability' }]])
  expect(await f.run.read(run => [...run.gates.keys()])).toEqual([gate])
  expect(await f.state('W')).toBe('active')
})

test('WM-033 blocked needs a reason', async () => {
  const f = await withUsers()
  await f.worker('W')
  await f.mark()
  unwrap(await f.agent('W').blocked('external_api_unavailable'))
  await f.expectAdded([
    [
      'signal_emitted',
      'W',
      'worker',
      { signal_id: 'sig1', from: 'W', type: 'blocked', reason: 'external_api_unavailable' },
    ],
    [
      'workspace_state_changed',
      'W',
      'protocol',
      {
        workspace_id: 'W',
        from_state: 'active',
        to_state: 'blocked',
        trigger: 'agent_blocked',
        initiator: 'worker',
      },
    ],
    ['signal_delivered', 'R', 'protocol'],
  ])
  unwrap(await f.agent('W').started())
  await f.mark()
  expect(refused(await f.agent('W').emit({ type: 'blocked' }))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(await f.state('W')).toBe('active')
})
