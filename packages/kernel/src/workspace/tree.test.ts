import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, type Row, refused } from '../testing/fixture.ts'
import { childrenOf, isAbove, openChildren, subtree, type Workspace } from './workspace.ts'

/** R over D over C1, C2, and W beside D. */
async function family(): Promise<Fixture> {
  const f = await fixture()
  const delegate = await f.worker('D', { delegate: true })
  await f.worker('C1', {}, delegate)
  await f.worker('W')
  await f.worker('C2', {}, delegate)
  await f.mark()
  return f
}

const count = (f: Fixture) => f.run.read(run => run.workspaces.size)

test('WM-090 a signal goes to the parent, once, and no further', async () => {
  const f = await family()
  unwrap(await f.agent('C1').escalate('help'))
  await f.expectAdded([
    ['signal_emitted', 'C1', 'worker', { signal_id: 'sig1', from: 'C1', type: 'escalation', reason: 'help' }],
    ['signal_delivered', 'D', 'protocol', { signal_id: 'sig1', from: 'C1', delivered_to: 'D' }],
  ])
})

test('WM-090 the tree is walked up, down and sideways, siblings in the order of their creation', async () => {
  const f = await family()
  const names = (list: Iterable<Workspace>) => [...list].map(each => f.nameOf(each.id))
  await f.run.read(run => {
    const at = (name: string) => run.workspaces.get(f.id(name))!
    const up = [at('C1'), at('C1').parent!, at('C1').parent!.parent!]
    expect(names(up)).toEqual(['C1', 'D', 'R'])
    expect(at('R').parent).toBeNull()
    expect(names(subtree(at('R')))).toEqual(['R', 'D', 'C1', 'C2', 'W'])
    expect(names(childrenOf(at('D')))).toEqual(['C1', 'C2'])
    expect(names(childrenOf(at('R')))).toEqual(['D', 'W'])
    expect(names(childrenOf(at('C1')))).toEqual([])
    expect(isAbove(at('R'), at('C2'))).toBe(true)
    expect(isAbove(at('D'), at('W'))).toBe(false)
    expect(isAbove(at('D'), at('D'))).toBe(false)
  })
  const view = unwrap(await f.root.look(f.id('D')))
  expect(view).toMatchObject({ parent: f.id('R'), children: [f.id('C1'), f.id('C2')] })
  // An end removes nobody.
  unwrap(await f.root.abort(f.id('C1')))
  expect(unwrap(await f.root.look(f.id('D'))).children).toEqual([f.id('C1'), f.id('C2')])
  expect(await f.run.read(run => names(openChildren(run.workspaces.get(f.id('D'))!)))).toEqual(['C2'])
})

test('WM-090 nothing is created beneath what has ended or does not exist', async () => {
  const f = await family()
  unwrap(await f.root.abort(f.id('D')))
  await f.mark()
  const before = await f.picture()
  const rejected = (reason: string): Row => [
    'workspace_rejected',
    'R',
    'protocol',
    { reason, capacity_details: {} },
  ]
  for (const [parent, reason] of [
    [f.id('D'), 'parent_terminal'],
    ['ws_none', 'parent_not_found'],
    [f.id('W'), 'parent_not_accepting'],
  ] as const) {
    const result = await f.root.createWorkspace({ role: 'worker', parent })
    expect(refused(result)).toBe(`rejected(${reason})`)
    await f.expectAdded([rejected(reason)])
  }
  expect(await f.picture()).toEqual(before)
  expect(await count(f)).toBe(5)
})

test('WM-090 a delegate does not close above a child that is at work', async () => {
  const f = await family()
  await f.force('C1', 'closed')
  await f.force('D', 'integrating')
  const before = await f.picture()
  for (const result of [
    await f.root.beginIntegration(f.id('D')),
    await f.root.accept(f.id('D')),
    await f.root.emit({ type: 'integrate', ref: f.id('D') }),
  ])
    expect(refused(result)).toBe('invalid_state')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)

  unwrap(await f.root.abort(f.id('C2')))
  expect(refused(await f.root.accept(f.id('D')))).toBe('ok')
  await f.restart()
  expect(await f.state('D')).toBe('closed')
  expect(await count(f)).toBe(5)
})

test('WM-090 revising a delegate remains possible and takes its child along', async () => {
  const f = await family()
  await f.force('D', 'integrating')
  unwrap(await f.root.revise(f.id('D')))
  const change = {
    from_state: 'active',
    to_state: 'failed',
    trigger: 'parent_failed',
    reason: 'parent_failed',
  }
  await f.expectAmong([
    ['workspace_state_changed', 'D', 'system', { to_state: 'failed', trigger: 'revision_required' }],
    ['workspace_state_changed', 'C1', 'protocol', change],
    ['workspace_state_changed', 'C2', 'protocol', change],
    ['signal_delivered', 'R', 'protocol'],
  ])
  expect(await count(f)).toBe(5)
})
