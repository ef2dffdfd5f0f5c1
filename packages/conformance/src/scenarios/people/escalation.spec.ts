// Escalations: who asks, whom it reaches, and how it ends (wacp-mechanisms 5.4).
import { deepStrictEqual } from 'node:assert'
import { denied, deniedUser, emit, failure, rejected, SC, signalled, unreceived } from '../../entry-rows.ts'
import { another } from '../../gated.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const MINUTE = 60_000
const REPLY = { type: 'envelope', payload: { format: 'markdown', content: 'do this' } }

/** A highway on which escalations have a minute, and nothing waits at gates. */
function asking(more: Readonly<Record<string, unknown>> = {}): object {
  return {
    gates: { task_approval: false },
    escalation: { enabled: true, timeout: MINUTE, fallback: 'delegate_to_coordinator', ...more },
  }
}

/** A worker blocks and asks; an observer only asks. The signal is named. */
async function escalate(kit: Kit, workspace: string, signal: string): Promise<void> {
  if ((await kit.look(workspace)).role === 'worker') await kit.emit(workspace, 'blocked', { reason: 'stuck' })
  const emitted = await kit.do(workspace, 'emit_signal', { type: 'escalation', reason: 'help' })
  if (emitted.signal !== undefined) kit.name(emitted.signal, signal)
}

function received(workspace: string, signal: string, addressee: string, queued = false): Row {
  return ['escalation_received', workspace, 'protocol', { signal_id: signal, workspace, addressee, queued }]
}

/** All that a worker's escalation leaves on the trail before it reaches the highway. */
function asked(workspace: string, signal: string): readonly Row[] {
  const [blocked, told] = signalled(`b${signal}`, 'blocked', workspace, 'R', 'worker', { reason: 'stuck' })
  return [
    blocked,
    SC(workspace, 'active', 'blocked', 'agent_blocked'),
    told,
    emit('escalation', workspace, 'worker', { signal_id: signal, reason: 'help' }),
    ['signal_delivered', 'R', 'protocol', { signal_id: signal, from: workspace, delivered_to: 'R' }],
  ]
}

function ended(
  workspace: string,
  signal: string,
  actor: string,
  response_type: string,
  more: Readonly<Record<string, unknown>> = {},
): Row {
  const body = { signal_id: signal, workspace, actor, response_type, ...more }
  return ['escalation_resolved', workspace, actor, body]
}

/** The signals of which the coordinator was told this, in order. */
async function told(kit: Kit, detail: string): Promise<readonly string[]> {
  const heard = (await kit.notices('escalation')).filter(each => each.to === 'R' && each.detail === detail)
  return heard.map(each => each.subject)
}

function answer(signal: string, given: object): Readonly<Record<string, unknown>> {
  return { signal, answer: given }
}

scenario(
  'WM-075 an owner answers by an envelope, by an abort or by leaving it to the coordinator',
  { level: 2, rules: ['W-HWY-20', 'W-HWY-22'], run: { highway: asking() }, users: ['ux'] },
  async kit => {
    await kit.user('alice', ['inject_directive', 'abort_own'])
    for (const name of ['W1', 'W2', 'W3']) await kit.worker(name, { owner: 'alice' })
    await kit.mark()
    await escalate(kit, 'W1', 'S1')
    await kit.expectAdded([...asked('W1', 'S1'), received('W1', 'S1', 'alice')])
    await escalate(kit, 'W2', 'S2')
    await escalate(kit, 'W3', 'S3')
    await kit.mark()

    await kit.do('alice', 'answer_escalation', answer('S1', REPLY))
    await kit.expectAmong([
      ['human_injection', 'W1', 'alice', { envelope_id: '?E', actor: 'alice', to: 'W1', status: 'delivered' }],
      ['envelope_created', 'R', 'alice', { envelope_id: '?E', to: 'W1', origin: 'human', originator: 'alice' }],
      ['envelope_delivered', 'W1', 'protocol', { envelope_id: '?E' }],
      ended('W1', 'S1', 'alice', 'envelope', { response_ref: 'E' }),
    ])
    const got = await kit.do('W1', 'consume_envelope')
    deepStrictEqual(got && (got.payload as { readonly content: string }).content, 'do this')
    await kit.emit('W1', 'started')
    deepStrictEqual(await kit.state('W1'), 'active')

    await kit.mark()
    await kit.do('alice', 'answer_escalation', answer('S2', { type: 'abort' }))
    await kit.expectAdded([
      ended('W2', 'S2', 'alice', 'abort'),
      ...failure('W2', 'blocked', 'aborted_by_human', { actor: 'alice' }),
    ])

    await kit.do('alice', 'answer_escalation', answer('S3', { type: 'delegation' }))
    await kit.expectAdded([ended('W3', 'S3', 'alice', 'delegation')])
    deepStrictEqual(await kit.state('W3'), 'blocked')
    deepStrictEqual((await told(kit, 'resolved')).at(-1), 'S3')
    const again = answer('S3', { type: 'delegation' })
    await kit.refuses('INVALID_STATE', 'alice', 'answer_escalation', again, 'escalation_not_pending')
    await kit.expectAdded([])
  },
)

