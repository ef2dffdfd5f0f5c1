import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture } from '../testing/fixture.ts'

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

test('W-TOPO-TREE-09 revising a delegate remains possible and takes its child along', async () => {
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
