// What handles lead to and what they read: objects, structures and the trail, for agents and for people.
import { type GraphId, type RunId, type TaskId, unwrap, type WorkspaceId } from '@parley/core'
import type { Entry, TrailQuery } from '@parley/trail'
import { expect, expectTypeOf, test } from 'vitest'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { houseWatch, person, withUsers } from '../testing/people.ts'
import { graphOf } from '../testing/tasks.ts'
import type { AgentHandle } from './handle/agent.ts'
import type { Delegate, Observer, Worker } from './handle/roles.ts'

test('W-SEC-03 what a worker holds cannot be made to speak for the coordinator', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('V')
  await f.mark()
  for (const field of [{ workspace: f.id('R') }, { role: 'coordinator' }, { agent: undefined }, { run: f.run }])
    expect(() => Object.assign(worker, field)).toThrow(TypeError)
  expect(() => Object.assign(f.runtime.user('ux'), { id: 'uy' })).toThrow(TypeError)
  expect(worker.workspace).toBe(f.id('W'))
  expect(refused(await worker.abort(f.id('V')))).toBe('permission_denied')
  await f.expectAmong([['capability_denied', 'W', 'worker', { capability: 'operation:abort' }]])
  // Its proof is its own: taken for the coordinator's mail it would be refused.
  const sealed = unwrap(worker.seal(f.mail('V', 'directive')))
  expect(refused(await f.root.send(sealed))).toBe('rejected(integrity_violation)')
})

test('W-ROLE-03 by type, a worker, an observer and a delegate have no way to the coordinator', () => {
  expectTypeOf<(Worker | Observer | Delegate)['run']>().toEqualTypeOf<RunId>()
  const attempts = (worker: Worker) => [
    // @ts-expect-error A worker's handle names its run and does not hold it.
    () => worker.run.coordinator.abort(worker.workspace),
    // @ts-expect-error Questions about the whole run are the coordinator's.
    () => worker.topology,
    // @ts-expect-error What it names is an id.
    (root: WorkspaceId) => Object.assign(worker, { workspace: root }).workspace.coordinator,
  ]
  expect(attempts).toBeTypeOf('function')
})

const unseen = (name: string, kind: string, target: string, actor = 'worker'): Row => [
  'capability_denied',
  name,
  actor,
  { user_id: null, capability: 'access:read', action: `read_${kind}`, target, reason: 'permission_denied' },
]

/**
 * Two delegates with a task each of one graph: D works on A, which has a part A1 that W works on; E works on B. C is
 * bound to nobody.
 */
async function team(): Promise<{ f: Fixture; graph: GraphId; task: (name: string) => TaskId }> {
  const f = await fixture()
  const { graph, id } = await graphOf(f, { A: {}, B: {}, C: {} })
  for (const [name, task] of Object.entries({ D: 'A', E: 'B' }))
    await f.worker(name, { delegate: true, task: id(task), directive: null })
  const parts = await graphOf(f, { A1: { parent_task: id('A') } }, { into: graph, by: f.agent('D') })
  await f.worker('W', { task: parts.id('A1'), directive: null }, f.agent('D'))
  await f.mark()
  return { f, graph, task: id }
}

test('W-WS-15 questions about structures are answered with what the asking agent sees', async () => {
  const { f, graph, task } = await team()
  const names = (ids: readonly string[]) => ids.map(id => f.nameOf(id)).toSorted()
  const [root, d, w] = [f.root.topology, f.agent('D').topology, f.agent('W').topology]
  expect(names(unwrap(await d.viewersOf(f.id('W'))))).toEqual(['D', 'W'])
  expect(unwrap(await d.order(graph)).map(({ name }) => name)).toEqual(['A', 'A1'])
  await f.expectAdded([])
  for (const question of ['upward', 'downward', 'siblings', 'causedAlike', 'visibleTo', 'viewersOf'] as const)
    expect(refused(await w[question](f.id('E'))), question).toBe('not_found')
  for (const question of ['rightsHeldBy', 'rightsTo'] as const)
    expect(refused(await w[question](f.id('R'))), question).toBe('not_found')
  expect(refused(await d.dependents(task('B')))).toBe('not_found')
  await f.expectAdded([
    ...Array.from({ length: 6 }, () => unseen('W', 'workspace', 'E')),
    ...Array.from({ length: 2 }, () => unseen('W', 'workspace', 'R')),
    unseen('D', 'task', 'B'),
  ])
  expect(refused(await f.agent('E').topology.rightsTo(f.id('W')))).toBe('not_found')
  const senders = unwrap(await d.rightsTo(f.id('W'))).map(({ holder }) => f.nameOf(holder))
  expect(new Set(senders)).toEqual(new Set(['D', 'W']))
  // A group is as large as what is seen of it.
  await f.worker('G1', { group: 'g' })
  expect(refused(await w.group('g'))).toBe('not_found')
  expect(refused(await w.groupUsage('g'))).toBe('not_found')
  expect(unwrap(await root.groupUsage('g')).members).toBe(1)
})

