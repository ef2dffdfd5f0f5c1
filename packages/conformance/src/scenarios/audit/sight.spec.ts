// Ceilings, sight and consent: scenarios from the text alone (wacp-audit, section of that name).
import { deepStrictEqual } from 'node:assert'
import { denied, notCreated, SC } from '../../entry-rows.ts'
import { ANSWERING, invalidated, only, triggered } from '../../gated.ts'
import type { Kit } from '../../kit.ts'
import { scenario } from '../../scenario.ts'
import { must, refused } from '../../stage.ts'

const S = 1000
const GRACE = 50 * S
const OPEN = { gates: { task_approval: false } }

async function inject(kit: Kit, name: string, user: string, to: string, type = 'directive'): Promise<void> {
  kit.name((await kit.do(user, 'inject', { ...kit.mail(to, type) })).envelope, name)
  await kit.settle()
}

scenario(
  'WX-061 only a directive that reached the creator says for whom work is done; the root cites any',
  { level: 2, rules: ['W-USER-10', 'W-TOPO-CAUS-03'], run: { highway: OPEN } },
  async kit => {
    await kit.user('ux', ['inject_directive_any'])
    await kit.delegate('D')
    await kit.delegate('E')
    await inject(kit, 'Q', 'ux', 'D', 'query')
    await inject(kit, 'TR', 'ux', 'R')
    await inject(kit, 'TE', 'ux', 'E')
    await inject(kit, 'TD', 'ux', 'D')
    await kit.mark()
    for (const [by, caused_by] of [
      ['D', 'Q'],
      ['D', 'TR'],
      ['D', 'TE'],
      ['R', 'Q'],
    ] as const) {
      const draft = { role: 'worker', caused_by }
      await kit.refuses('REJECTED', by, 'create_workspace', draft, 'invalid_parameters')
      await kit.expectAdded([notCreated(by, 'invalid_parameters')])
    }
    const tasks = [{ key: 'T', name: 'T', description: 'do it' }]
    await kit.refuses('INVALID_ARGUMENT', 'R', 'submit_graph', { tasks, caused_by: 'Q' })
    await kit.workspace('C', { caused_by: 'TD' }, 'D')
    await kit.workspace('X', { caused_by: 'TE' })
    for (const [name, originator] of Object.entries({ C: 'ux', X: 'ux', D: 'system' }))
      deepStrictEqual((await kit.look(name)).originator, originator, name)
  },
)

const windDown = { workspace: 'W', grace_period: GRACE, reason: 'enough' }
const begun = ['graceful_termination_initiated', 'W', 'system', { grace_period: GRACE }] as const

async function answer(kit: Kit, action: string): Promise<void> {
  const [gate] = await kit.do('runtime', 'list_gates')
  await kit.do('ux', 'answer_gate', { gate: gate!.id, action })
  await kit.settle()
}

scenario(
  'WX-062 the time to wind down begins when the agent was told, not while the letter waits for consent',
  { level: 3, rules: ['W-TERM-02', 'W-TERM-04', 'W-HWY-03'], run: { highway: only('envelope_delivery') } },
  async kit => {
    await kit.user('ux', ANSWERING)
    await kit.workspace('W', { directive: { format: 'markdown', content: 'work' } })
    await answer(kit, 'approve')
    await kit.do('R', 'terminate', windDown)
    await kit.mark()
    await kit.advance(3 * GRACE)
    await kit.expectAdded([])
    deepStrictEqual(await kit.state('W'), 'active')
    await answer(kit, 'approve')
    await kit.expectAmong([['envelope_delivered', 'W', 'protocol', { to: 'W' }]])
    await kit.advance(GRACE - S)
    deepStrictEqual(await kit.state('W'), 'active')
    await kit.advance(2 * S)
    await kit.expectAmong([SC('W', 'active', 'failed', 'graceful_termination_expired')])
  },
)

