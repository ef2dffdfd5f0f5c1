// What a reading of the text alone asks of overlap, judgement, answers, observers and waking (wacp-audit).
import { deepStrictEqual } from 'node:assert'
import { denied, SC, taskStatus } from '../../entry-rows.ts'
import { another } from '../../gated.ts'
import { type Kit, NOTES } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const TIMEOUT = 10_000
/** Aborts wait, and whoever does not answer in time has said no. */
const GUARDED = {
  gates: { task_approval: false, workspace_abort: true },
  gate_defaults: { timeout: TIMEOUT, fallback: 'reject' },
}

/** The runtime's own finding, by the paths alone. */
function found(workspace: string, resources: readonly string[], more = {}): Row {
  return ['conflict_detected', workspace, 'protocol', { conflict_type: 'content_overlap', resources, ...more }]
}

/** A is merged; B overlaps with it in f and g. */
async function overlapping(kit: Kit): Promise<void> {
  await kit.completed({ A: ['f', 'g'], B: ['f', 'g', 'h'] })
  await kit.do('R', 'decide_integration', { source: 'A', decision: 'accept', strategy: 'direct' })
  await kit.mark()
}

scenario(
  'WX-031 an evaluated merge of overlapping work finds the overlap and stops at it',
  { level: 2, rules: ['W-INT-07', 'W-INT-11'] },
  async kit => {
    await overlapping(kit)
    const accept = { source: 'B', decision: 'accept', strategy: 'evaluated', result: { made: 'of both' } }
    deepStrictEqual((await kit.do('R', 'decide_integration', accept)).outcome, 'conflicted')
    const added = await kit.expectAmong([
      ['integration_started', 'B', 'system', { source: 'B', strategy: 'evaluated' }],
      found('B', ['f', 'g'], { workspace_id: 'B', conflict_id: '?X' }),
      SC('B', 'integrating', 'conflicted', 'conflict_detected', { actor: 'system' }),
    ])
    deepStrictEqual(
      added.filter(entry => entry.event_type === 'integration_completed'),
      [],
    )
    const settle = { source: 'B', conflict: 'X', strategy: 'coordinator_resolve', resolution: 'both' }
    await kit.do('R', 'resolve_conflict', settle)
    await kit.expectAmong([['integration_completed', 'B', 'system', { source: 'B', result: 'conflict_resolved' }]])
    deepStrictEqual(await kit.do('R', 'read_result', { source: 'B' }), { made: 'of both' })
  },
)

scenario(
  'WX-032 overlap that the integrator does not report is found all the same, and what it reports once',
  { level: 2, rules: ['W-INT-07'] },
  async kit => {
    await overlapping(kit)
    await kit.do('R', 'begin_integration', { source: 'B', strategy: 'evaluated' })
    await kit.mark()
    await kit.conflicts('B', [
      { type: 'content_overlap', resources: ['f'] },
      { type: 'semantic_contradiction', resources: ['g'] },
    ])
    await kit.expectAdded([
      ['conflict_detected', 'B', 'system', { conflict_type: 'content_overlap', resources: ['f'] }],
      ['conflict_detected', 'B', 'system', { conflict_type: 'semantic_contradiction', resources: ['g'] }],
      found('B', ['g']),
      SC('B', 'integrating', 'conflicted', 'conflict_detected', { actor: 'system' }),
    ])
  },
)

scenario(
  'WX-033 a salvage of overlapping work is not merged before the overlap is settled',
  { level: 3, rules: ['W-INT-07', 'W-INT-20'] },
  async kit => {
    await kit.completed({ A: ['f'] })
    await kit.do('R', 'decide_integration', { source: 'A', decision: 'accept', strategy: 'direct' })
    await kit.worker('W')
    await kit.final('W', ['f'])
    await kit.bring('W', 'failed')
    await kit.do('R', 'begin_salvage', { source: 'W', strategy: 'evaluated' })
    await kit.mark()
    await kit.do('R', 'decide_salvage', { source: 'W', decision: 'accept' })
    await kit.expectAdded([found('R', ['f'], { workspace_id: 'W', conflict_id: '?X', mode: 'salvage' })])
    const settle = { source: 'W', conflict: 'X', strategy: 'coordinator_resolve', resolution: 'both' }
    await kit.do('R', 'resolve_conflict', settle)
    await kit.expectAmong([['integration_completed', 'R', 'system', { mode: 'salvage', result: 'conflict_resolved' }]])
    deepStrictEqual(await kit.state('W'), 'failed')
  },
)

