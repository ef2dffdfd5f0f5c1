import { type EnvelopeId, type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row } from '../testing/fixture.ts'
import { withNotes } from '../testing/mail.ts'
import { person, withUsers } from '../testing/people.ts'

const changed = (
  name: string,
  from_state: string,
  to_state: string,
  trigger: string,
  initiator: string,
): Row => [
  'workspace_state_changed',
  name,
  'protocol',
  { workspace_id: name, from_state, to_state, trigger, initiator },
]
const emitted = (signal_id: string, from: string, type: string, actor: string, extra: object = {}): Row => [
  'signal_emitted',
  from,
  actor,
  { signal_id, from, type, ...extra },
]
const delivered = (signal_id: string, from: string, to: string): Row => [
  'signal_delivered',
  to,
  'protocol',
  { signal_id, from, delivered_to: to },
]

test('WP-006 the first envelope brings a workspace to life and is receipted to its sender', async () => {
  const f = await fixture()
  const directive = { format: 'markdown', content: 'work' }
  await f.workspace('W', { directive, dispatch: false })
  await f.mark()
  expect(await f.state('W')).toBe('idle')
  const { envelope } = unwrap(await f.root.dispatch(f.id('W')))
  f.name(envelope, 'E')
  await f.expectAdded([
    [
      'envelope_created',
      'R',
      'system',
      {
        envelope_id: 'E',
        from: 'R',
        to: 'W',
        type: 'directive',
        priority: 'normal',
        in_reply_to: null,
        originator: 'system',
        origin: 'agent',
      },
    ],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E', from: 'R', to: 'W' }],
    changed('W', 'idle', 'active', 'first_envelope', 'protocol'),
    emitted('sig1', 'W', 'acknowledged', 'protocol', { ref: 'E' }),
    delivered('sig1', 'W', 'R'),
  ])
  const view = unwrap(await f.agent('W').look())
  expect(view).toMatchObject({ status: 'active', directive: envelope, inbox: [envelope] })
  expect(unwrap(await f.root.readEnvelope(envelope))).toMatchObject({
    status: 'acknowledged',
    payload: { ...directive, attachments: [] },
  })
  const second = await f.root.dispatch(f.id('W'))
  expect(second.ok).toBe(false)
  await f.expectAdded([])
})

/** Everybody who can be the first to write to W, and what they write. */
const FIRST: Readonly<Record<string, (f: Fixture) => Promise<Result<{ readonly envelope: EnvelopeId }>>>> = {
  'a directive': f => f.root.send(f.mail('W', 'directive')),
  feedback: f => f.root.send(f.mail('W', 'feedback')),
  'an urgent feedback': f => f.root.send(f.mail('W', 'feedback', { priority: 'urgent' })),
  'a blocking feedback': f => f.root.send(f.mail('W', 'feedback', { priority: 'blocking' })),
  'a type of the vocabulary, from a peer': async f => {
    await f.worker('V')
    unwrap(await f.root.grantRight('send', f.id('V'), f.id('W')))
    await f.mark()
    return f.agent('V').send(f.mail('W', 'note'))
  },
  'mail of a person': async f => {
    const user = await person(f, 'ux', 'inject_directive_any')
    await f.mark()
    return user.inject(f.run.id, f.mail('W', 'feedback'))
  },
}

test.each(Object.keys(FIRST))(
  'WP-006 WX-040 %s wakes as a first envelope, and the second changes no state',
  async what => {
    const f = await withUsers({ run: { owner: 'ux', ...withNotes } })
    await f.workspace('W')
    await f.mark()
    f.name(unwrap(await FIRST[what]!(f)).envelope, 'E')
    await f.expectAmong([
      ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E' }],
      changed('W', 'idle', 'active', 'first_envelope', 'protocol'),
      ['signal_emitted', 'W', 'protocol', { type: 'acknowledged', ref: 'E' }],
    ])
    unwrap(await f.agent('W').consume())
    await f.mark()
    unwrap(await f.root.send(f.mail('W', 'directive')))
    const added = await f.added()
    expect(added.map(entry => entry.event_type)).toContain('envelope_delivered')
    expect(added.filter(entry => entry.event_type === 'workspace_state_changed')).toEqual([])
    expect(unwrap(await f.agent('W').look())).toMatchObject({ status: 'active', directive: null })
  },
)

