// Children that wait for judgement below a delegate that has itself completed (W-INT-01).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/agent.ts'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'

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

const denied = (by: string, actor: string, target: string): Row => [
  'capability_denied',
  by,
  actor,
  {
    user_id: null,
    capability: 'operation:integrate',
    action: 'integrate',
    target,
    reason: 'permission_denied',
  },
]

test.each([
  ['revise', 'revision_required'],
  ['reject', 'rejected'],
] as const)(
  'WX-034 the coordinator may %s a child below a completed delegate, under its own name',
  async (how, reason) => {
    const f = await waitingBelow()
    expect(unwrap(await f.root[how](f.id('C')))).toEqual({ state: 'failed', conflicts: [] })
    const added = await f.expectAmong([
      ['signal_emitted', 'R', 'system', { type: 'integrate', from: 'R', ref: 'C' }],
      ['integration_started', 'C', 'system', { source: 'C', target: 'D', mode: 'normal' }],
      ['integration_aborted', 'C', 'system', { source: 'C', target: 'D', reason }],
      ['signal_emitted', 'C', 'system', { type: 'failed', reason }],
      ['workspace_state_changed', 'C', 'system', { to_state: 'failed', trigger: reason }],
      ['signal_delivered', 'D', 'protocol'],
    ])
    expect(added).toHaveLength(6)
    // Nothing is left that keeps the delegate's own work from being merged.
    expect(unwrap(await f.root.accept(f.id('D'))).state).toBe('closed')
    await f.expectAmong([['workspace_state_changed', 'D', 'system', { to_state: 'closed' }]])
  },
)

test('WX-034 nothing is merged into work that is handed in, and nobody else judges it', async () => {
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

test('WX-034 while the delegate can still judge, nobody does so in its place', async () => {
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

test('WX-034 an integration that the delegate had begun ends with the judgement', async () => {
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

test('WX-035 the nearest ancestor that still acts judges, and those above it do not', async () => {
  const f = await fixture()
  const outer = await f.worker('D', { delegate: true })
  const inner = await f.worker('E', { delegate: true, parent: f.id('D') })
  await finishedBelow(f, 'C', inner)
  await finishedBelow(f, 'B', inner)
  unwrap(await f.final('E'))
  unwrap(await inner.complete())
  await f.mark()
  expect(refused(await f.root.reject(f.id('C')))).toBe('permission_denied')
  await f.expectAdded([denied('R', 'system', 'C')])
  unwrap(await outer.blocked('waiting'))
  expect(refused(await outer.reject(f.id('C')))).toBe('invalid_state(permission_denied)')
  unwrap(await outer.started())
  await f.mark()
  unwrap(await outer.reject(f.id('C')))
  await f.expectAmong([
    ['signal_emitted', 'D', 'worker', { type: 'integrate', from: 'D', ref: 'C' }],
    ['integration_aborted', 'C', 'worker', { source: 'C', target: 'E', reason: 'rejected' }],
    ['workspace_state_changed', 'C', 'worker', { to_state: 'failed', trigger: 'rejected' }],
  ])
  // Once it has completed as well, the next one above it judges.
  unwrap(await f.final('D'))
  unwrap(await outer.complete())
  await f.mark()
  unwrap(await f.root.revise(f.id('B')))
  await f.expectAmong([
    ['integration_aborted', 'B', 'system', { source: 'B', target: 'E', reason: 'revision_required' }],
    ['workspace_state_changed', 'B', 'system', { to_state: 'failed', trigger: 'revision_required' }],
  ])
})