/** A worker below `by` that has completed. */
async function finished(kit: Kit, name: string, by: string): Promise<void> {
  await kit.worker(name, {}, by)
  await kit.bring(name, 'integrating')
}

scenario(
  'WX-034 a child that waits below a completed delegate is revised or rejected by the coordinator, never accepted',
  { level: 2, rules: ['W-INT-01', 'W-INT-03'] },
  async kit => {
    for (const [decision, reason] of [
      ['revise', 'revision_required'],
      ['reject', 'rejected'],
    ] as const) {
      await another(kit, 'off')
      await kit.delegate('D')
      await finished(kit, 'C', 'D')
      await kit.mark()
      // While the delegate can judge, nobody does so in its place.
      await kit.refuses('PERMISSION_DENIED', 'R', 'decide_integration', { source: 'C', decision })
      await kit.expectAdded([denied('R', 'system', 'operation:integrate')])
      await kit.bring('D', 'integrating')
      await kit.mark()
      const accept = { source: 'C', decision: 'accept', strategy: 'direct' }
      await kit.refuses('PERMISSION_DENIED', 'R', 'decide_integration', accept)
      await kit.expectAdded([denied('R', 'system', 'operation:integrate')])
      await kit.do('R', 'decide_integration', { source: 'C', decision })
      await kit.expectAmong([
        ['integration_started', 'C', 'system', { source: 'C', target: 'D' }],
        ['integration_aborted', 'C', 'system', { source: 'C', target: 'D', reason }],
        SC('C', 'integrating', 'failed', reason, { actor: 'system' }),
      ])
      await kit.do('R', 'decide_integration', { source: 'D', decision: 'accept' })
      deepStrictEqual(await kit.state('D'), 'closed')
    }
  },
)

scenario(
  'WX-035 of several above a child that nobody judges, the nearest that still acts does',
  { level: 2, rules: ['W-INT-01'] },
  async kit => {
    await kit.delegate('D')
    await kit.delegate('E', { parent: 'D' })
    await finished(kit, 'C', 'E')
    await kit.bring('E', 'integrating')
    await kit.mark()
    const reject = { source: 'C', decision: 'reject' }
    await kit.refuses('PERMISSION_DENIED', 'R', 'decide_integration', reject)
    await kit.expectAdded([denied('R', 'system', 'operation:integrate')])
    await kit.do('D', 'decide_integration', reject)
    await kit.expectAmong([
      ['integration_aborted', 'C', 'worker', { source: 'C', target: 'E', reason: 'rejected' }],
      SC('C', 'integrating', 'failed', 'rejected', { actor: 'worker' }),
    ])
  },
)

scenario(
  'WX-036 an abort that a fallback had rejected is answered by that nothing was done',
  { level: 2, rules: ['W-HWY-11'], run: { highway: GUARDED } },
  async kit => {
    await kit.worker('W')
    kit.gate(await kit.call('R', 'abort', { workspace: 'W' }))
    await kit.advance(TIMEOUT + 1)
    await kit.mark()
    deepStrictEqual((await kit.do('R', 'abort', { workspace: 'W' })).outcome, 'rejected')
    await kit.expectAdded([['gate_reentry_blocked', 'W', 'protocol', { gate_id: 'G1', converted_to: 'reject' }]])
    deepStrictEqual(await kit.state('W'), 'active')
    await another(kit, 'off')
    await kit.worker('W')
    deepStrictEqual((await kit.do('R', 'abort', { workspace: 'W' })).outcome, 'applied')
    deepStrictEqual(await kit.state('W'), 'failed')
  },
)

