// What an end takes along: cascades, orphans, parents that cannot close, a coordinator that fails, a forced stop
// (wacp-primitives 1, 2).
import { deepStrictEqual } from 'node:assert'
import { deliver, denied, emit, failure, right, SC } from '../../entry-rows.ts'
import { mismatch, type Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const ABORTED = 'aborted_by_coordinator'

scenario(
  'WP-014 whoever fails takes along all that it led, without a signal of theirs',
  { level: 2, rules: ['W-WS-12', 'W-CONC-07'] },
  async kit => {
    await kit.delegate('D')
    await kit.delegate('C', { parent: 'D' })
    await kit.worker('G', {}, 'C')
    await kit.worker('G2', {}, 'C')
    await kit.worker('C2', {}, 'D')
    await kit.mark()
    await kit.do('R', 'abort', { workspace: 'D' })
    await kit.expectAdded([
      emit('failed', 'D', 'system', { signal_id: '?s', reason: ABORTED }),
      SC('D', 'active', 'failed', ABORTED, { actor: 'system' }),
      SC('C', 'active', 'failed', 'parent_failed'),
      SC('G', 'active', 'failed', 'parent_failed'),
      SC('G2', 'active', 'failed', 'parent_failed'),
      SC('C2', 'active', 'failed', 'parent_failed'),
      deliver('D', 'R', { signal_id: '?s' }),
    ])
  },
)

scenario(
  "WP-015 what is another user's outlives its parent, goes to the root with its subtree, and may move once",
  { level: 2, rules: ['W-WS-12', 'W-WS-13', 'W-WS-09', 'W-SIG-11', 'W-PORT-03'] },
  async kit => {
    await kit.delegate('D', { owner: 'ux' })
    await kit.worker('C1', {}, 'D')
    await kit.delegate('C2', { parent: 'D', owner: 'uy' })
    await kit.worker('G', {}, 'C2')
    await kit.delegate('P', { owner: 'uy' })
    await kit.worker('W')
    await kit.mark()
    const before = await kit.look('C2')
    await kit.do('R', 'abort', { workspace: 'D' })
    const [signal, change, delivery] = failure('D', 'active', ABORTED, { actor: 'system' })
    const moved = { workspace_id: 'C2', old_parent: 'D', new_parent: 'R' }
    await kit.expectAdded([
      signal,
      change,
      SC('C1', 'active', 'failed', 'parent_failed'),
      ['workspace_reparented', 'C2', 'protocol', { ...moved, reason: 'parent_aborted_cross_ownership' }],
      right('send', 'R', 'C2', { actor: '*' }),
      right('send', 'C2', 'R', { actor: '*' }),
      delivery,
    ])
    const { status, owner, originator, parent, children } = await kit.look('C2')
    deepStrictEqual(
      { status, owner, originator, parent, children },
      {
        status: before.status,
        owner: before.owner,
        originator: before.originator,
        parent: kit.id('R'),
        children: [kit.id('G')],
      },
    )
    deepStrictEqual((await kit.look('G')).parent, kit.id('C2'))
    await kit.emit('C2', 'blocked', { reason: 'what now' })
    await kit.expectAmong([
      emit('blocked', 'C2', 'worker', { signal_id: '?next' }),
      deliver('C2', 'R', { signal_id: '?next' }),
    ])
    await kit.do('R', 'reparent', { workspace: 'C2', parent: 'P' })
    const again = { workspace_id: 'C2', old_parent: 'R', new_parent: 'P', reason: 'orphan_reassigned' }
    await kit.expectAmong([['workspace_reparented', 'C2', 'system', again]])
    deepStrictEqual((await kit.look('C2')).parent, kit.id('P'))
    for (const workspace of ['C2', 'W']) {
      await kit.refuses('PERMISSION_DENIED', 'R', 'reparent', { workspace, parent: 'P' }, 'not_permitted')
      await kit.expectAdded([denied('R', 'system', 'operation:reparent', 'not_permitted')])
    }
  },
)

scenario(
  'WP-016 when the coordinator fails everything fails, whoever owns it, and the root is last',
  { level: 1, rules: ['W-WS-12', 'W-LIFE-15'] },
  async kit => {
    await kit.worker('W', { owner: 'ux' })
    await kit.worker('W2', { owner: 'uy' })
    await kit.mark()
    await kit.refuses('INVALID_STATE', 'R', 'suspend', { workspace: 'R', reason: 'rest' })
    if (kit.level >= 3)
      await kit.refuses('INVALID_STATE', 'R', 'migrate', { workspace: 'R', agent: 'next', reason: 'move' })
    await kit.refuses('INVALID_STATE', 'R', 'abort', { workspace: 'R' })
    await kit.expectAdded([])
    await kit.emit('R', 'failed', { reason: 'lost' })
    await kit.expectAdded([
      emit('failed', 'R', 'system', { reason: 'lost' }),
      SC('W', 'active', 'failed', 'parent_failed'),
      SC('W2', 'active', 'failed', 'parent_failed'),
      SC('R', 'active', 'failed', 'agent_failed', { reason: 'lost' }),
    ])
  },
)

scenario(
  'WP-017 nothing closes above a child that is still at work, whoever owns the child',
  { level: 2, rules: ['W-WS-14'] },
  async kit => {
    await kit.delegate('D', { owner: 'ux' })
    await kit.worker('C', {}, 'D')
    await kit.worker('C2', { owner: 'uy' }, 'D')
    await kit.bring('D', 'integrating')
    const refusedAsLongAs = async (child: string) => {
      await kit.mark()
      const before = await kit.picture()
      await kit.refuses('INVALID_STATE', 'R', 'begin_integration', { source: 'D' })
      await kit.refuses('INVALID_STATE', 'R', 'decide_integration', { source: 'D', decision: 'accept' })
      await kit.expectAdded([])
      deepStrictEqual(await kit.picture(), before, `while ${child} is at work`)
    }
    await refusedAsLongAs('C')
    await kit.do('R', 'abort', { workspace: 'C' })
    await refusedAsLongAs('C2')
    const { status, parent } = await kit.look('C2')
    deepStrictEqual([status, parent, await kit.state('D')], ['active', kit.id('D'), 'integrating'])
    await kit.emit('C2', 'failed', { reason: 'no more' })
    await kit.mark()
    await kit.do('R', 'begin_integration', { source: 'D' })
    await kit.do('R', 'decide_integration', { source: 'D', decision: 'accept' })
    await kit.expectAmong([
      ['integration_completed', 'D', 'system', { source: 'D', target: 'R', result: 'success' }],
      SC('D', 'integrating', 'closed', 'integration_succeeded', { actor: 'system' }),
    ])
    const reparented = (await kit.entries()).filter(({ event_type }) => event_type === 'workspace_reparented')
    deepStrictEqual(reparented, [])
  },
)

scenario(
  'WP-019 a forced stop fails everything, children before parents, and ends with the root',
  { level: 1, rules: ['W-LIFE-14'] },
  async kit => {
    await kit.worker('W')
    await kit.inState('W2', 'suspended')
    const stopped = (workspace: string, from = 'active') => SC(workspace, from, 'failed', 'system_shutdown')
    const flat: readonly Row[] = [stopped('W'), stopped('W2', 'suspended')]
    const nested: Row[] = []
    if (kit.level >= 2) {
      await kit.delegate('D')
      await kit.worker('C', {}, 'D')
      nested.push(stopped('C'), stopped('D'))
    }
    await kit.mark()
    await kit.do('runtime', 'stop_run')
    const added = await kit.expectAmong([
      ...nested,
      ['system_degraded', null, 'protocol', { reason: 'forced_shutdown', scope: 'systemic' }],
      stopped('R'),
    ])
    for (const row of flat)
      deepStrictEqual(added.slice(0, -2).filter(entry => !mismatch(entry, row, kit.names)).length, 1)
    deepStrictEqual(added.length, flat.length + nested.length + 2)
  },
)
