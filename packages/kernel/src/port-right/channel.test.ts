// The graph of rights between workspaces (W-TOPO-CHAN): its first edges, and how they come and go.
import { expect, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { rightsBetween } from '../testing/rights.ts'
import { denial } from '../testing/topology.ts'

test('W-TOPO-CHAN-04 only the coordinator revokes and grants, and an attempt of anybody else is on record', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('W2')
  const [own] = await rightsBetween(f, 'W', 'R')
  await f.mark()
  const before = await f.picture()
  expect(refused(await worker.revokeRight(own!, 'mine'))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'operation:revoke_right')])
  expect(refused(await worker.grantRight('send', f.id('W'), f.id('W2')))).toBe('permission_denied')
  await f.expectAdded([denial('W', 'worker', 'operation:create_right', 'permission_denied', 'W')])
  expect(await f.picture()).toEqual(before)
})

test('W-PORT-10 a grant needs two workspaces that are alive and differ, and a type that sends', async () => {
  const f = await fixture()
  for (const name of ['W', 'W2']) await f.worker(name)
  await f.bring('W2', 'failed')
  await f.mark()
  const before = await f.picture()
  expect(refused(await f.root.grantRight('receive' as 'send', f.id('W'), f.id('R')))).toBe('invalid_argument')
  expect(refused(await f.root.grantRight('send', f.id('W'), f.id('W')))).toBe('invalid_argument')
  expect(refused(await f.root.grantRight('send', f.id('W'), f.id('W2')))).toBe('invalid_state')
  expect(refused(await f.root.grantRight('send', f.id('W2'), f.id('W')))).toBe('invalid_state')
  expect(refused(await f.root.grantRight('send', 'nobody' as never, f.id('W')))).toBe('not_found')
  expect(refused(await f.root.grantRight('send', f.id('W'), 'nobody' as never))).toBe('not_found')
  await f.expectAdded([])
  expect(await f.picture()).toEqual(before)
})
