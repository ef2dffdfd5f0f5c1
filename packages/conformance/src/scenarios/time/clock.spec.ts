// The clock: stamps that only rise, durations, and what waits for its time (wacp-mechanisms 2).
import { deepStrictEqual } from 'node:assert'
import { deliver, emit, failure, notCreated, SC, undeliverable } from '../../entry-rows.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** Microseconds, which is what a tick is. */
function ticks(timestamp: string): number {
  return Date.parse(`${timestamp.slice(0, 19)}Z`) * 1000 + Number(timestamp.slice(20, 26))
}

scenario(
  'WM-028 stamps rise by one tick where the wall clock stands or stepped back, within a batch as between them',
  { level: 1, rules: ['W-CLOCK-02', 'W-CLOCK-03'] },
  async kit => {
    await kit.worker('W1')
    await kit.worker('W2')
    await kit.mark()
    const last = (await kit.entries()).at(-1)!.timestamp
    kit.faults.clock(-5000)
    const stamps: string[] = []
    const collect = async () => stamps.push(...(await kit.added()).map(({ timestamp }) => timestamp))
    for (let round = 0; stamps.length < 47; round++) {
      await kit.checkpoint(`K${round}`, round % 2 ? 'W1' : 'W2')
      await collect()
    }
    // A failure is one batch: the signal, the state, and what the parent hears.
    await kit.do('R', 'abort', { workspace: 'W1' })
    await kit.expectAdded(failure('W1', 'active', 'aborted_by_coordinator', { actor: 'system' }))
    const batch = (await kit.entries()).slice(-3).map(({ timestamp }) => timestamp)
    stamps.push(...batch)
    for (const stamp of stamps) deepStrictEqual([stamp.length, TIMESTAMP.test(stamp)], [27, true], stamp)
    const rises = stamps.map((stamp, index) => ticks(stamp) - ticks(stamps[index - 1] ?? last))
    deepStrictEqual(new Set(rises), new Set([1]))
    deepStrictEqual(
      batch.map(stamp => ticks(stamp) - ticks(batch[0]!)),
      [0, 1, 2],
    )
  },
)

scenario(
  'WM-029 a duration is a positive whole number of milliseconds, or nothing is made of it',
  { level: 1, rules: ['W-CLOCK-04', 'W-CLOCK-08', 'W-CLOCK-09'] },
  async kit => {
    const wrong = [{ timeout: -1 }, { timeout: 0 }, { timeout: 1.5 }, { liveness_interval: -1 }]
    for (const duration of wrong)
      await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker', ...duration }, 'invalid_parameters')
    await kit.expectAdded(wrong.map(() => notCreated('R', 'invalid_parameters')))
    deepStrictEqual((await kit.look('R')).children, [])
    if (kit.level < 3) return
    const highway = { gates: { task_approval: true }, gate_defaults: { timeout: -1 } }
    await kit.refuses('INVALID_ARGUMENT', 'runtime', 'expand_highway', { highway }, 'invalid_duration')
    await kit.refuses('INVALID_ARGUMENT', 'runtime', 'start_run', { owner: 'ux', highway }, 'invalid_duration')
    await kit.expectAdded([])
    const { source, tick, unit } = await kit.do('runtime', 'clock_info')
    deepStrictEqual([typeof source, source === '', tick, unit], ['string', false, '1us', 'ms'])
  },
)

const S = 1000

