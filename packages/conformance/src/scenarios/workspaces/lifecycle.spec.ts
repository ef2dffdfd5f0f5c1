// Runs and workspaces: start, creation, states, suspension, ends (wacp-primitives 1, 2, 14).
import { deepStrictEqual, notDeepStrictEqual } from 'node:assert'
import { created, deliver, delivered, denied, emit, failure, notCreated, receipt, right, SC } from '../../entry-rows.ts'
import type { Entry } from '../../host.ts'
import { STATES, type State } from '../../kit.ts'
import type { OperationName } from '../../operations.ts'
import { ANY } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { must } from '../../stage.ts'

scenario(
  'WP-001 a run begins with its root, and with nothing else until the coordinator has started',
  {
    level: 1,
    rules: ['W-LIFE-12', 'W-LIFE-06', 'W-ROLE-02', 'W-SIG-08', 'W-TAX-01', 'W-USER-16'],
    opened: false,
  },
  async kit => {
    must(await kit.open())
    if (kit.level >= 2) await kit.user('ux')
    await kit.mark()
    must(await kit.start({ owner: 'ux' }))
    await kit.expectAdded([
      [
        'workspace_created',
        'R',
        'protocol',
        { workspace_id: 'R', parent: null, originator: 'system', role: 'coordinator', owner: 'ux' },
      ],
      right('receive', 'R', 'R', { actor: 'protocol' }),
      emit('ready', 'R', 'system'),
    ])
    await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker' }, 'parent_not_accepting')
    await kit.expectAdded([notCreated('R', 'parent_not_accepting')])
    await kit.emit('R', 'started')
    await kit.expectAdded([emit('started', 'R', 'system'), SC('R', 'idle', 'active', 'agent_started')])
  },
)

scenario(
  'WP-002 a new workspace has its rights, its nine components, and says ready to its parent',
  { level: 1, rules: ['W-WS-01', 'W-WS-02', 'W-WS-06', 'W-PORT-03', 'W-WS-10', 'W-ID-01'] },
  async kit => {
    await kit.workspace('W', { owner: 'ux' })
    await kit.expectAdded([
      ['workspace_created', 'W', 'system', { workspace_id: 'W', parent: 'R', role: 'worker', owner: 'ux' }],
      right('receive', 'W', 'W'),
      right('send', 'R', 'W'),
      right('send', 'W', 'R'),
      emit('ready', 'W', 'worker', { signal_id: '?ready' }),
      deliver('W', 'R', { signal_id: '?ready' }),
    ])
    const { status, register, visibility, originator, inbox, meter } = await kit.look('W')
    deepStrictEqual(
      { status, register, visibility, originator, inbox },
      { status: 'idle', register: [], visibility: [kit.id('W')], originator: 'system', inbox: [] },
    )
    deepStrictEqual([meter.tokens, meter.cost, meter.checkpoint_bytes], [0, 0, 0])
  },
)

scenario(
  'WP-003 a worker creates no workspaces',
  { level: 1, rules: ['W-WS-04', 'W-WS-05', 'W-ROLE-04', 'W-ROLE-13'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'W', 'create_workspace', { role: 'worker' })
    await kit.expectAdded([denied('W', 'worker', 'operation:create_workspace')])
    deepStrictEqual((await kit.look('W')).children, [])
  },
)

scenario(
  'WP-006 the first envelope wakes a worker and is acknowledged',
  { level: 1, rules: ['W-LIFE-06', 'W-WS-07', 'W-ENV-04', 'W-ENV-08', 'W-ENV-09'] },
  async kit => {
    const directive = { format: 'markdown', content: 'work' }
    await kit.workspace('W', { directive, dispatch: false })
    await kit.mark()
    await kit.do('R', 'dispatch_directive', { workspace: 'W' })
    await kit.expectAdded([
      ['envelope_created', 'R', 'system', { envelope_id: '?E', from: 'R', to: 'W', type: 'directive' }],
      delivered('E', 'R', 'W'),
      SC('W', 'idle', 'active', 'first_envelope'),
      ...receipt('E', 'R', 'W'),
    ])
    deepStrictEqual((await kit.envelope('E')).status, 'acknowledged')
    deepStrictEqual((await kit.look('W')).directive, kit.id('E'))

    // Whatever comes first does it: the first envelope of another workspace is no directive.
    await kit.workspace('W2')
    await kit.mark()
    await kit.send('E2', 'R', 'W2', 'feedback')
    await kit.expectAdded([
      created('E2', 'R', 'W2', 'feedback'),
      delivered('E2', 'R', 'W2'),
      SC('W2', 'idle', 'active', 'first_envelope'),
      ...receipt('E2', 'R', 'W2'),
    ])
    deepStrictEqual((await kit.look('W2')).directive, null)
  },
)

