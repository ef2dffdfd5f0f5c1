// Migration (W-MIG-04 to -07): what the trail says of it, who may act before and after the swap, and how it can end.
import { ParleyError, type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import type { MigrationRequest } from '../runtime/migrations.ts'
import { S } from '../testing/budgets.ts'
import { type Fixture, type FixtureOptions, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { send } from '../testing/mail.ts'
import { unauthenticated } from '../testing/people.ts'
import { delivered, emitted, changed as stateChanged } from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'

/** Prepares agents when it is told to. */
class Binder {
  readonly requests: MigrationRequest[] = []
  readonly #waiting: PromiseWithResolvers<void>[] = []

  readonly prepare = (request: MigrationRequest): Promise<void> => {
    this.requests.push(request)
    const prepared = Promise.withResolvers<void>()
    this.#waiting.push(prepared)
    return prepared.promise
  }

  get last(): MigrationRequest {
    return this.requests.at(-1)!
  }

  ready(): void {
    this.#waiting.shift()?.resolve()
  }

  fail(cause: unknown): void {
    this.#waiting.shift()?.reject(cause)
  }
}

async function prepared(options: FixtureOptions = {}) {
  const binder = new Binder()
  const f = await fixture({ prepare: binder.prepare, ...options })
  return { f, binder }
}

const move = (name = 'W', old_agent = `agent:${name}`, new_agent = 'a2') => ({
  workspace_id: name,
  old_agent,
  new_agent,
})

const changed = (name: string, from: string, to: string, trigger: string, actor = 'protocol'): Row =>
  stateChanged(name, from, to, trigger, actor, actor === 'system' ? 'coordinator' : actor)

const begun = (from: string, agents = move(), signal_id = 'sig1'): Row[] => [
  emitted(signal_id, 'R', 'migrate', 'system', { ref: 'W' }),
  ['migration_started', 'W', 'system', { ...agents, reason: 'out of credit' }],
  changed('W', from, 'migrating', 'migration_initiated', 'system'),
]

const failedRows = (error: string, signal_id: string, agents = move()): Row[] => [
  ['migration_failed', 'W', 'protocol', { ...agents, reason: 'migration_error', error }],
  emitted(signal_id, 'W', 'failed', 'protocol', { reason: 'migration_error' }),
  changed('W', 'migrating', 'failed', 'migration_error'),
  delivered(signal_id, 'W', 'R'),
]

const unbound = (entity: string, context = 'agent_operation'): Row =>
  unauthenticated(entity, context, 'invalid_credential', 'W')

const NOTHING = { expected: null, actual: null }
const FORGED: Row = [
  'integrity_violation',
  null,
  'protocol',
  { ...NOTHING, subject_type: 'signal', subject_id: '', violation: 'signature_invalid', action_taken: 'rejected' },
]

const migrate = (f: Fixture, to = 'a2'): Promise<Result<AgentHandle>> =>
  f.root.migrate(f.id('W'), to, 'out of credit') as Promise<Result<AgentHandle>>

/** All of W but who sits in it and in what state it is; clocks stand where they stood when it was frozen. */
async function components(f: Fixture) {
  const { agent, status, migrating_to, ...rest } = unwrap(await f.root.look(f.id('W')))
  return rest
}

test('W-SEC-07 what an agent sealed is of no use to its successor, and once it is replaced it seals nothing', async () => {
  const { f, binder } = await prepared({ secret: new Uint8Array(32).fill(42) })
  const old = await f.worker('W')
  const early = unwrap(old.seal(f.mail('R', 'query')))
  const migrated = migrate(f)
  await f.settle()
  binder.ready()
  const next = unwrap(await migrated)
  await f.mark()
  expect(refused(old.seal(f.mail('R', 'query')))).toBe('permission_denied(invalid_credential)')
  await f.settle()
  await f.expectAdded([unbound('agent:W', 'agent_operation')])
  expect(refused(await next.send(early))).toBe('rejected(integrity_violation)')
  expect(refused(await next.send(unwrap(next.seal(f.mail('R', 'query')))))).toBe('ok')
})

test('W-MIG-05 the old agent is refused whatever it asks, and changes nothing', async () => {
  const { f, binder } = await prepared()
  const old = await f.worker('W')
  await send(f, f.root, 'E', 'W', 'feedback')
  const migrated = migrate(f)
  await f.settle()
  binder.ready()
  unwrap(await migrated)
  await f.mark()
  const before = await f.picture()
  for (const [ask, ...rows] of [
    [() => old.complete(), unbound('agent:W', 'signal_emit'), FORGED],
    [() => old.send(f.mail('R', 'query')), unbound('agent:W')],
    [() => f.checkpoint('W'), unbound('agent:W')],
    [() => old.consume(), unbound('agent:W')],
    [() => old.writeMemory('k', 1), unbound('agent:W')],
    [() => old.look(), unbound('agent:W')],
    [() => old.query({}), unbound('agent:W')],
    [() => old.aggregate({ filter: {} }), unbound('agent:W')],
    [() => old.abort(f.id('W')), unbound('agent:W')],
  ] as readonly (readonly [() => Promise<Result<unknown>>, ...Row[]])[]) {
    expect(refused(await ask())).toBe('permission_denied(invalid_credential)')
    await f.expectAdded(rows)
  }
  expect(await f.picture()).toEqual(before)
})

test('W-MIG-05 the new agent is refused until the swap, and authenticates from then on; the old one no more', async () => {
  const { f, binder } = await prepared({ secret: new Uint8Array(32).fill(7) })
  await f.worker('W')
  const attempt = (identity: string) => f.run.attach(f.id('W'), identity)
  const migrated = migrate(f)
  await f.mark()
  expect(refused(await binder.last.agent.started())).toBe('permission_denied(invalid_credential)')
  await f.expectAdded([unbound('a2', 'signal_emit'), FORGED])
  expect(refused(await attempt('a2'))).toBe('permission_denied(invalid_credential)')
  expect(unwrap(await attempt(`agent:${f.id('W')}`)).workspace).toBe(f.id('W'))
  binder.ready()
  const next = unwrap(await migrated)
  expect(next).toBe(binder.last.agent)
  expect(unwrap(await attempt('a2')).agent).toBe('a2')
  await f.mark()
  expect(refused(await attempt(`agent:${f.id('W')}`))).toBe('permission_denied(unknown_identity)')
  await f.expectAdded([unauthenticated('agent:W', 'agent_attach', 'unknown_identity', 'W')])

  // A restart keeps the binding (W-REC-15), and the old handle of a new life is the new agent's.
  await f.restart()
  expect(f.agent('W').agent).toBe('a2')
  expect(refused(await attempt(`agent:${f.id('W')}`))).toBe('permission_denied(unknown_identity)')
  unwrap(await f.agent('W').blocked('waiting'))
})

test('W-MIG-05 notices go to the agent that is bound; who waits for mail is told to stop', async () => {
  const { f, binder } = await prepared()
  const old = await f.worker('W')
  const heard: string[] = []
  old.subscribe(({ kind }) => heard.push(`old ${kind}`))
  const waiting = old.receive()
  const migrated = migrate(f)
  await f.settle()
  binder.last.agent.subscribe(({ kind }) => heard.push(`new ${kind}`))
  binder.ready()
  unwrap(await migrated)
  expect(refused(await waiting)).toBe('invalid_state')
  await send(f, f.root, 'E', 'W', 'feedback')
  await f.settle()
  expect(heard).toEqual(['old state', 'new state', 'new mail'])
  // To be told is no attempt: nobody is accused of one.
  const types = (await f.run.entries()).map(entry => entry.event_type)
  expect(types).not.toContain('authentication_failed')
})

test('W-MIG-06 a binder that throws at once, or without a word, is no different', async () => {
  const f = await fixture({
    prepare: () => {
      throw new ParleyError('odd', '')
    },
  })
  await f.worker('W')
  await f.mark()
  expect(refused(await migrate(f))).toBe('rejected(migration_error)')
  await f.expectAdded([...begun('active'), ...failedRows('unknown', 'sig2')])
})

test('W-MIG-06 neither a cascade nor a forced stop says more of a migration than its end', async () => {
  const { f } = await prepared()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('W', {}, delegate)
  const below = delegate.migrate(f.id('W'), 'a2', 'out of credit')
  await f.mark()
  unwrap(await f.root.abort(f.id('D')))
  await f.expectAmong([changed('W', 'migrating', 'failed', 'parent_failed')])
  expect(refused(await below)).toBe('rejected(parent_failed)')
  await f.worker('V')
  const other = f.root.migrate(f.id('V'), 'a2', 'out of credit')
  await f.mark()
  unwrap(await f.run.stop())
  const types = (await f.added()).map(entry => entry.event_type)
  expect(types).toEqual(['workspace_state_changed', 'system_degraded', 'workspace_state_changed'])
  expect(refused(await other)).toBe('invalid_state')
})

test('W-MIG-06 a human, a batch and the fallback of an escalation abort a migration like everything else', async () => {
  const { f } = await prepared({ run: { owner: 'ux', highway: { gates: {} } } })
  await f.worker('W', { owner: 'ux', group: 'g' })
  await f.worker('V', { group: 'g' })
  const waits = [migrate(f), f.root.migrate(f.id('V'), 'a3', 'out of credit')]
  await f.mark()
  unwrap(await f.runtime.user('ux').abort(f.run.id, f.id('W')))
  unwrap(await f.root.batchAbort('g'))
  const lost = (name: string, agent: string, error: string): Row => [
    'migration_failed',
    name,
    'protocol',
    { ...move(name, `agent:${name}`, agent), reason: 'aborted', error },
  ]
  await f.expectAmong([
    lost('W', 'a2', 'aborted_by_human'),
    lost('V', 'a3', 'batch_abort'),
    changed('V', 'migrating', 'failed', 'batch_abort', 'system'),
  ])
  expect((await Promise.all(waits)).map(refused)).toEqual(['rejected(aborted_by_human)', 'rejected(batch_abort)'])
})

test('W-MIG-04 a migration needs a reason and another agent that is free', async () => {
  const { f, binder } = await prepared()
  const worker = await f.worker('W')
  await f.worker('V')
  const delegate = await f.worker('D', { delegate: true })
  await f.mark()
  const id = f.id('W')
  for (const [agent, reason] of [
    ['a2', ''],
    ['a2', 7],
    ['', 'move'],
    [undefined, 'move'],
    ['x'.repeat(300), 'move'],
    [worker.agent, 'move'],
  ] as const)
    expect(refused(await f.root.migrate(id, agent as string, reason as string))).toBe('invalid_argument')
  expect(refused(await f.root.emit({ type: 'migrate', ref: id }))).toBe('invalid_argument')
  expect(refused(await f.root.migrate('ws_none' as never, 'a2', 'move'))).toBe('not_found')
  await f.expectAdded([])

  // The agent cannot migrate itself, nor a delegate what is not below it.
  expect(refused(await worker.migrate(id, 'a2', 'move'))).toBe('permission_denied')
  expect(refused(await delegate.migrate(id, 'a2', 'move'))).toBe('permission_denied')
  await f.expectAdded([
    denial('W', 'worker', 'operation:migrate', 'permission_denied', 'W'),
    denial('D', 'worker', 'operation:migrate', 'permission_denied', 'W'),
  ])

  const used = (entity: string) => unauthenticated(entity, 'agent_migration', 'identity_in_use', 'R')
  expect(refused(await f.root.migrate(id, `agent:${f.id('V')}`, 'move'))).toBe('rejected(identity_in_use)')
  await f.expectAdded([used('agent:V')])
  // One that is only on its way is taken as well.
  void migrate(f)
  await f.mark()
  expect(refused(await f.root.migrate(f.id('V'), 'a2', 'move'))).toBe('rejected(identity_in_use)')
  await f.expectAdded([used('a2')])
  expect(binder.requests).toHaveLength(1)
})

test('W-MIG-07 one migration after another, and the former agent is free for other work', async () => {
  const { f, binder } = await prepared({ identify: ({ context }) => String(context.agent ?? 'coordinator') })
  await f.worker('W', { context: { agent: 'a1' }, timeout: 100 * S, owner: 'uy' })
  const before = await components(f)
  for (const agent of ['a2', 'a3', 'a1', 'a2']) {
    const migrated = migrate(f, agent)
    await f.settle()
    binder.ready()
    expect(unwrap(await migrated).agent).toBe(agent)
  }
  expect({ ...(await components(f)), meter: before.meter }).toEqual(before)
  await f.worker('V', { context: { agent: 'a1' } })
  const taken = await f.root.createWorkspace({ role: 'worker', context: { agent: 'a2' } })
  expect(refused(taken)).toBe('rejected(identity_in_use)')
  // The agent of a workspace that ended is free, whoever it was in the beginning.
  unwrap(await f.root.abort(f.id('W')))
  await f.worker('U', { context: { agent: 'a2' } })
})

test('W-MIG-07 a timeout stands still during a migration and goes on after it', async () => {
  const { f, binder } = await prepared()
  await f.worker('W', { timeout: 10 * S, liveness_interval: 3 * S })
  await f.advance(2 * S)
  const migrated = migrate(f)
  await f.mark()
  await f.advance(60 * S)
  await f.expectAdded([])
  binder.ready()
  unwrap(await migrated)
  expect(Math.round(unwrap(await f.run.remaining(f.id('W'))).timeout! / S)).toBe(8)
})

test('W-ROLE-11 a delegate migrates what lies below it', async () => {
  const { f, binder } = await prepared()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('W', {}, delegate)
  await f.mark()
  const migrated = delegate.migrate(f.id('W'), 'a2', 'out of credit')
  await f.expectAdded([
    ['signal_emitted', 'D', 'worker', { signal_id: 'sig1', from: 'D', type: 'migrate', ref: 'W' }],
    ['migration_started', 'W', 'worker', { ...move(), reason: 'out of credit' }],
    changed('W', 'active', 'migrating', 'migration_initiated', 'worker'),
    ['signal_delivered', 'R', 'protocol', { signal_id: 'sig1', from: 'D', delivered_to: 'R' }],
  ])
  binder.ready()
  unwrap(await migrated)
})

test('W-MIG-05 signals wait for a delegate that is being migrated, and go to the agent that took over', async () => {
  const { f, binder } = await prepared()
  const delegate = await f.worker('W', { delegate: true })
  const child = await f.worker('C', {}, delegate)
  const migrated = migrate(f)
  await f.mark()
  unwrap(await child.blocked('waiting'))
  expect((await f.added()).map(entry => entry.event_type)).toEqual(['signal_emitted', 'workspace_state_changed'])
  const heard: string[] = []
  binder.last.agent.subscribe(notice => heard.push(notice.kind))
  binder.ready()
  unwrap(await migrated)
  await f.expectAdded([
    ['migration_completed', 'W', 'protocol'],
    changed('W', 'migrating', 'active', 'migration_succeeded'),
    ['signal_delivered', 'W', 'protocol'],
  ])
  expect(heard).toEqual(['state', 'signal'])
})

test('W-MIG-05 what was prepared counts for its own migration only, and once', async () => {
  const { f, binder } = await prepared()
  await f.worker('W')
  const migrated = migrate(f)
  await f.mark()
  const ask = (agent: string, workspace = f.id('W')) => f.run.submit({ type: 'complete_migration', workspace, agent })
  expect(refused(await ask('a3'))).toBe('invalid_state')
  expect(refused(await ask('a2', 'ws_none' as never))).toBe('invalid_state')
  await f.expectAdded([])
  binder.ready()
  unwrap(await migrated)
  await f.mark()
  expect(refused(await ask('a2'))).toBe('invalid_state')
  const late = { type: 'fail_migration', workspace: f.id('W'), agent: 'a2', error: 'late' } as const
  expect(refused(await f.run.submit(late))).toBe('invalid_state')
  await f.expectAdded([])
})

test('W-MIG-05 a runtime that is closed meanwhile says so to whoever waits, and to whoever prepares', async () => {
  const { f, binder } = await prepared()
  await f.worker('W')
  const migrated = migrate(f)
  await f.settle()
  await f.runtime.close()
  expect(refused(await migrated)).toBe('trail_unavailable')
  expect(binder.last.signal.aborted).toBe(true)
  binder.ready()
  await f.settle()
})

test('W-MIG-05 without a binder of its own the new agent is handed to whoever runs agents', async () => {
  const bound: string[] = []
  const f = await withWorker({ bind: ({ agent }) => void bound.push(String(agent)) })
  bound.length = 0
  expect(unwrap(await migrate(f)).agent).toBe('a2')
  expect(bound).toEqual(['a2'])
})

test('W-MIG-05 a swap that cannot be recorded for now is made when it can', async () => {
  const { f, binder } = await prepared()
  await f.worker('W')
  const migrated = migrate(f)
  await f.mark()
  f.disks.trail.fail('write', { times: 3 })
  binder.ready()
  await f.settle()
  expect(await f.state('W')).toBe('migrating')
  for (let second = 0; second < 5; second++) await f.advance(1 * S)
  expect(unwrap(await migrated).agent).toBe('a2')
  const rows = (await f.added()).map(entry => entry.event_type)
  expect(rows).toEqual(['migration_completed', 'workspace_state_changed'])
})
