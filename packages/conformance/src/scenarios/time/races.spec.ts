// Time against everything else: races with a timeout, silence, the order in which what waits is processed
// (wacp-primitives 12, 13).
import { deepStrictEqual } from 'node:assert'
import { emit, failure, noCheckpoint } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { must, refused } from '../../stage.ts'

const S = 1000

scenario(
  'WP-088 of complete and a timeout the one that is processed first counts, and of two that wait the timeout',
  { level: 2, rules: ['W-CONC-06', 'W-CONC-03', 'W-SIG-10'] },
  async kit => {
    await kit.worker('A', { timeout: 100 })
    await kit.final('A')
    await kit.advance(99)
    await kit.emit('A', 'complete')
    await kit.mark()
    await kit.advance(500)
    await kit.expectAdded([])
    deepStrictEqual(await kit.state('A'), 'integrating')

    const [signal, change, delivery] = failure('W', 'active', 'timeout')
    const late: Row = ['signal_emitted', null, 'worker', { from: 'W', type: 'complete' }]
    await kit.worker('W', { timeout: 100 })
    await kit.final('W')
    await kit.mark()
    kit.faults.store.hold()
    const slow = kit.call('W', 'emit_signal', { type: 'started' })
    await kit.settle()
    const complete = kit.call('W', 'emit_signal', { type: 'complete' })
    await kit.advance(101)
    kit.faults.store.mend()
    must(await slow, 'What was under way')
    deepStrictEqual(must(await complete).outcome, 'absorbed', 'complete, which waited with the timeout')
    await kit.expectAmong([emit('started', 'W', 'worker'), signal, change, late])
    deepStrictEqual(await kit.state('W'), 'failed')

    await kit.worker('W', { timeout: 100 })
    await kit.final('W')
    await kit.mark()
    await kit.advance(101)
    deepStrictEqual(await kit.emit('W', 'complete'), 'absorbed')
    await kit.expectAdded([signal, change, delivery, late])
    deepStrictEqual(await kit.state('W'), 'failed')
  },
)

/** Whole seconds from one entry to the other. */
function seconds(from: Entry, to: Entry): number {
  return Math.round((Date.parse(to.timestamp) - Date.parse(from.timestamp)) / S)
}

scenario(
  'WP-093 each full interval of silence is worth a warning, which changes nothing; at the timeout there is none',
  { level: 2, rules: ['W-BUDGET-08', 'W-BUDGET-09'] },
  async kit => {
    const limits = { timeout: 30 * S, liveness_interval: 5 * S }
    /** The newest entry of W: its last activity, as long as nothing warns. */
    const newest = async () => (await kit.entries()).findLast(({ workspace }) => workspace === kit.id('W'))!
    const silence = ({ timestamp }: Entry): Row => [
      'liveness_warning',
      'W',
      'protocol',
      { workspace_id: 'W', interval: 5 * S, last_activity_timestamp: timestamp },
    ]

    await kit.worker('W', limits)
    await kit.mark()
    const began = await newest()
    await kit.advance(29 * S)
    const warnings = await kit.added()
    deepStrictEqual(
      warnings.map(entry => [entry.event_type, seconds(began, entry), entry.body.last_activity_timestamp]),
      [5, 10, 15, 20, 25].map(second => ['liveness_warning', second, began.timestamp]),
    )
    deepStrictEqual(await kit.state('W'), 'active')
    await kit.advance(S + 1)
    await kit.expectAdded(failure('W', 'active', 'timeout'))

    await kit.worker('W', limits)
    await kit.mark()
    const first = await newest()
    await kit.advance(7 * S)
    await kit.expectAdded([silence(first)])
    await kit.emit('W', 'checkpoint')
    await kit.mark()
    const spoke = await newest()
    await kit.advance(22 * S)
    const later = await kit.added()
    deepStrictEqual(
      later.map(entry => [entry.event_type, seconds(first, entry), entry.body.last_activity_timestamp]),
      [12, 17, 22, 27].map(second => ['liveness_warning', second, spoke.timestamp]),
    )
    await kit.do('R', 'abort', { workspace: 'W' })

    await kit.worker('W', { liveness_interval: 5 * S })
    await kit.advance(3 * S)
    await kit.bring('W', 'suspended')
    await kit.mark()
    await kit.advance(100 * S)
    await kit.expectAdded([])
    await kit.do('R', 'resume', { workspace: 'W' })
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.mark()
    const blocked = await newest()
    await kit.advance(5 * S - 1)
    await kit.expectAdded([])
    await kit.advance(2)
    await kit.expectAdded([silence(blocked)])
    deepStrictEqual(await kit.state('W'), 'blocked')
  },
)

scenario(
  'WP-094 an abort overtakes what waits, no command comes between the entries of another, and time never stands still',
  { level: 1, rules: ['W-CONC-01', 'W-CONC-02', 'W-CONC-03', 'W-CONC-05'] },
  async kit => {
    for (const name of ['W', 'V', 'V2']) await kit.worker(name)
    const draft = await kit.checkpointDraft('W', { status: 'final' })
    await kit.mark()
    kit.faults.store.hold()
    const slow = kit.call('W', 'emit_signal', { type: 'started' })
    await kit.settle()
    const checkpoint = kit.call('W', 'create_checkpoint', { ...draft })
    const complete = kit.call('W', 'emit_signal', { type: 'complete' })
    await kit.settle()
    const abort = kit.call('R', 'abort', { workspace: 'W' })
    await kit.settle()
    kit.faults.store.mend()
    must(await slow, 'What was under way')
    must(await abort, 'The abort')
    refused(await checkpoint, 'REJECTED', 'workspace_not_active')
    deepStrictEqual(must(await complete).outcome, 'absorbed')
    const added = await kit.expectAmong([
      // What is being processed is finished first.
      emit('started', 'W', 'worker'),
      ...failure('W', 'active', 'aborted_by_coordinator', { actor: 'system' }).slice(0, 2),
      noCheckpoint('W', 'workspace_not_active', { under: null }),
      ['signal_emitted', null, 'worker', { from: 'W', type: 'complete' }],
    ])
    deepStrictEqual(
      added.filter(({ event_type }) => event_type === 'checkpoint_created'),
      [],
    )
    const { status, register } = await kit.look('W')
    deepStrictEqual([status, register], ['failed', []])

    const workers = ['V', 'V2']
    const rounds = Array.from({ length: 25 }, (_, round) => `round ${round}`)
    const answers = rounds.flatMap(reason =>
      workers.flatMap(name => [kit.emit(name, 'blocked', { reason }), kit.emit(name, 'started')]),
    )
    deepStrictEqual(
      await Promise.all(answers),
      answers.map(() => 'applied'),
    )
    const all = await kit.added()
    for (const name of workers) {
      const local = all.filter(({ workspace }) => workspace === kit.id(name))
      deepStrictEqual(
        local.map(({ event_type, body }) => [event_type, body.type ?? body.to_state]),
        rounds.flatMap(() => [
          ['signal_emitted', 'blocked'],
          ['workspace_state_changed', 'blocked'],
          ['signal_emitted', 'started'],
          ['workspace_state_changed', 'active'],
        ]),
        name,
      )
      deepStrictEqual(
        local.filter(({ body }) => body.type === 'blocked').map(({ body }) => body.reason),
        rounds,
        name,
      )
    }
    const stamps = (await kit.entries()).map(({ timestamp }) => timestamp)
    deepStrictEqual(stamps, [...new Set(stamps)].toSorted())
  },
)
