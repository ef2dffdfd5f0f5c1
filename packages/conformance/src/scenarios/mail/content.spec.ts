// Mail across a crash, content that stays off the trail, mail of people, and mail that was altered (wacp-primitives 3,
// 5).
import { deepStrictEqual } from 'node:assert'
import {
  arrived,
  created,
  delivered,
  deniedUser,
  emit,
  receipt,
  redelivered,
  rejected,
  SC,
  undeliverable,
} from '../../entry-rows.ts'
import type { ForeignEntry, StoredRecord } from '../../faults.ts'
import { ANY, amongMismatch, type Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-038 a restart places what was on its way before anything newer, acknowledges what was not, and gives up the rest',
  { level: 2, rules: ['W-ENV-17', 'W-ENV-16', 'W-ENV-20'] },
  async kit => {
    for (const name of ['W', 'V', 'X']) await kit.worker(name)
    kit.faults.transport.rule(() => 'drop')
    await kit.send('E1', 'R', 'W', 'directive')
    await kit.send('E2', 'R', 'W', 'feedback')
    await kit.send('E3', 'R', 'V', 'directive')
    await kit.send('E4', 'R', 'X', 'directive')
    const [right] = await kit.rights('R', 'W')
    await kit.do('R', 'revoke_right', { right: right!.id, reason: 'no more' })
    await kit.mark()
    const [R, V, X] = [kit.id('R'), kit.id('V'), kit.id('X')]
    // The runtime died behind the placement of E3, and behind the transition of X.
    const placed: ForeignEntry = {
      workspace: V,
      actor: 'protocol',
      event_type: 'envelope_delivered',
      body: { envelope_id: kit.id('E3'), from: R, to: V },
    }
    const sealed: ForeignEntry = {
      workspace: X,
      actor: 'protocol',
      event_type: 'workspace_state_changed',
      body: {
        workspace_id: X,
        from_state: 'active',
        to_state: 'integrating',
        trigger: 'agent_complete',
        initiator: 'worker',
      },
    }
    await kit.restart({
      crash: true,
      async meanwhile() {
        kit.faults.transport.rule(() => 'pass')
        await kit.faults.stored.append(kit.run, [placed, sealed])
      },
    })
    await kit.grant('again', 'send', 'R', 'W')
    await kit.send('E5', 'R', 'W', 'directive')
    const added = await kit.expectAmong([
      delivered('E1', 'R', 'W'),
      ...receipt('E1', 'R', 'W'),
      delivered('E2', 'R', 'W'),
      ...receipt('E2', 'R', 'W'),
      ...arrived('E5', 'R', 'W', 'directive'),
    ])
    for (const rows of [
      [redelivered('E3', 'R', 'V'), ...receipt('E3', 'R', 'V')],
      [undeliverable('E4', 'R', 'X', 'integrating')],
    ])
      deepStrictEqual(amongMismatch(added, rows, kit.names), undefined)
    deepStrictEqual([await kit.inbox('W'), await kit.inbox('V')], [['E1', 'E2', 'E5'], ['E3']])
    const receipts = added.filter(({ body }) => body.type === 'acknowledged')
    deepStrictEqual(receipts.map(({ body }) => kit.names.of(String(body.ref))).toSorted(), ['E1', 'E2', 'E3', 'E5'])
  },
)

const MARKER = 'XYZZY'
const marked = (what: string) => `${what} ${MARKER}`

