// One queue for all work on the storage: what is asked for at the same time is done one after the other.
import { ok, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { mailRun, memoryTrail } from '../testing/steps.ts'
import type { StorageHost } from './manager.ts'

async function finishedRuns() {
  const made = await memoryTrail()
  const scripts = [(await mailRun(made)).script, (await mailRun(made)).script]
  return { ...made, scripts, now: () => made.clock.take() }
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
