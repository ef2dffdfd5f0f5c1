// What people do to workspaces: by capability and scope, under their own names, past every gate.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { fixture, type Row, refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

function denial(user: string, action: string, capability: string, reason: string, target = 'W'): Row {
  return ['capability_denied', null, user, { user_id: user, capability, action, target, reason }]
}

test('W-USER-08 the owner field alone decides what is own: a child that somebody else owns is not', async () => {
  const f = await withUsers()
  const ux = await person(f, 'ux', 'abort_own')
  await person(f, 'uy')
  const d = await f.worker('D', { owner: 'ux', delegate: true })
  await f.worker('C', { owner: 'uy' }, d)
  await f.worker('E', {}, d)
  expect(refused(await ux.abort(f.run.id, f.id('C')))).toBe('permission_denied(wrong_scope)')
  unwrap(await ux.abort(f.run.id, f.id('E')))
  unwrap(await f.root.transferOwnership(f.id('C'), 'ux'))
  unwrap(await ux.abort(f.run.id, f.id('C')))
  unwrap(await f.root.transferOwnership(f.id('D'), 'uy'))
  expect(refused(await ux.abort(f.run.id, f.id('D')))).toBe('permission_denied(wrong_scope)')
})

test('W-USER-13 the order of checks: state, capability, scope; then what the operation itself asks', async () => {
  const f = await withUsers()
  const any = await person(f, 'any', 'abort_any', 'suspend_any')
  const away = await person(f, 'away', 'abort_any')
  unwrap(await f.runtime.users.block('away', { reason: 'password lost' }))
  await f.worker('W')
  await f.mark()
  expect(refused(await away.abort(f.run.id, f.id('W')))).toBe('permission_denied(user_not_active)')
  await f.expectAdded([denial('away', 'abort', 'abort_own', 'user_not_active')])
  expect(refused(await any.abort(f.run.id, 'ws_unknown' as never))).toBe('not_found')
  expect(refused(await any.abort(f.run.id, f.id('R')))).toBe('invalid_state')
  expect(refused(await any.suspend(f.run.id, f.id('R'), 'wait'))).toBe('invalid_state')
  expect(refused(await any.suspend(f.run.id, f.id('W'), ''))).toBe('invalid_argument')
  expect(refused(await any.resume(f.run.id, f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])
  unwrap(await any.abort(f.run.id, f.id('W')))
  await f.mark()
  expect(refused(await any.abort(f.run.id, f.id('W')))).toBe('invalid_state')
  await f.expectAdded([])
})

test('W-HWY-03 a person passes the abort gate, and takes an open integration along', async () => {
  const gates = { task_approval: false, workspace_abort: true }
  const f = await withUsers({ run: { highway: { gates } } })
  const ux = await person(f, 'ux', 'abort_any')
  await f.worker('W')
  await f.bring('W', 'integrating')
  unwrap(await f.root.beginIntegration(f.id('W')))
  await f.mark()
  unwrap(await ux.abort(f.run.id, f.id('W')))
  await f.expectAmong([
    ['integration_aborted', 'W', 'ux', { source: 'W', reason: 'aborted_by_human' }],
    ['signal_emitted', 'W', 'protocol', { type: 'failed' }],
    ['workspace_state_changed', 'W', 'ux', { initiator: 'human' }],
  ])
})

test('W-USER-09 a user with transfer_ownership gives a workspace to somebody else, under their own name', async () => {
  const f = await withUsers()
  const ux = await person(f, 'ux', 'transfer_ownership')
  const uy = await person(f, 'uy')
  await f.worker('W', { owner: 'ux' })
  await f.mark()
  expect(refused(await uy.transferOwnership(f.run.id, f.id('W'), 'uy'))).toBe('permission_denied(missing_capability)')
  await f.expectAdded([denial('uy', 'transfer_ownership', 'transfer_ownership', 'missing_capability')])
  unwrap(await ux.transferOwnership(f.run.id, f.id('W'), 'uy', 'yours now'))
  const body = {
    workspace_id: 'W',
    from_user: 'ux',
    to_user: 'uy',
    reason: 'yours now',
    transferred_by: 'ux',
  }
  await f.expectAdded([['workspace_ownership_transferred', 'W', 'ux', body]])
  expect(refused(await ux.transferOwnership(f.run.id, f.id('W'), 'nobody'))).toBe('not_found')
})

test('a run without a registry lets everybody do everything who is let in, under their own name', async () => {
  const f = await fixture()
  await f.worker('W', { owner: 'ux' })
  await f.mark()
  unwrap(await f.runtime.user('somebody').abort(f.run.id, f.id('W')))
  await f.expectAmong([['workspace_state_changed', 'W', 'somebody', { initiator: 'human' }]])
  expect(refused(await f.runtime.user('worker').abort(f.run.id, f.id('W')))).toBe('permission_denied(unknown_identity)')
})
