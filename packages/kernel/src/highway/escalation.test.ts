// Raising and routing escalations (W-HWY-20, -21): who may ask, whom it reaches, and what happens where that person is away.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import {
  blockedAndEscalated,
  escalate,
  heard,
  highway,
  MINUTE,
  received,
  reply,
  resolved,
  unreceived,
} from '../testing/escalations.ts'
import { type Row, refused } from '../testing/fixture.ts'
import { person, withUsers } from '../testing/people.ts'

test('WP-050 an escalation reaches the parent always, and its owner as the owner stands', async () => {
  const f = await highway()
  await person(f, 'ux')
  for (const name of ['W1', 'W2', 'W3']) await f.worker(name, { owner: 'ux' })
  await f.mark()
  heard(f)
  await escalate(f, 'W1', 'S1')
  await f.expectAdded([...blockedAndEscalated('W1', 'sig1', 'S1'), received('W1', 'S1', 'ux')])
  expect(heard(f)).toEqual(['S1 received ux'])

  unwrap(await f.runtime.users.suspend('ux', { reason: 'holiday' }))
  await escalate(f, 'W2', 'S2')
  await f.expectAdded([...blockedAndEscalated('W2', 'sig2', 'S2'), received('W2', 'S2', 'ux', true)])
  expect(heard(f)).toEqual(['S2 received ux queued'])
  expect((await f.run.escalations()).map(({ queued }) => queued)).toEqual([true, true])
  unwrap(await f.runtime.users.resume('ux', { reason: 'back' }))
  expect(heard(f)).toEqual(['S1 delivered ux', 'S2 delivered ux'])
  expect((await f.run.escalations()).map(({ queued }) => queued)).toEqual([false, false])

  unwrap(await f.runtime.users.deactivate('ux', { reason: 'left' }))
  await escalate(f, 'W3', 'S3')
  await f.expectAdded([
    ...blockedAndEscalated('W3', 'sig3', 'S3'),
    received('W3', 'S3', 'ux'),
    unreceived('ux', 'S3', 'user_not_active'),
  ])
  expect(heard(f)).toEqual(['S3 received ux', 'S3 rejected ux'])
  expect((await f.run.escalations()).at(-1)).toMatchObject({ addressee: 'ux', rejected: true })
})

test('WP-083 a suspended user can do nothing, their work goes on, and what was queued comes in order', async () => {
  const f = await highway()
  const ux = await person(f, 'ux', 'inject_directive', 'abort_own')
  for (const name of ['W1', 'W2', 'W3']) await f.worker(name, { owner: 'ux' })
  const early = await escalate(f, 'W1', 'S1')
  unwrap(await f.runtime.users.suspend('ux', { reason: 'holiday' }))
  await f.mark()
  const denied = (capability: string, action: string, target: string): Row => [
    'capability_denied',
    null,
    'ux',
    { user_id: 'ux', capability, action, target, reason: 'user_not_active' },
  ]
  expect(refused(await ux.inject(f.run.id, f.mail('W1', 'directive')))).toBe(
    'permission_denied(user_not_active)',
  )
  await f.expectAdded([denied('inject_directive', 'inject', 'W1')])
  // Work for a user is asked of the coordinator, which names the user as owner.
  expect(refused(await f.root.createWorkspace({ role: 'worker', owner: 'ux' }))).toBe(
    'permission_denied(user_not_active)',
  )
  await f.expectAmong([
    [
      'capability_denied',
      'R',
      'system',
      { capability: 'operation:create_workspace', reason: 'user_not_active' },
    ],
  ])
  for (const answer of [reply, { type: 'abort' }, { type: 'delegation' }] as const) {
    expect(refused(await ux.answerEscalation(f.run.id, early, answer))).toBe(
      'permission_denied(user_not_active)',
    )
    const capability = { envelope: 'inject_directive', abort: 'abort_own', delegation: 'receive_escalation' }[
      answer.type
    ]
    await f.expectAdded([denied(capability, 'resolve_escalation', 'W1')])
  }

  expect(await f.state('W2')).toBe('active')
  unwrap(await f.checkpoint('W2'))
  await escalate(f, 'W3', 'S3')
  await escalate(f, 'W2', 'S2')
  heard(f)
  unwrap(await f.runtime.users.resume('ux', { reason: 'back' }))
  expect(heard(f)).toEqual(['S1 delivered ux', 'S3 delivered ux', 'S2 delivered ux'])
  unwrap(await ux.answerEscalation(f.run.id, early, reply))
})

