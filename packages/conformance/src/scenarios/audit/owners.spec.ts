// Whose runs are, what levels take, what agents find out, where work comes from, how long it takes: scenarios from the
// text alone (wacp-audit, second section).
import { deepStrictEqual } from 'node:assert'
import { denied } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import { ANY } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { must, refused } from '../../stage.ts'

const S = 1000
const OPEN = { gates: { task_approval: false } }

scenario(
  'WX-013 a run belongs to a person who is known and active; for anybody else it does not begin',
  { level: 1, rules: ['W-USER-07', 'W-LIFE-12'] },
  async kit => {
    const start = (draft: object) => kit.call('runtime', 'start_run', { highway: 'off', ...draft })
    refused(await start({}), 'INVALID_ARGUMENT', undefined, 'A run without an owner')
    for (const owner of ['', 'system', 'protocol', 'coordinator', 'worker'])
      refused(await start({ owner }), 'INVALID_ARGUMENT', undefined, `A run of '${owner}'`)
    if (kit.level >= 2) {
      refused(await start({ owner: 'nobody' }), 'INVALID_ARGUMENT', 'owner_invalid')
      await kit.do('runtime', 'suspend_user', { user: 'uy' })
      refused(await start({ owner: 'uy' }), 'INVALID_ARGUMENT', 'user_not_active')
    }
    must(await start({ owner: 'ux' }), 'A run of somebody who is known')
    deepStrictEqual((await kit.look('R')).owner, 'ux')
  },
)

scenario(
  "WX-014 what nobody else owns is of the run's owner, at every depth, and its escalations reach them",
  { level: 2, rules: ['W-USER-07', 'W-USER-17', 'W-HWY-20'], run: { highway: OPEN } },
  async kit => {
    await kit.delegate('D')
    await kit.worker('W', {}, 'D')
    await kit.mark()
    await kit.emit('W', 'escalation', { reason: 'which way?' })
    await kit.expectAmong([['escalation_received', 'W', 'protocol', { addressee: 'ux', queued: false }]])
    const [waiting] = await kit.do('runtime', 'list_escalations')
    deepStrictEqual(waiting?.addressee, 'ux')
    const standing = (await kit.system.standing?.()) ?? []
    for (const { event_type, body } of [...(await kit.entries()), ...standing])
      if (event_type === 'workspace_created') deepStrictEqual(body.owner, 'ux')
  },
)

scenario(
  'WX-015 from level 2 on nothing opens without proofs of messages or without a directory of people',
  { level: 2, rules: ['W-SEC-05', 'W-SEC-07', 'W-SEC-09'], opened: false },
  async kit => {
    for (const without of ['secret', 'users'] as const)
      refused(await kit.open({ level: kit.level, without }), 'UNSUPPORTED', 'unmet_level', `Without ${without}`)
    for (const without of ['secret', 'users'] as const)
      must(await kit.open({ level: 1, without }), `Level 1 without ${without}`)
    must(await kit.open({ level: kit.level }), 'With both')
  },
)

scenario(
  'WX-016 somebody whom nobody has authenticated does nothing, and every attempt is on record',
  { level: 2, rules: ['W-SEC-05', 'W-SEC-06'], run: { highway: OPEN } },
  async kit => {
    await kit.worker('W')
    const before = await kit.picture()
    await kit.mark()
    const attempts = [
      ['inject', { ...kit.mail('W', 'directive') }],
      ['abort', { workspace: 'W' }],
      ['suspend', { workspace: 'W', reason: 'stop' }],
      ['raise_budget', { workspace: 'W', limits: { cost_limit: 1 } }],
      ['transfer_ownership', { workspace: 'W', owner: 'ux' }],
      ['query_trail', {}],
    ] as const
    for (const [operation, params] of attempts)
      await kit.refuses('PERMISSION_DENIED', 'mallory', operation, params, 'unknown_identity')
    const unknown = { entity: 'mallory', reason: 'unknown_identity', context: ANY, source: ANY }
    await kit.expectAdded(attempts.map(() => ['authentication_failed', null, 'protocol', unknown]))
    deepStrictEqual(await kit.picture(), before)
  },
)

