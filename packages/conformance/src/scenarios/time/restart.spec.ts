// What a crash leaves and a recovery makes of it: states, components, mail, signals (wacp-mechanisms 3.2).
import { deepStrictEqual } from 'node:assert'
import { deliver, emit, redelivered, SC } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import { type Kit, NOTES, type State } from '../../kit.ts'
import { scenario } from '../../scenario.ts'
import { without } from '../stored.ts'

const COUNTS = [
  'downtime',
  'workspaces_recovered',
  'workspaces_failed',
  'envelopes_redelivered',
  'signals_requeued',
  'timers_reconstructed',
  'trail_entries_examined',
  'quarantined_entries',
] as const

/** Milliseconds, rounded down (W-CLOCK-04). */
function elapsed(from: string, to: string): number {
  const ticks = (stamp: string) => Date.parse(`${stamp.slice(0, 19)}Z`) * 1000 + Number(stamp.slice(20, 26))
  return Math.floor((ticks(to) - ticks(from)) / 1000)
}

scenario(
  'WM-032 after a crash states are what the trail says, nothing unrecorded happened, and the marker has the numbers',
  { level: 2, rules: ['W-REC-01', 'W-REC-14', 'W-REC-22'], setup: { appendRetries: 1 } },
  async kit => {
    const states: readonly State[] = ['idle', 'active', 'blocked', 'suspended', 'integrating', 'closed', 'failed']
    for (const state of states) await kit.inState(`is ${state}`, state)
    await kit.mark()
    const before = await kit.picture()
    const known = await kit.entries()
    kit.faults.store.fail()
    const blocked = { type: 'blocked', reason: 'never recorded' }
    kit.call('is active', 'emit_signal', blocked).catch(() => undefined)
    await kit.restart({ crash: true, outage: 5000, meanwhile: () => kit.faults.store.mend() })
    await kit.expectAdded([
      [
        'recovery_completed',
        null,
        'protocol',
        {
          downtime: (given: unknown) => typeof given === 'number',
          // The root and everything that has not ended. Timeouts run for three of them; those that rest may count too.
          workspaces_recovered: 6,
          workspaces_failed: 0,
          envelopes_redelivered: 0,
          signals_requeued: 0,
          timers_reconstructed: (given: number) => given >= 3 && given <= 5,
          trail_entries_examined: known.length,
          quarantined_entries: 0,
        },
      ],
    ])
    const marker = (await kit.entries()).at(-1)!
    deepStrictEqual(marker.body.downtime, elapsed(known.at(-1)!.timestamp, marker.timestamp))
    deepStrictEqual(
      COUNTS.filter(count => typeof marker.body[count] !== 'number'),
      [],
    )
    deepStrictEqual(await kit.picture(), before)
    for (const state of states) deepStrictEqual(await kit.state(`is ${state}`), state)
    deepStrictEqual(
      (await kit.notices('recovered')).map(({ to }) => to),
      ['R'],
    )
  },
)