scenario(
  'WX-063 where the end of a workspace waits for consent, the request to wind down waits too',
  { level: 3, rules: ['W-TERM-01', 'W-HWY-03', 'W-HWY-12'], run: { highway: only('workspace_abort') } },
  async kit => {
    await kit.user('ux', ANSWERING)
    await kit.worker('W')
    await kit.mark()
    kit.gate(await kit.call('R', 'terminate', windDown), 'G1')
    await kit.expectAdded([triggered('G1', 'workspace_abort', 'W')])
    await kit.advance(3 * GRACE)
    await answer(kit, 'reject')
    await kit.advance(3 * GRACE)
    deepStrictEqual(await kit.state('W'), 'active')
    kit.gate(await kit.call('R', 'terminate', windDown), 'G2')
    await kit.mark()
    await answer(kit, 'approve')
    await kit.expectAmong([begun, ['envelope_created', 'R', 'system', { to: 'W', type: 'feedback' }]])
    await kit.advance(GRACE + S)
    await kit.expectAmong([SC('W', 'active', 'failed', 'graceful_termination_expired')])

    await kit.worker('V')
    kit.gate(await kit.call('R', 'terminate', { ...windDown, workspace: 'V' }), 'G3')
    await kit.bring('V', 'integrating')
    await kit.expectAmong([invalidated('G3', 'workspace_abort', 'V')])
  },
)

/** A taxonomy with a derived observer, one more role of that kind, and a type with these rows. */
function taxonomyWith(rows: readonly (readonly [from: string, to: string])[], role: object = {}): object {
  const permissions = rows.map(([sender_role, receiver_role]) => ({ sender_role, receiver_role }))
  const empty = { add: [], remove: [] }
  return {
    id: 't',
    version: '1.0.0',
    protocol_version: '0.1',
    roles: [
      { name: 'watcher', extends: 'observer', ...empty },
      { name: 'helper', extends: 'worker', ...empty, ...role },
    ],
    envelope_types: [{ name: 'word', description: '', permissions: permissions }],
    checkpoint_types: [],
  }
}

scenario(
  'WX-064 no row and no definition of a taxonomy lets an observer send, or an agent write to one',
  { level: 1, rules: ['W-ROLE-09', 'W-TAX-05'], opened: false },
  async kit => {
    must(await kit.open())
    if (kit.level >= 2) await kit.user('ux')
    const peers = ['helper', 'worker'] as const
    const adds = (action: string, role: string) => [{ action, target: { type: 'word', role } }]
    for (const [what, document] of Object.entries({
      'a row from observers': taxonomyWith([peers, ['observer', 'worker']]),
      'a row from a derived observer': taxonomyWith([peers, ['watcher', 'coordinator']]),
      'a row to observers': taxonomyWith([peers, ['coordinator', 'observer']]),
      'a row to a derived observer': taxonomyWith([peers, ['worker', 'watcher']]),
      'a role that adds sending to observers': taxonomyWith([peers], { add: adds('send', 'observer') }),
      'an observer that adds receiving': taxonomyWith([['worker', 'worker']], {
        extends: 'observer',
        add: adds('receive', 'worker'),
      }),
    })) {
      refused(await kit.start({ taxonomy: document }), 'INVALID_ARGUMENT', undefined, what)
      deepStrictEqual(kit.run, '', `${what}: no run was started`)
    }
    must(await kit.start({ taxonomy: taxonomyWith([peers]) }), 'without any of them')
  },
)

scenario(
  'WX-065 whoever stands above a workspace reads what it was given; those beside and below it do not',
  { level: 2, rules: ['W-WS-02', 'W-WS-15'] },
  async kit => {
    await kit.delegate('D')
    await kit.delegate('E', { parent: 'D', context: { note: 'for E' } })
    await kit.worker('W', { context: { note: 'for W' } }, 'E')
    await kit.worker('V', {}, 'E')
    await kit.mark()
    for (const reader of ['R', 'D', 'E', 'W'])
      deepStrictEqual(await kit.do(reader, 'read_context', { workspace: 'W' }), { note: 'for W' }, reader)
    await kit.expectAdded([])
    for (const [by, workspace] of [
      ['V', 'W'],
      ['W', 'E'],
    ] as const) {
      await kit.refuses('NOT_FOUND', by, 'read_context', { workspace })
      await kit.expectAdded([denied(by, 'worker', 'access:read')])
    }
  },
)

