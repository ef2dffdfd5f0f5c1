// Whose a workspace is (W-USER-07 to -09, W-TOPO-OWN-01 to -04), and the questions about owners and causes (W-USER-11).
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { type Fixture, fixture, refused } from '../testing/fixture.ts'

const names = (f: Fixture, ids: readonly string[]) => ids.map(id => f.nameOf(id))

test('W-TOPO-TREE-03 the tree is walked up, down, sideways and along causes', async () => {
  const f = await fixture()
  const d = await f.worker('D', { delegate: true })
  await f.worker('W')
  await f.worker('C', {}, d)
  await f.worker('C2', {}, d)
  const { topology } = f.run
  const shown = async (query: 'upward' | 'downward' | 'siblings' | 'causedAlike', name: string) =>
    names(f, unwrap(await topology[query](f.id(name))))
  expect(await shown('upward', 'C')).toEqual(['D', 'R'])
  expect(await shown('upward', 'R')).toEqual([])
  expect(await shown('downward', 'R')).toEqual(['D', 'C', 'C2', 'W'])
  expect(await shown('siblings', 'C2')).toEqual(['C'])
  expect(await shown('siblings', 'R')).toEqual([])
  expect(await shown('causedAlike', 'D')).toEqual(['C', 'C2'])
  for (const query of ['upward', 'downward', 'siblings', 'causedAlike'] as const)
    expect(refused(await topology[query]('ws_none' as never))).toBe('not_found')
})