/** D works on A, whose part A1 is W's; E works on B; C waits. */
async function team(kit: Kit): Promise<void> {
  await kit.graph({ A: {}, B: {}, C: {} })
  await kit.bound('D', 'A', { delegate: true })
  await kit.bound('E', 'B', { delegate: true })
  await kit.graph({ A1: { parent_task: 'A' } }, { into: 'G', by: 'D' })
  await kit.bound('W', 'A1', {}, 'D')
  await kit.mark()
}

scenario(
  'WX-017 an agent reads the tasks that those in its sight work on; another task is not there, and asking is on record',
  { level: 2, rules: ['W-WS-15', 'W-TASK-19'] },
  async kit => {
    await team(kit)
    const tasks = async (by: string) =>
      (await kit.do(by, 'get_graph', { graph: 'G' })).tasks.map(({ name }) => name).toSorted()
    deepStrictEqual(await tasks('R'), ['A', 'A1', 'B', 'C'])
    deepStrictEqual(await tasks('D'), ['A', 'A1'])
    deepStrictEqual(await tasks('W'), ['A1'])
    deepStrictEqual((await kit.do('W', 'get_task', { task: 'A1' })).name, 'A1')
    await kit.expectAdded([])
    for (const [by, task] of [
      ['W', 'A'],
      ['W', 'B'],
      ['D', 'C'],
    ] as const) {
      await kit.refuses('NOT_FOUND', by, 'get_task', { task })
      await kit.expectAdded([denied(by, 'worker', 'access:read')])
    }
    await kit.worker('X')
    await kit.mark()
    for (const operation of ['get_graph', 'list_dispatchable', 'list_unresolvable'] as const) {
      await kit.refuses('NOT_FOUND', 'X', operation, { graph: 'G' })
      await kit.expectAdded([denied('X', 'worker', 'access:read')])
    }
  },
)

scenario(
  'WX-018 an agent reads the rights that those in its sight hold, and no others',
  { level: 2, rules: ['W-WS-15', 'W-PORT-03'] },
  async kit => {
    await team(kit)
    const holders = async (by: string) => {
      const rights = await kit.do(by, 'list_rights')
      return [...new Set(rights.map(({ holder }) => kit.names.of(holder)))].toSorted()
    }
    deepStrictEqual(await holders('R'), ['D', 'E', 'R', 'W'])
    deepStrictEqual(await holders('D'), ['D', 'W'])
    deepStrictEqual(await holders('W'), ['W'])
  },
)

scenario(
  'WX-019 questions about structures show an agent what it sees, and nothing beside it',
  { level: 2, rules: ['W-WS-15', 'W-TOPO-VIS-06'] },
  async kit => {
    await team(kit)
    const asked = async (by: string, question: string, about?: string) => {
      const found = await kit.do(by, 'topology', { question, about })
      return found.map(id => kit.names.of(id)).toSorted()
    }
    deepStrictEqual(await asked('R', 'owned_by', 'ux'), ['D', 'E', 'R', 'W'])
    deepStrictEqual(await asked('D', 'owned_by', 'ux'), ['D', 'W'])
    deepStrictEqual(await asked('W', 'originated_by', 'system'), ['W'])
    deepStrictEqual(await asked('D', 'siblings', 'D'), [])
    deepStrictEqual(await asked('W', 'upward', 'W'), [])
    deepStrictEqual(await asked('D', 'order', 'G'), ['A', 'A1'])
    await kit.expectAdded([])
    for (const question of ['upward', 'downward', 'siblings', 'visible_to', 'viewers_of']) {
      await kit.refuses('NOT_FOUND', 'W', 'topology', { question, about: kit.id('E') })
      await kit.expectAdded([denied('W', 'worker', 'access:read')])
    }
  },
)

scenario(
  'WX-020 what an agent holds leads to nobody else, and what it asks is asked as its own role',
  { level: 2, rules: ['W-ROLE-03', 'W-ROLE-04', 'W-SEC-03'] },
  async kit => {
    await kit.worker('W')
    await kit.delegate('D')
    await kit.observer('O')
    for (const name of ['W', 'D', 'O'])
      deepStrictEqual(await kit.do(name, 'handle_reaches'), [kit.id(name)], `what ${name} reaches`)
    await kit.mark()
    await kit.refuses('PERMISSION_DENIED', 'W', 'abort', { workspace: 'D' })
    await kit.expectAdded([denied('W', 'worker', 'operation:abort')])
  },
)

