import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

async function attemptsToThaw(f: Fixture): Promise<void> {
  const before = await f.picture()
  expect(refused(await f.root.setAuthority(f.id('W')))).toBe('immutable(frozen)')
  await f.expectAdded([denial('R', 'system', 'set:authority', 'frozen', 'W', 'set_authority')])
  expect(refused(await f.root.setDelegate(f.id('W')))).toBe('immutable(frozen)')
  await f.expectAdded([denial('R', 'system', 'set:delegate', 'frozen', 'W', 'set_delegate')])
  expect(await f.picture()).toEqual(before)
}

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
  await attemptsToThaw(f)
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
      expect(entry).toMatchObject({
        event_type: 'capability_denied',
        workspace: f.id(name),
        actor: caller.role,
      })
      const body = { user_id: null, capability: `operation:${operation}`, reason: 'permission_denied' }
      expect(entry?.body).toMatchObject(body)
    }
  }
  expect(await f.picture()).toEqual(before)
})
