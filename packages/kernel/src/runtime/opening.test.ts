// Opening a long run on a real disk: with a kept state, only what came later is read and folded.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type RunId, unwrap } from '@parley/core'
import { fileStateCache, openSegmentStore, type StateCacheStore, Trail, type TrailStore } from '@parley/trail'
import { expect, onTestFinished, test } from 'vitest'
import { GUARDS } from '../testing/guards.ts'
import { replay } from './actor/recover.ts'
import type { AgentHandle } from './handle/agent.ts'
import type { RunHandle } from './handle/run-handle.ts'
import { Runtime } from './runtime.ts'
import type { RuntimeOptions } from './runtime-options.ts'

const ENTRIES = 20_000
const WORKERS = 64

interface Process {
  readonly runtime: Runtime
  readonly store: TrailStore
  /** Records that the store was made to read for a replay. */
  readonly read: () => number
  readonly stop: () => Promise<void>
}

async function start(profile: string, options: Partial<RuntimeOptions> = {}): Promise<Process> {
  const segments = await openSegmentStore(profile)
  let read = 0
  const store = new Proxy<TrailStore>(segments, {
    get(_target, name) {
      if (name === 'replay')
        return async function* (...args: Parameters<TrailStore['replay']>) {
          for await (const record of segments.replay(...args)) {
            read++
            yield record
          }
        }
      const value = segments[name as keyof TrailStore]
      return typeof value === 'function' ? value.bind(segments) : value
    },
  })
  const trail = new Trail({ store })
  const runtime = await Runtime.open({ trail, ...GUARDS, ...options })
  const stop = async () => {
    await runtime.close()
    await trail.close()
  }
  onTestFinished(stop)
  return { runtime, store, read: () => read, stop }
}

/** As after a kill: nothing that would have been kept at a stop is kept. */
function killed(states: StateCacheStore): StateCacheStore {
  return { ...states, save: () => Promise.resolve() }
}

async function work(run: RunHandle, workers: readonly AgentHandle[], entries: number): Promise<void> {
  const written = () => run.read(({ seq }) => seq)
  const until = (await written()) + entries
  const steps = workers.map(async (worker, index) => {
    while ((await written()) < until) {
      unwrap(await worker.writeMemory('step', { worker: index }))
      const parent = await run.read(state => state.workspaces.get(worker.workspace)?.register?.at(-1) ?? null)
      const draft = { type: 'artifact', intent: 'a step', status: 'provisional', confidence: 'low' } as const
      unwrap(await worker.checkpoint({ ...draft, payload: { content: 'part' }, parent }))
    }
  })
  await Promise.all(steps)
}

async function begin(runtime: Runtime): Promise<RunHandle> {
  const run = unwrap(await runtime.start({ owner: 'ux', highway: 'off' }))
  unwrap(await run.coordinator.started())
  const create = async () => {
    const worker = unwrap(await run.coordinator.createWorkspace({ role: 'worker' }))
    unwrap(await run.coordinator.feedback(worker.workspace, { format: 'markdown', content: 'begin' }))
    unwrap(await worker.receive())
  }
  await Promise.all(Array.from({ length: WORKERS }, create))
  return run
}

async function workersOf(run: RunHandle): Promise<AgentHandle[]> {
  const ids = await run.read(state => state.root!.children!.map(({ id }) => id))
  return Promise.all(ids.map(async id => unwrap(await run.worker(id)) as AgentHandle))
}

async function examined(runtime: Runtime, run: RunId): Promise<number> {
  const found = await runtime.trail(run).query({ event_type: 'recovery_completed', order: 'descending', limit: 1 })
  return (unwrap(found).entries[0]!.body as { trail_entries_examined: number }).trail_entries_examined
}

test('a run of many entries opens by what came after its kept state, and is the same as one that was replayed', async () => {
  const profile = mkdtempSync(join(tmpdir(), 'parley-test-'))
  onTestFinished(() => rmSync(profile, { recursive: true, force: true }))
  const states = () => fileStateCache(join(profile, 'states'))

  const first = await start(profile, { stateCache: states() })
  const made = await begin(first.runtime)
  const { id } = made
  await work(made, await workersOf(made), ENTRIES)
  await first.stop()

  // Stopped in good order: nothing is left to read.
  const second = await start(profile, { stateCache: killed(states()) })
  const run = unwrap(await second.runtime.open(id))
  expect(await examined(second.runtime, id)).toBe(0)
  const read = second.read()
  expect(read).toBeLessThan(100)
  // It takes commands without reading its past.
  await work(run, await workersOf(run), 500)
  expect(second.read()).toBe(read)
  await second.stop()

  // Killed: the older state serves, and what came after it is read once.
  const third = await start(profile, { stateCache: killed(states()) })
  const tail = await examined(third.runtime, id)
  expect(tail).toBeGreaterThan(500)
  expect(tail).toBeLessThan(ENTRIES / 4)
  expect(third.read()).toBeLessThan(2 * tail)
  const { run: whole } = await replay({ id, trail: new Trail({ store: third.store }).run(id) })
  expect(third.read()).toBeGreaterThan(ENTRIES)
  expect(await third.runtime.read(id, live => isDeepStrictEqual(live, whole))).toBe(true)
  expect((await third.runtime.trail(id).verify()).findings).toEqual([])
}, 120_000)
