// Injection: who may write to whom, what is checked and what is not, and what an injected envelope says of itself.
import { type EnvelopeId, unwrap } from '@parley/core'
import { WORKSPACE_STATES, type WorkspaceState } from '@parley/trail/events'
import { expect, test } from 'vitest'
import type { UserHandle } from '../runtime/user-handle.ts'
import { type Fixture, type Row, refused } from '../testing/fixture.ts'
import { arrived, delivered, receipt, rejected } from '../testing/mail.ts'
import { person, withUsers } from '../testing/people.ts'

async function inject(
  f: Fixture,
  by: UserHandle,
  name: string,
  to: string,
  extra: object = {},
): Promise<EnvelopeId> {
  const { envelope } = unwrap(await by.inject(f.run.id, f.mail(to, 'directive', extra)))
  f.name(envelope, name)
  return envelope
}

function injection(id: string, user: string, to: string, body: object = {}, filed: string | null = to) {
  return [
    'human_injection',
    filed,
    user,
    { envelope_id: id, actor: user, to, type: 'directive', status: 'delivered', ...body },
  ] as const
}

function denial(user: string, reason: string, capability = 'inject_directive', target = 'W') {
  return [
    'capability_denied',
    null,
    user,
    { user_id: user, capability, action: 'inject', target, reason },
  ] as const
}

/** From the root, by a person. */
function injected(signal: string, id: string, user: string, to: string): Row[] {
  const mail = { id, from: 'R', to, type: 'directive' }
  const rows = arrived(signal, mail, { originator: user, origin: 'human' })
  const byUser = rows.map(([type, filed, actor, body = {}]): Row => {
    return [type, filed, type === 'envelope_created' ? user : actor, body]
  })
  return [injection(id, user, to), ...byUser]
}

test('WP-042 a person writes to any workspace, needs no right, and to the root as to their own', async () => {
  const f = await withUsers()
  const ux = await person(f, 'ux', 'inject_directive_any')
  const uy = await person(f, 'uy', 'inject_directive')
  await f.worker('W', { owner: 'ux' })
  await f.worker('C')
  await f.bring('C', 'closed')
  const right = unwrap(await f.root.rights()).find(
    ({ holder, target }) => holder === f.id('R') && target === f.id('W'),
  )
  unwrap(await f.root.revokeRight(right!.id, 'no more'))
  await f.mark()

  const first = await inject(f, ux, 'E1', 'W')
  await f.expectAdded(injected('sig1', 'E1', 'ux', 'W'))
  const record = unwrap(await f.agent('W').consume())
  expect(record).toMatchObject({ id: first, origin: 'human', originator: 'ux', from: f.id('R'), rights: [] })

  expect(refused(await ux.inject(f.run.id, f.mail('C', 'directive')))).toBe('rejected(target_terminal)')
  await f.expectAdded([
    injection('env1', 'ux', 'C', { status: 'rejected', reason: 'workspace_terminal' }, null),
    rejected({ id: 'env1', from: 'R', to: 'C', type: 'directive' }, 'target_terminal'),
  ])

  await inject(f, uy, 'E3', 'R')
  const mail = { id: 'E3', from: 'R', to: 'R', type: 'directive' }
  await f.expectAdded([
    injection('E3', 'uy', 'R'),
    [
      'envelope_created',
      'R',
      'uy',
      {
        envelope_id: 'E3',
        from: 'R',
        to: 'R',
        type: 'directive',
        priority: 'normal',
        in_reply_to: null,
        originator: 'uy',
        origin: 'human',
      },
    ],
    delivered(mail),
    receipt('sig2', mail)[0]!,
  ])

  expect(refused(await uy.inject(f.run.id, f.mail('W', 'directive')))).toBe('permission_denied(wrong_scope)')
  await f.expectAdded([denial('uy', 'wrong_scope')])
})

