// The tree of workspaces: its shape, containment, failure at the boundaries of owners (wacp-mechanisms 7.1).
import { deepStrictEqual } from 'node:assert'
import { deliver, denied, emit, notCreated, right, SC } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { TopologyQuestion } from '../../operations.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

/** The answer by names, without the one that was asked about: whether it is part of it the sheet leaves open. */
async function asked(kit: Kit, question: TopologyQuestion, about: string): Promise<readonly string[]> {
  const found = await kit.do('runtime', 'topology', { question, about })
  return found.map(id => kit.names.of(id)).filter(name => name !== about)
}

scenario(
  'WM-090 a tree that only grows: signals go to the parent alone, and nobody closes above work that goes on',
  { level: 1, rules: ['W-TOPO-TREE-01', 'W-TOPO-TREE-02', 'W-TOPO-TREE-03', 'W-TOPO-TREE-09'] },
  async kit => {
    // Without delegates, at level 1, the children are the root's.
    const deep = kit.level >= 2
    const parent = deep ? 'D' : 'R'
    if (deep) await kit.delegate('D')
    await kit.worker('C1', {}, parent)
    await kit.worker('C2', {}, parent)
    await kit.worker('W')
    await kit.mark()
    await kit.emit('C1', 'blocked', { reason: 'stuck' })
    const added = await kit.expectAmong([
      emit('blocked', 'C1', 'worker', { signal_id: '?s' }),
      deliver('C1', parent, { signal_id: '?s' }),
    ])
    deepStrictEqual(added.filter(each => each.event_type === 'signal_delivered').length, 1)

    deepStrictEqual(await asked(kit, 'upward', 'C1'), deep ? ['D', 'R'] : ['R'])
    deepStrictEqual(await asked(kit, 'upward', 'R'), [])
    const all = deep ? ['C1', 'C2', 'D', 'W'] : ['C1', 'C2', 'W']
    deepStrictEqual((await asked(kit, 'downward', 'R')).toSorted(), all)
    deepStrictEqual(await asked(kit, 'siblings', 'C1'), deep ? ['C2'] : ['C2', 'W'])
    deepStrictEqual(await asked(kit, 'siblings', 'W'), deep ? ['D'] : ['C1', 'C2'])
    if (deep) deepStrictEqual(await asked(kit, 'downward', 'D'), ['C1', 'C2'])

    await kit.bring('W', 'failed')
    await kit.mark()
    for (const [under, reason] of [
      ['W', 'parent_terminal'],
      ['no such workspace', 'parent_not_found'],
    ] as const) {
      await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker', parent: under }, reason)
      await kit.expectAdded([notCreated('R', reason)])
    }

    if (deep) {
      await kit.bring('D', 'integrating')
      const before = await kit.picture()
      await kit.mark()
      const decision = { source: 'D', decision: 'accept' }
      await kit.refuses('INVALID_STATE', 'R', 'begin_integration', { source: 'D' })
      await kit.refuses('INVALID_STATE', 'R', 'decide_integration', decision)
      await kit.expectAdded([])
      deepStrictEqual(await kit.picture(), before)
    }
    deepStrictEqual((await asked(kit, 'downward', 'R')).toSorted(), all)
  },
)

const tokens = (token_limit: number) => ({ compute_budget: { token_limit } })

scenario(
  'WM-091 a child’s budget and sight lie inside its parent’s',
  { level: 2, rules: ['W-TOPO-TREE-04'] },
  async kit => {
    await kit.worker('W')
    await kit.delegate('D', { budget: tokens(100) })
    await kit.faults.meter(kit.run, kit.id('D'), { tokens: 20 })
    await kit.worker('C', { budget: tokens(50) }, 'D')
    await kit.mark()
    const before = await asked(kit, 'downward', 'R')
    for (const draft of [{ budget: tokens(40) }, { budget: tokens(10), visibility: ['W'] }]) {
      const params = { role: 'worker', ...draft }
      await kit.refuses('CONTAINMENT', 'D', 'create_workspace', params, 'containment_violation')
      await kit.expectAdded([denied('D', 'worker', 'operation:create_workspace', 'containment_violation')])
    }
    deepStrictEqual(await asked(kit, 'downward', 'R'), before)
    await kit.workspace('C2', { budget: tokens(30) }, 'D')
    await kit.expectAmong([['workspace_created', 'C2', 'worker', { parent: 'D', budget: tokens(30) }]])
  },
)

