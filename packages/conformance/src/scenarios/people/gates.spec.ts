// Gates: configurations, what waits and how, answers and changes (wacp-mechanisms 5.1, 5.2).
import { deepStrictEqual, ok } from 'node:assert'
import { arrived, created, delivered, emit, failure, rejected, SC, taskStatus } from '../../entry-rows.ts'
import {
  ANSWERING,
  another,
  approveAll,
  approvedWorker,
  GATE_TYPES,
  type GateType,
  lastMade,
  only,
  resolved,
  triggered,
} from '../../gated.ts'
import type { Outcome } from '../../host.ts'
import type { Kit } from '../../kit.ts'
import { ANY, type Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const SHORT = 30_000
const MEDIUM = 600_000

/** The gates that are on, with their times and fallbacks, and the rest of a configuration. */
async function told(kit: Kit, highway?: unknown): Promise<Readonly<Record<string, unknown>>> {
  const { gates, escalation, visibility, injection } = await kit.do('runtime', 'expand_highway', { highway })
  const on = Object.entries(gates).filter(([, gate]) => gate.on)
  return {
    types: Object.keys(gates).toSorted(),
    ...Object.fromEntries(on.map(([type, gate]) => [type, [gate.timeout, gate.fallback]])),
    escalation: [escalation.timeout, escalation.fallback],
    open: [visibility, injection],
  }
}

scenario(
  'WM-061 presets and the empty configuration come to the table; an override changes its one field',
  { level: 2, rules: ['W-HWY-01', 'W-HWY-14', 'W-HWY-15'] },
  async kit => {
    const always = { types: GATE_TYPES.toSorted(), open: [true, true] }
    const supervised = [MEDIUM, 'escalate_to_coordinator']
    const expected = {
      autonomous: {
        task_approval: [SHORT, 'approve'],
        escalation: [SHORT, 'delegate_to_coordinator'],
      },
      supervised: {
        task_approval: supervised,
        integration: supervised,
        escalation: [MEDIUM, 'reject'],
      },
      gated: {
        ...Object.fromEntries(GATE_TYPES.map(type => [type, [null, 'reject']])),
        escalation: [null, 'reject'],
      },
    }
    for (const [preset, settings] of Object.entries(expected))
      deepStrictEqual(sorted(await told(kit, preset)), sorted({ ...always, ...settings }), preset)
    const unconfigured = { ...always, task_approval: supervised, escalation: [MEDIUM, 'reject'] }
    deepStrictEqual(sorted(await told(kit)), sorted(unconfigured))
    deepStrictEqual(sorted(await told(kit, {})), sorted(unconfigured))
    const changed = { preset: 'autonomous', gate_overrides: { task_approval: { timeout: 5000 } } }
    deepStrictEqual(
      sorted(await told(kit, changed)),
      sorted({ ...always, ...expected.autonomous, task_approval: [5000, 'approve'] }),
    )
    for (const highway of ['careful', { preset: 'careful' }, { gates: { merge: true } }]) {
      await kit.refuses('INVALID_ARGUMENT', 'runtime', 'expand_highway', { highway })
      await kit.refuses('INVALID_ARGUMENT', 'runtime', 'start_run', { owner: 'ux', highway })
    }

    // A gate keeps the time with which it opened, whatever is configured afterwards.
    await another(kit, 'autonomous')
    const { run } = kit
    await kit.graph({ T: {} })
    await another(kit, changed)
    await kit.graph({ T2: {} }, { graph: 'G2' })
    const timeouts = async () => (await kit.do('runtime', 'list_gates')).map(({ timeout }) => timeout)
    deepStrictEqual(await timeouts(), [5000])
    kit.run = run
    deepStrictEqual(await timeouts(), [SHORT])
    await kit.advance(SHORT - 2)
    deepStrictEqual(await timeouts(), [SHORT])
    await kit.advance(3)
    deepStrictEqual(await timeouts(), [])
  },
)

function sorted(value: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

scenario(
  'WM-062 each of the six transitions waits at its gate, with everything about it and before any effect',
  { level: 2, rules: ['W-HWY-03', 'W-HWY-04', 'W-HWY-05'], run: { highway: 'gated' } },
  async kit => {
    await kit.user('ux', ANSWERING)
    await approvedWorker(kit, 'U')
    const all = { timeout: null, fallback: 'reject', queue_position: 0 }
    /** The subject's id, which is made of ids. */
    const about = (first: string) => (value: unknown) => {
      const { id, digest } = value as { readonly id: string; readonly digest: unknown }
      return id.startsWith(first) && typeof digest === 'string'
    }

    const made = await kit.do('R', 'submit_graph', { tasks: [{ name: 'T', description: 'do it' }] })
    kit.name(made.graph, 'G')
    kit.name(made.tasks[0]!, 'T')
    await kit.expectAdded([
      ['graph_created', 'R', 'system', { graph_id: 'G' }],
      ['task_created', 'R', 'system', { task_id: 'T' }],
      triggered('?G1', 'task_approval', null, { ...all, subject: about('T'), task_ref: 'T', graph_ref: 'G' }),
    ])
    deepStrictEqual((await kit.task('T')).status, 'draft')
    await approveAll(kit)
    await kit.mark()

    const directive = { format: 'markdown', content: 'work' }
    const creation = { role: 'worker', task: 'T', resources: ['**'], directive }
    kit.gate(await kit.call('R', 'create_workspace', creation), 'G2')
    await kit.expectAdded([
      triggered('G2', 'workspace_create', 'R', {
        ...all,
        subject: about(`${kit.id('T')}#`),
        task_ref: 'T',
        graph_ref: 'G',
      }),
    ])
    await approveAll(kit)
    await lastMade(kit, 'W')
    await kit.do('W', 'consume_envelope')
    await kit.emit('W', 'started')
    await kit.mark()
    const more = { task_ref: 'T', graph_ref: 'G' }
    /** Whether the gate of a workspace with a task names that task as well is left open. */
    const either = (name: string) => (value: unknown) => value === null || value === name
    const bound = { task_ref: either(more.task_ref), graph_ref: either(more.graph_ref) }

    const sent = await kit.call('R', 'send_envelope', { ...kit.mail('W', 'feedback') })
    kit.gate(sent, 'G3')
    ok(sent.ok)
    kit.name(sent.value.envelope, 'E')
    await kit.expectAdded([
      created('E', 'R', 'W', 'feedback'),
      triggered('G3', 'envelope_delivery', 'W', { ...all, ...bound, subject: about('E') }),
    ])
    deepStrictEqual(await kit.inbox('W'), [])
    await approveAll(kit)
    deepStrictEqual(await kit.consume('W'), 'E')

    await kit.final('W')
    await kit.emit('W', 'complete')
    await kit.mark()
    kit.gate(await kit.call('R', 'begin_integration', { source: 'W', strategy: 'evaluated' }), 'G4')
    await kit.expectAdded([
      triggered('G4', 'integration', 'W', { ...all, ...bound, subject: about(`${kit.id('W')}:normal`) }),
    ])
    await approveAll(kit)

    await kit.conflicts('W', [{}])
    await kit.mark()
    const proposal = { source: 'W', conflict: 'X1', strategy: 'coordinator_resolve', resolution: 'keep both' }
    kit.gate(await kit.call('R', 'resolve_conflict', proposal), 'G5')
    await kit.expectAdded([
      triggered('G5', 'conflict_resolution', 'W', { ...all, ...bound, subject: about(`${kit.id('X1')}:`) }),
    ])
    deepStrictEqual(await kit.state('W'), 'conflicted')

    kit.gate(await kit.call('R', 'abort', { workspace: 'U' }), 'G6')
    await kit.expectAdded([
      triggered('G6', 'workspace_abort', 'U', {
        ...all,
        queue_position: 1,
        subject: about(`${kit.id('U')}:aborted_by_coordinator`),
      }),
    ])

    // Nothing else waits: even the workspace that is to be aborted goes on.
    await kit.checkpoint('K', 'U')
    await kit.emit('U', 'blocked', { reason: 'waiting' })
    await kit.expectAmong([
      ['checkpoint_created', 'U', 'worker', { checkpoint_id: 'K' }],
      SC('U', 'active', 'blocked', 'agent_blocked'),
    ])
    deepStrictEqual(await kit.gates(), ['G5', 'G6'])
  },
)

/** Brings about the one transition that each type holds up, at its gate G1. Returns where the gate is filed. */
const WAITING: { readonly [T in GateType]: (kit: Kit) => Promise<string | null> } = {
  async task_approval(kit) {
    await kit.graph({ T: {} })
    kit.name((await kit.do('runtime', 'list_gates'))[0]!.id, 'G1')
    return null
  },
  async workspace_create(kit) {
    kit.gate(await kit.call('R', 'create_workspace', { role: 'worker' }))
    return 'R'
  },
  async envelope_delivery(kit) {
    await kit.workspace('W')
    const sent = await kit.call('R', 'send_envelope', { ...kit.mail('W', 'feedback') })
    kit.gate(sent)
    ok(sent.ok)
    kit.name(sent.value.envelope, 'E')
    return 'W'
  },
  async integration(kit) {
    await kit.completed({ W: ['f'] })
    kit.gate(await kit.call('R', 'begin_integration', { source: 'W', strategy: 'direct' }))
    return 'W'
  },
  async conflict_resolution(kit) {
    await kit.inState('W', 'conflicted')
    kit.gate(await propose(kit))
    return 'W'
  },
  async workspace_abort(kit) {
    await kit.worker('W')
    kit.gate(await kit.call('R', 'abort', { workspace: 'W' }))
    return 'W'
  },
}

function propose(kit: Kit): Promise<Outcome<unknown>> {
  const resolution = 'keep both'
  return kit.call('R', 'resolve_conflict', {
    source: 'W',
    conflict: 'X1',
    strategy: 'coordinator_resolve',
    resolution,
  })
}

/** What follows `gate_resolved` (W-HWY-07). */
const APPROVED: { readonly [T in GateType]: readonly Row[] } = {
  task_approval: [
    ['task_approved', 'R', 'ux', { task_id: 'T', approval_source: 'human' }],
    taskStatus('T', 'draft', 'pending', 'ux'),
  ],
  workspace_create: [],
  envelope_delivery: [delivered('E', 'R', 'W')],
  integration: [
    emit('integrate', 'R', 'system', { ref: 'W' }),
    ['integration_started', 'W', 'system', { source: 'W', strategy: 'direct', checkpoint_ref: 'KW' }],
  ],
  conflict_resolution: [
    ['conflict_resolved', 'W', '*', { conflict_id: 'X1', resolution: 'keep both', outcome: 'closed' }],
    ['integration_completed', 'W', 'system', { source: 'W', result: 'conflict_resolved' }],
    ['workspace_state_changed', 'W', '*', { from_state: 'conflicted', to_state: 'closed' }],
  ],
  workspace_abort: failure('W', 'active', 'aborted_by_coordinator', { actor: 'system' }),
}

const REJECTED: { readonly [T in GateType]: readonly Row[] } = {
  task_approval: [taskStatus('T', 'draft', 'cancelled', 'ux')],
  workspace_create: [['workspace_rejected', 'R', 'protocol', { reason: 'gate_rejected_by_human' }]],
  envelope_delivery: [rejected('R', 'gate_rejected_by_human', { envelope_id: 'E' })],
  integration: failure('W', 'integrating', 'gate_rejected_by_human', { actor: 'ux' }),
  conflict_resolution: [],
  workspace_abort: [],
}

scenario(
  'WM-064 what is approved goes on, what is rejected is dropped, each as its type says',
  { level: 2, rules: ['W-HWY-07'] },
  async kit => {
    await kit.user('ux', ANSWERING)
    for (const type of GATE_TYPES)
      for (const action of ['approve', 'reject']) {
        await another(kit, only(type))
        const under = await WAITING[type](kit)
        await kit.mark()
        await kit.do('ux', 'answer_gate', { gate: 'G1', action })
        const ended = resolved('G1', type, under, action, 'ux')
        const rows = action === 'approve' ? APPROVED[type] : REJECTED[type]
        if (action === 'reject') await kit.expectAdded([ended, ...rows])
        else if (type === 'workspace_create') {
          await lastMade(kit, 'N')
          await kit.expectAmong([ended, ['workspace_created', 'N', 'system', { workspace_id: 'N' }]])
        } else {
          const added = await kit.expectAmong([ended, ...rows])
          deepStrictEqual(added[0]?.event_type, 'gate_resolved', type)
        }
        deepStrictEqual(await kit.do('runtime', 'list_gates'), [], `${type} ${action}`)
        if (action === 'approve') continue
        // A proposal that was rejected leaves the conflict open for another one; an abort leaves its workspace at work.
        if (type === 'conflict_resolution') {
          deepStrictEqual(await kit.state('W'), 'conflicted')
          kit.gate(await propose(kit), 'G2')
        }
        if (type === 'workspace_abort') deepStrictEqual(await kit.state('W'), 'active')
        if (type === 'envelope_delivery') deepStrictEqual(await kit.inbox('W'), [])
      }
  },
)

const tokens = (token_limit: number) => ({ compute_budget: { token_limit } })

scenario(
  'WM-065 people change what a gate holds up, within the rules that hold for it anyway',
  {
    level: 2,
    rules: ['W-HWY-08'],
    run: {
      highway: {
        gates: { task_approval: true, workspace_create: true, envelope_delivery: true },
        gate_defaults: { timeout: null, fallback: 'reject' },
      },
    },
  },
  async kit => {
    await kit.user('ux', ANSWERING)
    const refused = async (gate: string, modifications: object) => {
      const answer = { gate, action: 'modify', modifications }
      await kit.refuses('INVALID_ARGUMENT', 'ux', 'answer_gate', answer, 'modification_not_allowed')
      await kit.expectAdded([])
      ok((await kit.gates()).includes(gate), `${gate} still waits`)
    }
    await kit.graph({ T: {} })
    deepStrictEqual(await kit.gates(), ['G1'])
    await kit.mark()
    await refused('G1', { depends_on: [] })
    await refused('G1', {})
    const modifications = { priority: 'urgent' }
    await kit.do('ux', 'answer_gate', { gate: 'G1', action: 'modify', modifications })
    await kit.expectAdded([
      resolved('G1', 'task_approval', null, 'modify', 'ux', { modifications }),
      ['task_approved', 'R', 'ux', { task_id: 'T', approval_source: 'human' }],
      taskStatus('T', 'draft', 'pending', 'ux'),
    ])
    deepStrictEqual((await kit.task('T')).priority, 'urgent')

    await approvedWorker(kit, 'D', { delegate: true, budget: tokens(100) })
    kit.gate(await kit.call('D', 'create_workspace', { role: 'worker', budget: tokens(50) }), 'GC')
    await kit.mark()
    await refused('GC', { budget: tokens(101) })
    const budget = tokens(80)
    await kit.do('ux', 'answer_gate', { gate: 'GC', action: 'modify', modifications: { budget } })
    await lastMade(kit, 'C', 'D')
    await kit.expectAmong([
      resolved('GC', 'workspace_create', 'D', 'modify', 'ux'),
      ['workspace_created', 'C', 'worker', { workspace_id: 'C', budget }],
    ])

    const payload = { format: 'markdown', content: 'another text' }
    const sent = await kit.call('R', 'send_envelope', { ...kit.mail('D', 'feedback') })
    kit.gate(sent, 'GE')
    ok(sent.ok)
    kit.name(sent.value.envelope, 'E')
    await kit.mark()
    await refused('GE', { to: 'C' })
    await kit.do('ux', 'answer_gate', { gate: 'GE', action: 'modify', modifications: { payload } })
    const [, ...placed] = arrived('E', 'R', 'D', 'feedback')
    // Its proof is made anew: it is delivered as it is, and nothing is found wrong with it.
    await kit.expectAdded([
      resolved('GE', 'envelope_delivery', 'D', 'modify', 'ux', {
        modifications: ANY,
      }),
      ...placed,
    ])
    const read = await kit.do('D', 'consume_envelope')
    deepStrictEqual([read?.id, read?.payload], [kit.id('E'), { ...(read?.payload as object), ...payload }])
    deepStrictEqual((await kit.envelope('E')).payload?.content, payload.content)
    deepStrictEqual((await kit.do('runtime', 'verify_trail')).findings, [])
  },
)
