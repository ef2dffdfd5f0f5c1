// Signals: which are refused, where they go, in which order, and what becomes of those that change nothing
// (wacp-primitives 4).
import { deepStrictEqual } from 'node:assert'
import { deliver, denied, emit, SC, signalled, unreceived } from '../../entry-rows.ts'
import type { Row } from '../../rows.ts'
import { scenario } from '../../scenario.ts'

scenario(
  'WP-044 a signal outside the eleven is denied on record; a malformed one is refused without an entry',
  { level: 1, rules: ['W-SIG-02', 'W-SIG-05', 'W-SIG-14'] },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    const before = await kit.picture()
    await kit.refuses('PERMISSION_DENIED', 'W', 'emit_signal', { type: 'paused', reason: 'tired' })
    await kit.expectAdded([denied('W', 'worker', 'emit:paused')])
    for (const signal of [{ type: 'blocked' }, { type: 'failed', reason: '' }, { type: 'started', id: 'mine' }])
      await kit.refuses('INVALID_ARGUMENT', 'W', 'emit_signal', signal).catch(cause => {
        throw new Error(`${JSON.stringify(signal)}: ${cause.message}`)
      })
    await kit.expectAdded([])
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WP-045 a role emits only its own signals; each other attempt is denied on record and never emitted',
  { level: 1, rules: ['W-SIG-05', 'W-ROLE-03', 'W-ROLE-13'] },
  async kit => {
    await kit.worker('W')
    await kit.observer('O')
    await kit.mark()
    const before = await kit.picture()
    for (const [name, actor, types] of [
      ['R', 'system', ['complete', 'blocked', 'checkpoint', 'escalation']],
      ['W', 'worker', ['integrate', 'suspend', 'migrate', 'acknowledged']],
      ['O', 'observer', ['blocked', 'checkpoint', 'integrate', 'suspend', 'migrate', 'acknowledged']],
    ] as const)
      for (const type of types) {
        const signal = { type, reason: 'why', ref: 'W' }
        await kit.refuses('PERMISSION_DENIED', name, 'emit_signal', signal)
        await kit.expectAdded([denied(name, actor, `emit:${type}`)])
      }
    deepStrictEqual(await kit.picture(), before)
  },
)

scenario(
  'WP-046 a signal goes one step up; whoever stands higher finds it in the trail',
  { level: 2, rules: ['W-SIG-03', 'W-SIG-06', 'W-ROLE-11'] },
  async kit => {
    await kit.worker('W')
    await kit.delegate('D')
    await kit.worker('C', {}, 'D')
    await kit.mark()
    await kit.emit('C', 'blocked', { reason: 'no input' })
    await kit.expectAdded([
      emit('blocked', 'C', 'worker', { signal_id: '?s', reason: 'no input' }),
      SC('C', 'active', 'blocked', 'agent_blocked'),
      deliver('C', 'D', { signal_id: '?s' }),
    ])
    const filter = { event_type: 'signal_emitted', body: { type: 'blocked' } }
    const { entries } = await kit.do('R', 'query_trail', filter)
    deepStrictEqual(
      entries.map(({ body }) => body.signal_id),
      [kit.id('s')],
    )
  },
)

scenario(
  'WP-047 a signal that is late holds back the later ones of its workspace',
  { level: 1, rules: ['W-SIG-06', 'W-CONC-04'], setup: { carriedSignals: true } },
  async kit => {
    await kit.worker('W')
    await kit.mark()
    let first = true
    kit.faults.transport.rule(({ kind }) => {
      const late = kind === 'signal' && first
      if (late) first = false
      return late ? 'delay' : 'pass'
    })
    await kit.final('W')
    await kit.emit('W', 'complete')
    await kit.expectAdded([
      ['checkpoint_created', 'W', 'worker', { checkpoint_id: 'KW' }],
      emit('checkpoint', 'W', 'protocol', { signal_id: '?s1', ref: 'KW' }),
      emit('complete', 'W', 'worker', { signal_id: '?s2' }),
      SC('W', 'active', 'integrating', 'agent_complete'),
    ])
    kit.faults.transport.release()
    await kit.expectAdded([deliver('W', 'R', { signal_id: '?s1' }), deliver('W', 'R', { signal_id: '?s2' })])
  },
)

scenario(
  'WP-048 a signal whose transition is not legal now, or that comes twice, is recorded and changes nothing',
  { level: 1, rules: ['W-SIG-09', 'W-LIFE-03'], setup: { carriedSignals: true } },
  async kit => {
    await kit.worker('V')
    await kit.inState('W', 'blocked')
    await kit.inState('W2', 'integrating')
    const before = await kit.picture()
    for (const name of ['W', 'W2']) {
      deepStrictEqual(await kit.emit(name, 'complete'), 'absorbed', name)
      await kit.expectAdded(signalled(`late${name}`, 'complete', name, 'R'))
    }
    deepStrictEqual(await kit.picture(), before)
    kit.faults.transport.rule(({ kind }) => (kind === 'signal' ? 'duplicate' : 'pass'))
    await kit.emit('V', 'blocked', { reason: 'waiting' })
    await kit.expectAdded([
      emit('blocked', 'V', 'worker', { signal_id: '?s' }),
      SC('V', 'active', 'blocked', 'agent_blocked'),
      deliver('V', 'R', { signal_id: '?s' }),
      deliver('V', 'R', { signal_id: '?s' }),
    ])
    await kit.advance(100_000)
    await kit.expectAdded([])
  },
)