scenario(
  'WP-041 what is written for agents and people is in no entry of a whole task, and found by its id',
  { level: 3, rules: ['W-ENV-19', 'W-CP-14', 'W-TASK-20'] },
  async kit => {
    await kit.graph({ T: { description: marked('description') } })
    const context = { note: marked('context') }
    await kit.bound('W', 'T', { context, memory: { seed: marked('seed') } })
    await kit.emit('W', 'started')
    const text = (what: string) => ({ payload: { format: 'markdown', content: marked(what) } })
    await kit.send('Q', 'W', 'R', 'query', text('query'))
    await kit.send('F', 'R', 'W', 'feedback', {
      ...text('answer'),
      in_reply_to: 'Q',
    })
    await kit.do('W', 'write_memory', { key: 'notes', value: marked('memory') })
    const payload = {
      files_changed: ['f'],
      content: marked('content'),
      artifacts: [{ text: marked('artifact') }],
    }
    const draft = { status: 'final', intent: marked('intent'), payload }
    const made = await kit.do('W', 'create_checkpoint', { ...(await kit.checkpointDraft('W', draft)) })
    kit.name(made.checkpoint, 'K')
    await kit.emit('W', 'complete')
    await kit.do('R', 'begin_integration', { source: 'W', strategy: 'evaluated' })
    await kit.do('R', 'decide_integration', {
      source: 'W',
      decision: 'accept',
      strategy: 'evaluated',
      result: { text: marked('result') },
    })
    await kit.settle()
    deepStrictEqual((await kit.task('T')).status, 'integrated')

    const entries = await kit.entries()
    const leaking = entries.filter(({ body }) => JSON.stringify(body).includes(MARKER))
    deepStrictEqual(
      leaking.map(({ event_type }) => event_type),
      [],
    )
    deepStrictEqual((await kit.task('T')).description, marked('description'))
    const directive = (await kit.look('W')).directive
    for (const [envelope, what] of [
      [directive, 'description'],
      ['Q', 'query'],
      ['F', 'answer'],
    ] as const)
      deepStrictEqual((await kit.envelope(envelope!)).payload?.content, marked(what))
    const checkpoint = await kit.do('runtime', 'get_checkpoint', { checkpoint: 'K' })
    const stored = checkpoint.payload as { readonly content?: string }
    deepStrictEqual([checkpoint.intent, stored.content], [marked('intent'), marked('content')])
    const found = await kit.do('runtime', 'get_artifact', { artifact: made.artifacts![0]! })
    deepStrictEqual(JSON.stringify(found).includes(marked('artifact')), true)
    deepStrictEqual(await kit.do('runtime', 'read_context', { workspace: 'W' }), context)
    for (const [key, what] of [
      ['seed', 'seed'],
      ['notes', 'memory'],
    ] as const)
      deepStrictEqual(await kit.do('runtime', 'read_memory', { key, workspace: 'W' }), marked(what))
    deepStrictEqual(await kit.do('runtime', 'read_result', { source: 'W' }), { text: marked('result') })
  },
)

function injection(
  envelope: string,
  user: string,
  to: string,
  more: { readonly status: string; readonly reason?: unknown; readonly under?: null } = {
    status: 'delivered',
  },
): Row {
  const { under = to, ...fields } = more
  return ['human_injection', under, user, { envelope_id: envelope, actor: user, to, type: 'directive', ...fields }]
}

scenario(
  'WP-042 a person writes to whom the capabilities allow, needs no right, and to the root as to their own',
  {
    level: 2,
    rules: ['W-ENV-06', 'W-USER-10', 'W-ENV-01'],
    run: { highway: { gates: { task_approval: false } } },
  },
  async kit => {
    await kit.user('ux', ['inject_directive_any'])
    await kit.user('uy', ['inject_directive'])
    await kit.worker('W', { owner: 'ux' })
    await kit.inState('F', 'closed')
    const [right] = await kit.rights('R', 'W')
    await kit.do('R', 'revoke_right', { right: right!.id, reason: 'no more' })
    await kit.mark()
    const inject = async (name: string, user: string, to: string) => {
      const { envelope } = await kit.do(user, 'inject', { ...kit.mail(to, 'directive') })
      kit.name(envelope, name)
    }
    await inject('E1', 'ux', 'W')
    const human = (actor: string) => ({ actor, originator: actor, origin: 'human' })
    await kit.expectAdded([injection('E1', 'ux', 'W'), ...arrived('E1', 'R', 'W', 'directive', human('ux'))])
    const { from, origin, originator } = await kit.envelope('E1')
    deepStrictEqual([from, origin, originator], [kit.id('R'), 'human', 'ux'])
    deepStrictEqual(await kit.consume('W'), 'E1')

    await kit.refuses('REJECTED', 'ux', 'inject', { ...kit.mail('F', 'directive') }, 'target_terminal')
    await kit.expectAdded([
      injection('?E2', 'ux', 'F', { status: 'rejected', reason: 'workspace_terminal', under: null }),
      rejected('R', 'target_terminal', { envelope_id: '?E2', to: 'F' }),
    ])

    await inject('E3', 'uy', 'R')
    await kit.expectAdded([
      injection('E3', 'uy', 'R'),
      created('E3', 'R', 'R', 'directive', human('uy')),
      delivered('E3', 'R', 'R'),
      emit('acknowledged', 'R', 'protocol', { ref: 'E3' }),
    ])
    deepStrictEqual(await kit.consume('R'), 'E3')

    await kit.refuses('PERMISSION_DENIED', 'uy', 'inject', { ...kit.mail('W', 'directive') }, 'wrong_scope')
    await kit.expectAdded([deniedUser('uy', ANY, 'wrong_scope')])
  },
)

