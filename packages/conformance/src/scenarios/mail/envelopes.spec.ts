// Envelopes on their way: the order of checks, the trail before everything, priorities, redelivery, threads
// (wacp-primitives 3).
import { deepStrictEqual } from 'node:assert'
import {
  arrived,
  created,
  deliver,
  delivered,
  emit,
  receipt,
  redelivered,
  rejected,
  SC,
  undeliverable,
} from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import { type Kit, NOTES } from '../../kit.ts'
import { scenario } from '../../scenario.ts'

/** What entries of a type say of envelopes, in order and by name. */
function mentioned(kit: Kit, entries: readonly Entry[], type: string): readonly string[] {
  return entries
    .filter(({ event_type }) => event_type === type)
    .map(({ body }) => kit.names.of(String(body.envelope_id)))
}

/** The envelopes that were acknowledged, once for each time, by name. */
function acknowledged(kit: Kit, entries: readonly Entry[]): readonly string[] {
  return entries
    .filter(({ event_type, body }) => event_type === 'signal_emitted' && body.type === 'acknowledged')
    .map(({ body }) => kit.names.of(String(body.ref)))
}

scenario('WP-030 the first check that fails gives the reason', { level: 1, rules: ['W-ENV-05'] }, async kit => {
  await kit.worker('W')
  const [right] = await kit.rights('W', 'R')
  await kit.do('R', 'revoke_right', { right: right!.id, reason: 'no more' })
  await kit.mark()
  const { payload } = kit.mail('R', 'query')
  const attempts = [
    [{ to: 'nobody', type: 'gossip', payload: { format: 'markdown' } }, 'invalid_structure'],
    [{ to: 'nobody', type: 'gossip', payload }, 'invalid_type'],
    [{ to: 'nobody', type: 'directive', payload }, 'target_not_found'],
    [{ to: 'R', type: 'directive', payload }, 'permission_denied'],
    [{ to: 'R', type: 'query', payload }, 'no_send_right'],
  ] as const
  for (const [draft, reason] of attempts) {
    await kit.refuses('REJECTED', 'W', 'send_envelope', draft, reason)
    await kit.expectAdded([rejected('W', reason, { type: draft.type, to: draft.to })])
  }
  await kit.grant('new', 'send', 'W', 'R')
  await kit.mark()
  await kit.send('E', 'W', 'R', 'query')
  await kit.expectAdded(arrived('E', 'W', 'R', 'query'))
})

