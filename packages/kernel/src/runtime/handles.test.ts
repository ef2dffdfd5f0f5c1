// Handles (§3.2): roles are walls. Nothing that can be reached from a worker's handle is the coordinator's, by type and at run time.
import { type RunId, unwrap, type WorkspaceId } from '@parley/core'
import { expect, expectTypeOf, test } from 'vitest'
import { fixture, refused } from '../testing/fixture.ts'
import { AgentHandle } from './agent.ts'
import type { Delegate, Observer, Worker } from './roles.ts'
import { RunHandle } from './run-handle.ts'
import { Runtime } from './runtime.ts'

/** Every object that an object leads to: own fields, and what getters of its class give. */
function reachable(from: object): ReadonlySet<object> {
  const seen = new Set<object>()
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    for (
      let each: object | null = value;
      each && each !== Object.prototype;
      each = Object.getPrototypeOf(each)
    )
      for (const [name, { get }] of Object.entries(Object.getOwnPropertyDescriptors(each)))
        if (each === value || get) visit(Reflect.get(value, name))
  }
  visit(from)
  return seen
}

test('WX-020 a handle leads to no run, no runtime and no other agent', async () => {
  const f = await fixture()
  await f.worker('W')
  await f.observer('O')
  await f.worker('D', { delegate: true })
  for (const name of ['W', 'O', 'D']) {
    const handle = f.agent(name)
    for (const object of reachable(handle)) {
      expect(object, name).not.toBeInstanceOf(RunHandle)
      expect(object, name).not.toBeInstanceOf(Runtime)
      if (object instanceof AgentHandle) expect(object).toBe(handle)
    }
    expect(handle.run).toBe(f.run.id)
  }
})

test('WX-020 what a worker holds cannot be made to speak for the coordinator', async () => {
  const f = await fixture()
  const worker = await f.worker('W')
  await f.worker('V')
  await f.mark()
  for (const field of [
    { workspace: f.id('R') },
    { role: 'coordinator' },
    { agent: undefined },
    { run: f.run },
  ])
    expect(() => Object.assign(worker, field)).toThrow(TypeError)
  expect(() => Object.assign(f.runtime.user('ux'), { id: 'uy' })).toThrow(TypeError)
  expect(worker.workspace).toBe(f.id('W'))
  expect(refused(await worker.abort(f.id('V')))).toBe('permission_denied')
  await f.expectAmong([['capability_denied', 'W', 'worker', { capability: 'operation:abort' }]])
  // Its proof is its own: taken for the coordinator's mail it would be refused.
  const sealed = unwrap(worker.seal(f.mail('V', 'directive')))
  expect(refused(await f.root.send(sealed))).toBe('rejected(integrity_violation)')
})

test('WX-020 by type, a worker, an observer and a delegate have no way to the coordinator', () => {
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
