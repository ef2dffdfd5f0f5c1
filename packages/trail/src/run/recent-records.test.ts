// Following a run in this process: what passed through a moment ago, and everything else from the index.
import { unwrap } from '@parley/core'
import { expect, onTestFinished, test } from 'vitest'
import type { Entry } from '../entry.ts'
import { trailLimits } from '../limits.ts'
import type { ScriptedRun } from '../testing/scripted-run.ts'
import { memoryTrail } from '../testing/steps.ts'
import { type FollowedEntry, RecentRecords } from './recent-records.ts'

async function opened() {
  const { trail, disks, start } = await memoryTrail()
  onTestFinished(() => trail.close())
  const script = await start()
  await script.workspace()
  return { trail, disks, script }
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

test('what another object has appended in between is not taken for what is here', () => {
  const recent = new RecentRecords()
  const entry = (id: string) => ({ id }) as never
  recent.add([entry('1'), entry('2')], 1, [])
  recent.add([entry('5')], 5, [])
  expect(recent.after(1)).toBeUndefined()
  expect(recent.after(4)?.map(({ id, seq }) => [id, seq])).toEqual([['5', 5]])
})

test('who only asks keeps nothing of a run in memory, and gets what its writer has', async () => {
  const { trail, script } = await opened()
  const id = script.run.id
  expect(trail.readable(id)).toBe(script.run)
  await trail.release(id)
  const asked = trail.readable(id)
  expect(unwrap(await asked.since(0)).entries.length).toBeGreaterThan(0)
  expect(trail.readable(id)).not.toBe(asked)
  // It hears of what comes later all the same.
  const stop = new AbortController()
  const next = asked.follow(unwrap(await asked.since(0)).cursor, stop.signal).next()
  unwrap(await trail.run(id).append({ entries: drafts(script) }))
  expect((await next).value?.entries).toHaveLength(1)
  expect(trail.readable(id)).toBe(trail.run(id))
})

test('a run that was opened again while two released it stays the one that is written', async () => {
  const { trail, script } = await opened()
  const id = script.run.id
  for (let turns = 0; turns < 3; turns++) {
    trail.run(id)
    const again = trail.release(id).then(() => trail.run(id))
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    await trail.release(id)
    expect(trail.run(id)).toBe(await again)
  }
})

test('a batch that fails is told to nobody', async () => {
  const { script } = await opened()
  const { seq } = await script.run.head()
  const told = unwrap(await script.run.since(0)).cursor
  const [first] = drafts(script)
  const refused = await script.run.append({ entries: [first!, first!] })
  expect(refused.ok).toBe(false)
  expect([unwrap(await script.run.since(0)).cursor, (await script.run.head()).seq]).toEqual([told, seq])
  unwrap(await script.append(script.entry('recovery_completed', null, 'protocol')))
  expect(unwrap(await script.run.since(told)).entries.map(each => each.seq)).toEqual([seq + 1])
})

test('what the disk refuses is told to no follower; two of them, one of which is slow, hear of all that follows', async () => {
  const { trail, disks, script } = await opened()
  const { seq } = await script.run.head()
  const stop = new AbortController()
  const heard: number[] = []
  const following = (async () => {
    for await (const { entries } of script.run.follow(seq, stop.signal)) heard.push(...entries.map(each => each.seq))
  })()
  const slow = script.run.follow(seq, stop.signal)
  disks.trail.fail('write', { times: Number.POSITIVE_INFINITY, code: 'EIO' })
  const draft = drafts(script)
  expect(await script.run.append({ entries: draft })).toMatchObject({ ok: false })
  expect([heard, unwrap(await script.run.since(seq)).entries, script.run.recent.newest]).toEqual([[], [], seq])
  disks.trail.mend()
  const until = seq + 2 * trailLimits.followedEntries
  for (let count = seq; count < until; count++)
    unwrap(await trail.run(script.run.id).append({ entries: drafts(script) }))
  const late: number[] = []
  for await (const { entries } of slow) {
    late.push(...entries.map(each => each.seq))
    if (late.at(-1) === until) break
  }
  await expect.poll(() => heard.at(-1)).toBe(until)
  stop.abort()
  await following
  const all = Array.from({ length: until - seq }, (_, index) => seq + 1 + index)
  expect([heard, late]).toEqual([all, all])
})
