// Handles (§3.2): roles are walls. Nothing that can be reached from a worker's handle is the coordinator's, by type and
// at run time.
import { type RunId, unwrap, type WorkspaceId } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
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