scenario(
  'WM-039 recovery writes behind the newest stamp, mail before timers before the marker, and lets nobody in before it',
  { level: 2, rules: ['W-REC-11', 'W-REC-21'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('T', { timeout: 10_000 })
    kit.faults.transport.rule(() => 'drop')
    // The clock was ahead when the last entry was written.
    kit.faults.clock(120_000)
    await kit.send('E', 'R', 'W', 'directive')
    await kit.mark()
    const floor = (await kit.entries()).at(-1)!.timestamp
    kit.faults.clock(-120_000)
    // Whoever calls as soon as anything could answer is refused, gets no answer, or comes behind the marker.
    const turn = () => new Promise(resolve => setImmediate(resolve))
    let open = false
    const knock = async () => {
      for (let count = 0; !open && count < 100; count++) {
        kit.call('R', 'create_workspace', { role: 'worker' }).catch(() => undefined)
        await turn()
      }
    }
    let knocking: Promise<void> | undefined
    const meanwhile = () => {
      kit.faults.transport.rule(() => 'pass')
      knocking = knock()
    }
    await kit.restart({ crash: true, outage: 20_000, meanwhile })
    open = true
    await knocking
    const added = await kit.added()
    const end = added.findIndex(({ event_type }) => event_type === 'recovery_completed')
    const shape = added.slice(0, end + 1).map(({ event_type, workspace, body }) => {
      const filed = workspace === null ? null : kit.names.of(workspace)
      return [event_type, filed, body.type ?? body.to_state].filter(part => part !== undefined).join(' ')
    })
    deepStrictEqual(shape, [
      'envelope_delivered W',
      'signal_emitted W acknowledged',
      'signal_delivered R',
      'signal_emitted T failed',
      'workspace_state_changed T failed',
      'signal_delivered R',
      'recovery_completed ',
    ])
    for (const { timestamp, event_type } of added)
      deepStrictEqual(timestamp > floor, true, `${event_type} at ${timestamp}`)
  },
)

/**
 * A workspace W with something of every component: an orphan under its new parent P, with mail, rights, work and money
 * spent.
 */
async function lived(kit: Kit): Promise<void> {
  await kit.delegate('D', { owner: 'ux' })
  await kit.delegate('P', { owner: 'uy' })
  await kit.worker('V')
  await kit.worker('X')
  const budget = { compute_budget: { token_limit: 1000 } }
  await kit.worker('W', { owner: 'uy', group: 'g', budget, memory: { plan: 'first' } }, 'D')
  await kit.do('R', 'abort', { workspace: 'D' })
  await kit.do('R', 'reparent', { workspace: 'W', parent: 'P' })
  for (const workspace of ['P', 'W'])
    await kit.do('R', 'grant_visibility', { workspace, target: 'V', reason: 'to compare' })
  await kit.do('R', 'change_priority', { workspace: 'W', priority: 'critical' })
  await kit.do('R', 'transfer_ownership', { workspace: 'W', owner: 'ux' })
  await kit.faults.meter(kit.run, kit.id('W'), { tokens: 500 })
  const resource_usage = { tokens_consumed: 500, wall_time: 0, cost: 0 }
  await kit.checkpoint('K1', 'W', { resource_usage })
  await kit.final('W')
  await kit.checkpoint('K2', 'W')
  await kit.grant('once', 'send_once', 'W', 'V')
  await kit.grant('gone', 'send', 'W', 'X')
  await kit.grant('kept', 'send', 'X', 'W')
  await kit.grant('moved', 'send', 'P', 'V')
  await kit.send('N', 'W', 'V', 'note')
  await kit.do('R', 'revoke_right', { right: 'gone', reason: 'enough' })
  await kit.send('M', 'P', 'W', 'feedback', { rights: [{ type: 'send', target: kit.id('V') }] })
  await kit.settle()
  await kit.consume('W')
  await kit.send('E1', 'P', 'W', 'feedback')
  await kit.send('E2', 'P', 'W', 'feedback')
  await kit.settle()
  deepStrictEqual(await kit.consume('W'), 'E1')
  await kit.do('W', 'write_memory', { key: 'plan', value: 'second' })
}

scenario(
  'WM-042 every component of a workspace is there again after a crash',
  { level: 3, rules: ['W-REC-15', 'W-REC-25'], run: { taxonomy: NOTES } },
  async kit => {
    await lived(kit)
    await kit.mark()
    const before = await kit.picture()
    await kit.restart({ crash: true, outage: 1000 })
    await kit.expectAdded([['recovery_completed', null, 'protocol']])
    deepStrictEqual(await kit.picture(), before)
    const { parent, owner, originator, priority, group, visibility, meter, limits, ...view } = await kit.look('W')
    deepStrictEqual(
      { parent, owner, originator, priority, group, visibility: visibility.toSorted() },
      {
        parent: kit.id('P'),
        owner: 'ux',
        originator: 'system',
        priority: 'critical',
        group: 'g',
        visibility: [kit.id('W'), kit.id('V')].toSorted(),
      },
    )
    deepStrictEqual([meter.tokens, limits.token_limit], [500, { limit: 1000, consumed: 500 }])
    deepStrictEqual(
      view.register.map(({ id }) => kit.names.of(id)),
      ['K1', 'KW', 'K2'],
    )
    deepStrictEqual(kit.names.of(String(view.deliverable)), 'KW')
    deepStrictEqual(await kit.do('W', 'read_memory', { key: 'plan' }), 'second')
    const held = async (holder: string, target: string) =>
      (await kit.rights(holder, target)).map(({ id }) => kit.names.of(id))
    deepStrictEqual(
      [await held('W', 'V'), await held('W', 'X'), await held('X', 'W'), await held('P', 'V')],
      [['moved'], [], ['kept'], []],
    )
    deepStrictEqual([await kit.consume('W'), await kit.consume('W')], ['E2', undefined])
    // What was spent counts on: half the limit is left.
    await kit.mark()
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: 300 })
    await kit.expectAdded([
      ['budget_warning', 'W', 'protocol', { budget_dimension: 'token_limit', consumed: 800, limit: 1000 }],
    ])
  },
)