scenario(
  'WX-021 an injection decides for whom work is done, also below what another person had begun',
  {
    level: 2,
    rules: ['W-USER-10', 'W-TOPO-CAUS-03', 'W-TOPO-CAUS-04'],
    run: { highway: OPEN },
  },
  async kit => {
    for (const user of ['ux', 'uy']) await kit.user(user, ['inject_directive_any'])
    const inject = async (name: string, user: string, to: string) => {
      kit.name((await kit.do(user, 'inject', { ...kit.mail(to, 'directive') })).envelope, name)
      await kit.settle()
    }
    await inject('E1', 'ux', 'R')
    await kit.delegate('A', { caused_by: 'E1' })
    await inject('E2', 'uy', 'A')
    await kit.mark()
    await kit.delegate('B', { parent: 'A', caused_by: 'E2' })
    await kit.expectAmong([['workspace_created', 'B', 'system', { parent: 'A', originator: 'uy', caused_by: 'E2' }]])
    await kit.worker('B1', {}, 'B')
    await inject('E3', 'ux', 'A')
    await kit.worker('A1', { caused_by: 'E3' }, 'A')
    for (const [name, originator] of Object.entries({ A: 'ux', B: 'uy', B1: 'uy', A1: 'ux' }))
      deepStrictEqual((await kit.look(name)).originator, originator, name)
    const found = await kit.do('runtime', 'topology', { question: 'boundaries' })
    deepStrictEqual(found.map(id => kit.names.of(id)).toSorted(), ['A', 'B'])
  },
)

const wall = (limit: number) => ({ budget: { compute_budget: { wall_time_limit: limit } } })

scenario(
  'WX-022 wall time runs at work and while blocked, up to its limit, and in no other state',
  { level: 2, rules: ['W-BUDGET-02', 'W-BUDGET-04', 'W-BUDGET-05'] },
  async kit => {
    await kit.worker('W', wall(100 * S))
    await kit.advance(30 * S)
    await kit.emit('W', 'blocked', { reason: 'waiting' })
    await kit.advance(40 * S)
    await kit.do('R', 'suspend', { workspace: 'W', reason: 'pause' })
    await kit.advance(300 * S)
    await kit.do('R', 'resume', { workspace: 'W' })
    await kit.mark()
    await kit.advance(9 * S)
    await kit.expectAdded([])
    await kit.advance(2 * S)
    const mark = { workspace_id: 'W', budget_dimension: 'wall_time_limit', limit: 100 * S }
    await kit.expectAmong([['budget_warning', 'W', 'protocol', mark]])
    await kit.advance(18 * S)
    deepStrictEqual(await kit.state('W'), 'blocked')
    await kit.advance(2 * S)
    await kit.expectAmong([
      ['budget_exceeded', 'W', 'protocol', mark],
      ['workspace_state_changed', 'W', 'protocol', { from_state: 'blocked', to_state: 'failed' }],
    ])
  },
)

scenario(
  'WX-023 a delegate pays for the wall time of everything below it',
  { level: 2, rules: ['W-BUDGET-02', 'W-BUDGET-07'] },
  async kit => {
    await kit.delegate('D', wall(100 * S))
    await kit.refuses('CONTAINMENT', 'D', 'create_workspace', { role: 'worker', ...wall(101 * S) })
    await kit.worker('C', wall(60 * S), 'D')
    await kit.emit('C', 'blocked', { reason: 'waiting' })
    await kit.mark()
    await kit.advance(49 * S)
    deepStrictEqual(await kit.state('D'), 'active')
    await kit.advance(2 * S)
    await kit.expectAmong([
      ['budget_exceeded', 'D', 'protocol', { budget_dimension: 'wall_time_limit', limit: 100 * S }],
    ])
    deepStrictEqual([await kit.state('D'), await kit.state('C')], ['failed', 'failed'])
  },
)
