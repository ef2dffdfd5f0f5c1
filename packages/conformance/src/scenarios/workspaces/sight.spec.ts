// Who sees and changes what of a workspace, and groups of them (wacp-primitives 1).
import { deepStrictEqual } from 'node:assert'
import { denied, failure } from '../../entry-rows.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

function granted(workspace: string, target: string, reason: string): Row {
  return ['visibility_granted', workspace, 'system', { workspace_id: workspace, target, reason }]
}

scenario(
  'WP-021 a grant opens memory, register and local trail of another workspace, and nothing to write',
  { level: 2, rules: ['W-WS-16', 'W-WS-15'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.do('W2', 'write_memory', { key: 'k', value: 'v' })
    await kit.checkpoint('K', 'W2')
    await kit.mark()
    await kit.refuses('NOT_FOUND', 'W', 'get_workspace', { workspace: 'W2' })
    await kit.expectAdded([denied('W', 'worker', 'access:read')])
    await kit.refuses('NOT_FOUND', 'W', 'read_memory', { key: 'k', workspace: 'W2' })
    await kit.expectAdded([denied('W', 'worker', 'access:read')])
    const local = { scope: 'local', workspace: 'W2' }
    deepStrictEqual((await kit.do('W', 'query_trail', local)).entries, [])
    await kit.mark()

    await kit.do('R', 'grant_visibility', { workspace: 'W', target: 'W2', reason: 'builds on it' })
    await kit.expectAdded([granted('W', 'W2', 'builds on it')])
    deepStrictEqual(await kit.do('W', 'read_memory', { key: 'k', workspace: 'W2' }), 'v')
    const { register } = await kit.do('W', 'get_workspace', { workspace: 'W2' })
    deepStrictEqual(
      register.map(({ id }) => id),
      [kit.id('K')],
    )
    const own = (await kit.do('W2', 'query_trail', local)).entries
    deepStrictEqual((await kit.do('W', 'query_trail', local)).entries, own)
    deepStrictEqual(own[0]?.event_type, 'workspace_created')
    await kit.expectAdded([])
    await kit.refuses('PERMISSION_DENIED', 'W', 'write_memory', { key: 'k', value: 'w', workspace: 'W2' })
    await kit.expectAdded([denied('W', 'worker', 'access:write')])
    deepStrictEqual(await kit.do('runtime', 'read_memory', { key: 'k', workspace: 'W2' }), 'v')
  },
)

scenario(
  'WP-022 nobody is shown what those above do not see, nor while it is away, and nothing is taken back',
  { level: 2, rules: ['W-WS-16', 'W-WS-11'] },
  async kit => {
    await kit.worker('W')
    const states = kit.states.filter(state => !['idle', 'active', 'blocked'].includes(state))
    for (const state of states) {
      await kit.inState(state, state)
      const before = (await kit.look(state)).visibility
      const grant = { workspace: state, target: 'W', reason: 'to read' }
      await kit.refuses('INVALID_STATE', 'R', 'grant_visibility', grant).catch(cause => {
        throw new Error(`${state}: ${cause.message}`)
      })
      await kit.expectAdded([])
      deepStrictEqual((await kit.look(state)).visibility, before)
      if (state === 'migrating') kit.faults.binder('work')
      // An open integration would keep the next one waiting.
      if (state === 'conflicted') await kit.do('R', 'abort', { workspace: state })
      await kit.settle()
    }
    await kit.delegate('D')
    await kit.worker('C', {}, 'D')
    await kit.mark()
    const grant = { workspace: 'C', target: 'W', reason: 'to read' }
    for (const [by, actor] of [
      ['R', 'system'],
      ['D', 'worker'],
    ] as const) {
      await kit.refuses('CONTAINMENT', by, 'grant_visibility', grant)
      await kit.expectAdded([denied(by, actor, 'operation:grant_visibility', 'containment_violation')])
    }
    await kit.do('R', 'grant_visibility', { ...grant, workspace: 'D' })
    await kit.expectAdded([granted('D', 'W', 'to read')])
    await kit.refuses('IMMUTABLE', 'R', 'revoke_visibility', { workspace: 'D', target: 'W' })
    await kit.expectAdded([denied('R', 'system', 'operation:revoke_visibility', 'irrevocable')])
    deepStrictEqual((await kit.look('D')).visibility.includes(kit.id('W')), true)
  },
)

scenario(
  'WP-023 an agent writes its own memory and no other, and authority never changes',
  { level: 1, rules: ['W-WS-17', 'W-WS-22', 'W-ROLE-01'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    await kit.mark()
    await kit.do('W', 'write_memory', { key: 'k', value: { v: [1] } })
    await kit.expectAdded([])
    deepStrictEqual(await kit.do('W', 'read_memory', { key: 'k' }), { v: [1] })
    const before = await kit.picture()
    await kit.refuses('PERMISSION_DENIED', 'W', 'write_memory', { key: 'k', value: 2, workspace: 'W2' })
    await kit.expectAdded([denied('W', 'worker', 'access:write')])
    const authority = { resources: ['everything'], actions: [] }
    await kit.refuses('IMMUTABLE', 'R', 'set_authority', { workspace: 'W', authority })
    await kit.expectAdded([denied('R', 'system', 'set:authority', 'frozen')])
    await kit.refuses('IMMUTABLE', 'R', 'set_delegate', { workspace: 'W', delegate: true })
    await kit.expectAdded([denied('R', 'system', 'set:delegate', 'frozen')])
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WP-024 priority changes one by one or for a group, and only where work is going on',
  { level: 2, rules: ['W-WS-18', 'W-WS-19'] },
  async kit => {
    const group = 'g'
    await kit.worker('A', { group })
    await kit.worker('B', { group, priority: 'background' })
    await kit.workspace('E', { group })
    await kit.worker('F', { group })
    await kit.bring('B', 'blocked')
    await kit.bring('F', 'closed')
    await kit.mark()
    const changed = (workspace: string, old_priority: string, new_priority: string): Row => [
      'priority_changed',
      workspace,
      'system',
      { workspace_id: workspace, old_priority, new_priority },
    ]
    await kit.do('R', 'change_priority', { workspace: 'A', priority: 'critical' })
    await kit.expectAdded([changed('A', 'normal', 'critical')])
    await kit.do('R', 'batch_priority', { group, priority: 'interactive' })
    const before = { [kit.id('A')]: 'critical', [kit.id('B')]: 'background' }
    const lists = { affected_workspaces: ['A', 'B'], skipped_workspaces: ['E', 'F'] }
    await kit.expectAdded([
      changed('A', 'critical', 'interactive'),
      changed('B', 'background', 'interactive'),
      [
        'batch_priority_changed',
        'R',
        'system',
        { group_id: group, old_priority: before, new_priority: 'interactive', ...lists },
      ],
    ])
    await kit.refuses('INVALID_STATE', 'R', 'change_priority', { workspace: 'E', priority: 'critical' })
    await kit.expectAdded([])
    const priorities = []
    for (const name of ['A', 'B', 'E']) priorities.push((await kit.look(name)).priority)
    deepStrictEqual(priorities, ['interactive', 'interactive', 'normal'])
  },
)

scenario(
  'WP-025 a batch abort fails the members one after the other and then says whom',
  { level: 2, rules: ['W-WS-19', 'W-WS-09'] },
  async kit => {
    const group = 'g'
    await kit.worker('A', { group })
    await kit.worker('B', { group })
    await kit.worker('F', { group })
    await kit.worker('W')
    await kit.bring('B', 'suspended')
    await kit.bring('F', 'closed')
    await kit.mark()
    await kit.do('R', 'batch_abort', { group })
    const lists = { affected_workspaces: ['A', 'B'], skipped_workspaces: ['F'] }
    await kit.expectAdded([
      ...failure('A', 'active', 'batch_abort', { actor: 'system' }),
      ...failure('B', 'suspended', 'batch_abort', { actor: 'system' }),
      ['batch_abort', 'R', 'system', { group_id: group, ...lists }],
    ])
    deepStrictEqual(await kit.state('W'), 'active')
  },
)