scenario(
  'WM-043 a recorded complete beats a timeout that ran out meanwhile, and recorded mail wakes the idle',
  { level: 3, rules: ['W-REC-16'] },
  async kit => {
    await kit.worker('W', { timeout: 10_000 })
    await kit.final('W')
    const directive = { format: 'markdown', content: 'work' }
    await kit.workspace('I', { directive, dispatch: false })
    await kit.workspace('I2')
    await kit.mark()
    await kit.emit('W', 'complete')
    await kit.do('R', 'dispatch_directive', { workspace: 'I' })
    await kit.send('F', 'R', 'I2', 'feedback')
    const done = await kit.added()
    const first = done[0]!.seq
    const kept = new Set(['complete', 'envelope_created', 'envelope_delivered'])
    const lost = ({ seq, event_type, body }: Entry) =>
      seq >= first && !kept.has(event_type) && !kept.has(String(body.type))
    deepStrictEqual(done.filter(lost).length >= 4, true)
    await kit.restart({
      crash: true,
      outage: 20_000,
      meanwhile: () => kit.faults.stored.forge(kit.run, without(lost)),
    })
    const added = (await kit.entries()).slice(first - 1 + 5)
    const moves = added.filter(({ event_type }) => event_type === 'workspace_state_changed')
    deepStrictEqual(
      moves
        .map(
          ({ workspace, body }) =>
            `${kit.names.of(String(workspace))} ${body.from_state} ${body.to_state} ${body.trigger}`,
        )
        .toSorted(),
      ['I idle active first_envelope', 'I2 idle active first_envelope', 'W active integrating agent_complete'],
    )
    deepStrictEqual([await kit.state('W'), await kit.state('I')], ['integrating', 'active'])
    const marker = added.at(-1)!
    deepStrictEqual(
      [marker.event_type, marker.body.workspaces_failed, marker.body.signals_requeued],
      ['recovery_completed', 0, 1],
    )
  },
)

scenario(
  'WM-045 an envelope is in the inbox once and acknowledged once, whatever part of its delivery is on record',
  { level: 2, rules: ['W-REC-17', 'W-REC-19'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('V')
    await kit.send('E2', 'R', 'V', 'directive')
    await kit.mark()
    await kit.send('E0', 'R', 'W', 'directive')
    await kit.settle()
    deepStrictEqual(await kit.consume('W'), 'E0')
    await kit.send('E1', 'R', 'W', 'directive')
    await kit.send('E3', 'R', 'V', 'directive')
    const done = await kit.added()
    deepStrictEqual([await kit.inbox('W'), await kit.inbox('V')], [['E1'], ['E2', 'E3']])
    const first = done[0]!.seq
    // Of E0 and E1 the delivery was made and not recorded, and E0 was read too; of E3 it was recorded and not
    // acknowledged.
    const lost = ({ seq, event_type, body }: Entry) =>
      seq >= first &&
      event_type !== 'envelope_created' &&
      !(event_type === 'envelope_delivered' && body.envelope_id === kit.id('E3'))
    deepStrictEqual(done.filter(lost).length, 8)
    await kit.restart({
      crash: true,
      meanwhile: () => kit.faults.stored.forge(kit.run, without(lost)),
    })
    await kit.settle()
    const recovered = (await kit.entries()).slice(first - 1 + 4)
    const shape = ({ event_type, body }: Entry) => [
      event_type,
      kit.names.of(String(body.envelope_id ?? body.ref ?? body.delivered_to ?? '')),
    ]
    const shapes = recovered.map(shape)
    deepStrictEqual(shapes.at(-1)?.[0], 'recovery_completed')
    // Which channel comes first is free.
    const batches = [0, 3, 6]
      .map(at => shapes.slice(at, at + 3))
      .toSorted((one, other) => (String(one) < String(other) ? -1 : 1))
    deepStrictEqual(shapes.length, 10)
    const settled = (type: string, name: string) => [
      [type, name],
      ['signal_emitted', name],
      ['signal_delivered', 'R'],
    ]
    deepStrictEqual(batches, [
      settled('envelope_delivered', 'E0'),
      settled('envelope_delivered', 'E1'),
      settled('envelope_redelivered', 'E3'),
    ])
    deepStrictEqual([await kit.inbox('W'), await kit.inbox('V')], [['E1'], ['E2', 'E3']])
    await kit.mark()
    for (const name of ['E2', 'E3']) {
      await kit.faults.transport.repeat(kit.run, kit.id(name))
      await kit.expectAdded([redelivered(name, 'R', 'V')])
    }
    deepStrictEqual(await kit.inbox('V'), ['E2', 'E3'])
  },
)

scenario(
  'WM-046 signals that were emitted and not delivered are delivered by recovery in order of emission',
  { level: 2, rules: ['W-REC-18'], setup: { carriedSignals: true } },
  async kit => {
    await kit.inState('W', 'active')
    kit.faults.transport.rule(({ kind }) => (kind === 'signal' ? 'drop' : 'pass'))
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.emit('W', 'started')
    await kit.expectAdded([
      emit('blocked', 'W', 'worker', { signal_id: '?s1' }),
      SC('W', 'active', 'blocked', 'agent_blocked'),
      emit('started', 'W', 'worker', { signal_id: '?s2' }),
      SC('W', 'blocked', 'active', 'agent_started'),
    ])
    await kit.restart({ crash: true, meanwhile: () => kit.faults.transport.rule(() => 'pass') })
    await kit.expectAdded([
      deliver('W', 'R', { signal_id: 's1' }),
      deliver('W', 'R', { signal_id: 's2' }),
      ['recovery_completed', null, 'protocol', { signals_requeued: 2 }],
    ])
  },
)