function violation(type: string, subject: string, action_taken: string): Row {
  return [
    'integrity_violation',
    null,
    'protocol',
    { subject_type: type, subject_id: subject, violation: 'hash_mismatch', action_taken },
  ]
}

scenario(
  'WP-043 what was altered after its proof was made is neither placed nor merged',
  { level: 2, rules: ['W-ENV-05', 'W-CP-13', 'W-SEC-07'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const payload = { format: 'markdown', content: 'something else' }
    const sealed = await kit.do('R', 'seal_envelope', { ...kit.mail('W', 'directive') })
    await kit.refuses('REJECTED', 'R', 'send_envelope', { ...sealed, payload }, 'integrity_violation')
    await kit.expectAdded([
      violation('envelope', '?E1', 'rejected'),
      rejected('R', 'integrity_violation', { envelope_id: '?E1', to: 'W' }),
    ])
    const { envelope } = await kit.do('R', 'send_envelope', { ...sealed })
    kit.name(envelope, 'E2')
    await kit.expectAdded(arrived('E2', 'R', 'W', 'directive'))

    kit.faults.transport.rule(({ kind }) =>
      kind === 'envelope' ? { alter: record => ({ ...record, payload }) } : 'pass',
    )
    await kit.send('E3', 'R', 'W', 'directive')
    await kit.expectAdded([
      created('E3', 'R', 'W', 'directive'),
      violation('envelope', 'E3', 'rejected'),
      rejected('R', 'integrity_violation', { envelope_id: 'E3' }),
    ])
    kit.faults.transport.rule(() => 'pass')
    await kit.advance(10_000)
    await kit.expectAdded([])
    deepStrictEqual([await kit.inbox('W'), (await kit.envelope('E3')).status], [['E2'], 'rejected'])

    await kit.bring('W', 'integrating')
    const altered = (record: StoredRecord): StoredRecord =>
      record.kind === 'object' && record.id === kit.id('KW')
        ? { ...record, value: JSON.parse(JSON.stringify(record.value).replace('"done"', '"nice"')) }
        : record
    await kit.restart({
      meanwhile: () => kit.faults.stored.rewrite(kit.run, records => records.map(altered)),
    })
    await kit.mark()
    const accept = { source: 'W', decision: 'accept' }
    await kit.refuses('REJECTED', 'R', 'decide_integration', accept, 'integrity_violation')
    const added = await kit.expectAmong([
      ['integration_started', 'W', 'system', { source: 'W', checkpoint_ref: 'KW' }],
      violation('checkpoint', 'KW', 'flagged'),
      ['integration_aborted', 'W', 'protocol', { source: 'W', reason: 'integrity_violation' }],
      SC('W', 'integrating', 'failed', 'integration_error'),
    ])
    const merged = added.filter(({ event_type }) => event_type === 'integration_completed')
    deepStrictEqual([merged, await kit.state('W')], [[], 'failed'])
  },
)
