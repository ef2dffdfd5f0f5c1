// For whom work is done and whose it is; who sees whom, and who may change what (wacp-mechanisms 7.3, 7.5, 7.6).
import { deepStrictEqual } from 'node:assert'
import { denied, deniedUser, notCreated } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { TopologyQuestion } from '../../operations.ts'
import { ANY } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

const WORK = { format: 'markdown', content: 'work' }

/** The answer by names, in alphabetical order. */
async function asked(kit: Kit, question: TopologyQuestion, about?: string): Promise<readonly string[]> {
  const found = await kit.do('runtime', 'topology', { question, about })
  return found.map(id => kit.names.of(id)).toSorted()
}

async function inject(kit: Kit, user: string, to: string): Promise<string> {
  const { envelope } = await kit.do(user, 'inject', { ...kit.mail(to, 'directive') })
  await kit.settle()
  return envelope
}

scenario(
  'WM-097 who asked for work is written down once; a boundary runs wherever a person injects',
  {
    level: 2,
    rules: ['W-TOPO-CAUS-01', 'W-TOPO-CAUS-02', 'W-TOPO-CAUS-03', 'W-TOPO-CAUS-04', 'W-TOPO-CAUS-05'],
    run: { highway: { gates: { task_approval: false } } },
    users: ['ux'],
  },
  async kit => {
    for (const user of ['alice', 'bob']) await kit.user(user, ['inject_directive_any'])
    await kit.delegate('S')
    const one = await inject(kit, 'alice', 'R')
    await kit.workspace('A', { delegate: true, owner: 'alice', caused_by: one, directive: WORK })
    await kit.settle()
    await kit.do('A', 'consume_envelope')
    await kit.workspace('A1', { owner: 'bob' }, 'A')
    const other = await inject(kit, 'bob', 'A')
    await kit.workspace('B', { caused_by: other }, 'A')
    const third = await inject(kit, 'alice', 'S')
    await kit.workspace('C', { caused_by: third }, 'S')
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'R', 'create_workspace', { role: 'worker', originator: 'alice' })
    await kit.expectAdded([denied('R', 'system', 'set:originator')])

    const expected = { R: 'system', S: 'system', A: 'alice', A1: 'alice', B: 'bob', C: 'alice' }
    const originators = async () => {
      const found: Record<string, string> = {}
      for (const name of Object.keys(expected)) found[name] = (await kit.look(name)).originator
      return found
    }
    deepStrictEqual(await originators(), expected)
    // Neither a letter nor a new owner nor a new parent changes where work came from.
    await inject(kit, 'bob', 'C')
    await kit.do('R', 'transfer_ownership', { workspace: 'C', owner: 'bob' })
    await kit.do('R', 'abort', { workspace: 'A' })
    deepStrictEqual((await kit.look('A1')).parent, kit.id('R'))
    deepStrictEqual(await originators(), expected)
    deepStrictEqual(await asked(kit, 'boundaries'), ['A', 'B', 'C'])
    deepStrictEqual(await asked(kit, 'originated_by', 'alice'), ['A', 'A1', 'C'])
    deepStrictEqual(await asked(kit, 'originated_by', 'bob'), ['B'])
    deepStrictEqual(await asked(kit, 'originated_by', 'system'), ['R', 'S'])
  },
)

scenario(
  'WM-101 work belongs to a known person who is there; it is handed over alone, by those who may',
  {
    level: 2,
    rules: ['W-TOPO-OWN-01', 'W-TOPO-OWN-02', 'W-TOPO-OWN-03', 'W-TOPO-OWN-04'],
    users: ['ux'],
  },
  async kit => {
    await kit.user('alice')
    await kit.user('bob', ['abort_own'])
    await kit.user('carol')
    await kit.delegate('W', { owner: 'alice' })
    await kit.worker('C', {}, 'W')
    deepStrictEqual((await kit.look('C')).owner, 'alice')
    await kit.do('runtime', 'suspend_user', { user: 'carol' })
    await kit.mark()
    for (const owner of ['system', 'nobody']) {
      await kit.refuses('REJECTED', 'R', 'create_workspace', { role: 'worker', owner }, 'owner_invalid')
      await kit.expectAdded([notCreated('R', 'owner_invalid')])
    }
    const away = { role: 'worker', owner: 'carol' }
    await kit.refuses('PERMISSION_DENIED', 'R', 'create_workspace', away, 'user_not_active')
    await kit.expectAdded([denied('R', 'system', 'operation:create_workspace', 'user_not_active')])

    await kit.do('R', 'transfer_ownership', { workspace: 'W', owner: 'bob' })
    await kit.expectAdded([
      [
        'workspace_ownership_transferred',
        'W',
        'system',
        { workspace_id: 'W', from_user: 'alice', to_user: 'bob', transferred_by: ANY },
      ],
    ])
    deepStrictEqual(await asked(kit, 'owned_by', 'bob'), ['W'])
    deepStrictEqual(await asked(kit, 'owned_by', 'alice'), ['C'])
    deepStrictEqual((await kit.look('W')).originator, 'system')
    await kit.refuses('PERMISSION_DENIED', 'bob', 'abort', { workspace: 'C' }, 'wrong_scope')
    await kit.expectAdded([deniedUser('bob', ANY, 'wrong_scope')])
    const back = { workspace: 'W', owner: 'alice' }
    await kit.refuses('PERMISSION_DENIED', 'bob', 'transfer_ownership', back, 'missing_capability')
    await kit.expectAdded([deniedUser('bob', 'transfer_ownership', 'missing_capability')])
    deepStrictEqual((await kit.look('W')).owner, 'bob')
    await kit.do('bob', 'abort', { workspace: 'W' })
  },
)

