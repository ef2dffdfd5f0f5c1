// Timers over an outage, decisions of which only the first part is on record, and the forced stop (wacp-mechanisms
// 3.2).
import { deepStrictEqual } from 'node:assert'
import { failure, taskStatus } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { without } from '../stored.ts'

const S = 1000

scenario(
  'WM-047 a timeout runs on while nothing runs: what is left is left, and what ran out ends in recovery',
  { level: 2, rules: ['W-REC-20'] },
  async kit => {
    await kit.worker('W', { timeout: 10 * S })
    await kit.advance(5 * S)
    await kit.mark()
    await kit.restart({ crash: true, outage: 3 * S })
    await kit.expectAdded([['recovery_completed', null, 'protocol', { workspaces_failed: 0, timers_reconstructed: 1 }]])
    await kit.advance(2 * S - 2)
    await kit.expectAdded([])
    await kit.advance(3)
    await kit.expectAdded(failure('W', 'active', 'timeout'))
    await kit.worker('V', { timeout: 10 * S })
    await kit.advance(5 * S)
    await kit.mark()
    await kit.restart({ crash: true, outage: 6 * S })
    await kit.expectAdded([
      ...failure('V', 'active', 'timeout'),
      ['recovery_completed', null, 'protocol', { workspaces_failed: 1 }],
    ])
  },
)

scenario(
  'WM-048 suspension and outage count for each timer as they should',
  { level: 3, rules: ['W-REC-20'] },
  async kit => {
    // One workspace for each timer with the same history: of several in one only the first could be seen.
    await kit.worker('timeout', { timeout: 20 * S })
    await kit.worker('compute', { budget: { compute_budget: { compute_timeout: 10 * S } } })
    await kit.worker('grace')
    await kit.do('R', 'terminate', { workspace: 'grace', grace_period: 20 * S, reason: 'enough' })
    const all = ['timeout', 'compute', 'grace']
    await kit.advance(2 * S)
    for (const workspace of all) await kit.do('R', 'suspend', { workspace, reason: 'pause' })
    await kit.advance(60 * S)
    for (const workspace of all) await kit.do('R', 'resume', { workspace })
    await kit.advance(S)
    // The outage begins with the newest entry.
    await kit.worker('last')
    await kit.mark()
    await kit.restart({ crash: true, outage: 5 * S })
    await kit.expectAdded([['recovery_completed', null, 'protocol', { workspaces_failed: 0 }]])
    const limit = { workspace_id: 'compute', budget_dimension: 'compute_timeout', limit: 10 * S }
    const exceeded = (reason: unknown) => String(reason).startsWith('budget_exceeded')
    await kit.advance(5 * S - 5)
    await kit.expectAdded([])
    await kit.advance(10)
    await kit.expectAdded([['budget_warning', 'compute', 'protocol', limit]])
    await kit.advance(2 * S - 10)
    await kit.expectAdded([])
    await kit.advance(10)
    await kit.expectAdded([
      ['budget_exceeded', 'compute', 'protocol', limit],
      ...failure('compute', 'active', 'budget_exceeded', { reason: exceeded }),
    ])
    await kit.advance(5 * S - 10)
    await kit.expectAdded([])
    await kit.advance(10)
    const ended = (await kit.added()).filter(({ workspace }) => workspace !== kit.id('R'))
    const of = (name: string) =>
      ended
        .filter(({ workspace }) => workspace === kit.id(name))
        .map(({ event_type, body }) => [event_type, body.reason])
    deepStrictEqual(of('timeout'), [
      ['signal_emitted', 'timeout'],
      ['workspace_state_changed', 'timeout'],
    ])
    deepStrictEqual(
      of('grace').map(([type]) => type),
      ['graceful_termination_expired', 'signal_emitted', 'workspace_state_changed'],
    )
    deepStrictEqual(of('grace')[2], ['workspace_state_changed', 'graceful_termination_expired'])
  },
)

/** Drops everything from the first entry on that follows this one and belongs to what it decided. */
function behind(seq: number): (entry: Entry) => boolean {
  return entry => entry.seq > seq
}

