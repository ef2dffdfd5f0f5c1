// Migrations that fail, and workers that are asked to finish (wacp-primitives 14, 15).
import { deepStrictEqual } from 'node:assert'
import { emit, failure, SC, signalled } from '../../entry-rows.ts'
import type { Kit } from '../../kit.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'
import { must } from '../../stage.ts'

const ABORTED = 'aborted_by_coordinator'
const move = (workspace: string) => ({ workspace, agent: 'a2', reason: 'move' })

scenario(
  'WP-096 an agent that cannot be bound fails its workspace, and only what is at work is migrated',
  { level: 3, rules: ['W-MIG-06', 'W-MIG-04', 'W-LIFE-11'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    kit.faults.binder('fail')
    deepStrictEqual((await kit.call('R', 'migrate', move('W'))).ok, false)
    await kit.expectAdded([
      emit('migrate', 'R', 'system', { ref: 'W' }),
      ['migration_started', 'W', 'system', { workspace_id: 'W', new_agent: 'a2', reason: 'move' }],
      SC('W', 'active', 'migrating', 'migration_initiated', { actor: 'system' }),
      ['migration_failed', 'W', 'protocol', { workspace_id: 'W', new_agent: 'a2' }],
      ...failure('W', 'migrating', 'migration_error'),
    ])
    kit.faults.binder('work')

    for (const state of ['idle', 'integrating', 'suspended'] as const) {
      await kit.inState('N', state)
      const before = await kit.picture()
      await kit.refuses('INVALID_STATE', 'R', 'migrate', move('N'))
      await kit.expectAdded([])
      deepStrictEqual(await kit.picture(), before, state)
    }

    await kit.inState('V', 'migrating')
    await kit.do('R', 'abort', { workspace: 'V' })
    await kit.expectAdded([
      ['migration_failed', 'V', '*', { workspace_id: 'V', reason: 'aborted' }],
      ...failure('V', 'migrating', ABORTED, { actor: 'system' }),
    ])
    kit.faults.binder('work')
    await kit.expectAdded([])
    deepStrictEqual(await kit.state('V'), 'failed')

    must(await kit.open({ level: 2 }), 'The same as Level 2')
    await kit.user('ux')
    must(await kit.start())
    await kit.emit('R', 'started')
    await kit.inState('L', 'active')
    await kit.refuses('UNSUPPORTED', 'R', 'migrate', move('L'))
    await kit.expectAdded([])
  },
)

const S = 1000
const GRACE = 50 * S
const ask = (workspace: string, grace_period = GRACE) => ({ workspace, grace_period, reason: 'enough' })

const expired = (workspace: string, partial_checkpoint: string | null, from = 'active'): readonly Row[] => [
  [
    'graceful_termination_expired',
    workspace,
    'protocol',
    { workspace_id: workspace, grace_period: GRACE, partial_checkpoint },
  ],
  ...failure(workspace, from, 'graceful_termination_expired'),
]

/** A worker with one provisional checkpoint K that was asked to finish. */
async function asked(kit: Kit, name: string, timeout = 1000 * S): Promise<void> {
  await kit.worker(name, { timeout })
  await kit.checkpoint('K', name)
  await kit.do('R', 'terminate', ask(name))
  await kit.mark()
}

scenario(
  'WP-098 a worker that says nothing fails when its grace is over, unless something else ends it before',
  { level: 3, rules: ['W-TERM-04', 'W-TERM-05'] },
  async kit => {
    await asked(kit, 'W')
    await kit.advance(GRACE - 1)
    await kit.expectAdded([])
    await kit.advance(2)
    await kit.expectAdded(expired('W', 'K'))
    deepStrictEqual(
      (await kit.look('W')).register.map(({ id }) => id),
      [kit.id('K')],
    )

    await asked(kit, 'P')
    await kit.advance(20 * S)
    await kit.bring('P', 'suspended')
    await kit.mark()
    await kit.advance(100 * S)
    await kit.expectAdded([])
    await kit.do('R', 'resume', { workspace: 'P' })
    await kit.mark()
    await kit.advance(30 * S - 1)
    await kit.expectAdded([])
    await kit.advance(2)
    await kit.expectAdded(expired('P', 'K'))

    await asked(kit, 'A')
    await kit.advance(10 * S)
    await kit.do('R', 'abort', { workspace: 'A' })
    await kit.expectAdded(failure('A', 'active', ABORTED, { actor: 'system' }))
    await kit.advance(100 * S)
    await kit.expectAdded([])

    await asked(kit, 'T', 20 * S)
    await kit.advance(20 * S + 1)
    await kit.expectAdded(failure('T', 'active', 'timeout'))
    await kit.advance(100 * S)
    await kit.expectAdded([])
  },
)

scenario(
  'WP-099 only workers at work that were not asked before are asked to finish, and only with a time of grace',
  { level: 3, rules: ['W-TERM-01', 'W-TERM-03'] },
  async kit => {
    await kit.observer('O')
    await kit.workspace('I')
    await kit.inState('S', 'suspended')
    await kit.worker('P')
    await kit.do('R', 'terminate', ask('P'))
    await kit.worker('W')
    await kit.mark()
    const before = await kit.picture()
    for (const name of ['O', 'I', 'S', 'P'])
      await kit.refuses('INVALID_STATE', 'R', 'terminate', ask(name)).catch(cause => {
        throw new Error(`${name}: ${cause.message}`)
      })
    for (const grace of [0, -1]) await kit.refuses('INVALID_ARGUMENT', 'R', 'terminate', ask('W', grace))
    await kit.expectAdded([])
    deepStrictEqual(await kit.picture(), before)

    await kit.final('W')
    await kit.bring('W', 'blocked')
    await kit.do('R', 'terminate', ask('W'))
    await kit.mark()
    deepStrictEqual(await kit.emit('W', 'complete'), 'absorbed')
    await kit.expectAdded(signalled('absorbed', 'complete', 'W', 'R'))
    await kit.emit('W', 'started')
    await kit.emit('W', 'complete')
    await kit.expectAmong([
      SC('W', 'blocked', 'active', 'agent_started'),
      SC('W', 'active', 'integrating', 'agent_complete'),
    ])
    await kit.advance(2 * GRACE)
    const later = (await kit.added()).filter(({ workspace }) => workspace === kit.id('W'))
    deepStrictEqual(later, [])
    deepStrictEqual(await kit.state('W'), 'integrating')
  },
)