/** The 22 transitions of W-LIFE-02, by source. */
const TRANSITIONS: { readonly [From in State]: readonly State[] } = {
  idle: ['active', 'failed'],
  active: ['blocked', 'suspended', 'migrating', 'integrating', 'failed'],
  blocked: ['active', 'suspended', 'migrating', 'failed'],
  suspended: ['active', 'blocked', 'failed'],
  migrating: ['active', 'blocked', 'failed'],
  integrating: ['conflicted', 'closed', 'failed'],
  conflicted: ['closed', 'failed'],
  closed: [],
  failed: [],
}

type Moves = { readonly [From in State]?: State }
const ABORTED: Moves = Object.fromEntries(
  STATES.filter(state => state !== 'closed' && state !== 'failed').map(state => [state, 'failed' as const]),
)
const GO = { format: 'markdown', content: 'go' }

/** Everything that moves a workspace, or tries to, and where to from which state; everywhere else it stays as it is. */
const ATTEMPTS: readonly (readonly [
  caller: 'agent' | 'parent',
  operation: OperationName,
  params: object,
  moves: Moves,
])[] = [
  ['agent', 'emit_signal', { type: 'ready' }, {}],
  ['agent', 'emit_signal', { type: 'started' }, { blocked: 'active' }],
  ['agent', 'emit_signal', { type: 'blocked', reason: 'waiting' }, { active: 'blocked' }],
  ['agent', 'emit_signal', { type: 'complete' }, { active: 'integrating' }],
  [
    'agent',
    'emit_signal',
    { type: 'failed', reason: 'broken' },
    { idle: 'failed', active: 'failed', blocked: 'failed' },
  ],
  ['parent', 'send_envelope', { to: 'W', type: 'directive', payload: GO }, { idle: 'active' }],
  ['parent', 'suspend', { workspace: 'W', reason: 'pause' }, { active: 'suspended', blocked: 'suspended' }],
  ['parent', 'resume', { workspace: 'W' }, { suspended: 'active' }],
  ['parent', 'abort', { workspace: 'W' }, ABORTED],
  ['parent', 'begin_integration', { source: 'W' }, {}],
  ['parent', 'decide_integration', { source: 'W', decision: 'accept' }, { integrating: 'closed' }],
  ['parent', 'decide_integration', { source: 'W', decision: 'revise' }, { integrating: 'failed' }],
  ['parent', 'decide_integration', { source: 'W', decision: 'reject' }, { integrating: 'failed' }],
]

/** Every transition of a workspace below the root that is on the trail. */
function transitions(entries: readonly Entry[], root: string): readonly string[] {
  const changes = entries.filter(
    ({ event_type, body }) => event_type === 'workspace_state_changed' && body.workspace_id !== root,
  )
  return [...new Set(changes.map(({ body }) => `${body.from_state}→${body.to_state}`))].toSorted()
}

scenario(
  'WP-009 from every state every operation and signal leads only where the table allows',
  { level: 1, rules: ['W-LIFE-02', 'W-LIFE-03', 'W-LIFE-01', 'W-LIFE-05'] },
  async kit => {
    for (const state of kit.states)
      for (const [caller, operation, params, moves] of ATTEMPTS) {
        await kit.inState('W', state)
        const outcome = await kit.call(caller === 'agent' ? 'W' : 'R', operation, { ...params })
        const what = `${state}: ${operation} ${JSON.stringify(params)}`
        const added = await kit.added()
        const moved = added.some(({ event_type }) => event_type === 'workspace_state_changed')
        const applied = outcome.ok && operation === 'emit_signal' && outcome.value
        if (applied && !moved) notDeepStrictEqual(applied, { ...applied, outcome: 'applied' }, what)
        deepStrictEqual(await kit.state('W'), moves[state] ?? state, what)
        // Whoever waits for a binder would keep the next workspace waiting too.
        if (state === 'migrating') kit.faults.binder('work')
        await kit.settle()
        if (!['closed', 'failed'].includes(await kit.state('W'))) await kit.do('R', 'abort', { workspace: 'W' })
      }
    // What the attempts do not come across: the ways back, and the end of a conflict.
    for (const state of ['active', 'blocked'] as const) {
      await kit.inState('W', state)
      await kit.do('R', 'suspend', { workspace: 'W', reason: 'pause' })
      await kit.do('R', 'resume', { workspace: 'W' })
      if (kit.level >= 3) await kit.do('R', 'migrate', { workspace: 'W', agent: `next-${state}`, reason: 'move' })
      deepStrictEqual(await kit.state('W'), state)
      await kit.do('R', 'abort', { workspace: 'W' })
    }
    if (kit.level >= 2) {
      await kit.inState('W', 'conflicted')
      const resolution = { strategy: 'coordinator_resolve', resolution: 'keep both' }
      await kit.do('R', 'resolve_conflict', { source: 'W', conflict: 'X1', ...resolution })
      deepStrictEqual(await kit.state('W'), 'closed')
    }
    const reachable = kit.states.flatMap(from =>
      TRANSITIONS[from].filter(to => kit.states.includes(to)).map(to => `${from}→${to}`),
    )
    deepStrictEqual(transitions(await kit.entries(), kit.id('R')), reachable.toSorted())
  },
)

