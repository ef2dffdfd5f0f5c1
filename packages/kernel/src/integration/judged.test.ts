// Children that wait for judgement below a delegate that has itself completed (W-INT-01).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { denial } from '../testing/topology.ts'

const work = { format: 'markdown', content: 'part' }

/** A worker below `by` that has completed. */
async function finishedBelow(f: Fixture, name: string, by: AgentHandle, draft = {}): Promise<AgentHandle> {
  const agent = await f.worker(name, { directive: work, ...draft }, by)
  unwrap(await f.final(name, [name]))
  unwrap(await agent.complete())
  return agent
}

/** D, a delegate that has completed while its child C waits to be judged. */
async function waitingBelow(): Promise<Fixture> {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await finishedBelow(f, 'C', delegate)
  unwrap(await f.final('D'))
  unwrap(await delegate.complete())
  await f.mark()
  return f
}

const denied = (by: string, actor: string, target: string): Row =>
  denial(by, actor, 'operation:integrate', 'permission_denied', target)

test('W-INT-01 nothing is merged into work that is handed in, and nobody else judges it', async () => {
  const f = await waitingBelow()
  await f.worker('E', { delegate: true })
  await f.mark()
  for (const attempt of [
    () => f.root.accept(f.id('C')),
    () => f.root.beginIntegration(f.id('C')),
    () => f.root.failIntegration(f.id('C')),
  ]) {
    expect(refused(await attempt())).toBe('permission_denied')
    await f.expectAdded([denied('R', 'system', 'C')])
  }
  for (const name of ['C', 'E']) {
    expect(refused(await f.agent(name).reject(f.id('C'))), name).toBe('permission_denied')
    await f.expectAdded([denied(name, 'worker', 'C')])
  }
  // One that has completed does nothing more, and that it tried is on record.
  expect(refused(await f.agent('D').reject(f.id('C')))).toBe('invalid_state(permission_denied)')
  await f.expectAdded([denied('D', 'worker', 'C')])
  expect(await f.state('C')).toBe('integrating')
})

test('W-INT-01 while the delegate can still judge, nobody does so in its place', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await finishedBelow(f, 'C', delegate)
  for (const state of ['active', 'blocked']) {
    if (state === 'blocked') unwrap(await delegate.blocked('waiting'))
    await f.mark()
    expect(refused(await f.root.reject(f.id('C'))), state).toBe('permission_denied')
    await f.expectAdded([denied('R', 'system', 'C')])
  }
})

test('W-INT-01 an integration that the delegate had begun ends with the judgement', async () => {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await finishedBelow(f, 'C', delegate)
  unwrap(await delegate.beginIntegration(f.id('C')))
  unwrap(await delegate.complete())
  await f.mark()
  unwrap(await f.root.reject(f.id('C')))
  await f.expectAmong([
    ['integration_aborted', 'C', 'system', { source: 'C', target: 'D', reason: 'rejected' }],
    ['workspace_state_changed', 'C', 'system', { to_state: 'failed', trigger: 'rejected' }],
  ])
})