scenario(
  'WM-102 sight follows descent and grants, one way, is never taken back, and the watched are told nothing',
  { level: 2, rules: ['W-TOPO-VIS-01', 'W-TOPO-VIS-02', 'W-TOPO-VIS-03', 'W-TOPO-VIS-06'] },
  async kit => {
    await kit.worker('W1')
    await kit.worker('W2')
    await kit.delegate('D')
    await kit.worker('C', {}, 'D')
    await kit.checkpoint('K', 'W2')
    await kit.mark()
    const unread = (reader: string) => denied(reader, 'worker', 'access:read')
    await kit.refuses('NOT_FOUND', 'W1', 'get_workspace', { workspace: 'W2' })
    await kit.refuses('NOT_FOUND', 'W1', 'get_checkpoint', { checkpoint: 'K' })
    await kit.refuses('NOT_FOUND', 'C', 'get_workspace', { workspace: 'D' })
    await kit.expectAdded([unread('W1'), unread('W1'), unread('C')])
    deepStrictEqual((await kit.do('D', 'get_workspace', { workspace: 'C' })).id, kit.id('C'))

    const told = async () => (await kit.notices()).filter(each => each.to === 'W2').length
    const local = async () => (await kit.do('W2', 'query_trail', { scope: 'local', workspace: 'W2' })).entries.length
    const before = [await told(), await local()]
    await kit.do('R', 'grant_visibility', { workspace: 'W1', target: 'W2', reason: 'share' })
    await kit.expectAdded([
      ['visibility_granted', 'W1', 'system', { workspace_id: 'W1', target: 'W2', reason: 'share' }],
    ])
    deepStrictEqual((await kit.do('W1', 'get_workspace', { workspace: 'W2' })).id, kit.id('W2'))
    await kit.do('W1', 'get_checkpoint', { checkpoint: 'K' })
    deepStrictEqual([await told(), await local()], before)
    await kit.refuses('NOT_FOUND', 'W2', 'get_workspace', { workspace: 'W1' })
    deepStrictEqual(await asked(kit, 'visible_to', 'W1'), ['W1', 'W2'])
    deepStrictEqual(await asked(kit, 'viewers_of', 'W2'), ['R', 'W1', 'W2'])
    deepStrictEqual(await asked(kit, 'viewers_of', 'C'), ['C', 'D', 'R'])

    await kit.do('R', 'suspend', { workspace: 'W1', reason: 'pause' })
    await kit.mark()
    const grant = (workspace: string, target: string) => ({ workspace, target, reason: 'more' })
    await kit.refuses('INVALID_STATE', 'R', 'grant_visibility', grant('W1', 'D'))
    await kit.expectAdded([])
    await kit.refuses('CONTAINMENT', 'R', 'grant_visibility', grant('C', 'W1'), 'containment_violation')
    await kit.expectAdded([denied('R', 'system', 'operation:grant_visibility', 'containment_violation')])
    await kit.refuses('IMMUTABLE', 'R', 'revoke_visibility', { workspace: 'W1', target: 'W2' }, 'irrevocable')
    await kit.expectAdded([denied('R', 'system', 'operation:revoke_visibility', 'irrevocable')])
    deepStrictEqual(await asked(kit, 'visible_to', 'W1'), ['W1', 'W2'])
  },
)

scenario(
  'WM-103 authority and delegation stay as they were made, and nobody writes outside its own workspace',
  { level: 1, rules: ['W-TOPO-VIS-04', 'W-TOPO-VIS-05'] },
  async kit => {
    await kit.worker('W')
    await kit.worker('W2')
    const before = await kit.picture()
    await kit.mark()
    const authority = { resources: ['**'], actions: ['write'] }
    await kit.refuses('IMMUTABLE', 'R', 'set_authority', { workspace: 'W', authority }, 'frozen')
    await kit.expectAdded([denied('R', 'system', 'set:authority', 'frozen')])
    await kit.refuses('IMMUTABLE', 'R', 'set_delegate', { workspace: 'W', delegate: true }, 'frozen')
    await kit.expectAdded([denied('R', 'system', 'set:delegate', 'frozen')])
    for (const workspace of ['W2', 'R']) {
      await kit.refuses('PERMISSION_DENIED', 'W', 'write_memory', { key: 'k', value: 1, workspace })
      await kit.expectAdded([denied('W', 'worker', 'access:write')])
      deepStrictEqual((await kit.look(workspace)).memory, [])
    }
    deepStrictEqual(await kit.picture(), before)
  },
)
