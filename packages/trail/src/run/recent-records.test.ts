// Following a run in this process: what passed through a moment ago, and everything else from the index.
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { Entry } from '../entry.ts'
import { trailLimits } from '../limits.ts'
import type { ScriptedRun } from '../testing/scripted-run.ts'
import { memoryTrail } from '../testing/steps.ts'
import type { FollowedEntry } from './recent-records.ts'

async function opened() {
  const { trail, start } = await memoryTrail()
  onTestFinished(() => trail.close())
  const script = await start()
  await script.workspace()
  return { trail, script }
}

const drafts = (script: ScriptedRun) => script.drafts([script.entry('recovery_completed', null, 'protocol')])

const bare = ({ seq, id, timestamp, event_type, actor, workspace, body }: FollowedEntry | Entry) =>
  JSON.parse(JSON.stringify({ seq, id, timestamp, event_type, actor, workspace, body })) as unknown

test('who follows a run gets the entries that a watch gets, from wherever they begin', async () => {
  const { script } = await opened()
  const { run } = script
  const last = trailLimits.followedEntries * 2
  while ((await run.head()).seq < last)
    unwrap(await script.append(script.entry('recovery_completed', null, 'protocol')))
  const { seq } = await run.head()
  for (const after of [0, 1, seq - trailLimits.followedEntries, seq - 1, seq]) {
    const all = unwrap(await run.query({ after, limit: 1000 })).entries.map(bare)
    expect(unwrap(await run.since(after)).entries.map(bare)).toEqual(all)
  }
})

test('a follower hears of every entry once and in order, also over the release of its run', async () => {
  const { trail, script } = await opened()
  const stop = new AbortController()
  const heard: number[] = []
  const until = 3 * trailLimits.followedEntries
  const following = (async () => {
    for await (const { entries } of script.run.follow(0, stop.signal)) {
      heard.push(...entries.map(({ seq }) => seq))
      if (heard.length >= until) return
    }
  })()
  for (let count = (await script.run.head()).seq; count < until; count++) {
    if (count === until - 5) await trail.release(script.run.id)
    unwrap(await trail.run(script.run.id).append({ entries: drafts(script) }))
  }
  await following
  expect(heard).toEqual(Array.from({ length: until }, (_, index) => index + 1))
})

test('only small objects are kept, and not many', async () => {
  const { script } = await opened()
  const add = async (id: string, value: unknown) => {
    const objects = [{ id, kind: 'payload', value }] as never
    unwrap(await script.run.append({ entries: drafts(script), objects }))
  }
  await add('obj_small', 'text')
  await add('obj_large', 'x'.repeat(trailLimits.followedObjectLength))
  expect(script.run.recent.object('obj_small' as never)).toMatchObject({ value: 'text' })
  expect(script.run.recent.object('obj_large' as never)).toBeUndefined()
  for (let index = 0; index < trailLimits.followedObjects; index++) await add(`obj_${index}`, index)
  expect(script.run.recent.object('obj_small' as never)).toBeUndefined()
  expect(script.run.recent.object('obj_7' as never)).toMatchObject({ value: 7 })
})
