// Decisions of which only the first part is on record (W-REC-24): what is missing is produced once; and a recovery that
// is interrupted and taken up again (W-REC-23).
import { formatTimestamp, parseTimestamp, type Ticks, unwrap } from '@parley/core'
import type { ProposedEntry, StoredRecord } from '@parley/trail'
import type { GateType } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, withWorker } from '../testing/fixture.ts'
import { behind, draft, leave, proposal, rewrite } from '../testing/foreign.ts'
import { only, prepare, TRANSITIONS, waiting } from '../testing/gates.ts'
import { send } from '../testing/mail.ts'
import { bound, delivered, emitted, finished, graphOf, changed as stateChanged } from '../testing/tasks.ts'
import { carriedFixture } from '../testing/transport.ts'

/** What a restart adds, the marker aside, and that the next one adds nothing more. */
async function repaired(f: Fixture, meanwhile?: () => void | Promise<void>): Promise<readonly Row[]> {
  await f.mark()
  await f.restart(meanwhile)
  const rows = (await f.added()).map(entry => f.row(entry))
  await f.restart()
  expect((await f.added()).map(entry => f.row(entry))).toEqual([])
  return rows
}

const shape = (rows: readonly Row[]) => rows.map(row => row.slice(0, 3))

const changed = (f: Fixture, name: string, from: string, to: string, trigger: string): ProposedEntry =>
  proposal(...stateChanged(f.id(name), from, to, trigger, 'protocol', 'protocol'))

/** Entries of a migration of W, as a runtime could have left them. */
const migration = (f: Fixture, type: string, more: object = {}): ProposedEntry => {
  const body = { workspace_id: f.id('W'), old_agent: `agent:${f.id('W')}`, new_agent: 'a2', ...more }
  return proposal(type, f.id('W'), type === 'migration_started' ? 'system' : 'protocol', body)
}
const started = (f: Fixture) => migration(f, 'migration_started', { reason: 'move' })
const interrupted = { reason: 'migration_error', error: 'runtime_restart' }

/** What is missing behind the last entry that is on record. */
const LOST: Row[] = [
  ['migration_failed', 'W', 'protocol', { workspace_id: 'W', old_agent: 'agent:W', new_agent: 'a2', ...interrupted }],
  emitted('sig1', 'W', 'failed', 'protocol', { reason: 'migration_error' }),
  stateChanged('W', 'migrating', 'failed', 'migration_error', 'protocol', 'protocol'),
  delivered('sig1', 'W', 'R'),
]
const entered = (f: Fixture) => changed(f, 'W', 'active', 'migrating', 'migration_initiated')

test.each([
  ['the failure', ['migration_failed'], LOST.slice(1)],
  ['the failure and its signal', ['migration_failed', 'signal_emitted'], LOST.slice(2)],
] as const)('W-REC-24 a migration of which %s is on record is finished', async (_what, left, missing) => {
  const f = await withWorker()
  const signal_id = f.ids.next('sig')
  f.name(signal_id, 'sig1')
  const timestamp = formatTimestamp(f.clock.now())
  const signal = { signal_id, from: f.id('W'), type: 'failed', reason: 'migration_error', timestamp }
  const forms: Record<string, ProposedEntry> = {
    migration_failed: migration(f, 'migration_failed', interrupted),
    signal_emitted: proposal('signal_emitted', f.id('W'), 'protocol', signal),
  }
  await leave(f, [started(f), entered(f), ...left.map(type => forms[type]!)])
  if (!left.includes('signal_emitted' as never)) f.name(signal_id, 'unused')
  expect(await repaired(f)).toEqual(missing)
})

test('W-REC-24 a migration whose completion is on record returns to where it was', async () => {
  const f = await withWorker()
  await leave(f, [started(f), entered(f), migration(f, 'migration_completed', { duration: 5 })])
  expect(await repaired(f)).toEqual([
    stateChanged('W', 'migrating', 'active', 'migration_succeeded', 'protocol', 'protocol'),
  ])
  expect(f.agent('W').agent).toBe('a2')
  unwrap(await f.agent('W').blocked('waiting'))
})

