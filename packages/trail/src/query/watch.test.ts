// Live watching (W-TRAIL-21): from a position, without gap or duplicate, whatever falls between a page and the next.
import { ManualClock, SeededIds, type Ticks, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { TrailStore } from '../store/store.ts'
import { openMemoryStore } from '../testing/memory/open-memory.ts'
import { ScriptedRun } from '../testing/scripted-run.ts'
import { Trail } from '../trail.ts'

const START = 1_772_355_900_000_000 as Ticks

async function scripted(store: TrailStore): Promise<ScriptedRun> {
  return ScriptedRun.start(new Trail({ store }), new SeededIds(1), new ManualClock(START))
}

test('W-TRAIL-21 an entry that is committed while a page is being read is not missed', async () => {
  const store = await openMemoryStore()
  let between = async () => {}
  // Whatever happens in `between` happens after the page was read and before the watcher gets it.
  const slow: TrailStore = Object.create(store, {
    select: {
      value: async (query: Parameters<TrailStore['select']>[0]) => {
        const page = await store.select(query)
        await between()
        return page
      },
    },
    append: { value: store.append.bind(store) },
    replay: { value: store.replay.bind(store) },
    logHead: { value: store.logHead.bind(store) },
    damage: { get: () => store.damage },
  })
  const script = await scripted(slow)
  const seen: number[] = []
  const watching = (async () => {
    for await (const page of script.run.watch({ after: 1 })) {
      seen.push(...page.entries.map(entry => entry.seq))
      if (seen.includes(2)) return
    }
  })()
  between = async () => {
    between = async () => {}
    unwrap(await script.append(script.entry('user_created', null, 'system')))
  }
  await watching
  expect(seen).toEqual([2])
  await store.close()
})

test('W-TRAIL-21 a watch ends when it is told to, also while it waits, and sees only what its reader may see', async () => {
  const store = await openMemoryStore()
  const script = await scripted(store)
  const [mine, other] = [await script.workspace(), await script.workspace()]
  const stop = new AbortController()
  const seen: (string | null)[] = []
  const watching = (async () => {
    for await (const page of script.run.watch({}, { kind: 'agent', workspace: mine }, stop.signal)) {
      seen.push(...page.entries.map(entry => entry.workspace))
      if (seen.length === 2) stop.abort()
    }
  })()
  await script.checkpoint(other)
  await script.checkpoint(mine)
  await watching
  expect(seen).toEqual([mine, mine])
  await store.close()
})

test('W-TRAIL-21 a watch of a run that was released since delivers what is appended to it afterwards', async () => {
  const store = await openMemoryStore()
  const trail = new Trail({ store })
  const [ids, clock] = [new SeededIds(1), new ManualClock(START)]
  const script = await ScriptedRun.start(trail, ids, clock)
  const watching = script.run.watch({})
  const seen = async () => (await watching.next()).value.entries.map((entry: { seq: number }) => entry.seq)
  expect(await seen()).toEqual([1])
  const next = seen()
  await trail.release(script.run.id)
  const again = new ScriptedRun(trail, ids, clock, { run: script.run.id, root: script.root })
  unwrap(await again.append(again.entry('user_created', null, 'system')))
  expect(await Promise.race([next, new Promise(resolve => setTimeout(resolve, 5000, 'nothing'))])).toEqual([2])
  await watching.return(undefined)
  await store.close()
})
