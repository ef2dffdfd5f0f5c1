// Faults while running: agents, many agents at once, the store, the transport (wacp-mechanisms 3.1).
import { deepStrictEqual } from 'node:assert'
import { created, deliver, emit, failure, SC, signalled, undeliverable } from '../../entry-rows.ts'
import { NOTES } from '../../kit.ts'
import { scenario } from '../../scenario.ts'
import { must, refused } from '../../stage.ts'

scenario(
  'WM-033 an agent says what it cannot go on without, and is refused where it says nothing',
  { level: 2, rules: ['W-REC-02', 'W-REC-03'] },
  async kit => {
    await kit.inState('W', 'active')
    const reason = 'external_api_unavailable: {"service":"search","error":"503"}'
    await kit.emit('W', 'blocked', { reason })
    const [emitted, heard] = signalled('s', 'blocked', 'W', 'R', 'worker', { reason })
    await kit.expectAdded([emitted, SC('W', 'active', 'blocked', 'agent_blocked', { initiator: 'worker' }), heard])
    await kit.emit('W', 'started')
    await kit.mark()
    await kit.refuses('INVALID_ARGUMENT', 'W', 'emit_signal', { type: 'blocked' })
    await kit.expectAdded([])
    deepStrictEqual(await kit.state('W'), 'active')
  },
)

scenario(
  'WM-034 the coordinator sees that one cause failed many, records it and ends the group',
  { level: 2, rules: ['W-REC-04', 'W-REC-05'] },
  async kit => {
    const [group, reason] = ['batch', 'external_api_unavailable']
    const names = ['A', 'B', 'C', 'D']
    for (const name of [...names, 'E']) await kit.worker(name, { group })
    await kit.worker('W')
    await kit.mark()
    const from = (await kit.entries()).at(-1)!.timestamp
    for (const name of names) {
      await kit.emit(name, 'failed', { reason })
      await kit.advance(500)
    }
    await kit.emit('W', 'failed', { reason: 'own fault' })
    await kit.mark()
    const to = (await kit.entries()).at(-1)!.timestamp
    const filter = { event_type: 'signal_emitted', body: { type: 'failed' }, from, to }
    const rows = await kit.do('R', 'aggregate_trail', { filter, group: 'body.reason' })
    const byReason = new Map(rows.map(({ key, count }) => [key, count]))
    deepStrictEqual([byReason.get(reason), byReason.get('own fault')], [4, 1])
    const { entries } = await kit.do('R', 'query_trail', { ...filter, group })
    deepStrictEqual(
      entries.map(({ workspace }) => kit.names.of(String(workspace))),
      names,
    )
    await kit.expectAdded([])
    const degraded = { reason, scope: 'systemic', action: 'batch_abort', workspaces: names }
    await kit.do('R', 'report_degraded', degraded)
    await kit.do('R', 'batch_abort', { group })
    await kit.expectAmong([
      [
        'system_degraded',
        null,
        'system',
        { reason, scope: 'systemic', affected_workspaces: names, coordinator_action: 'batch_abort' },
      ],
      SC('E', 'active', 'failed', 'batch_abort', { actor: 'system' }),
      ['batch_abort', 'R', 'system', { group_id: group, affected_workspaces: ['E'], skipped_workspaces: names }],
    ])
  },
)

scenario(
  'WM-035 a store that fails twice and then works leaves one entry, the transition, and no word of it',
  { level: 2, rules: ['W-REC-07'], setup: { appendRetries: 3 } },
  async kit => {
    await kit.inState('W', 'active')
    kit.faults.store.fail(2)
    const answer = kit.call('W', 'emit_signal', { type: 'blocked', reason: 'waiting' })
    for (let step = 0; step < 10; step++) {
      await kit.settle()
      await kit.advance(200)
    }
    must(await answer)
    const added = await kit.added({ outages: true })
    deepStrictEqual(
      added.map(({ event_type, body }) => [event_type, body.to_state]),
      [
        ['signal_emitted', undefined],
        ['workspace_state_changed', 'blocked'],
        ['signal_delivered', undefined],
      ],
    )
    deepStrictEqual(await kit.state('W'), 'blocked')
  },
)

const blocked = (reason: string) => ({ type: 'blocked', reason })