scenario(
  'WM-030 timeout, compute, silence, redelivery, gate and escalation each act when their time has come',
  {
    level: 2,
    rules: ['W-CLOCK-05'],
    run: {
      highway: {
        gates: { task_approval: false, workspace_abort: true },
        gate_defaults: { timeout: 40 * S, fallback: 'reject' },
        escalation: { enabled: true, timeout: 50 * S, fallback: 'reject' },
      },
    },
  },
  async kit => {
    await kit.worker('timeout', { timeout: 10 * S })
    await kit.worker('compute', { budget: { compute_budget: { compute_timeout: 20 * S } } })
    await kit.worker('silence', { liveness_interval: 30 * S })
    for (const name of ['mail', 'gate', 'escalation']) await kit.worker(name)
    let attempts = 0
    kit.faults.transport.rule(({ kind, to }) => {
      if (kind === 'signal' || to !== kit.id('mail')) return 'pass'
      attempts++
      return 'drop'
    })
    await kit.send('E', 'R', 'mail', 'feedback')
    kit.gate(await kit.call('R', 'abort', { workspace: 'gate' }))
    await kit.emit('escalation', 'blocked', { reason: 'two ways' })
    await kit.emit('escalation', 'escalation', { reason: 'which way?' })
    await kit.mark()
    const limit = { workspace_id: 'compute', budget_dimension: 'compute_timeout', limit: 20 * S }
    const exhausted = (reason: unknown) => String(reason).startsWith('budget_exceeded')
    // What happens at which second, and how often the lost envelope was sent by then.
    const times: readonly (readonly [second: number, sent: number, rows: readonly Row[]])[] = [
      [1, 2, []],
      [3, 3, []],
      [6, 4, []],
      [
        7,
        4,
        [
          undeliverable('E', 'R', 'mail', 'delivery_exhausted'),
          emit('failed', 'mail', 'protocol', { reason: 'delivery_exhausted', ref: 'E' }),
          deliver('mail', 'R'),
        ],
      ],
      [10, 4, failure('timeout', 'active', 'timeout')],
      [16, 4, [['budget_warning', 'compute', 'protocol', { ...limit, threshold_percent: 80 }]]],
      [
        20,
        4,
        [
          ['budget_exceeded', 'compute', 'protocol', limit],
          ...failure('compute', 'active', 'budget_exceeded', { reason: exhausted }),
        ],
      ],
      [30, 4, [['liveness_warning', 'silence', 'protocol', { workspace_id: 'silence', interval: 30 * S }]]],
      [
        40,
        4,
        [
          ['gate_timeout', 'gate', 'fallback', { gate_id: 'G1', fallback_action: 'reject' }],
          ['gate_resolved', 'gate', 'fallback', { gate_id: 'G1', action: 'reject', actor: 'fallback' }],
        ],
      ],
      [
        50,
        4,
        [
          ['escalation_timeout', 'escalation', 'fallback', { fallback_action: 'reject' }],
          ['escalation_resolved', 'escalation', 'fallback', { actor: 'fallback', response_type: 'abort' }],
          ...failure('escalation', 'blocked', 'escalation_timeout'),
        ],
      ],
    ]
    let passed = 0
    let before = 1
    for (const [second, sent, rows] of times) {
      await kit.advance(second * S - 1 - passed)
      await kit.expectAdded([])
      deepStrictEqual(attempts, before, `before ${second} s`)
      await kit.advance(2)
      await kit.expectAdded(rows)
      deepStrictEqual(attempts, sent, `after ${second} s`)
      passed = second * S + 1
      before = sent
    }
    deepStrictEqual([await kit.state('gate'), await kit.state('silence')], ['active', 'active'])
  },
)

scenario(
  'WM-031 after a restart every stamp exceeds the greatest on record, whatever the wall clock says',
  { level: 2, rules: ['W-CLOCK-07', 'W-REC-21'] },
  async kit => {
    await kit.worker('W')
    kit.faults.clock(3600 * S)
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.mark()
    const newest = (await kit.entries()).at(-1)!.timestamp
    kit.faults.clock(-3600 * S)
    await kit.restart({ crash: true })
    await kit.emit('W', 'started')
    const added = await kit.expectAmong([
      ['recovery_completed', null, 'protocol'],
      SC('W', 'blocked', 'active', 'agent_started'),
    ])
    for (const { timestamp, event_type } of added)
      deepStrictEqual(timestamp > newest, true, `${event_type} at ${timestamp}`)
  },
)
