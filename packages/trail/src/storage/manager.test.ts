// One queue for all work on the storage: what is asked for at the same time is done one after the other.
import { formatTimestamp, ManualClock, ok, SeededIds, StrictClock, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { memoryDisks, openMemoryStore } from '../testing/memory/open-memory.ts'
import { ScriptedRun } from '../testing/scripted-run.ts'
import { Trail } from '../trail.ts'
import type { StorageHost } from './manager.ts'

const START = 1_772_355_900_000_000 as Ticks

/** Two finished runs, each with a workspace whose mail can be archived. */
async function finishedRuns() {
  const store = await openMemoryStore(memoryDisks())
  const trail = new Trail({ store })
  const clock = new StrictClock(new ManualClock(START))
  const ids = new SeededIds(7)
  const scripts: ScriptedRun[] = []
  for (let count = 0; count < 2; count++) {
    const script = await ScriptedRun.start(trail, ids, clock)
    const worker = await script.workspace()
    for (let turn = 0; turn < 4; turn++) await script.envelope(script.root, worker, 'system')
    await script.state(worker, 'integrating', 'closed', { trigger: 'integration_succeeded' } as never)
    await script.end()
    scripts.push(script)
  }
  return { store, trail, scripts, at: () => formatTimestamp(clock.take()), now: () => clock.take() }
}

test('W-TRAIL-27 runs that are compacted at the same time leave the log one after the other, with one summary for each archive', async () => {
  const { store, trail, scripts, now } = await finishedRuns()
  const { storage } = trail
  const working: unknown[] = []
  const host: StorageHost = {
    signal: new AbortController().signal,
    now,
    append: async (run, entries) => {
      working.push(storage.working)
      return scripts.find(each => each.run.id === run)!.append(...entries)
    },
  }
  const runs = scripts.map(({ run }) => run.id)
  // Each twice: whoever comes second finds nothing left to archive.
  const done = await Promise.all([...runs, ...runs].map(run => storage.compact(run, host)))
  expect(done.map(each => unwrap(each).archived > 0)).toEqual([true, true, false, false])
  expect(working).toEqual(runs)
  expect(await storage.pending()).toEqual([])
  for (const { run } of scripts) {
    const summaries = unwrap(await run.query({ event_type: 'trail_compacted' })).entries
    const archives = (await store.tiers.manifests(run.id)).filter(({ kind }) => kind === 'workspace')
    expect(summaries).toHaveLength(archives.length)
  }
  await trail.close()
})

test('a host that has stopped begins no further step', async () => {
  const { trail, scripts, now } = await finishedRuns()
  const stopping = new AbortController()
  const [run] = scripts.map(each => each.run.id)
  const append = async () => {
    stopping.abort()
    return ok(undefined)
  }
  const stopped = await trail.storage.compact(run!, { signal: stopping.signal, now, append })
  expect(stopped).toMatchObject({ ok: false, error: { code: 'trail_unavailable' } })
  expect(await trail.storage.pending()).toHaveLength(2)
  await trail.close()
})

test('a store that is changed by two at once says so, and goes on', async () => {
  const { store, trail, scripts, at } = await finishedRuns()
  const first = store.tiers.moveRun(scripts[0]!.run.id, at())
  await expect(store.tiers.reclaim()).rejects.toMatchObject({ code: 'internal' })
  expect((await first).records).toBeGreaterThan(0)
  await store.tiers.reclaim()
  await trail.close()
})
