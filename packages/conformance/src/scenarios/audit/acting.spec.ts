// Who acted (wacp-audit): what falls to the coordinator, what does not reach a person, what a person decides at
// a gate, what salvages.
import { deepStrictEqual } from 'node:assert'
import { emit, SC, taskStatus, unreceived } from '../../entry-rows.ts'
import { another, only, resolved, triggered } from '../../gated.ts'
import { scenario } from '../../scenario.ts'

const MINUTE = 60_000

scenario(
  'WX-043 what the coordinator decides at a gate that fell to it is its own act',
  {
    level: 2,
    rules: ['W-HWY-10', 'W-TRAIL-02'],
    run: { highway: only('task_approval', { timeout: MINUTE, fallback: 'escalate_to_coordinator' }) },
  },
  async kit => {
    await kit.graph({ A: {} })
    const [gate] = await kit.do('runtime', 'list_gates')
    kit.name(String(gate?.id), 'G')
    await kit.advance(MINUTE + 1)
    await kit.mark()
    await kit.do('R', 'answer_gate', { gate: 'G', action: 'reject' })
    await kit.expectAdded([
      resolved('G', 'task_approval', null, 'reject', 'system', { reason: 'coordinator_decision' }),
      taskStatus('A', 'draft', 'cancelled', 'system'),
    ])
  },
)

scenario(
  'WX-044 what does not reach a person is no act of that person',
  { level: 2, rules: ['W-HWY-21', 'W-TRAIL-31'], users: ['ux'] },
  async kit => {
    const escalation = { enabled: true, timeout: MINUTE, fallback: 'delegate_to_coordinator' }
    await another(kit, { gates: { task_approval: false }, escalation })
    await kit.user('uy', [])
    await kit.worker('W', { owner: 'uy' })
    await kit.do('runtime', 'deactivate_user', { user: 'uy', reason: 'left' })
    await kit.mark()
    await kit.emit('W', 'blocked', { reason: 'stuck' })
    await kit.emit('W', 'escalation', { reason: 'help' })
    const added = await kit.expectAmong([unreceived('uy', 'user_not_active')])
    deepStrictEqual(
      added.filter(({ actor }) => actor === 'uy'),
      [],
    )
  },
)

scenario(
  'WX-045 work that a person sends back at the gate failed by that person',
  { level: 2, rules: ['W-HWY-08', 'W-INT-13'], run: { highway: only('conflict_resolution') } },
  async kit => {
    await kit.user('ux', ['approve_integration'])
    await kit.completed({ W: ['f'] })
    await kit.do('R', 'begin_integration', { source: 'W', strategy: 'evaluated' })
    await kit.conflicts('W', [{}])
    const proposal = { source: 'W', conflict: 'X1', strategy: 'coordinator_resolve', resolution: 'both' }
    kit.gate(await kit.call('R', 'resolve_conflict', proposal))
    await kit.mark()
    const modifications = { strategy: 'agent_rework' }
    await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'modify', modifications })
    await kit.expectAmong([
      resolved('G1', 'conflict_resolution', 'W', 'modify', 'ux'),
      ['integration_aborted', 'W', 'ux', { source: 'W', reason: 'agent_rework' }],
      SC('W', 'conflicted', 'failed', 'conflict_unresolvable', { actor: 'ux', initiator: 'human' }),
    ])
  },
)

scenario(
  'WX-046 every entry of a salvage says that it is one',
  { level: 3, rules: ['W-INT-19'], run: { highway: only('integration') } },
  async kit => {
    await kit.user('ux', ['approve_integration'])
    await kit.worker('W')
    await kit.final('W')
    await kit.bring('W', 'failed')
    await kit.mark()
    kit.gate(await kit.call('R', 'begin_salvage', { source: 'W', strategy: 'evaluated' }))
    await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'approve' })
    const mode = 'salvage'
    await kit.expectAdded([
      triggered('G1', 'integration', 'R', { mode }),
      resolved('G1', 'integration', 'R', 'approve', 'ux', { mode }),
      emit('integrate', 'R', 'system', { ref: 'W', mode }),
      ['integration_started', 'R', 'system', { source: 'W', mode }],
    ])
  },
)