test('W-REC-24 a workspace that is frozen for a migration of which nothing else is known does not stay so', async () => {
  const f = await withWorker()
  await leave(f, [entered(f)])
  expect(await repaired(f)).toEqual(LOST.slice(1))
})

test('W-TERM-02 a request that another runtime recorded before its mail was rejected has no time that runs', async () => {
  const f = await withWorker()
  await f.settle()
  const [workspace, sender] = [f.id('W'), f.id('R')]
  const timestamp = formatTimestamp(f.runtime.clock.next())
  const request = { workspace_id: workspace, grace_period: 1000, reason: 'enough' }
  const mail = { envelope_id: f.ids.next('env'), from: sender, to: workspace, type: 'feedback', timestamp }
  await leave(f, [
    proposal('graceful_termination_initiated', workspace, 'system', request),
    proposal('envelope_rejected', sender, 'protocol', { ...mail, reason: 'no_send_right' }),
  ])
  expect(await repaired(f)).toEqual([])
  await send(f, f.root, 'E', 'W', 'feedback')
  await f.advance(2000)
  expect(await f.state('W')).toBe('active')
})

test('W-REC-24 a grace whose end is on record ends once', async () => {
  const f = await withWorker()
  unwrap(await f.root.terminate(f.id('W'), 1000, 'enough'))
  await f.settle()
  const body = { workspace_id: f.id('W'), grace_period: 1000, partial_checkpoint: null }
  await leave(f, [proposal('graceful_termination_expired', f.id('W'), 'protocol', body)])
  const rows = await repaired(f, () => f.clock.advance(1001))
  expect(shape(rows)).toEqual([
    ['signal_emitted', 'W', 'protocol'],
    ['workspace_state_changed', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
})

async function leaveResolved(f: Fixture, gate: string, type: GateType, under: string | null, action: string) {
  const body = { gate_id: gate, gate_type: type, action, actor: 'ux' }
  await leave(f, [proposal('gate_resolved', under === null ? null : f.id(under), 'ux', body)])
}

const EFFECTS: { readonly [Type in GateType]: { readonly approve: string; readonly reject?: string } } = {
  task_approval: { approve: 'task_approved', reject: 'task_status_changed' },
  workspace_create: { approve: 'workspace_created', reject: 'workspace_rejected' },
  envelope_delivery: { approve: 'envelope_delivered', reject: 'envelope_rejected' },
  integration: { approve: 'integration_started', reject: 'workspace_state_changed' },
  conflict_resolution: { approve: 'conflict_resolved' },
  workspace_abort: { approve: 'workspace_state_changed' },
}

test.for(
  Object.entries(EFFECTS).flatMap(([type, effects]) =>
    Object.entries(effects).map(([action, effect]) => ({ type: type as GateType, action, effect })),
  ),
)('W-REC-24 a $type gate that was resolved ($action) gets its effect: $effect', async ({ type, action, effect }) => {
  const f = await fixture({ run: { owner: 'ux', highway: only(type) } })
  await prepare(f, type)
  const { under } = await TRANSITIONS[type](f)
  const [gate] = await waiting(f)
  await leaveResolved(f, gate!, type, under, action)
  await f.mark()
  await f.restart()
  expect((await f.added()).map(entry => entry.event_type)).toContain(effect)
  await f.restart()
  // Once: a new workspace has an agent that says it is ready, and nothing else happens.
  expect((await f.added()).map(entry => entry.event_type)).not.toContain(effect)
})

test('W-REC-24 a gate that was answered by our own runtime is not carried out twice', async () => {
  const f = await fixture({ run: { owner: 'ux', highway: only('workspace_create') } })
  await prepare(f, 'workspace_create')
  await TRANSITIONS.workspace_create(f)
  const [gate] = await waiting(f)
  unwrap(await f.runtime.user('ux').approve(f.run.id, gate!))
  await f.mark()
  await f.restart()
  await f.expectAdded([])
})

test('W-REC-24 a completed integration closes its source, and its task with it', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { T: {} })
  await finished(f, 'W', id('T'))
  unwrap(await f.root.beginIntegration(f.id('W')))
  const body = { source: f.id('W'), target: f.id('R'), mode: 'normal', strategy: 'direct', result: 'success' }
  await leave(f, [proposal('integration_completed', f.id('W'), 'system', body)])
  const rows = await repaired(f)
  expect(shape(rows)).toEqual([
    ['workspace_state_changed', 'W', 'system'],
    ['task_status_changed', 'R', 'protocol'],
  ])
  expect(rows[0]?.[3]).toMatchObject({ to_state: 'closed', trigger: 'integration_succeeded', initiator: 'coordinator' })
  expect(rows[1]?.[3]).toMatchObject({ to_status: 'integrated' })
})

test('W-REC-24 an integration that was only begun is open again', async () => {
  const f = await withWorker()
  await f.bring('W', 'integrating')
  unwrap(await f.root.beginIntegration(f.id('W')))
  expect(await repaired(f)).toEqual([])
  unwrap(await f.root.accept(f.id('W')))
  expect(await f.state('W')).toBe('closed')
})

test('W-REC-24 a cascade that stopped half-way is finished, and who belongs to somebody else goes to the root', async () => {
  const f = await fixture()
  const parent = await f.worker('D', { delegate: true, owner: 'ux' })
  await f.worker('C', {}, parent)
  await f.worker('O', { owner: 'uy' }, parent)
  await leave(f, [changed(f, 'D', 'active', 'failed', 'timeout')])
  const rows = await repaired(f)
  expect([await f.state('C'), await f.state('O')]).toEqual(['failed', 'active'])
  const failure = rows.find(([type]) => type === 'workspace_state_changed')
  expect(failure?.[3]).toMatchObject({ workspace_id: 'C', trigger: 'parent_failed' })
  expect(rows.find(([type]) => type === 'workspace_reparented')?.[1]).toBe('O')
})

test('W-REC-24 a checkpoint gets its signal', async () => {
  const f = await withWorker()
  const id = f.ids.next('cp')
  f.name(id, 'cp')
  const record = { id, workspace: f.id('W'), payload: { files_changed: [], content: '', artifacts: [] } }
  const said = { type: 'artifact', status: 'final', confidence: 'high', parent: null }
  const created = proposal('checkpoint_created', f.id('W'), 'worker', {
    checkpoint_id: id,
    workspace: f.id('W'),
    ...said,
  })
  await leave(f, [created], [{ id: id as never, kind: 'checkpoint', value: record }])
  const rows = await repaired(f)
  expect(shape(rows)).toEqual([
    ['signal_emitted', 'W', 'protocol'],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect(rows[0]?.[3]).toMatchObject({ type: 'checkpoint', ref: 'cp' })
})

test('W-REC-24 a workspace gets the rights that its creation misses', async () => {
  const f = await fixture()
  await f.workspace('W')
  await f.settle()
  const ofW = async () =>
    unwrap(await f.root.rights()).filter(each => each.holder === f.id('W') || each.target === f.id('W'))
  const rights = await ofW()
  const ids = new Set<string>(rights.map(each => each.id))
  const text = (view: string) => [...ids].some(id => view.includes(id))
  await f.mark()
  // As if the entries had never been written: the chain is made anew without them.
  await f.restart(() =>
    rewrite(f, records => {
      const kept = records.filter(record => record.kind !== 'entry' || !text(record.view))
      let linked: StoredRecord[] = []
      for (const record of kept) {
        if (record.kind === 'entry') linked = behind(linked, f.run.id, [JSON.parse(record.view)])
        else linked.push(record)
      }
      return linked
    }),
  )
  const plain = (list: typeof rights) => list.map(({ type, holder, target }) => ({ type, holder, target }))
  expect(plain(await ofW())).toEqual(plain(rights))
})

test('W-REC-24 a task follows its workspace, which failed or completed without it', async () => {
  const f = await fixture()
  const { id } = await graphOf(f, { F: {}, C: {} })
  for (const name of ['F', 'C']) unwrap(await (await bound(f, name, id(name))).started())
  unwrap(await f.final('C'))
  await leave(f, [
    changed(f, 'F', 'active', 'failed', 'timeout'),
    changed(f, 'C', 'active', 'integrating', 'agent_complete'),
  ])
  const rows = await repaired(f)
  expect(rows.map(row => [row[0], row[3]?.to_status ?? row[3]?.failure_reason])).toEqual([
    ['task_status_changed', 'failed'],
    ['task_failed', 'timeout'],
    ['task_status_changed', 'completed'],
    ['task_completed', undefined],
  ])
})

/** A run in which every phase of recovery has something to do. */
async function wounded(): Promise<Fixture> {
  const { f, transport } = await carriedFixture()
  for (const name of ['V', 'W', 'X']) await f.worker(name)
  await f.worker('T', { timeout: 10_000 })
  const parent = await f.worker('D', { delegate: true })
  await f.worker('C', {}, parent)
  transport.begin(f.clock, () => 'drop')
  await send(f, f.root, 'E1', 'W', 'directive')
  await send(f, f.root, 'E2', 'W', 'directive')
  await leave(f, [
    changed(f, 'D', 'active', 'failed', 'timeout'),
    proposal(...emitted(f.ids.next('sig'), f.id('X'), 'complete', 'worker')),
  ])
  const now = parseTimestamp((await f.run.entries()).at(-1)!.timestamp) as Ticks
  const early = draft(f, changed(f, 'V', 'active', 'blocked', 'agent_blocked'), (now - 1_000_000) as Ticks)
  await f.runtime.close()
  await f.trail.close()
  await rewrite(f, records => behind(records, f.run.id, [early]))
  f.clock.advance(20_000)
  return f
}

async function endOf(f: Fixture): Promise<object> {
  const states: Record<string, string | undefined> = {}
  for (const name of ['V', 'W', 'X', 'T', 'D', 'C']) states[name] = await f.state(name)
  const inbox = unwrap(await f.root.look(f.id('W'))).inbox.map(id => f.nameOf(id))
  const entries = (await f.run.entries()).map(entry => entry.event_type)
  const count = (type: string) => entries.filter(each => each === type).length
  const waits = await f.run.read(run => [run.undelivered, run.signalling.size, run.gates.size])
  return { states, inbox, waits, violations: count('integrity_violation'), total: entries.sort() }
}

test.for([0, 1, 2, 3, 4, 5, 6])(
  'W-REC-23 a recovery that dies after %i writes and is made again ends where an undisturbed one does, with one marker',
  async writes => {
    const calm = await wounded()
    await calm.restart()
    const expected = await endOf(calm)
    expect(expected).toMatchObject({
      states: { V: 'active', W: 'active', X: 'integrating', T: 'failed', D: 'failed', C: 'failed' },
      inbox: ['E1', 'E2'],
      waits: [0, 0, 0],
      violations: 1,
    })
    const f = await wounded()
    f.disks.trail.fail('sync', { after: writes, times: Number.POSITIVE_INFINITY })
    await f.open()
    await f.restart(() => f.disks.trail.mend())
    expect(await endOf(f)).toEqual(expected)
    await f.restart()
    const markers = (await f.run.entries()).filter(entry => entry.event_type === 'recovery_completed')
    expect(markers).toHaveLength(2)
  },
)