scenario(
  'WP-031 what cannot be recorded is not sent, and what cannot be recorded as placed is not placed',
  { level: 1, rules: ['W-ENV-08'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const { store, transport } = kit.faults
    store.fail()
    await kit.refuses('TRAIL_UNAVAILABLE', 'R', 'send_envelope', { ...kit.mail('W', 'directive') })
    deepStrictEqual(await kit.inbox('W'), [])
    store.mend()
    await kit.advance(10_000)
    await kit.expectAdded([])

    // The first attempt arrives when the trail is away; all later ones too.
    let late = false
    transport.rule(({ attempt }) => (attempt === 1 && !late ? 'delay' : 'pass'))
    await kit.send('E', 'R', 'W', 'directive')
    store.fail()
    late = true
    transport.release()
    await kit.advance(500)
    await kit.expectAdded([created('E', 'R', 'W', 'directive')])
    deepStrictEqual([(await kit.envelope('E')).status, await kit.inbox('W')], ['validated', []])
    store.mend()
    await kit.advance(10_000)
    await kit.expectAdded([delivered('E', 'R', 'W'), ...receipt('E', 'R', 'W')])
    deepStrictEqual(await kit.inbox('W'), ['E'])
  },
)

scenario(
  'WP-033 urgent mail is consumed first, each class in the order of its arrival',
  { level: 1, rules: ['W-WS-21', 'W-ENV-13'] },
  async kit => {
    await kit.inState('W', 'blocked')
    for (const [name, priority] of [
      ['N1', 'normal'],
      ['U1', 'urgent'],
      ['N2', 'normal'],
      ['U2', 'urgent'],
    ] as const)
      await kit.send(name, 'R', 'W', 'directive', { priority })
    // Priority orders consumption only: what is sent first arrives first.
    deepStrictEqual(mentioned(kit, await kit.added(), 'envelope_delivered'), ['N1', 'U1', 'N2', 'U2'])
    const order = []
    for (let turn = 0; turn < 5; turn++) order.push(await kit.consume('W'))
    deepStrictEqual(order, ['U1', 'U2', 'N1', 'N2', undefined])
    await kit.expectAdded([])
  },
)

scenario(
  'WP-034 blocking mail keeps out what is not blocking, and each channel keeps its order',
  { level: 2, rules: ['W-ENV-13'], run: { taxonomy: NOTES } },
  async kit => {
    await kit.worker('W')
    await kit.worker('V')
    await kit.grant('channel', 'send', 'V', 'W')
    await kit.mark()
    const blocking = { priority: 'blocking' } as const
    await kit.send('B1', 'R', 'W', 'directive', blocking)
    await kit.send('N1', 'R', 'W', 'directive')
    await kit.send('B2', 'R', 'W', 'directive', blocking)
    await kit.send('B3', 'V', 'W', 'note', blocking)
    deepStrictEqual(mentioned(kit, await kit.added(), 'envelope_delivered'), ['B1', 'B3'])
    deepStrictEqual([await kit.consume('W'), await kit.inbox('W')], ['B1', ['B3']])
    await kit.advance(10_000)
    await kit.expectAdded([])
    deepStrictEqual(await kit.consume('W'), 'B3')
    await kit.expectAdded([
      delivered('N1', 'R', 'W'),
      ...receipt('N1', 'R', 'W'),
      delivered('B2', 'R', 'W'),
      ...receipt('B2', 'R', 'W'),
    ])
    deepStrictEqual([await kit.consume('W'), await kit.consume('W')], ['B2', 'N1'])
  },
)

for (const base of [1000, 20])
  scenario(
    `WP-035 attempts are made at 0, 1, 3 and 6 times a base of ${base} ms, and the fourth counts like the first`,
    { level: 1, rules: ['W-ENV-14'], setup: { redeliveryBase: base } },
    async kit => {
      await kit.worker('W')
      await kit.mark()
      let attempts = 0
      kit.faults.transport.rule(({ kind, attempt }) => {
        if (kind === 'envelope') attempts++
        return kind === 'envelope' && attempt < 4 ? 'drop' : 'pass'
      })
      await kit.send('E', 'R', 'W', 'directive')
      await kit.settle()
      let now = 0
      for (const [made, due] of [
        [1, base],
        [2, 3 * base],
        [3, 6 * base],
      ] as const) {
        await kit.advance(due - 1 - now)
        deepStrictEqual(attempts, made, `just before attempt ${made + 1}`)
        if (made === 3) await kit.expectAdded([created('E', 'R', 'W', 'directive')])
        await kit.advance(2)
        deepStrictEqual(attempts, made + 1, `just after attempt ${made + 1}`)
        now = due + 1
      }
      await kit.expectAdded([delivered('E', 'R', 'W'), ...receipt('E', 'R', 'W')])
      await kit.advance(100 * base)
      await kit.expectAdded([])
      deepStrictEqual(attempts, 4)
    },
  )

scenario(
  'WP-037 what arrives again lies in the inbox once, is acknowledged once, and is handed out once',
  { level: 1, rules: ['W-ENV-16', 'W-WS-21'] },
  async kit => {
    await kit.worker('W')
    let attempts = 0
    kit.faults.transport.rule(({ kind, attempt }) => {
      if (kind === 'envelope') attempts++
      return kind === 'envelope' && attempt === 1 ? 'unconfirmed' : 'pass'
    })
    for (const [name, consumed] of [
      ['E1', 'before it comes again'],
      ['E2', 'afterwards'],
    ] as const) {
      attempts = 0
      await kit.mark()
      await kit.send(name, 'R', 'W', 'directive')
      await kit.expectAdded(arrived(name, 'R', 'W', 'directive'))
      if (name === 'E1') deepStrictEqual(await kit.consume('W'), name, consumed)
      await kit.advance(1001)
      await kit.expectAdded([redelivered(name, 'R', 'W')])
      deepStrictEqual(await kit.inbox('W'), name === 'E1' ? [] : ['E2'], consumed)
      if (name === 'E2') deepStrictEqual(await kit.consume('W'), name, consumed)
      await kit.advance(100_000)
      await kit.expectAdded([])
      deepStrictEqual([attempts, await kit.consume('W')], [2, undefined], consumed)
    }
    if (kit.level >= 2) {
      await kit.restart()
      await kit.advance(100_000)
      deepStrictEqual([await kit.inbox('W'), await kit.consume('W')], [[], undefined])
    }
    const entries = await kit.entries()
    for (const names of [acknowledged(kit, entries), mentioned(kit, entries, 'envelope_redelivered')])
      deepStrictEqual(
        names.filter(name => kit.names.has(name)),
        ['E1', 'E2'],
      )
  },
)

scenario(
  'WP-039 mail that waits for a worker is given up when the worker is aborted',
  { level: 1, rules: ['W-ENV-18', 'W-LIFE-08'] },
  async kit => {
    await kit.inState('W', 'suspended')
    const names = ['E', 'E2', 'E3']
    for (const name of names) await kit.send(name, 'R', 'W', name === 'E' ? 'directive' : 'feedback')
    await kit.mark()
    await kit.do('R', 'abort', { workspace: 'W' })
    const added = await kit.expectAmong([
      SC('W', 'suspended', 'failed', 'aborted_by_coordinator', { actor: 'system' }),
      ...names.map(name => undeliverable(name, 'R', 'W', 'failed')),
    ])
    deepStrictEqual(mentioned(kit, added, 'envelope_undeliverable'), names)
    deepStrictEqual(mentioned(kit, added, 'envelope_delivered'), [])
    for (const name of names) {
      const { status, undeliverable: reason } = await kit.envelope(name)
      deepStrictEqual([status, reason], ['validated', 'failed'], name)
    }
    const told = await kit.notices('undeliverable')
    deepStrictEqual(
      told.map(({ to, subject }) => [to, subject]),
      names.map(name => ['R', name]),
    )
    await kit.advance(100_000)
    await kit.expectAdded([])
  },
)

scenario(
  'WP-040 a reply may answer mail of any channel, an envelope may have several, and nobody acknowledges a receipt',
  { level: 1, rules: ['W-ENV-20', 'W-ID-07', 'W-SIG-04', 'W-SIG-07', 'W-ENV-09', 'W-SIG-08'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.send('E1', 'R', 'W2', 'directive')
    await kit.mark()
    await kit.send('Q', 'W', 'R', 'query', { in_reply_to: 'E1' })
    await kit.expectAdded([
      created('Q', 'W', 'R', 'query', { in_reply_to: 'E1' }),
      delivered('Q', 'W', 'R'),
      emit('acknowledged', 'R', 'protocol', { signal_id: '?s', ref: 'Q' }),
      deliver('R', 'W', { signal_id: '?s' }),
    ])
    for (const reply of ['F1', 'F2']) {
      await kit.send(reply, 'R', 'W', 'feedback', { in_reply_to: 'Q' })
      await kit.expectAdded(arrived(reply, 'R', 'W', 'feedback', { in_reply_to: 'Q' }))
    }
    const thread = await kit.do('R', 'get_thread', { envelope: 'Q' })
    deepStrictEqual(
      thread.map(({ id }) => kit.names.of(id)),
      ['E1', 'Q', 'F1', 'F2'],
    )
  },
)