scenario(
  'WX-066 what a merge made of its target is for those who see the target',
  { level: 2, rules: ['W-WS-15', 'W-INT-06'] },
  async kit => {
    await kit.delegate('D')
    await kit.worker('W', {}, 'D')
    await kit.worker('V')
    await kit.bring('W', 'integrating')
    await kit.mark()
    await kit.refuses('NOT_FOUND', 'D', 'read_result', { source: 'W' })
    await kit.expectAdded([])
    await kit.refuses('NOT_FOUND', 'V', 'read_result', { source: 'W' })
    await kit.expectAmong([['capability_denied', 'V', 'worker', { capability: 'access:read' }]])
    const accept = { source: 'W', decision: 'accept', strategy: 'evaluated', result: { tree: 'of D' } }
    await kit.do('D', 'decide_integration', accept)
    await kit.mark()
    for (const reader of ['R', 'D'])
      deepStrictEqual(await kit.do(reader, 'read_result', { source: 'W' }), { tree: 'of D' }, reader)
    await kit.expectAdded([])
    await kit.refuses('NOT_FOUND', 'W', 'read_result', { source: 'W' })
    await kit.expectAmong([['capability_denied', null, 'worker', { capability: 'access:read' }]])
  },
)

scenario(
  'WX-067 a question that nobody answered fails nobody who has completed or is paused',
  {
    level: 2,
    rules: ['W-HWY-22'],
    run: { highway: { ...OPEN, escalation: { enabled: true, timeout: GRACE, fallback: 'reject' } } },
  },
  async kit => {
    for (const [name, state] of [
      ['A', 'integrating'],
      ['B', 'suspended'],
      ['C', 'blocked'],
    ] as const) {
      await kit.worker(name)
      await kit.emit(name, 'escalation', { reason: 'which way?' })
      await kit.bring(name, state)
      await kit.mark()
      await kit.advance(GRACE + S)
      const [left, response_type] = state === 'blocked' ? ['failed', 'abort'] : [state, 'delegation']
      await kit.expectAmong([
        ['escalation_timeout', name, 'fallback', { workspace: name, fallback_action: 'reject' }],
        ['escalation_resolved', name, 'fallback', { workspace: name, response_type }],
      ])
      deepStrictEqual(await kit.state(name), left)
    }
  },
)

scenario(
  'WX-068 the coordinator consults the owner of a workspace; no answer to a question of its own ends no run',
  {
    level: 2,
    rules: ['W-HWY-20', 'W-HWY-22', 'W-REC-05'],
    run: { highway: { ...OPEN, escalation: { enabled: true, timeout: GRACE, fallback: 'reject' } } },
  },
  async kit => {
    await kit.user('uy', ANSWERING)
    await kit.delegate('D')
    await kit.worker('W', { owner: 'uy' })
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'D', 'consult', { workspace: 'D', reason: 'which way?' })
    await kit.expectAdded([denied('D', 'worker', 'operation:consult')])
    for (const [name, about, addressee] of [
      ['Q1', 'W', 'uy'],
      ['Q2', 'R', 'ux'],
    ] as const) {
      kit.name((await kit.do('R', 'consult', { workspace: about, reason: 'which way?' })).signal, name)
      const question = { signal_id: name, workspace: about, reason: 'which way?', addressee, queued: false }
      await kit.expectAdded([['escalation_received', about, 'system', question]])
    }
    await kit.do('uy', 'answer_escalation', { signal: 'Q1', answer: { type: 'delegation' } })
    await kit.expectAmong([['escalation_resolved', 'W', 'uy', { signal_id: 'Q1', response_type: 'delegation' }]])
    await kit.advance(GRACE + S)
    await kit.expectAmong([['escalation_resolved', 'R', 'fallback', { signal_id: 'Q2', response_type: 'delegation' }]])
    deepStrictEqual([await kit.state('R'), await kit.state('W')], ['active', 'active'])
  },
)

scenario(
  'WX-069 reaching for what one may not watch is on record, as a query for it is',
  { level: 2, rules: ['W-TRAIL-20', 'W-HWY-02', 'W-SEC-12'], run: { highway: OPEN } },
  async kit => {
    await kit.worker('W', { owner: 'uy' })
    await kit.worker('V')
    await kit.mark()
    const watch = await kit.do('uy', 'watch_trail', { workspace: kit.id('V') })
    await watch.stop()
    const denial = { user_id: 'uy', capability: 'view_trail_any', reason: 'wrong_scope', target: 'V' }
    await kit.expectAdded([['capability_denied', null, 'uy', denial]])
  },
)
