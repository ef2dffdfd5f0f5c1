// What people do and see: operations on workspaces by capability and scope, past every gate; injected mail; the trail
// as it grows.
import { type EnvelopeId, unwrap } from '@parley/core'
import type { Entry, QueryPage } from '@parley/trail'
import { expect, test } from 'vitest'
import type { UserHandle } from '../runtime/handle/user-handle.ts'
import { type Fixture, refused, withWorker } from '../testing/fixture.ts'
import { person, unauthenticated, userDenial, withUsers } from '../testing/people.ts'
import { role, taxonomyOf } from '../testing/taxonomies.ts'

test('W-USER-13 the order of checks: state, capability, scope; then what the operation itself asks', async () => {
  const f = await withUsers()
  const any = await person(f, 'any', 'abort_any', 'suspend_any')
  const away = await person(f, 'away', 'abort_any')
  unwrap(await f.runtime.users.block('away', { reason: 'password lost' }))
  await f.worker('W')
  await f.mark()
  expect(refused(await away.abort(f.run.id, f.id('W')))).toBe('permission_denied(user_not_active)')
  await f.expectAdded([userDenial('away', 'abort', 'abort_own', 'user_not_active')])
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
  await f.expectAdded([userDenial('uy', 'transfer_ownership', 'transfer_ownership', 'missing_capability')])
  unwrap(await ux.transferOwnership(f.run.id, f.id('W'), 'uy', 'yours now'))
  const body = { workspace_id: 'W', from_user: 'ux', to_user: 'uy', reason: 'yours now', transferred_by: 'ux' }
  await f.expectAdded([['workspace_ownership_transferred', 'W', 'ux', body]])
  expect(refused(await ux.transferOwnership(f.run.id, f.id('W'), 'nobody'))).toBe('not_found')
})

test('a run without a registry lets everybody do everything who is let in, under their own name', async () => {
  const f = await withWorker({}, { owner: 'ux' })
  unwrap(await f.runtime.user('somebody').abort(f.run.id, f.id('W')))
  await f.expectAmong([['workspace_state_changed', 'W', 'somebody', { initiator: 'human' }]])
  expect(refused(await f.runtime.user('worker').abort(f.run.id, f.id('W')))).toBe('permission_denied(unknown_identity)')
})

async function inject(f: Fixture, by: UserHandle, name: string, to: string, extra: object = {}): Promise<EnvelopeId> {
  const { envelope } = unwrap(await by.inject(f.run.id, f.mail(to, 'directive', extra)))
  f.name(envelope, name)
  return envelope
}

test('W-HWY-17 a broken structure is on record as both an injection and a rejection', async () => {
  const f = await withUsers()
  const ux = await person(f, 'ux', 'inject_directive_any')
  await f.worker('W')
  await f.mark()
  const mail = f.mail('W', 'directive')
  const broken: [object | null, string, string | null][] = [
    [{ ...mail, rights: [{ type: 'send', target: f.id('R') }] }, 'invalid_structure', 'W'],
    [{ ...mail, from: f.id('W') }, 'invalid_structure', 'W'],
    [{ ...mail, in_reply_to: 'env_unknown' }, 'invalid_structure', 'W'],
    [{ ...mail, origin: 'agent' }, 'invalid_structure', 'W'],
    [{ ...mail, integrity: { proof: 'x', algorithm: 'y' } }, 'invalid_structure', 'W'],
    [{ ...mail, to: undefined }, 'invalid_structure', null],
    [{ ...mail, to: 'ws_unknown' }, 'target_not_found', null],
    [null, 'invalid_structure', null],
  ]
  for (const [draft, reason, filed] of broken) {
    expect(refused(await ux.inject(f.run.id, draft as never))).toBe(`rejected(${reason})`)
    const [first, second, ...rest] = (await f.added()).map(entry => f.row(entry))
    expect(rest).toEqual([])
    expect(first?.slice(0, 3)).toEqual(['human_injection', filed, 'ux'])
    expect(first?.[3]).toMatchObject({ status: 'rejected', reason })
    expect(second?.slice(0, 3)).toEqual(['envelope_rejected', 'R', 'protocol'])
    expect(second?.[3]).toMatchObject({ reason, envelope_id: first?.[3]?.envelope_id })
  }
})

test('W-HWY-17 where injection is switched off, nobody injects', async () => {
  const f = await withUsers({ run: { highway: { injection: false, gates: { task_approval: false } } } })
  const ux = await person(f, 'ux', 'inject_directive_any')
  await f.worker('W')
  await f.mark()
  expect(refused(await ux.inject(f.run.id, f.mail('W', 'directive')))).toBe('permission_denied')
  await f.expectAdded([userDenial('ux', 'inject', 'inject_directive', 'permission_denied')])
})

test('W-SEC-05 a name that nobody authenticated, or that is a role of the run, is no person', async () => {
  const f = await withUsers({ run: { taxonomy: taxonomyOf({ roles: [role('reviewer')] }) } })
  await person(f, 'reviewer', 'inject_directive_any')
  for (const name of ['stranger', 'reviewer', 'system']) {
    const result = await f.runtime.user(name).inject(f.run.id, f.mail('R', 'directive'))
    expect(refused(result)).toBe('permission_denied(unknown_identity)')
    await f.expectAdded([unauthenticated(name, 'highway_access', 'unknown_identity', '')])
  }
})

test('an injection starts the run: the root leaves idle with it', async () => {
  const f = await withUsers({ active: false })
  const ux = await person(f, 'ux', 'inject_directive')
  await inject(f, ux, 'E', 'R')
  await f.settle()
  expect(await f.state('R')).toBe('active')
})

/** The entries of the next page; none once the watch has ended. */
async function next(pages: AsyncGenerator<QueryPage>): Promise<readonly Entry[]> {
  const page = await pages.next()
  return page.done ? [] : page.value.entries
}

test('W-HWY-02 people watch live what they may read, and watching is not on record', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice')
  const carol = await person(f, 'carol', 'view_trail_any')
  await f.worker('W', { owner: 'alice' })
  await f.mark()
  const stop = new AbortController()
  const own = unwrap(await alice.watch(f.run.id, {}, stop.signal))
  expect(new Set((await next(own)).map(({ workspace }) => workspace))).toEqual(new Set([f.id('W')]))
  const all = unwrap(await carol.watch(f.run.id, {}, stop.signal))
  expect(await next(all)).toHaveLength((await f.run.entries()).length)
  // A page waits until there is something new; who loses the right to see it sees no more of it.
  const more = next(own)
  unwrap(await f.runtime.users.revoke('carol', 'view_trail_any', { reason: 'moved on' }))
  const nothing = next(all)
  unwrap(await f.agent('W').blocked('why'))
  expect((await more).map(({ event_type }) => event_type)).toContain('signal_emitted')
  await f.settle()
  stop.abort()
  expect(await nothing).toEqual([])
  expect((await f.added()).map(each => each.event_type)).not.toContain('trail_access_denied')
})

test('W-HWY-02 without visibility nothing is shown live; the trail can still be asked', async () => {
  const f = await withUsers({ run: { owner: 'ux', highway: { visibility: false } } })
  const carol = await person(f, 'carol', 'view_trail_any')
  expect(refused(await carol.watch(f.run.id))).toBe('invalid_state(visibility_off)')
  expect(unwrap(await carol.query(f.run.id, {})).entries.length).toBeGreaterThan(0)
})