test('W-WS-15 a thread shows an agent what it said and was told, not what others wrote in it', async () => {
  const f = await withWorker()
  await f.worker('V')
  const first = unwrap(await f.root.send(f.mail('W', 'directive'))).envelope
  unwrap(await f.root.send(f.mail('V', 'directive', { in_reply_to: first })))
  await f.settle()
  expect(unwrap(await f.root.thread(first))).toHaveLength(2)
  expect(unwrap(await f.agent('W').thread(first)).map(({ id }) => id)).toEqual([first])
})

async function ask(agent: AgentHandle, query: TrailQuery = {}): Promise<readonly Entry[]> {
  return unwrap(await agent.query(query)).entries
}

function denied(name: string, actor: string, scope: 'local' | 'global', workspace?: string): Row {
  const named = workspace === undefined ? {} : { requested_workspace: workspace }
  const body = { requester: name, requested_scope: scope, ...named, reason: 'outside_visibility' }
  return ['trail_access_denied', name, actor, body]
}

test('W-TRAIL-19 an observer that is configured for it reads the global trail; a worker never does', async () => {
  const f = await fixture({ observersReadGlobally: true })
  const worker = await f.worker('W1')
  const observer = await f.observer('O')
  await f.mark()
  expect(await ask(observer, { scope: 'global' })).toEqual(await f.run.entries())
  await f.expectAdded([])
  expect(await ask(worker, { scope: 'global' })).toEqual([])
  await f.expectAdded([denied('W1', 'worker', 'global')])
})

test('W-TRAIL-19 a malformed query is refused and leaves no entry', async () => {
  const f = await fixture()
  const worker = await f.worker('W1')
  await f.mark()
  for (const query of [{ limit: 0 }, { nonsense: 1 }, { from: 'yesterday' }, { scope: 'local' }])
    expect(refused(await worker.query(query as never))).toBe('invalid_query')
  await f.expectAdded([])
})

test('W-TRAIL-08 a workspace that ends while its agent queries has the denial recorded under none (W-TRAIL-08)', async () => {
  const f = await fixture()
  const worker = await f.worker('W1')
  await f.worker('W2')
  await f.mark()
  const [page] = await Promise.all([
    worker.query({ workspace: f.id('W2') }),
    f.settle().then(() => undefined),
    f.root.abort(f.id('W1')),
  ])
  expect(unwrap(page).entries).toEqual([])
  const added = await f.expectAmong([
    ['workspace_state_changed', 'W1', 'system', { to_state: 'failed' }],
    ['trail_access_denied', null, 'worker', { requester: 'W1', requested_workspace: 'W2' }],
  ])
  expect(added.filter(entry => entry.event_type === 'trail_access_denied')).toHaveLength(1)

  expect(await ask(worker, { workspace: f.id('W2') })).toEqual([])
  await f.expectAdded([[denied('W1', 'worker', 'local', 'W2')[0], null, 'worker', expect.anything()]])
})

test('W-TRAIL-20 whoever was never accepted is on record as such, and a finished run stays as it ended', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice')
  await f.mark()
  const stranger = f.runtime.user('stranger')
  expect(refused(await stranger.query(f.run.id, {}))).toBe('permission_denied(unknown_identity)')
  const body = { entity: 'stranger', context: 'highway_access', reason: 'unknown_identity', source: '' }
  await f.expectAdded([['authentication_failed', null, 'protocol', body]])

  unwrap(await f.run.close())
  await f.mark()
  const house = houseWatch(f)
  await house()
  expect(unwrap(await alice.query(f.run.id, { scope: 'global' })).entries).toEqual([])
  expect(refused(await stranger.query(f.run.id, {}))).toBe('permission_denied(unknown_identity)')
  await f.expectAdded([])
  const denied = { user_id: 'alice', capability: 'view_trail_any', action: 'query_trail' }
  expect(await house()).toEqual([
    ['capability_denied', null, 'alice', { ...denied, reason: 'missing_capability' }],
    ['authentication_failed', null, 'protocol', body],
  ])
})

test('W-TRAIL-31 a query by one user_id gives exactly that person’s acts', async () => {
  const f = await withUsers()
  const alice = await person(f, 'alice', 'inject_directive_any', 'suspend_any', 'abort_any')
  const bob = await person(f, 'bob', 'suspend_any')
  const carol = await person(f, 'carol', 'view_trail_any')
  await f.worker('W', { owner: 'alice' })
  unwrap(await alice.inject(f.run.id, f.mail('W', 'directive')))
  unwrap(await bob.suspend(f.run.id, f.id('W'), 'wait'))
  unwrap(await alice.resume(f.run.id, f.id('W')))
  await f.settle()
  unwrap(await alice.abort(f.run.id, f.id('W')))
  const acts = async (actor: string) =>
    unwrap(await carol.query(f.run.id, { actor })).entries.map(({ event_type }) => event_type)
  expect(await acts('alice')).toEqual([
    'human_injection',
    'envelope_created',
    'suspension_resumed',
    'workspace_state_changed',
    'workspace_state_changed',
  ])
  expect(await acts('bob')).toEqual(['suspension_started', 'workspace_state_changed'])
})