scenario(
  'WM-076 workers and observers escalate with a reason; the coordinator never does; the highway need not listen',
  { level: 2, rules: ['W-HWY-20'], run: { highway: asking() } },
  async kit => {
    await kit.worker('W')
    await kit.observer('O')
    await kit.mark()
    await kit.refuses('INVALID_ARGUMENT', 'W', 'emit_signal', { type: 'escalation' })
    await kit.expectAdded([])
    await kit.refuses('PERMISSION_DENIED', 'R', 'emit_signal', { type: 'escalation', reason: 'help' })
    await kit.expectAdded([denied('R', 'system', 'emit:escalation')])
    await escalate(kit, 'O', 'S')
    await kit.expectAdded([
      emit('escalation', 'O', 'observer', { signal_id: 'S', reason: 'help' }),
      ['signal_delivered', 'R', 'protocol', { signal_id: 'S', from: 'O', delivered_to: 'R' }],
      received('O', 'S', 'ux'),
    ])
    deepStrictEqual(await kit.state('O'), 'active')

    await another(kit, asking({ enabled: false }))
    await kit.worker('W')
    await kit.mark()
    await escalate(kit, 'W', 'S')
    await kit.expectAdded(asked('W', 'S'))
    deepStrictEqual(await kit.do('runtime', 'list_escalations'), [])
  },
)

scenario(
  'WM-077 an escalation waits for an owner who is away, as far as there is room, and follows the ownership',
  {
    level: 2,
    rules: ['W-HWY-21', 'W-HWY-25', 'W-TOPO-OWN-06'],
    setup: { escalationQueue: 2 },
    run: { highway: asking() },
    users: ['ux'],
  },
  async kit => {
    for (const user of ['alice', 'bob', 'carol', 'dave']) await kit.user(user, ['inject_directive', 'abort_own'])

    // Away, then back.
    for (const name of ['W1', 'W2']) await kit.worker(name, { owner: 'alice' })
    await kit.do('runtime', 'suspend_user', { user: 'alice' })
    await kit.mark()
    await escalate(kit, 'W1', 'S1')
    await escalate(kit, 'W2', 'S2')
    await kit.expectAmong([received('W1', 'S1', 'alice', true), received('W2', 'S2', 'alice', true)])
    await kit.advance(MINUTE / 2)
    deepStrictEqual(await told(kit, 'delivered'), [])
    await kit.do('runtime', 'resume_user', { user: 'alice' })
    deepStrictEqual(await told(kit, 'delivered'), ['S1', 'S2'])
    await kit.do('alice', 'answer_escalation', answer('S1', REPLY))
    await kit.settle()
    await kit.mark()
    // Its minute began with its receipt and not with her return.
    await kit.advance(MINUTE / 2 + 1)
    await kit.expectAmong([
      ['escalation_timeout', 'W2', 'fallback', { signal_id: 'S2', fallback_action: 'delegate_to_coordinator' }],
      ended('W2', 'S2', 'fallback', 'delegation'),
    ])

    // More than there is room for.
    for (const name of ['V1', 'V2', 'V3']) await kit.worker(name, { owner: 'bob' })
    await kit.do('runtime', 'suspend_user', { user: 'bob' })
    await escalate(kit, 'V1', 'Q1')
    await escalate(kit, 'V2', 'Q2')
    await kit.mark()
    await escalate(kit, 'V3', 'Q3')
    await kit.expectAdded([
      ...asked('V3', 'Q3'),
      received('V3', 'Q3', 'bob', true),
      unreceived('bob', 'escalation_queue_overflow', { target: 'Q1' }),
      ended('V1', 'Q1', 'fallback', 'delegation'),
    ])
    const waiting = await kit.do('runtime', 'list_escalations')
    deepStrictEqual(
      waiting.map(each => [kit.names.of(each.signal), each.queued]),
      [
        ['Q2', true],
        ['Q3', true],
      ],
    )

    // Gone for good.
    await kit.worker('U', { owner: 'carol' })
    await kit.do('runtime', 'deactivate_user', { user: 'carol' })
    await kit.mark()
    await escalate(kit, 'U', 'S')
    await kit.expectAmong([
      emit('escalation', 'U', 'worker', { signal_id: 'S' }),
      unreceived('carol', 'user_not_active', { target: 'S' }),
    ])
    deepStrictEqual(await told(kit, 'rejected'), ['S'])

    // Owned by another while it is open.
    await kit.worker('T', { owner: 'alice' })
    await escalate(kit, 'T', 'ST')
    await kit.do('R', 'transfer_ownership', { workspace: 'T', owner: 'dave' })
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'alice', 'answer_escalation', answer('ST', REPLY), 'wrong_scope')
    await kit.expectAdded([deniedUser('alice', 'inject_directive', 'wrong_scope')])
    await kit.do('dave', 'answer_escalation', answer('ST', { type: 'delegation' }))
    await kit.expectAdded([ended('T', 'ST', 'dave', 'delegation')])
  },
)