scenario(
  'WM-036 what ran out while the trail was away comes before what was submitted meanwhile, and behind the word of it',
  { level: 2, rules: ['W-REC-08', 'W-REC-09'] },
  async kit => {
    await kit.worker('V')
    await kit.inState('W', 'active', { timeout: 10_000 })
    kit.faults.store.fail()
    await kit.refuses('TRAIL_UNAVAILABLE', 'V', 'emit_signal', blocked('first'))
    const complete = kit.call('W', 'emit_signal', { type: 'complete' })
    let answered = false
    void complete.then(() => {
      answered = true
    })
    for (let second = 0; second < 12; second++) await kit.advance(1000)
    // Nothing happens, and everything can be read.
    deepStrictEqual([answered, await kit.state('W'), await kit.state('V')], [false, 'active', 'active'])
    deepStrictEqual((await kit.do('R', 'query_trail', { scope: 'global' })).entries.length > 0, true)
    deepStrictEqual(await kit.added({ outages: true }), [])
    kit.faults.store.mend()
    await kit.advance(10_000)
    must(await complete)
    await kit.expectAdded([
      [
        'system_degraded',
        null,
        'protocol',
        {
          scope: 'trail_storage',
          affected_workspaces: [],
          coordinator_action: 'wait',
          degraded_from: (at: unknown) => typeof at === 'string',
          degraded_to: (at: unknown) => typeof at === 'string',
        },
      ],
      ...failure('W', 'active', 'timeout'),
      ['signal_emitted', null, 'worker', { from: 'W', type: 'complete' }],
    ])
    deepStrictEqual(await kit.state('W'), 'failed')
  },
)

scenario(
  'WM-037 the hold takes as much as it may, in order, and refuses what is beyond it at once',
  { level: 2, rules: ['W-REC-08'], setup: { holdLimit: 2 } },
  async kit => {
    await kit.inState('W', 'active')
    kit.faults.store.fail()
    // The first failure is how the outage is noticed; it is answered, and not held.
    await kit.refuses('TRAIL_UNAVAILABLE', 'W', 'emit_signal', blocked('noticed'))
    const held = [kit.call('W', 'emit_signal', blocked('second')), kit.call('W', 'emit_signal', { type: 'started' })]
    const third = kit.call('W', 'emit_signal', blocked('third'))
    let answered = false
    void third.then(() => {
      answered = true
    })
    await kit.settle()
    deepStrictEqual(answered, true, 'the third is answered while the trail is away')
    refused(await third, 'TRAIL_UNAVAILABLE', 'trail_degraded')
    kit.faults.store.mend()
    await kit.advance(10_000)
    for (const answer of held) must(await answer)
    const signals = (await kit.added()).filter(({ event_type }) => event_type === 'signal_emitted')
    deepStrictEqual(
      signals.map(({ body }) => [body.type, body.reason]),
      [
        ['blocked', 'second'],
        ['started', undefined],
      ],
    )
    deepStrictEqual(await kit.state('W'), 'active')
  },
)

scenario(
  'WM-038 a target that never acknowledges is tried three times more, and then its sender and the coordinator hear of it',
  { level: 1, rules: ['W-REC-10'], setup: { redeliveryBase: 200 }, run: { taxonomy: NOTES } },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.grant('right', 'send', 'W', 'W2')
    await kit.mark()
    let attempts = 0
    kit.faults.transport.rule(({ kind }) => {
      if (kind === 'signal') return 'pass'
      attempts++
      return 'drop'
    })
    await kit.send('E', 'W', 'W2', 'note')
    await kit.settle()
    deepStrictEqual(attempts, 1)
    let passed = 0
    for (const [index, at] of [200, 600, 1200].entries()) {
      await kit.advance(at - 1 - passed)
      deepStrictEqual(attempts, index + 1, `before ${at} ms`)
      await kit.advance(2)
      deepStrictEqual(attempts, index + 2, `after ${at} ms`)
      passed = at + 1
    }
    await kit.advance(1399 - passed)
    await kit.expectAdded([created('E', 'W', 'W2', 'note')])
    await kit.advance(2)
    await kit.expectAdded([
      undeliverable('E', 'W', 'W2', 'delivery_exhausted'),
      emit('failed', 'W2', 'protocol', { signal_id: '?s', reason: 'delivery_exhausted', ref: 'E' }),
      deliver('W2', 'W', { signal_id: '?s' }),
    ])
    await kit.advance(5000)
    await kit.expectAdded([])
    deepStrictEqual(attempts, 4)
    for (const name of ['R', 'W', 'W2']) deepStrictEqual(await kit.state(name), 'active', name)
    const told = await kit.notices('undeliverable')
    deepStrictEqual(
      told.some(({ to, subject }) => to === 'R' && subject === 'E'),
      true,
    )
  },
)
