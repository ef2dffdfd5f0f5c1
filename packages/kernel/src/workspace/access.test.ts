// Who sees and changes what of a workspace: authority (W-WS-17), visibility (W-WS-15, -16), the tree as it is asked
// for.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { kernelLimits } from '../limits.ts'
import { type Fixture, fixture, type Row, refused, withWorker } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

test('W-WS-22 memory is lasting, and a key that was deleted is gone', async () => {
  const f = await fixture()
  const agent = await f.worker('W', { memory: { seed: 1 } })
  unwrap(await agent.writeMemory('k', 'v'))
  unwrap(await agent.writeMemory('k', 'w'))
  unwrap(await agent.deleteMemory('seed'))
  await f.restart()
  const again = f.agent('W')
  expect(unwrap(await again.readMemory('k'))).toBe('w')
  expect(refused(await again.readMemory('seed'))).toBe('not_found')
  expect(unwrap(await again.look()).memory).toEqual(['k'])
})

test('W-WS-22 observers, the coordinator and agents that are not at work write no memory', async () => {
  const f = await fixture()
  const observer = await f.observer('O')
  const idle = await f.workspace('W')
  await f.mark()
  for (const [agent, name, actor] of [
    [observer, 'O', 'observer'],
    [idle, 'W', 'worker'],
    [f.root, 'R', 'system'],
  ] as const) {
    expect(refused(await agent.writeMemory('k', 1))).toBe('permission_denied')
    await f.expectAdded([denial(name, actor, 'access:write', 'permission_denied', name)])
  }
})

test('W-TOPO-VIS-04 authority is frozen in `idle` too', async () => {
  const f = await fixture()
  await f.workspace('W')
  await f.mark()
  const before = await f.picture()
  expect(refused(await f.root.setAuthority(f.id('W')))).toBe('immutable(frozen)')
  expect(refused(await f.root.setDelegate(f.id('W')))).toBe('immutable(frozen)')
  await f.expectAdded([
    denial('R', 'system', 'set:authority', 'frozen', 'W', 'set_authority'),
    denial('R', 'system', 'set:delegate', 'frozen', 'W', 'set_delegate'),
  ])
  expect(await f.picture()).toEqual(before)
})

test('W-SEC-12 every operation of the coordinator is denied to a worker and to an observer', async () => {
  const f = await fixture()
  const agent = await f.worker('W')
  const observer = await f.observer('O')
  await f.worker('X')
  await f.mark()
  const before = await f.picture()
  const x = f.id('X')
  for (const [caller, name] of [
    [agent, 'W'],
    [observer, 'O'],
  ] as const) {
    for (const [operation, call] of [
      ['abort', () => caller.abort(x)],
      ['suspend', () => caller.suspend(x, 'r')],
      ['resume', () => caller.resume(x)],
      ['migrate', () => caller.migrate(x, 'agent_2', 'move')],
      ['graceful_termination', () => caller.terminate(x, 1000, 'enough')],
      ['integrate', () => caller.beginIntegration(x)],
      ['integrate', () => caller.accept(x)],
      ['integrate', () => caller.revise(x)],
      ['integrate', () => caller.reject(x)],
      ['integrate', () => caller.failIntegration(x)],
      ['create_right', () => caller.grantRight('send', caller.workspace, x)],
      ['revoke_right', () => caller.revokeRight('right_none' as never, 'r')],
      ['task', () => caller.submitGraph([{ name: 'T', description: 'd' }] as never)],
      ['task', () => caller.addTasks('graph_none' as never, [])],
      ['task', () => caller.retryTask('task_none' as never)],
      ['task', () => caller.cancelTask('task_none' as never)],
      ['create_workspace', () => caller.createWorkspace({ role: 'worker' })],
      ['create_workspace', () => caller.dispatch(x)],
      ['raise_budget', () => caller.raiseBudget(x, { cost_limit: 5 })],
      ['change_priority', () => caller.changePriority(x, 'critical')],
      ['batch_priority', () => caller.batchPriority('g', 'critical')],
      ['batch_abort', () => caller.batchAbort('g')],
      ['grant_visibility', () => caller.grantVisibility(caller.workspace, x, 'r')],
      ['transfer_ownership', () => caller.transferOwnership(x, 'uy')],
      ['reparent', () => caller.reparent(x, caller.workspace)],
      ['integrate', () => caller.reportConflicts(x, [])],
      ['integrate', () => caller.resolveConflict(x, 'conflict_none', 'coordinator_resolve', 'r')],
      ['integrate', () => caller.salvage(x)],
    ] as const) {
      expect(refused(await call()), operation).toBe('permission_denied')
      const [entry, ...others] = await f.added()
      expect(others).toEqual([])
      expect(entry).toMatchObject({ event_type: 'capability_denied', workspace: f.id(name), actor: caller.role })
      const body = { user_id: null, capability: `operation:${operation}`, reason: 'permission_denied' }
      expect(entry?.body).toMatchObject(body)
    }
  }
  expect(await f.picture()).toEqual(before)
})

const changed = (f: Fixture, name: string, ...files: string[]) =>
  f.checkpoint(name, { payload: { content: 'part', files_changed: files } })