scenario(
  'WX-037 cancelling a task whose abort a fallback had rejected is answered by that nothing was done',
  { level: 2, rules: ['W-HWY-11', 'W-TASK-13', 'W-HWY-03'], run: { highway: GUARDED } },
  async kit => {
    await kit.graph({ T1: {}, T2: {} })
    await kit.bound('W', 'T1')
    kit.gate(await kit.call('R', 'cancel_task', { task: 'T1' }))
    await kit.advance(TIMEOUT + 1)
    await kit.mark()
    deepStrictEqual((await kit.do('R', 'cancel_task', { task: 'T1' })).outcome, 'rejected')
    await kit.expectAdded([['gate_reentry_blocked', 'W', 'protocol', { converted_to: 'reject' }]])
    deepStrictEqual([(await kit.task('T1')).status, await kit.state('W')], ['assigned', 'active'])
    deepStrictEqual((await kit.do('R', 'cancel_task', { task: 'T2' })).outcome, 'applied')
    await kit.expectAdded([taskStatus('T2', 'pending', 'cancelled', 'system')])
  },
)

scenario(
  'WX-038 an observer consumes what a person writes to it',
  { level: 2, rules: ['W-HWY-17', 'W-WS-21'] },
  async kit => {
    await kit.user('ux', ['inject_directive_any'])
    await kit.workspace('O', { role: 'observer' })
    await kit.mark()
    kit.name((await kit.do('ux', 'inject', { ...kit.mail('O', 'directive') })).envelope, 'E')
    await kit.expectAmong([
      ['envelope_delivered', 'O', 'protocol', { envelope_id: 'E' }],
      SC('O', 'idle', 'active', 'first_envelope'),
    ])
    deepStrictEqual(await kit.consume('O'), 'E')
    deepStrictEqual(await kit.consume('O'), undefined)
  },
)

scenario(
  'WX-039 complete is answered by the checkpoint that will be integrated, or by that there is none',
  { level: 1, rules: ['W-LIFE-08', 'W-INT-04'] },
  async kit => {
    await kit.worker('W1')
    await kit.final('W1')
    await kit.checkpoint('P1', 'W1')
    await kit.worker('W2')
    await kit.checkpoint('P2', 'W2')
    await kit.worker('W3')
    for (const [name, integrates] of [
      ['W1', kit.id('KW1')],
      ['W2', null],
      ['W3', null],
    ] as const) {
      await kit.mark()
      const { outcome, ...said } = await kit.do(name, 'emit_signal', { type: 'complete' })
      deepStrictEqual([outcome, said.integrates], ['applied', integrates], name)
      await kit.expectAmong([SC(name, 'active', 'integrating', 'agent_complete')])
      if (integrates === null)
        await kit.refuses('INVALID_STATE', 'R', 'begin_integration', { source: name }, 'no_final_checkpoint')
    }
  },
)

scenario(
  'WX-040 whatever comes first wakes an idle workspace: each type, each priority, from whoever may write',
  { level: 1, rules: ['W-LIFE-06', 'W-ENV-08'], run: { taxonomy: NOTES } },
  async kit => {
    await kit.worker('V')
    const from = (name: string, type: string, more = {}) => ({ name, type, more, by: 'R' })
    for (const { name, type, more, by } of [
      from('W1', 'directive'),
      from('W2', 'feedback'),
      from('W3', 'feedback', { priority: 'urgent' }),
      from('W4', 'feedback', { priority: 'blocking' }),
      { ...from('W5', 'note'), by: 'V' },
    ]) {
      await kit.workspace(name)
      if (by === 'V') await kit.grant(`right${name}`, 'send', 'V', name)
      await kit.mark()
      await kit.send(`E${name}`, by, name, type, more)
      await kit.expectAmong([
        ['envelope_delivered', name, 'protocol', { envelope_id: `E${name}` }],
        SC(name, 'idle', 'active', 'first_envelope'),
      ])
    }
    if (kit.level < 2) return
    await kit.user('ux', ['inject_directive_any'])
    await kit.workspace('W6')
    await kit.mark()
    await kit.do('ux', 'inject', { ...kit.mail('W6', 'feedback') })
    await kit.expectAmong([SC('W6', 'idle', 'active', 'first_envelope')])
  },
)