test('WP-007 an observer starts by itself, and its observation is announced for it', async () => {
  const f = await fixture()
  const observer = await f.workspace('O', { role: 'observer' })
  const worker = await f.workspace('W')
  await f.mark()
  unwrap(await observer.started())
  await f.expectAdded([
    emitted('sig1', 'O', 'started', 'observer'),
    changed('O', 'idle', 'active', 'agent_started', 'observer'),
    delivered('sig1', 'O', 'R'),
  ])
  const { checkpoint } = unwrap(await f.checkpoint('O'))
  f.name(checkpoint, 'CP')
  await f.expectAdded([
    [
      'checkpoint_created',
      'O',
      'observer',
      {
        checkpoint_id: 'CP',
        workspace: 'O',
        type: 'observation',
        status: 'provisional',
        confidence: 'medium',
        parent: null,
        integrity: expect.anything(),
      },
    ],
    emitted('sig2', 'O', 'checkpoint', 'protocol', { ref: 'CP' }),
    delivered('sig2', 'O', 'R'),
  ])
  expect(unwrap(await worker.started())).toMatchObject({ outcome: 'absorbed' })
  await f.expectAdded([emitted('sig3', 'W', 'started', 'worker'), delivered('sig3', 'W', 'R')])
  expect(await f.state('W')).toBe('idle')
})

test('WP-008 a blocked worker keeps its task and its mail, and goes on when it says so', async () => {
  const f = await fixture()
  const { tasks } = unwrap(await f.root.submitGraph([{ name: 'T', description: 'do it' }] as never))
  const [task] = tasks
  f.name(task!, 'T')
  const worker = await f.worker('W', { task: task!, directive: undefined as never })
  unwrap(await worker.started())
  expect(unwrap(await f.root.task(task!)).status).toBe('in_progress')
  await f.mark()

  expect(unwrap(await worker.blocked('waiting for an answer'))).toMatchObject({ outcome: 'applied' })
  await f.expectAdded([
    emitted('sig1', 'W', 'blocked', 'worker', { reason: 'waiting for an answer' }),
    changed('W', 'active', 'blocked', 'agent_blocked', 'worker'),
    delivered('sig1', 'W', 'R'),
  ])
  expect(unwrap(await f.root.task(task!)).status).toBe('in_progress')
  expect(unwrap(await worker.blocked('still waiting'))).toMatchObject({ outcome: 'absorbed' })
  await f.expectAdded([
    emitted('sig2', 'W', 'blocked', 'worker', { reason: 'still waiting' }),
    delivered('sig2', 'W', 'R'),
  ])
  const { envelope } = unwrap(await f.root.send(f.mail('W', 'feedback')))
  f.name(envelope, 'E')
  await f.expectAdded([
    ['envelope_created', 'R', 'system'],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E', from: 'R', to: 'W' }],
    emitted('sig3', 'W', 'acknowledged', 'protocol', { ref: 'E' }),
    delivered('sig3', 'W', 'R'),
  ])
  expect(unwrap(await worker.consume())).toMatchObject({ id: envelope })

  expect(unwrap(await worker.started())).toMatchObject({ outcome: 'applied' })
  await f.expectAdded([
    emitted('sig4', 'W', 'started', 'worker'),
    changed('W', 'blocked', 'active', 'agent_started', 'worker'),
    delivered('sig4', 'W', 'R'),
  ])
  expect(unwrap(await f.root.task(task!)).status).toBe('in_progress')
})

test('WP-008 `blocked` without a reason is refused and leaves no trace', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.mark()
  const before = await f.picture()
  for (const reason of ['', undefined, 7])
    expect((await worker.blocked(reason as string)).ok, String(reason)).toBe(false)
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})