test.each(['src/../docs/a.md', 'src/./a', 'src//a', '/src/a', '../src/a'])(
  'W-WS-17 a path that only begins inside lies outside: %s',
  async path => {
    const f = await withWorker({}, { resources: ['src/**', '**/a'] })
    expect(refused(await changed(f, 'W', path))).toBe('rejected(permission_denied)')
  },
)

test('W-WS-17 a workspace without resources changes nothing; what is no path is named as it is', async () => {
  const f = await fixture()
  const draft = { role: 'worker', directive: { format: 'markdown', content: 'work' } } as const
  const none = unwrap(await f.root.createWorkspace(draft))
  await f.settle()
  const made = { type: 'artifact', intent: 'x', parent: null, status: 'final', confidence: 'high' } as const
  const made1 = await none.checkpoint({ ...made, payload: { files_changed: ['a.txt'] } })
  expect(refused(made1)).toBe('rejected(permission_denied)')
  unwrap(await none.checkpoint({ ...made, payload: { content: 'words' } }))
  await f.worker('W', { resources: ['db:users', '{1..9}'] })
  unwrap(await changed(f, 'W', 'db:users', '{1..9}'))
  expect(refused(await changed(f, 'W', 'db:orders'))).toBe('rejected(permission_denied)')
})

test('W-WS-17 authority holds after a restart', async () => {
  const f = await withWorker({}, { resources: ['src/'] })
  await f.restart()
  expect(refused(await changed(f, 'W', 'docs/a'))).toBe('rejected(permission_denied)')
  unwrap(await changed(f, 'W', 'src/a'))
})

const granted = (workspace: string, target: string, reason: string, actor = 'system'): Row => [
  'visibility_granted',
  workspace,
  actor,
  { workspace_id: workspace, target, reason },
]

test.each(['idle', 'active', 'blocked'])(
  'W-WS-16 a workspace that is %s is given more to see, of one in any state',
  async state => {
    const f = await fixture()
    await (state === 'idle' ? f.workspace('W') : f.worker('W'))
    await f.worker('F')
    await f.force('W', state)
    await f.force('F', 'failed')
    unwrap(await f.root.grantVisibility(f.id('W'), f.id('F'), 'learn from it'))
    await f.expectAdded([granted('W', 'F', 'learn from it')])
    // What it sees already is no news.
    unwrap(await f.root.grantVisibility(f.id('W'), f.id('F'), 'again'))
    unwrap(await f.root.grantVisibility(f.id('W'), f.id('W'), 'itself'))
    unwrap(await f.root.grantVisibility(f.id('R'), f.id('W'), 'the root sees all'))
    await f.expectAdded([])
  },
)

test('W-WS-16 only the coordinator and a delegate above grant, with a reason, what exists', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', {}, d)
  const w = await f.worker('W')
  await f.mark()
  for (const [caller, name, to] of [
    [w, 'W', 'W'],
    [c, 'C', 'C'],
    [d, 'D', 'D'],
    [d, 'D', 'W'],
  ] as const) {
    expect(refused(await caller.grantVisibility(f.id(to), f.id('C'), 'x'))).toBe('permission_denied')
    await f.expectAdded([denial(name, 'worker', 'operation:grant_visibility', 'permission_denied', to)])
  }
  for (const [workspace, target, reason, answer] of [
    ['ws_none', f.id('W'), 'x', 'not_found'],
    [f.id('W'), 'ws_none', 'x', 'not_found'],
    [f.id('W'), f.id('C'), '', 'invalid_argument'],
    [f.id('W'), f.id('C'), undefined, 'invalid_argument'],
  ] as const)
    expect(refused(await f.root.grantVisibility(workspace as never, target as never, reason as never))).toBe(answer)
  await f.expectAdded([])
  unwrap(await f.root.suspend(f.id('D'), 'pause'))
  await f.mark()
  expect(refused(await d.grantVisibility(f.id('C'), f.id('D'), 'x'))).toBe('invalid_state(permission_denied)')
  await f.expectAdded([denial('D', 'worker', 'operation:grant_visibility', 'permission_denied', 'C')])
})

test('W-WS-16 what one workspace may be given to see is bounded', async () => {
  const f = await withWorker()
  await f.worker('W2')
  await f.run.read(run => {
    const many = Array.from({ length: kernelLimits.visibility }, (_, at) => `ws_${at}` as never)
    run.workspaces.get(f.id('W'))!.visibility = new Set(many)
  })
  await f.mark()
  expect(refused(await f.root.grantVisibility(f.id('W'), f.id('W2'), 'x'))).toBe('limit_reached')
  await f.expectAdded([])
})

test('W-TOPO-TREE-03 the tree is walked along causes', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  for (const name of ['C', 'C2']) await f.worker(name, {}, d)
  const { topology } = f.run
  expect(unwrap(await topology.causedAlike(f.id('D'))).map(id => f.nameOf(id))).toEqual(['C', 'C2'])
  for (const query of ['upward', 'downward', 'siblings', 'causedAlike'] as const)
    expect(refused(await topology[query]('ws_none' as never))).toBe('not_found')
})