scenario(
  'WM-078 an escalation that nobody answers ends as its fallback says, whether the owner was there or not',
  { level: 2, rules: ['W-HWY-22'], users: ['ux'] },
  async kit => {
    await kit.user('alice')
    await kit.user('bob')
    await kit.do('runtime', 'suspend_user', { user: 'bob', reason: 'holiday' })
    for (const fallback of ['delegate_to_coordinator', 'reject', 'approve'])
      for (const owner of ['alice', 'bob']) {
        await another(kit, asking({ fallback }))
        if (owner === 'alice') await kit.worker('W', { owner })
        else {
          // Work is begun for those who are there, and may come to others afterwards.
          await kit.worker('W', { owner: 'alice' })
          await kit.do('R', 'transfer_ownership', { workspace: 'W', owner })
        }
        await kit.mark()
        await escalate(kit, 'W', 'S')
        await kit.expectAmong([received('W', 'S', owner, owner === 'bob')])
        await kit.advance(MINUTE - 1)
        await kit.expectAdded([])
        await kit.advance(2)
        const elapsed = (value: unknown) => typeof value === 'number' && value >= MINUTE
        const timeout: Row = [
          'escalation_timeout',
          'W',
          'fallback',
          { signal_id: 'S', workspace: 'W', fallback_action: fallback, elapsed },
        ]
        if (fallback === 'delegate_to_coordinator') {
          await kit.expectAdded([timeout, ended('W', 'S', 'fallback', 'delegation')])
          deepStrictEqual(await kit.state('W'), 'blocked')
        } else if (fallback === 'reject')
          await kit.expectAdded([
            timeout,
            ended('W', 'S', 'fallback', 'abort'),
            ...failure('W', 'blocked', 'escalation_timeout'),
          ])
        else {
          const added = await kit.expectAmong([timeout, ended('W', 'S', 'fallback', 'envelope')])
          const { response_ref } = added.find(each => each.event_type === 'escalation_resolved')!.body
          const letter = await kit.do('W', 'consume_envelope')
          deepStrictEqual([letter?.id, letter?.type, letter?.from], [response_ref, 'feedback', kit.id('R')])
        }
        deepStrictEqual(await kit.do('runtime', 'list_escalations'), [])
      }

    // Where the word to go on may not be sent, the coordinator handles it.
    await another(kit, asking({ fallback: 'approve' }))
    await kit.observer('O', { owner: 'alice' })
    await escalate(kit, 'O', 'S')
    await kit.mark()
    await kit.advance(MINUTE + 1)
    await kit.expectAmong([
      ['escalation_timeout', 'O', 'fallback', { signal_id: 'S' }],
      rejected('R', 'permission_denied', { to: 'O' }),
      ended('O', 'S', 'fallback', 'delegation'),
    ])
  },
)