scenario(
  'WP-011 the coordinator aborts whatever has not ended, and nothing else',
  { level: 1, rules: ['W-WS-09', 'W-LIFE-02', 'W-LIFE-10'] },
  async kit => {
    for (const state of kit.states.filter(each => each !== 'closed' && each !== 'failed')) {
      await kit.inState('W', state)
      await kit.do('R', 'abort', { workspace: 'W' })
      const ends = { actor: 'system' } as const
      await kit.expectAmong(failure('W', state, 'aborted_by_coordinator', ends))
      if (state === 'migrating') kit.faults.binder('work')
    }
    await kit.inState('F', 'failed')
    await kit.inState('C', 'closed')
    for (const workspace of ['F', 'C', 'R']) await kit.refuses('INVALID_STATE', 'R', 'abort', { workspace })
    await kit.expectAdded([])
  },
)

scenario(
  'WP-018 a run ends in good order only when everything in it has ended',
  { level: 1, rules: ['W-LIFE-13'] },
  async kit => {
    await kit.inState('W', 'closed')
    await kit.inState('W2', 'active')
    await kit.refuses('INVALID_STATE', 'runtime', 'close_run')
    await kit.expectAdded([])
    await kit.bring('W2', 'closed')
    await kit.mark()
    await kit.do('runtime', 'close_run')
    await kit.expectAdded([SC('R', 'active', 'integrating', 'run_complete'), SC('R', 'integrating', 'closed', ANY)])
    await kit.refuses('INVALID_STATE', 'R', 'create_workspace', { role: 'worker' })
    await kit.expectAdded([])
  },
)

scenario(
  'WP-026 where there is no room nothing is created, and it is when there is',
  { level: 2, rules: ['W-WS-20'] },
  async kit => {
    kit.faults.capacity(1)
    await kit.worker('W')
    await kit.mark()
    await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker' }, 'capacity_exhausted')
    await kit.expectAdded([
      [
        'workspace_rejected',
        'R',
        'protocol',
        {
          reason: 'capacity_exhausted',
          capacity_details: (details: object) => Object.keys(details).length > 0,
        },
      ],
    ])
    kit.faults.capacity()
    await kit.workspace('W2')
    await kit.expectAmong([['workspace_created', 'W2', 'system']])
  },
)

scenario(
  'WP-027 a suspended workspace keeps its state and gets its mail when it is back',
  { level: 1, rules: ['W-MIG-01', 'W-MIG-02', 'W-MIG-03', 'W-LIFE-11', 'W-ENV-11', 'W-ENV-12'] },
  async kit => {
    await kit.inState('W', 'blocked')
    await kit.do('R', 'suspend', { workspace: 'W', reason: 'pause' })
    await kit.expectAdded([
      emit('suspend', 'R', 'system', { ref: 'W' }),
      ['suspension_started', 'W', 'system', { workspace_id: 'W', pre_suspension_state: 'blocked', reason: 'pause' }],
      SC('W', 'blocked', 'suspended', 'suspended_by_coordinator', { actor: 'system' }),
    ])
    await kit.send('E1', 'R', 'W', 'feedback')
    await kit.send('E2', 'R', 'W', 'feedback')
    await kit.expectAdded([
      ['envelope_created', 'R', 'system', { envelope_id: 'E1' }],
      ['envelope_created', 'R', 'system', { envelope_id: 'E2' }],
    ])
    await kit.do('R', 'resume', { workspace: 'W' })
    await kit.expectAmong([
      ['suspension_resumed', 'W', 'system', { workspace_id: 'W', resumed_to_state: 'blocked' }],
      SC('W', 'suspended', 'blocked', 'resumed_by_coordinator', { actor: 'system' }),
      delivered('E1', 'R', 'W'),
      delivered('E2', 'R', 'W'),
    ])
    deepStrictEqual(await kit.inbox('W'), ['E1', 'E2'])
  },
)
