// Injection: who may write to whom, what is checked and what is not, and what an injected envelope says of itself.
import { type EnvelopeId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { UserHandle } from '../runtime/handle/user-handle.ts'
import { type Fixture, refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

async function inject(f: Fixture, by: UserHandle, name: string, to: string, extra: object = {}): Promise<EnvelopeId> {
  const { envelope } = unwrap(await by.inject(f.run.id, f.mail(to, 'directive', extra)))
  f.name(envelope, name)
  return envelope
}

function denial(user: string, reason: string, capability = 'inject_directive', target = 'W') {
  return ['capability_denied', null, user, { user_id: user, capability, action: 'inject', target, reason }] as const
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
  await f.expectAdded([denial('ux', 'permission_denied')])
})

test('W-SEC-05 a name that nobody authenticated, or that is a role of the run, is no person', async () => {
  const f = await withUsers({
    run: {
      taxonomy: {
        id: 'reviews',
        version: '1.0.0',
        protocol_version: '0.1',
        roles: [{ name: 'reviewer', extends: 'worker', add: [], remove: [] }],
        envelope_types: [],
        checkpoint_types: [],
      },
    },
  })
  await person(f, 'reviewer', 'inject_directive_any')
  for (const name of ['stranger', 'reviewer', 'system']) {
    const result = await f.runtime.user(name).inject(f.run.id, f.mail('R', 'directive'))
    expect(refused(result)).toBe('permission_denied(unknown_identity)')
    const body = { entity: name, context: 'highway_access', reason: 'unknown_identity', source: '' }
    await f.expectAdded([['authentication_failed', null, 'protocol', body]])
  }
})

test('W-HWY-03 injected mail passes no gate', async () => {
  const f = await withUsers({
    run: { highway: { gates: { task_approval: false, envelope_delivery: true } } },
  })
  const ux = await person(f, 'ux', 'inject_directive_any')
  await f.workspace('W')
  await f.mark()
  await inject(f, ux, 'E', 'W')
  await f.expectAmong([['envelope_delivered', 'W', 'protocol', { envelope_id: 'E' }]])
})

test('an injection starts the run: the root leaves idle with it', async () => {
  const f = await withUsers({ active: false })
  const ux = await person(f, 'ux', 'inject_directive')
  await inject(f, ux, 'E', 'R')
  await f.settle()
  expect(await f.state('R')).toBe('active')
})
