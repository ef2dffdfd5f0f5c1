// Whose a workspace is (W-USER-07 to -09, W-TOPO-OWN-01 to -04), and the questions about owners and causes (W-USER-11).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { denial, directory } from '../testing/topology.ts'

const transferred = (
  workspace: string,
  from_user: string,
  to_user: string,
  {
    filed = workspace as string | null,
    by = 'system',
    reason,
  }: { filed?: string | null; by?: string; reason?: string } = {},
): Row => [
  'workspace_ownership_transferred',
  filed,
  by,
  {
    workspace_id: workspace,
    from_user,
    to_user,
    ...(reason !== undefined && { reason }),
    transferred_by: by,
  },
]

const names = (f: Fixture, ids: readonly string[]) => ids.map(id => f.nameOf(id))
const owned = async (f: Fixture, user: string) => names(f, await f.root.topology.ownedBy(user))
const owner = async (f: Fixture, name: string) => unwrap(await f.root.look(f.id(name))).owner

test('WP-084 an owner is inherited or named, and moves by transfer, one workspace at a time', async () => {
  const f = await fixture({ users: directory({ ux: 'active', uy: 'active' }) })
  const d = await f.worker('D', { delegate: true })
  await f.worker('C', {}, d)
  await f.worker('C2', { owner: 'uy' }, d)
  await f.worker('F')
  await f.bring('F', 'closed')
  expect([await owner(f, 'C'), await owner(f, 'C2')]).toEqual(['ux', 'uy'])
  const originators = await f.run.read(run => [...run.workspaces.values()].map(each => each.originator))
  await f.mark()
  f.notices.length = 0

  unwrap(await f.root.transferOwnership(f.id('D'), 'uy', 'handed over'))
  await f.expectAdded([transferred('D', 'ux', 'uy', { reason: 'handed over' })])
  expect([await owner(f, 'D'), await owner(f, 'C')]).toEqual(['uy', 'ux'])
  expect(f.notices).toEqual([{ kind: 'owner', to: f.id('R'), workspace: f.id('D'), from: 'ux', owner: 'uy' }])
  for (const name of ['nobody', 'system', 'worker', ''])
    expect(refused(await f.root.transferOwnership(f.id('D'), name)), name).toBe('not_found')
  expect(refused(await f.root.transferOwnership('ws_none' as never, 'ux'))).toBe('not_found')
  expect(refused(await f.root.transferOwnership(f.id('D'), 'ux', ''))).toBe('invalid_argument')
  unwrap(await f.root.transferOwnership(f.id('D'), 'uy'))
  await f.expectAdded([])

  unwrap(await f.root.transferOwnership(f.id('F'), 'uy'))
  await f.expectAdded([transferred('F', 'ux', 'uy', { filed: null })])
  expect(await f.state('F')).toBe('closed')
  expect(await owned(f, 'uy')).toEqual(['D', 'C2', 'F'])
  expect(await owned(f, 'ux')).toEqual(['R', 'C'])
  expect(await owned(f, 'nobody')).toEqual([])
  expect(await f.run.read(run => [...run.workspaces.values()].map(each => each.originator))).toEqual(
    originators,
  )
  expect(names(f, await f.root.topology.originatedBy('system'))).toEqual(['R', 'D', 'C', 'C2', 'F'])
  expect(await f.root.topology.originatedBy('ux')).toEqual([])
  // A child that is created now takes the new owner; entries before keep theirs.
  await f.worker('C3', {}, d)
  expect(await owner(f, 'C3')).toBe('uy')
  const earlier = unwrap(await f.root.query({ owner: 'ux', workspace: f.id('D') })).entries
  expect(earlier.at(-1)?.event_type).not.toBe('workspace_ownership_transferred')
  const picture = await f.picture()
  await f.restart()
  expect(await f.picture()).toEqual(picture)
})

test('WM-101 owners are known users; a name that means nobody, or somebody who is away, starts no work', async () => {
  const users = directory(
    { alice: 'active', bob: 'active', carol: 'suspended', ux: 'active' },
    { bob: ['abort_own'] },
  )
  const f = await fixture({ users })
  const w = await f.worker('W', { owner: 'alice', delegate: true })
  await f.worker('C', {}, w)
  expect(await owner(f, 'C')).toBe('alice')
  await f.mark()
  for (const name of ['system', 'nobody'])
    expect(refused(await f.root.createWorkspace({ role: 'worker', owner: name }))).toBe(
      'rejected(owner_invalid)',
    )
  const invalid: Row = [
    'workspace_rejected',
    'R',
    'protocol',
    { reason: 'owner_invalid', capacity_details: {} },
  ]
  await f.expectAdded([invalid, invalid])
  expect(refused(await f.root.createWorkspace({ role: 'worker', owner: 'carol' }))).toBe(
    'permission_denied(user_not_active)',
  )
  await f.expectAdded([denial('R', 'system', 'operation:create_workspace', 'user_not_active')])

  unwrap(await f.root.transferOwnership(f.id('W'), 'bob'))
  await f.expectAdded([transferred('W', 'alice', 'bob')])
  expect(await owned(f, 'bob')).toEqual(['W'])
  expect(await owned(f, 'alice')).toEqual(['C'])
  expect(unwrap(await f.root.look(f.id('W'))).originator).toBe('system')
  // Work that is going on is not disturbed by the state of its owner (AMB-61).
  unwrap(await f.root.transferOwnership(f.id('W'), 'carol'))
  await f.worker('C2', {}, w)
  expect(await owner(f, 'C2')).toBe('carol')
})

test('WM-101 a user without the capability transfers nothing; one with it is on record as who did', async () => {
  const users = directory({ alice: 'active', bob: 'active', ux: 'active' }, { bob: ['transfer_ownership'] })
  const f = await fixture({ users })
  await f.worker('W', { owner: 'alice' })
  await f.mark()
  const { id } = f.run
  expect(refused(await f.runtime.user('alice').transferOwnership(id, f.id('W'), 'bob'))).toBe(
    'permission_denied(missing_capability)',
  )
  const denied = { user_id: 'alice', capability: 'transfer_ownership', reason: 'missing_capability' }
  await f.expectAmong([['capability_denied', null, 'alice', denied]])
  unwrap(await f.runtime.user('bob').transferOwnership(id, f.id('W'), 'ux'))
  await f.expectAdded([transferred('W', 'alice', 'ux', { by: 'bob' })])
})

test('W-TOPO-TREE-03 the tree is walked up, down, sideways and along causes', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  await f.worker('W')
  await f.worker('C', {}, d)
  await f.worker('C2', {}, d)
  const { topology } = f.run
  const shown = async (query: 'upward' | 'downward' | 'siblings' | 'causedAlike', name: string) =>
    names(f, unwrap(await topology[query](f.id(name))))
  expect(await shown('upward', 'C')).toEqual(['D', 'R'])
  expect(await shown('upward', 'R')).toEqual([])
  expect(await shown('downward', 'R')).toEqual(['D', 'C', 'C2', 'W'])
  expect(await shown('siblings', 'C2')).toEqual(['C'])
  expect(await shown('siblings', 'R')).toEqual([])
  expect(await shown('causedAlike', 'D')).toEqual(['C', 'C2'])
  for (const query of ['upward', 'downward', 'siblings', 'causedAlike'] as const)
    expect(refused(await topology[query]('ws_none' as never))).toBe('not_found')
})