test('WM-076 who may escalate, and how', async () => {
  const f = await highway()
  await person(f, 'alice')
  await f.worker('W', { owner: 'alice' })
  await f.observer('O', { owner: 'alice' })
  await f.mark()
  expect(refused(await f.agent('W').escalate(''))).toBe('invalid_argument')
  expect(refused(await f.agent('W').emit({ type: 'escalation' }))).toBe('invalid_argument')
  await f.expectAdded([])
  expect(refused(await f.root.escalate('help'))).toBe('permission_denied')
  await f.expectAdded([
    [
      'capability_denied',
      'R',
      'system',
      { user_id: null, capability: 'emit:escalation', action: 'emit', reason: 'permission_denied' },
    ],
  ])
  await escalate(f, 'O', 'S1')
  expect((await f.added()).map(entry => entry.event_type)).toEqual([
    'signal_emitted',
    'signal_delivered',
    'escalation_received',
  ])
  expect(await f.state('O')).toBe('active')

  const off = await highway({ enabled: false })
  await person(off, 'alice')
  await off.worker('W', { owner: 'alice' })
  await off.mark()
  await escalate(off, 'W', 'S1')
  await off.expectAdded(blockedAndEscalated('W', 'sig1', 'S1'))
  expect(await off.run.escalations()).toEqual([])
})

test('W-SIG-12 without a highway the signal still reaches the parent', async () => {
  const f = await withUsers({ run: { highway: 'off' } })
  await f.worker('W')
  await f.mark()
  await escalate(f, 'W', 'S1')
  await f.expectAdded(blockedAndEscalated('W', 'sig1', 'S1'))
})

test('W-SIG-12 a parent that takes no signals now holds up its own copy, not the highway', async () => {
  const f = await highway()
  await person(f, 'alice')
  const d = await f.worker('D', { delegate: true, owner: 'alice' })
  await f.worker('C', {}, d)
  await f.bring('D', 'blocked')
  await f.mark()
  await escalate(f, 'C', 'S1')
  await f.expectAmong([received('C', 'S1', 'alice')])
  unwrap(await d.started())
  const added = (await f.added())
    .filter(entry => entry.event_type === 'signal_delivered')
    .map(entry => f.row(entry))
  expect(added.map(([, filed]) => filed)).toContain('D')
})

test('W-LIFE-04 from a sealed workspace it is on record only', async () => {
  const f = await highway()
  await person(f, 'alice')
  await f.worker('W', { owner: 'alice' })
  await f.bring('W', 'integrating')
  await f.mark()
  await escalate(f, 'W', 'S1')
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['signal_emitted', 'signal_delivered'])
  expect(await f.run.escalations()).toEqual([])
})

test('WM-077 for an owner who is away it is queued, its timer runs, and it is delivered in order on return', async () => {
  const f = await highway()
  const alice = await person(f, 'alice', 'inject_directive')
  for (const name of ['W1', 'W2']) await f.worker(name, { owner: 'alice' })
  unwrap(await f.runtime.users.block('alice', { reason: 'password lost' }))
  await f.mark()
  const s1 = await escalate(f, 'W1', 'S1')
  await f.advance(1000)
  await escalate(f, 'W2', 'S2')
  await f.expectAmong([received('W1', 'S1', 'alice', true), received('W2', 'S2', 'alice', true)])
  await f.advance(MINUTE / 2)
  heard(f)
  unwrap(await f.runtime.users.unblock('alice', { reason: 'new password' }))
  expect(heard(f)).toEqual(['S1 delivered alice', 'S2 delivered alice'])
  unwrap(await alice.answerEscalation(f.run.id, s1, reply))
  await f.settle()
  await f.mark()
  // Its minute began with its receipt, not with the return of its owner.
  await f.advance(MINUTE / 2 + 1)
  await f.expectAmong([
    [
      'escalation_timeout',
      'W2',
      'fallback',
      { signal_id: 'S2', workspace: 'W2', fallback_action: 'delegate_to_coordinator' },
    ],
    resolved('W2', 'S2', 'fallback', { response_type: 'delegation' }),
  ])
})

test('WM-077 a suspension that survives a block keeps the queue', async () => {
  const f = await highway()
  await person(f, 'alice')
  await f.worker('W', { owner: 'alice' })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  unwrap(await f.runtime.users.block('alice', { reason: 'password lost' }))
  await escalate(f, 'W', 'S')
  heard(f)
  unwrap(await f.runtime.users.unblock('alice', { reason: 'new password' }))
  expect(heard(f)).toEqual([])
  unwrap(await f.runtime.users.resume('alice', { reason: 'back' }))
  expect(heard(f)).toEqual(['S delivered alice'])
})

