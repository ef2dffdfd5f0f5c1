// Timeouts, migration, graceful ends (wacp-primitives 12, 14, 15).
import { deepStrictEqual } from 'node:assert'
import { delivered, emit, failure, SC } from '../../entry-rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-087 a timeout counts the time at work, and a restart changes nothing about it',
  { level: 2, rules: ['W-BUDGET-01', 'W-LIFE-04'] },
  async kit => {
    for (const restarted of [false, true]) {
      await kit.worker('W', { timeout: 100 })
      await kit.advance(40)
      await kit.do('R', 'suspend', { workspace: 'W', reason: 'pause' })
      await kit.advance(500)
      await kit.do('R', 'resume', { workspace: 'W' })
      await kit.emit('W', 'blocked', { reason: 'waiting' })
      await kit.advance(40)
      await kit.emit('W', 'started')
      if (restarted) await kit.restart()
      await kit.mark()
      await kit.advance(19)
      await kit.expectAdded([])
      await kit.advance(2)
      await kit.expectAdded(failure('W', 'active', 'timeout'))
    }
    await kit.workspace('I', { timeout: 100 })
    await kit.mark()
    await kit.advance(101)
    await kit.expectAdded(failure('I', 'idle', 'timeout'))
    await kit.worker('X', { timeout: 100 })
    await kit.bring('X', 'conflicted')
    await kit.mark()
    await kit.advance(101)
    await kit.expectAmong([SC('X', 'conflicted', 'failed', 'conflict_timeout')])
  },
)

scenario(
  'WP-095 a workspace goes on under another agent as it was, and the old one no longer speaks for it',
  { level: 3, rules: ['W-MIG-04', 'W-MIG-05', 'W-MIG-07'] },
  async kit => {
    await kit.inState('W', 'blocked')
    await kit.do('W', 'write_memory', { key: 'note', value: 'kept' })
    await kit.send('M', 'R', 'W', 'feedback')
    await kit.faults.meter(kit.run, kit.id('W'), { tokens: 40 })
    const { agent, status: _status, meter, ...before } = await kit.look('W')
    await kit.mark()
    kit.faults.binder('hold')
    const migrating = kit.call('R', 'migrate', { workspace: 'W', agent: 'a2', reason: 'move' })
    await kit.expectAdded([
      emit('migrate', 'R', 'system', { ref: 'W' }),
      ['migration_started', 'W', 'system', { workspace_id: 'W', old_agent: agent, new_agent: 'a2', reason: 'move' }],
      SC('W', 'blocked', 'migrating', 'migration_initiated', { actor: 'system' }),
    ])
    await kit.send('E', 'R', 'W', 'feedback')
    await kit.expectAdded([['envelope_created', 'R', 'system', { envelope_id: 'E' }]])
    kit.faults.binder('work')
    deepStrictEqual((await migrating).ok, true)
    await kit.expectAmong([
      ['migration_completed', 'W', 'protocol', { workspace_id: 'W', old_agent: agent, new_agent: 'a2' }],
      SC('W', 'migrating', 'blocked', 'migration_succeeded'),
      delivered('E', 'R', 'W'),
    ])
    const old = { kind: 'agent', run: kit.run, workspace: kit.id('W'), identity: String(agent) } as const
    await kit.refuses('PERMISSION_DENIED', old, 'emit_signal', { type: 'started' })
    const added = await kit.expectNone('signal_emitted')
    deepStrictEqual(
      added.map(({ event_type }) => event_type),
      ['authentication_failed'],
    )
    await kit.do({ ...old, identity: 'a2' }, 'emit_signal', { type: 'started' })
    await kit.expectAmong([SC('W', 'blocked', 'active', 'agent_started')])
    const { agent: next, status: _active, meter: spent, inbox, ...after } = await kit.look('W')
    deepStrictEqual([next, spent.tokens, meter.tokens], ['a2', 40, 40])
    deepStrictEqual({ ...after, inbox }, { ...before, inbox: [kit.id('M'), kit.id('E')] })
  },
)

scenario(
  'WP-097 a worker that is asked to finish does so within its grace',
  { level: 3, rules: ['W-TERM-01', 'W-TERM-02', 'W-TERM-03'] },
  async kit => {
    await kit.inState('W', 'active')
    await kit.do('R', 'terminate', { workspace: 'W', grace_period: 50, reason: 'enough' })
    await kit.expectAdded([
      ['graceful_termination_initiated', 'W', 'system', { workspace_id: 'W', grace_period: 50, reason: 'enough' }],
      ['envelope_created', 'R', 'system', { envelope_id: '?E', from: 'R', to: 'W', type: 'feedback' }],
      delivered('E', 'R', 'W'),
      emit('acknowledged', 'W', 'protocol', { ref: 'E' }),
      ['signal_delivered', 'R', 'protocol'],
    ])
    await kit.advance(49)
    await kit.final('W')
    await kit.emit('W', 'complete')
    await kit.expectAmong([
      ['checkpoint_created', 'W', 'worker', { checkpoint_id: 'KW', status: 'final' }],
      emit('complete', 'W', 'worker'),
      SC('W', 'active', 'integrating', 'agent_complete'),
    ])
    await kit.advance(1000)
    await kit.expectAdded([])
  },
)
