// Identity beyond one run (W-ID-03, -08, W-USER-18): ids collide nowhere on one store, and old references stay good.
import { unwrap } from '@parley/core'
import { type Entry, memoryDisks } from '@parley/trail'
import { expect, test } from 'vitest'
import type { RunHandle } from '../runtime/run-handle.ts'
import { fixture } from '../testing/fixture.ts'
import { directory } from '../testing/topology.ts'

/** Everything in a trail that is an id of the runtime's making. */
function idsOf(entries: readonly Entry[]): Set<string> {
  const found = new Set<string>()
  const look = (value: unknown): void => {
    if (typeof value === 'string' && /^(ws|env|sig|cp|task|graph|right|art|e)_/.test(value)) found.add(value)
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(look)
  }
  for (const { id, body } of entries) {
    found.add(id)
    look(body)
  }
  return found
}

async function workIn(run: RunHandle, owner: string) {
  const root = run.coordinator
  unwrap(await root.started())
  const { tasks } = unwrap(await root.submitGraph([{ name: 'T', description: 'do it' }]))
  const directive = { format: 'markdown', content: 'work' }
  const worker = unwrap(
    await root.createWorkspace({ role: 'worker', owner, task: tasks[0]!, directive, group: 'g' }),
  )
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
  const { checkpoint } = unwrap(
    await worker.checkpoint({
      type: 'artifact',
      payload: { content: 'done', artifacts: [{ path: 'a' }] },
      intent: 'show it',
      parent: null,
      status: 'final',
      confidence: 'high',
    } as never),
  )
  return { workspace: worker.workspace, task: tasks[0]!, checkpoint }
}

test('WP-080 two runs on one store share no id, and what an old run names is found after users and runs are gone', async () => {
  const states = { ux: 'active', uy: 'active' } as Record<string, 'active' | 'deactivated'>
  const disks = memoryDisks()
  const f = await fixture({ disks, active: false, users: directory(states) })
  const second = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  const old = await workIn(f.run, 'uy')
  const young = await workIn(second, 'uy')
  const [one, other] = [idsOf(await f.run.entries()), idsOf(await second.entries())]
  expect(one.size).toBeGreaterThan(20)
  expect([...one].filter(id => other.has(id))).toEqual([])
  // The same group name means another group in another run.
  expect(unwrap(await f.run.topology.group('g'))).toEqual([old.workspace])
  expect(unwrap(await second.topology.group('g'))).toEqual([young.workspace])

  unwrap(await f.run.stop())
  states.uy = 'deactivated'
  await f.restart()
  const root = f.run.coordinator
  expect(unwrap(await root.look(old.workspace))).toMatchObject({ owner: 'uy', originator: 'system' })
  expect(unwrap(await root.readCheckpoint(old.checkpoint)).workspace).toBe(old.workspace)
  expect(unwrap(await root.task(old.task)).workspace_history).toEqual([old.workspace])
  expect(await f.run.topology.ownedBy('uy')).toEqual([old.workspace])
  expect([...idsOf(await f.run.entries())].filter(id => other.has(id))).toEqual([])
})