scenario(
  'WM-050 gates that ran out fall back, and what was decided without its effect is carried out',
  {
    level: 2,
    rules: ['W-REC-24'],
    run: {
      highway: {
        gates: { task_approval: true },
        gate_defaults: { timeout: 10 * S, fallback: 'reject' },
        escalation: { enabled: true, timeout: null, fallback: 'delegate_to_coordinator' },
      },
    },
  },
  async kit => {
    await kit.user('ux', ['create_workspace', 'abort_own'])
    await kit.graph({ A: {}, B: {} })
    const [late, decided] = await kit.gates()
    await kit.do('ux', 'answer_gate', { gate: decided, action: 'approve' })
    await kit.settle()
    const resolved = (await kit.entries()).findLast(({ event_type }) => event_type === 'gate_resolved')!.seq
    await kit.restart({
      crash: true,
      meanwhile: () => kit.faults.stored.forge(kit.run, without(behind(resolved))),
    })
    const approved: readonly Row[] = [
      ['task_approved', 'R', 'ux', { task_id: 'B', approval_source: 'human' }],
      taskStatus('B', 'draft', 'pending', 'ux'),
    ]
    const recovered = (await kit.entries()).filter(({ seq }) => seq > resolved)
    deepStrictEqual(
      recovered.map(({ event_type, actor }) => [event_type, actor]),
      [...approved.map(([type, , actor]) => [type, actor]), ['recovery_completed', 'protocol']],
    )
    deepStrictEqual((await kit.task('B')).status, 'pending')
    // The other one waits on, by the time at which it was opened, and ends while nothing runs.
    deepStrictEqual(await kit.gates(), [late])
    await kit.mark()
    await kit.restart({ crash: true, outage: 11 * S })
    await kit.expectAdded([
      ['gate_timeout', null, 'fallback', { gate_id: late, fallback_action: 'reject' }],
      ['gate_resolved', null, 'fallback', { gate_id: late, action: 'reject', actor: 'fallback' }],
      taskStatus('A', 'draft', 'cancelled', 'fallback'),
      ['recovery_completed', null, 'protocol'],
    ])

    // An escalation that was answered by an abort which nobody made.
    await kit.worker('E', { owner: 'ux' })
    await kit.emit('E', 'blocked', { reason: 'two ways' })
    await kit.emit('E', 'escalation', { reason: 'which way?' })
    const [escalation] = await kit.do('runtime', 'list_escalations')
    const answer = { type: 'abort' }
    await kit.do('ux', 'answer_escalation', { signal: escalation!.signal, answer })
    await kit.settle()
    const answered = (await kit.entries()).findLast(({ event_type }) => event_type === 'escalation_resolved')!.seq
    await kit.restart({
      crash: true,
      meanwhile: () => kit.faults.stored.forge(kit.run, without(behind(answered))),
    })
    const aborted = (await kit.entries()).filter(({ seq }) => seq > answered)
    const end = aborted.find(({ event_type }) => event_type === 'workspace_state_changed')
    deepStrictEqual([end?.workspace, end?.body.to_state, end?.body.reason], [kit.id('E'), 'failed', 'aborted_by_human'])
    deepStrictEqual(aborted.at(-1)?.event_type, 'recovery_completed')
    deepStrictEqual(await kit.do('runtime', 'list_escalations'), [])
  },
)

scenario('WM-050 a migration that was begun and not ended fails', { level: 3, rules: ['W-REC-24'] }, async kit => {
  // In the one case the state is on record too, in the other the runtime died right behind the first entry.
  for (const alone of [false, true]) {
    await kit.worker('W')
    await kit.bring('W', 'migrating')
    const started = (await kit.entries()).findLast(({ event_type }) => event_type === 'migration_started')!.seq
    await kit.mark()
    await kit.restart({
      crash: true,
      async meanwhile() {
        kit.faults.binder('work')
        if (alone) await kit.faults.stored.forge(kit.run, without(behind(started)))
      },
    })
    const added = (await kit.entries()).filter(({ seq }) => seq > started)
    const failed = added.findIndex(({ event_type }) => event_type === 'migration_failed')
    deepStrictEqual([added[failed]?.workspace, added[failed]?.body.error], [kit.id('W'), 'runtime_restart'])
    const end = added.findIndex(({ body }) => body.to_state === 'failed')
    deepStrictEqual(
      [end > failed, added[end]?.workspace, added[end]?.body.reason],
      [true, kit.id('W'), 'migration_error'],
    )
    deepStrictEqual([await kit.state('W'), added.at(-1)?.event_type], ['failed', 'recovery_completed'])
  }
})

scenario(
  'WM-051 a forced stop ends every workspace, then the gates, then the run, and the root last',
  {
    level: 2,
    rules: ['W-REC-26', 'W-HWY-12'],
    run: { highway: { gates: { task_approval: true }, gate_defaults: { timeout: null } } },
  },
  async kit => {
    await kit.delegate('D')
    await kit.worker('C', {}, 'D')
    await kit.inState('B', 'blocked')
    await kit.graph({ T: {} })
    const [gate] = await kit.gates()
    await kit.mark()
    await kit.do('runtime', 'stop_run')
    const added = await kit.added()
    const ends = added.filter(({ event_type }) => event_type === 'workspace_state_changed')
    deepStrictEqual(
      ends.map(({ body }) => [body.to_state, body.reason]),
      ends.map(() => ['failed', 'system_shutdown']),
    )
    const names = ends.map(({ workspace }) => kit.names.of(String(workspace)))
    deepStrictEqual(names.toSorted(), ['B', 'C', 'D', 'R'])
    deepStrictEqual([names.indexOf('C') < names.indexOf('D'), names.at(-1)], [true, 'R'])
    deepStrictEqual(
      added.slice(-3).map(({ event_type, actor, body }) => [event_type, actor, body.reason]),
      [
        ['gate_resolved', 'protocol', 'subject_invalidated'],
        ['system_degraded', 'protocol', 'forced_shutdown'],
        ['workspace_state_changed', 'protocol', 'system_shutdown'],
      ],
    )
    const [end, word] = [added.at(-3)!, added.at(-2)!]
    deepStrictEqual([end.body.gate_id, end.body.action], [kit.id(gate!), 'reject'])
    deepStrictEqual([word.body.scope, word.body.coordinator_action], ['systemic', 'batch_abort'])
    deepStrictEqual(await kit.gates(), [])
  },
)