for (const [how, carriedSignals] of [
  ['signals that are carried', true],
  ['signals that need not be', false],
] as const)
  scenario(
    `WP-049 what a child signals to a paused parent waits, and goes to the new one if that parent fails (${how})`,
    { level: 2, rules: ['W-SIG-06', 'W-SIG-11'], setup: { carriedSignals } },
    async kit => {
      await kit.delegate('D', { owner: 'ux' })
      await kit.worker('C', { owner: 'uy' }, 'D')
      await kit.worker('own', {}, 'D')
      await kit.bring('D', 'suspended')
      await kit.mark()
      const shown = (id: string): readonly Row[] => [
        ['checkpoint_created', 'C', 'worker', { checkpoint_id: `K${id}` }],
        emit('checkpoint', 'C', 'protocol', { signal_id: `?${id}`, ref: `K${id}` }),
      ]
      for (const id of ['s1', 's2']) {
        await kit.checkpoint(`K${id}`, 'C')
        await kit.expectAdded(shown(id))
      }
      await kit.advance(10_000)
      await kit.expectAdded([])
      await kit.do('R', 'resume', { workspace: 'D' })
      await kit.expectAmong([
        SC('D', 'suspended', 'active', 'resumed_by_coordinator', { actor: 'system' }),
        deliver('C', 'D', { signal_id: '?s1' }),
        deliver('C', 'D', { signal_id: '?s2' }),
      ])

      await kit.bring('D', 'suspended')
      await kit.mark()
      await kit.emit('C', 'blocked', { reason: 'no input' })
      await kit.emit('own', 'blocked', { reason: 'no input' })
      await kit.expectAdded([
        emit('blocked', 'C', 'worker', { signal_id: '?s3' }),
        SC('C', 'active', 'blocked', 'agent_blocked'),
        emit('blocked', 'own', 'worker', { signal_id: '?lost' }),
        SC('own', 'active', 'blocked', 'agent_blocked'),
      ])
      await kit.do('R', 'abort', { workspace: 'D' })
      const added = await kit.expectAmong([
        ['workspace_reparented', 'C', 'protocol', { workspace_id: 'C', old_parent: 'D', new_parent: 'R' }],
        deliver('C', 'R', { signal_id: '?s3' }),
      ])
      const delivered = added.filter(({ event_type }) => event_type === 'signal_delivered')
      deepStrictEqual(delivered.map(({ body }) => kit.names.of(String(body.from))).toSorted(), ['C', 'D'])
    },
  )

scenario(
  'WP-050 an escalation reaches the parent always, and its owner as the owner stands',
  {
    level: 2,
    rules: ['W-SIG-12', 'W-USER-17', 'W-USER-02'],
    run: {
      highway: {
        gates: { task_approval: false },
        escalation: { timeout: 60_000, fallback: 'delegate_to_coordinator' },
      },
    },
  },
  async kit => {
    for (const name of ['W1', 'W2', 'W3']) await kit.worker(name, { owner: 'ux' })
    await kit.mark()
    const escalated = async (name: string, signal: string, queued: boolean, more: readonly Row[] = []) => {
      await kit.emit(name, 'blocked', { reason: 'stuck' })
      await kit.emit(name, 'escalation', { reason: 'help' })
      const about = { signal_id: `?${signal}`, workspace: name, reason: 'help', addressee: 'ux' }
      await kit.expectAdded([
        emit('blocked', name, 'worker', { signal_id: `?${name}Blocked`, reason: 'stuck' }),
        SC(name, 'active', 'blocked', 'agent_blocked'),
        deliver(name, 'R', { signal_id: `?${name}Blocked` }),
        emit('escalation', name, 'worker', { signal_id: `?${signal}`, reason: 'help' }),
        deliver(name, 'R', { signal_id: `?${signal}` }),
        ['escalation_received', name, 'protocol', { ...about, queued }],
        ...more,
      ])
    }
    const queued = async () => (await kit.do('runtime', 'list_escalations')).map(each => each.queued)
    await escalated('W1', 'S1', false)
    deepStrictEqual(await queued(), [false])

    await kit.do('runtime', 'suspend_user', { user: 'ux', reason: 'holiday' })
    await kit.mark()
    await escalated('W2', 'S2', true)
    deepStrictEqual((await queued()).at(-1), true)
    const heard = async (signal: string) =>
      (await kit.notices('escalation')).filter(({ subject }) => subject === signal)
    deepStrictEqual((await heard('S2')).filter(({ detail }) => detail === 'delivered').length, 0)
    await kit.do('runtime', 'resume_user', { user: 'ux', reason: 'back' })
    await kit.expectAmong([['user_resumed', null, 'system', { user_id: 'ux' }]])
    deepStrictEqual(await queued(), [false, false])
    deepStrictEqual((await heard('S2')).filter(({ detail }) => detail === 'delivered').length, 1)

    await kit.do('runtime', 'deactivate_user', { user: 'ux', reason: 'left' })
    await kit.mark()
    await escalated('W3', 'S3', false, [unreceived('ux', 'user_not_active')])
    const told = (await heard('S3')).filter(({ detail }) => detail === 'rejected')
    deepStrictEqual(
      told.map(({ to }) => to),
      ['R'],
    )
  },
)