scenario(
  'WM-092 a failure stops at the boundary of its owner, at every depth, and nobody beyond is touched',
  {
    level: 2,
    rules: ['W-TOPO-TREE-05', 'W-TOPO-TREE-07', 'W-TOPO-TREE-08', 'W-TOPO-OWN-05'],
    users: ['ux', 'alice', 'bob'],
  },
  async kit => {
    await kit.delegate('X1', { owner: 'alice' })
    await kit.delegate('X2', { owner: 'alice', parent: 'X1' })
    await kit.delegate('X3', { owner: 'bob', parent: 'X1' })
    await kit.worker('X4', { owner: 'bob' }, 'X2')
    await kit.worker('X5', { owner: 'alice' }, 'X3')
    await kit.delegate('B', { owner: 'bob' })
    await kit.worker('W')
    const facts = async (name: string) => {
      const { status, owner, originator, role, visibility, authority } = await kit.look(name)
      return { status, owner, originator, role, visibility, authority }
    }
    const names = ['X3', 'X4', 'X5']
    const before = await Promise.all(names.map(facts))
    await kit.mark()
    await kit.emit('X1', 'failed', { reason: 'lost' })
    const reason = 'parent_aborted_cross_ownership'
    const orphaned = (workspace: string, old_parent: string): readonly Row[] => [
      ['workspace_reparented', workspace, 'protocol', { workspace_id: workspace, old_parent, new_parent: 'R', reason }],
      right('send', 'R', workspace, { actor: '*' }),
      right('send', workspace, 'R', { actor: '*' }),
    ]
    await kit.expectAdded([
      emit('failed', 'X1', 'worker', { signal_id: '?s', reason: 'lost' }),
      SC('X1', 'active', 'failed', 'agent_failed', { reason: 'lost' }),
      SC('X2', 'active', 'failed', 'parent_failed'),
      ...orphaned('X4', 'X2'),
      ...orphaned('X3', 'X1'),
      deliver('X1', 'R', { signal_id: '?s' }),
    ])
    deepStrictEqual(await Promise.all(names.map(facts)), before)
    const parents = async () =>
      Promise.all(names.map(async name => kit.names.of(String((await kit.look(name)).parent))))
    deepStrictEqual(await parents(), ['R', 'R', 'X3'])
    deepStrictEqual((await asked(kit, 'orphans', '')).toSorted(), ['X3', 'X4'])

    await kit.do('R', 'reparent', { workspace: 'X3', parent: 'B' })
    await kit.expectAmong([
      [
        'workspace_reparented',
        'X3',
        'system',
        { workspace_id: 'X3', old_parent: 'R', new_parent: 'B', reason: 'orphan_reassigned' },
      ],
    ])
    await kit.refuses('PERMISSION_DENIED', 'R', 'reparent', { workspace: 'W', parent: 'B' }, 'not_permitted')
    await kit.expectAdded([denied('R', 'system', 'operation:reparent', 'not_permitted')])
    deepStrictEqual(await parents(), ['B', 'R', 'X3'])
    deepStrictEqual(await Promise.all(names.map(facts)), before)
    // What ended keeps its place: nothing is pruned.
    deepStrictEqual((await kit.look('X2')).parent, kit.id('X1'))
  },
)

scenario(
  'WM-093 the fall of the root takes everything along, whoever owns it, and is written last',
  { level: 1, rules: ['W-TOPO-TREE-06'] },
  async kit => {
    const owned = (owner: string) => (kit.level >= 2 ? { owner } : {})
    if (kit.level >= 2) {
      await kit.delegate('D', owned('ux'))
      await kit.worker('C', owned('uy'), 'D')
    }
    await kit.worker('A', owned('ux'))
    await kit.worker('B', owned('uy'))
    await kit.bring('B', 'suspended')
    await kit.mark()
    await kit.emit('R', 'failed', { reason: 'lost' })
    const names = [...(kit.level >= 2 ? ['D', 'C'] : []), 'A', 'B']
    const added = await kit.expectAmong([
      emit('failed', 'R', 'system', { reason: 'lost' }),
      SC('R', 'active', 'failed', 'agent_failed', { reason: 'lost' }),
    ])
    const failed = added
      .filter(each => each.event_type === 'workspace_state_changed' && each.body.to_state === 'failed')
      .map(each => kit.names.of(String(each.workspace)))
    deepStrictEqual(failed.slice(0, -1).toSorted(), names.toSorted())
    deepStrictEqual(failed.at(-1), 'R')
    deepStrictEqual(added.at(-1)?.workspace, kit.id('R'))
    deepStrictEqual(added.at(-1)?.event_type, 'workspace_state_changed')
    deepStrictEqual(
      added.filter(each => each.event_type === 'workspace_reparented'),
      [],
    )
    for (const name of names) deepStrictEqual(await kit.state(name), 'failed')
  },
)
