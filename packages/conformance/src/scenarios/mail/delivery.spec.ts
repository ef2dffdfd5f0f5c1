// Envelopes: what is accepted, in which order it arrives, what happens when it does not (wacp-primitives 3).
import { deepStrictEqual } from 'node:assert'
import { arrived, deliver, delivered, emit, receipt, rejected, undeliverable } from '../../entry-rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-029 an envelope with a fault is rejected with its reason, and a corrected one is another envelope',
  { level: 1, rules: ['W-ENV-05', 'W-ENV-07', 'W-ENV-02', 'W-ENV-03', 'W-ID-05', 'W-ID-06'] },
  async kit => {
    await kit.worker('W')
    await kit.inState('closed', 'closed')
    await kit.inState('integrating', 'integrating')
    if (kit.level >= 2) await kit.inState('conflicted', 'conflicted')
    const good = { ...kit.mail('W', 'directive') }
    const { payload: _payload, ...headed } = good
    const faults: readonly (readonly [what: string, draft: Record<string, unknown>, reason: string, from?: string])[] =
      [
        ['no content', { ...headed, payload: { format: 'markdown' } }, 'invalid_structure'],
        ['an unknown priority', { ...good, priority: 'high' }, 'invalid_structure'],
        ['a status of its own', { ...good, status: 'delivered' }, 'invalid_structure'],
        ['to itself', { ...good, to: 'R' }, 'invalid_structure'],
        ['an unknown type', { ...good, type: 'gossip' }, 'invalid_type'],
        ['an unknown receiver', { ...good, to: 'nobody' }, 'target_not_found'],
        ['to a closed one', { ...good, to: 'closed' }, 'target_terminal'],
        ['to an integrating one', { ...good, to: 'integrating' }, 'target_terminal'],
        ...(kit.level >= 2 ? [['to a conflicted one', { ...good, to: 'conflicted' }, 'target_terminal'] as const] : []),
        ['a reply to nothing', { ...good, in_reply_to: 'nothing' }, 'invalid_structure'],
        ['a directive of a worker', { ...kit.mail('R', 'directive') }, 'permission_denied', 'W'],
        ['two receivers', { ...good, to: ['W', 'R'] }, 'invalid_structure'],
      ]
    const before = await kit.inbox('W')
    await kit.mark()
    for (const [what, draft, reason, from = 'R'] of faults) {
      const refusal = await kit.refuses('REJECTED', from, 'send_envelope', draft, reason).catch(cause => {
        throw new Error(`${what}: ${cause.message}`)
      })
      if (what === 'no content') kit.name(String(refusal.about?.envelope), 'first')
      await kit.expectAdded([rejected(from, reason)])
    }
    deepStrictEqual(await kit.inbox('W'), before)
    await kit.send('E', 'R', 'W', 'directive')
    deepStrictEqual(kit.id('E') === kit.id('first'), false)
    await kit.expectAdded(arrived('E', 'R', 'W', 'directive'))
    deepStrictEqual((await kit.envelope('first')).status, 'rejected')
  },
)

scenario(
  'WP-032 what is lost holds up what was sent behind it',
  { level: 1, rules: ['W-ENV-10', 'W-ENV-14'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    let lost: string | undefined
    kit.faults.transport.rule(({ kind, id, attempt }) => {
      if (kind === 'envelope') lost ??= id
      return id === lost && attempt === 1 ? 'drop' : 'pass'
    })
    await kit.send('E1', 'R', 'W', 'directive')
    await kit.send('E2', 'R', 'W', 'feedback')
    await kit.send('E3', 'R', 'W', 'feedback')
    await kit.advance(999)
    await kit.expectNone('envelope_delivered')
    await kit.advance(1)
    await kit.expectAmong([delivered('E1', 'R', 'W'), delivered('E2', 'R', 'W'), delivered('E3', 'R', 'W')])
    deepStrictEqual(await kit.inbox('W'), ['E1', 'E2', 'E3'])
  },
)

scenario(
  'WP-036 what never arrives is given up after four attempts, and its sender is told',
  { level: 1, rules: ['W-ENV-15', 'W-SIG-04'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const attempts: number[] = []
    kit.faults.transport.rule(({ attempt }) => {
      attempts.push(attempt)
      return 'drop'
    })
    await kit.send('E', 'R', 'W', 'directive')
    await kit.advance(6999)
    deepStrictEqual(attempts, [1, 2, 3, 4])
    await kit.expectAdded([['envelope_created', 'R', 'system', { envelope_id: 'E' }]])
    await kit.advance(1)
    await kit.expectAdded([
      undeliverable('E', 'R', 'W', 'delivery_exhausted'),
      emit('failed', 'W', 'protocol', { signal_id: '?s', reason: 'delivery_exhausted', ref: 'E' }),
      deliver('W', 'R', { signal_id: '?s' }),
    ])
    deepStrictEqual([await kit.state('R'), await kit.state('W')], ['active', 'active'])
    deepStrictEqual(
      (await kit.notices('undeliverable')).some(({ to, subject }) => to === 'R' && subject === 'E'),
      true,
    )
  },
)

scenario(
  'WM-006 an envelope whose entry cannot be written was never sent',
  { level: 1, rules: ['W-TRAIL-05', 'W-REC-06'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const before = await kit.picture()
    kit.faults.store.fail()
    await kit.refuses('TRAIL_UNAVAILABLE', 'R', 'send_envelope', { ...kit.mail('W', 'directive') })
    kit.faults.store.mend()
    await kit.advance(10_000)
    await kit.expectAdded([])
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WM-044 after a crash undelivered mail arrives in its order, before anything newer',
  { level: 2, rules: ['W-REC-17', 'W-REC-19'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('F')
    kit.faults.transport.rule(() => 'drop')
    await kit.send('E1', 'R', 'W', 'directive')
    await kit.send('E2', 'R', 'W', 'feedback')
    await kit.send('E3', 'R', 'F', 'directive')
    await kit.mark()
    // The runtime died between the failure of F and what follows from it.
    const states = { from_state: 'active', to_state: 'failed', trigger: 'timeout', reason: 'timeout' }
    const failed = { workspace_id: kit.id('F'), ...states, initiator: 'protocol' }
    await kit.restart({
      crash: true,
      async meanwhile() {
        kit.faults.transport.rule(() => 'pass')
        const entry = { workspace: kit.id('F'), actor: 'protocol', event_type: 'workspace_state_changed' }
        await kit.faults.stored.append(kit.run, [{ ...entry, body: failed }])
      },
    })
    await kit.send('E4', 'R', 'W', 'feedback')
    const added = await kit.expectAmong([
      delivered('E1', 'R', 'W'),
      ...receipt('E1', 'R', 'W'),
      delivered('E2', 'R', 'W'),
      ...receipt('E2', 'R', 'W'),
      ['recovery_completed', null, 'protocol', { envelopes_redelivered: 2 }],
      ...arrived('E4', 'R', 'W', 'feedback'),
    ])
    const given = added.filter(({ event_type }) => event_type === 'envelope_undeliverable')
    deepStrictEqual(
      given.map(({ body: { envelope_id, reason } }) => [envelope_id, reason]),
      [[kit.id('E3'), 'failed']],
    )
    deepStrictEqual(await kit.inbox('W'), ['E1', 'E2', 'E4'])
    deepStrictEqual(
      (await kit.notices('recovered')).map(({ to }) => to),
      ['R'],
    )
  },
)
