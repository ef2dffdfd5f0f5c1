// Delegates (W-ROLE-10 to -12): what they gain inside their subtree, what they never gain, and how signals of their
// children travel.
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'
import { grant } from '../testing/rights.ts'
import { changed, decided } from '../testing/tasks.ts'
import { denial } from '../testing/topology.ts'

/** R over D, a delegate, over C; W beside D. */
async function team(): Promise<{ f: Fixture; d: AgentHandle; c: AgentHandle }> {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  const c = await f.worker('C', {}, d)
  await f.worker('W')
  await f.mark()
  return { f, d, c }
}

test('W-ROLE-11 a delegate integrates its own children, and the root integrates the delegate', async () => {
  const { f, d } = await team()
  await f.bring('C', 'integrating')
  await f.mark()
  expect(refused(await f.root.accept(f.id('C')))).toBe('permission_denied')
  await f.expectAdded([denial('R', 'system', 'operation:integrate', 'permission_denied', 'C')])
  unwrap(await d.accept(f.id('C')))
  await f.expectAmong([
    ['signal_emitted', 'D', 'worker', { type: 'integrate', ref: 'C' }],
    ['integration_completed', 'C', 'worker', { source: 'C', target: 'D' }],
    changed('C', 'integrating', 'closed', 'integration_succeeded', 'worker', 'worker'),
  ])
  await f.bring('D', 'integrating')
  await f.mark()
  unwrap(await f.root.accept(f.id('D')))
  await f.expectAmong([decided('D', 'integrating', 'closed', 'integration_succeeded')])
})

test('W-TOPO-CHAN-08 rights between children last as long as both of them', async () => {
  const { f } = await team()
  await grant(f, 'X', 'send_once', 'C', 'W')
  const shown = async () =>
    unwrap(await f.root.topology.rightsTo(f.id('W')))
      .filter(each => each.type !== 'receive')
      .map(each => [f.nameOf(each.holder), each.type, each.status])
  expect(await shown()).toEqual([
    ['R', 'send', 'active'],
    ['C', 'send_once', 'active'],
  ])
  unwrap(await f.root.abort(f.id('D')))
  expect(await shown()).toEqual([['R', 'send', 'active']])
})