test('WM-077 a queue has a bound: the oldest runs its fallback at once, the others stay', async () => {
  const f = await highway({ escalationQueue: 2, fallback: 'reject' })
  await person(f, 'alice')
  for (const name of ['W1', 'W2', 'W3', 'W4']) await f.worker(name, { owner: 'alice' })
  // What was delivered while she was there is in no queue.
  await escalate(f, 'W4', 'S4')
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  await escalate(f, 'W1', 'S1')
  await escalate(f, 'W2', 'S2')
  await f.mark()
  heard(f)
  await escalate(f, 'W3', 'S3')
  const failed = {
    workspace_id: 'W1',
    from_state: 'blocked',
    to_state: 'failed',
    trigger: 'escalation_timeout',
  }
  await f.expectAdded([
    ...blockedAndEscalated('W3', 'sig1', 'S3'),
    received('W3', 'S3', 'alice', true),
    unreceived('alice', 'S1', 'escalation_queue_overflow'),
    resolved('W1', 'S1', 'fallback', { response_type: 'abort' }),
    ['signal_emitted', 'W1', 'protocol'],
    [
      'workspace_state_changed',
      'W1',
      'protocol',
      { ...failed, initiator: 'protocol', reason: 'escalation_timeout' },
    ],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect(heard(f)).toEqual(['S3 received alice queued', 'S1 overflow alice', 'S1 resolved abort by fallback'])
  const waiting = await f.run.escalations()
  expect(waiting.map(({ signal }) => f.nameOf(signal))).toEqual(['S4', 'S2', 'S3'])
})

test('WM-077 what has no timeout waits without end and does not count towards the bound', async () => {
  const f = await highway({ escalationQueue: 1, timeout: null })
  await person(f, 'alice')
  for (const name of ['W1', 'W2', 'W3'])
    await f.worker(name, { owner: 'alice', timeout: 365 * 24 * 60 * MINUTE })
  unwrap(await f.runtime.users.suspend('alice', { reason: 'holiday' }))
  for (const name of ['W1', 'W2', 'W3']) await escalate(f, name, `S${name}`)
  await f.mark()
  await f.advance(30 * 24 * 60 * MINUTE)
  const added = (await f.added()).map(entry => entry.event_type)
  expect(added.filter(type => type.startsWith('escalation'))).toEqual([])
  const waiting = await f.run.escalations()
  expect(waiting.map(({ deadline, queued }) => [deadline, queued])).toEqual([1, 2, 3].map(() => [null, true]))
})

test('WM-077 with the ownership an open escalation goes to the new owner: the new one may answer, the old may not', async () => {
  const f = await highway()
  const alice = await person(f, 'alice', 'inject_directive', 'abort_own')
  const bob = await person(f, 'bob', 'inject_directive', 'abort_own')
  await f.worker('W', { owner: 'alice' })
  const signal = await escalate(f, 'W', 'S')
  unwrap(await f.runtime.users.deactivate('bob', { reason: 'left' }))
  await f.mark()
  heard(f)
  unwrap(await f.root.transferOwnership(f.id('W'), 'bob'))
  await f.expectAdded([
    ['workspace_ownership_transferred', 'W', 'system'],
    unreceived('bob', 'S', 'user_not_active'),
  ])
  expect(heard(f)).toEqual(['S delivered bob', 'S rejected bob'])
  unwrap(await f.runtime.users.reactivate('bob', { reason: 'back' }))
  expect(heard(f)).toEqual(['S delivered bob'])
  expect((await f.run.escalations())[0]).toMatchObject({ addressee: 'bob', queued: false, rejected: false })

  for (const answer of [reply, { type: 'abort' }, { type: 'delegation' }] as const) {
    const reason = answer.type === 'delegation' ? 'missing_capability' : 'wrong_scope'
    expect(refused(await alice.answerEscalation(f.run.id, signal, answer))).toBe(
      `permission_denied(${reason})`,
    )
    const capability = { envelope: 'inject_directive', abort: 'abort_own', delegation: 'abort_any' }[
      answer.type
    ]
    await f.expectAdded([
      [
        'capability_denied',
        null,
        'alice',
        { user_id: 'alice', capability, action: 'resolve_escalation', target: 'W', reason },
      ],
    ])
  }
  unwrap(await bob.answerEscalation(f.run.id, signal, { type: 'delegation' }))
  await f.expectAdded([resolved('W', 'S', 'bob', { response_type: 'delegation' })])
})

test('a run takes a bounded number of escalations; one too many is refused before anything is recorded', async () => {
  const f = await highway({ timeout: null })
  await f.worker('W')
  const agent = f.agent('W')
  const { openEscalations } = kernelLimits
  while ((await f.run.escalations()).length < openEscalations) {
    const missing = openEscalations - (await f.run.escalations()).length
    const part = Array.from({ length: Math.min(missing, 1024) }, () => agent.escalate('help'))
    for (const result of await Promise.all(part)) unwrap(result)
  }
  await f.mark()
  expect(refused(await agent.escalate('help'))).toBe('limit_reached')
  await f.expectAdded([])
})

test.for(['integrating', 'suspended'] as const)(
  'WX-067 a question that nobody answered fails nothing that is %s: the coordinator decides',
  async state => {
    const f = await highway({ fallback: 'reject', timeout: MINUTE })
    await person(f, 'ux')
    const agent = await f.worker('W', { owner: 'ux' })
    f.name(unwrap(await agent.escalate('which way?')).signal!, 'S')
    await f.bring('W', state)
    await f.mark()
    await f.advance(MINUTE + 1)
    const timeout = { signal_id: 'S', workspace: 'W', fallback_action: 'reject' }
    await f.expectAmong([
      ['escalation_timeout', 'W', 'fallback', timeout],
      resolved('W', 'S', 'fallback', { response_type: 'delegation' }),
    ])
    expect(await f.state('W')).toBe(state)
    expect(await f.run.escalations()).toEqual([])
  },
)

test('WX-068 the coordinator asks the owner of a workspace, who answers as any escalation', async () => {
  const f = await highway({ fallback: 'reject', timeout: MINUTE })
  const ux = await person(f, 'ux', 'inject_directive')
  const d = await f.worker('D', { delegate: true, owner: 'ux' })
  const w = await f.worker('W', { owner: 'ux' }, d)
  await f.mark()
  const asked = async (about: string, name: string) => {
    const { signal } = unwrap(await f.root.consult(f.id(about), 'which way?'))
    f.name(signal, name)
    return signal
  }
  const question = (about: string, signal: string): Row => [
    'escalation_received',
    about,
    'system',
    { signal_id: signal, workspace: about, reason: 'which way?', addressee: 'ux', queued: false },
  ]
  const first = await asked('W', 'S1')
  await f.expectAdded([question('W', 'S1')])
  await asked('W', 'S2')
  await f.expectAdded([question('W', 'S2')])
  await asked('R', 'S3')
  const own: Row = ['escalation_received', 'R', 'system', { signal_id: 'S3', workspace: 'R' }]
  await f.expectAmong([own])
  expect((await f.run.escalations()).map(({ signal }) => f.nameOf(signal))).toEqual(['S1', 'S2', 'S3'])
  unwrap(await ux.answerEscalation(f.run.id, first, reply))
  await f.settle()
  expect(unwrap(await w.consume())).toMatchObject({ origin: 'human', originator: 'ux' })

  // Nobody answers the rest: W falls, and the coordinator's own question ends no run.
  await f.advance(MINUTE + 1)
  expect([await f.state('W'), await f.state('R')]).toEqual(['failed', 'active'])
  await f.expectAmong([resolved('R', 'S3', 'fallback', { response_type: 'delegation' })])
})

test('WX-068 who may not, about what is over, without a reason and without a highway nobody is asked', async () => {
  const f = await highway()
  await person(f, 'ux')
  const d = await f.worker('D', { delegate: true })
  const w = await f.worker('W', {}, d)
  await f.worker('V')
  await f.mark()
  expect(refused(await w.consult(f.id('W'), 'why?'))).toBe('permission_denied')
  expect(refused(await d.consult(f.id('W'), 'why?'))).toBe('permission_denied')
  const denied = { capability: 'operation:consult', reason: 'permission_denied' }
  await f.expectAmong([
    ['capability_denied', 'W', 'worker', { ...denied, target: 'W' }],
    ['capability_denied', 'D', 'worker', { ...denied, target: 'W' }],
  ])
  expect(refused(await f.root.consult(f.id('W'), ''))).toBe('invalid_argument')
  unwrap(await f.root.abort(f.id('V')))
  expect(refused(await f.root.consult(f.id('V'), 'why?'))).toBe('invalid_state')
  const off = await highway({ enabled: false })
  expect(refused(await off.root.consult(off.id('R'), 'why?'))).toBe('invalid_state')
})