test('WM-072 alice writes to her worker, and to the coordinator, which makes work of it in her name', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice', 'inject_directive')
  await f.worker('W', { owner: 'alice' })
  await f.mark()
  await inject(f, alice, 'E1', 'W')
  await f.expectAdded(injected('sig1', 'E1', 'alice', 'W'))
  const second = await inject(f, alice, 'E2', 'R')
  await f.expectAmong([
    injection('E2', 'alice', 'R'),
    ['envelope_created', 'R', 'alice', { envelope_id: 'E2', from: 'R', to: 'R', originator: 'alice' }],
    ['envelope_delivered', 'R', 'protocol', { envelope_id: 'E2' }],
  ])
  for (const [agent, to] of [
    [f.agent('W'), 'W'],
    [f.root, 'R'],
  ] as const)
    expect(unwrap(await agent.consume())).toMatchObject({ origin: 'human', from: f.id('R'), to: f.id(to) })

  await f.workspace('W3', { caused_by: second })
  await f.expectAmong([['workspace_created', 'W3', 'system', { originator: 'alice', caused_by: 'E2' }]])
})

test('WM-073 who is away, whose it is not, and what nobody registered', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice', 'inject_directive_any')
  const bob = await person(f, 'bob', 'inject_directive')
  const carol = await person(f, 'carol', 'inject_directive_any')
  const dave = await person(f, 'dave')
  await f.worker('W', { owner: 'carol' })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  await f.mark()
  expect(refused(await alice.inject(f.run.id, f.mail('W', 'directive')))).toBe(
    'permission_denied(user_not_active)',
  )
  await f.expectAdded([denial('alice', 'user_not_active')])
  expect(refused(await bob.inject(f.run.id, f.mail('W', 'directive')))).toBe('permission_denied(wrong_scope)')
  await f.expectAdded([denial('bob', 'wrong_scope')])
  expect(refused(await dave.inject(f.run.id, f.mail('W', 'directive')))).toBe(
    'permission_denied(missing_capability)',
  )
  await f.expectAdded([denial('dave', 'missing_capability')])
  expect(refused(await carol.inject(f.run.id, f.mail('W', 'haiku')))).toBe('rejected(invalid_type)')
  await f.expectAdded([
    injection('env1', 'carol', 'W', { type: 'haiku', status: 'rejected', reason: 'invalid_type' }),
    rejected({ id: 'env1', from: 'R', to: 'W', type: 'haiku' }, 'invalid_type'),
  ])
})

const EXPECTED: Record<WorkspaceState, 'now' | 'later' | 'workspace_sealed' | 'workspace_terminal'> = {
  idle: 'now',
  active: 'now',
  blocked: 'now',
  suspended: 'later',
  migrating: 'later',
  integrating: 'workspace_sealed',
  conflicted: 'workspace_sealed',
  closed: 'workspace_terminal',
  failed: 'workspace_terminal',
}

test.each(WORKSPACE_STATES)('WM-074 mail to a workspace in %s', async state => {
  const f = await withUsers({ run: { highway: 'off' } })
  await person(f, 'alice', 'inject_directive')
  await (state === 'idle' ? f.workspace('W', { owner: 'alice' }) : f.worker('W', { owner: 'alice' }))
  await f.force('W', state)
  const alice = f.runtime.user('alice')
  const result = await alice.inject(f.run.id, f.mail('W', 'directive'))
  const expected = EXPECTED[state]
  if (expected === 'workspace_sealed' || expected === 'workspace_terminal') {
    expect(refused(result)).toBe('rejected(target_terminal)')
    const filed = expected === 'workspace_terminal' ? null : 'W'
    await f.expectAdded([
      injection('env1', 'alice', 'W', { status: 'rejected', reason: expected }, filed),
      rejected({ id: 'env1', from: 'R', to: 'W', type: 'directive' }, 'target_terminal'),
    ])
    return
  }
  f.name(unwrap(result).envelope, 'E')
  const rows = injected('sig1', 'E', 'alice', 'W')
  if (expected === 'later') {
    await f.expectAdded(rows.slice(0, 2))
    if (state === 'suspended') unwrap(await f.root.resume(f.id('W')))
    else return
    await f.expectAmong([rows[2]!])
    return
  }
  const added = (await f.added()).map(entry => entry.event_type)
  const left = state === 'idle' ? ['workspace_state_changed'] : []
  expect(added).toEqual([
    'human_injection',
    'envelope_created',
    'envelope_delivered',
    ...left,
    'signal_emitted',
    'signal_delivered',
  ])
})

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
