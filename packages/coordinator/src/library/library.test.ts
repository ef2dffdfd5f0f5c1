// The library on a real coordinator and trail: what it records stays, in order, for whoever reads it.
import { type LibraryRecord, type LibraryRecordType, type Principal, type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { alice, Fixture, refusal, solo } from '../testing/fixture.ts'
import { libraryLimits } from './limits.ts'

const bob: Principal = { id: 'bob', kind: 'user', scopes: ['solve'] }

async function add(
  f: Fixture,
  body: LibraryRecord['body'],
  type: LibraryRecordType = 'feedback.rating',
  by: Principal | 'system' = bob,
): Promise<LibraryRecord> {
  return unwrap(await f.coordinator.library.append({ type, by, body }))
}

async function all(f: Fixture, after?: number): Promise<LibraryRecord[]> {
  return collect(f.coordinator.library.read(after === undefined ? {} : { after }))
}

async function collect<T>(from: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const each of from) found.push(each)
  return found
}

/** The oldest first. */
async function libraryRuns(f: Fixture): Promise<RunId[]> {
  const starts = await f.trail.starts((await f.trail.runs()).map(({ run }) => run))
  return starts.filter(({ context }) => (context as { library?: true }).library).map(({ run }) => run)
}

test('a library that nobody has used is empty, and nothing is founded for reading it', async () => {
  const f = await Fixture.open()
  expect(await all(f)).toEqual([])
  expect(await f.trail.runs()).toHaveLength(1)
})

test('records of every type are read in order, with who did it, also after a restart', async () => {
  const f = await Fixture.open()
  const added = [
    await add(f, { block: 'b1' }, 'knowledge_block'),
    await add(f, { stars: 5 }),
    await add(f, { from: 's1' }, 'session.fork', alice),
    await add(f, { session: 's2' }, 'session.reset'),
    await add(f, { total: '1.5' }, 'settlement'),
    await add(f, { block: 'b1', status: 'active' }, 'kb.status', 'system'),
    await add(f, { block: 'b2' }, 'knowledge_block', 'system'),
  ]
  expect(added.map(({ type, by, body }) => [type, by, body])).toEqual([
    ['knowledge_block', 'bob', { block: 'b1' }],
    ['feedback.rating', 'bob', { stars: 5 }],
    ['session.fork', 'alice', { from: 's1' }],
    ['session.reset', 'bob', { session: 's2' }],
    ['settlement', 'bob', { total: '1.5' }],
    ['kb.status', 'system', { block: 'b1', status: 'active' }],
    ['knowledge_block', 'system', { block: 'b2' }],
  ])
  expect(await all(f)).toEqual(added)
  expect(await all(f, added[3]!.at)).toEqual(added.slice(4))
  await f.restart()
  expect(await all(f)).toEqual(added)
  const later = await add(f, { stars: 1 })
  expect(later.at).toBeGreaterThan(added.at(-1)!.at)
  expect(await all(f)).toEqual([...added, later])
})

test('what people ask is an injection in their name, and what is made of it a checkpoint of the worker', async () => {
  const f = await Fixture.open()
  await add(f, { block: 'b1' }, 'knowledge_block')
  await add(f, { stars: 5 })
  const [run] = await libraryRuns(f)
  const entries = await f.entries(run!, 'human_injection', 'envelope_delivered', 'checkpoint_created')
  expect(entries.map(({ event_type, actor }) => `${event_type} ${actor}`)).toEqual([
    'human_injection bob',
    'envelope_delivered protocol',
    'checkpoint_created library_worker',
    'human_injection bob',
    'envelope_delivered protocol',
  ])
  const [root] = await f.entries(run!, 'workspace_created')
  expect(root!.body).toMatchObject({ taxonomy_id: 'parley/1', taxonomy_version: '1', originator: 'system' })
  expect((await f.trail.run(run!).verify()).findings).toEqual([])
})

test('a record is a copy of what was given, and a reader may change what it gets', async () => {
  const f = await Fixture.open()
  const body = { list: [1] }
  const appended = await add(f, body)
  body.list.push(2)
  ;(appended.body as typeof body).list.push(3)
  for await (const record of f.coordinator.library.read()) (record.body as typeof body).list.push(4)
  expect((await all(f))[0]!.body).toEqual({ list: [1] })
})

test.each([
  ['no known type', { type: 'directive' as LibraryRecordType, body: {} as LibraryRecord['body'] }],
  ['a list', { body: [] as unknown as LibraryRecord['body'] }],
  ['something that JSON cannot say', { body: { at: 1n } }],
  ['more than fits', { body: { text: 'x'.repeat(libraryLimits.bodyBytes) } }],
])('a record with %s is refused, and nothing is recorded', async (_, wrong) => {
  const f = await Fixture.open()
  expect(await f.coordinator.library.append({ type: 'feedback.rating', by: bob, ...wrong })).toMatchObject(
    refusal('invalid_argument'),
  )
  expect(await f.trail.runs()).toHaveLength(1)
})

test('a body as large as it may be is recorded and read whole', async () => {
  const f = await Fixture.open()
  const text = 'é"'.repeat((libraryLimits.bodyBytes - 11) / 4)
  const record = await add(f, { text }, 'knowledge_block')
  await f.restart()
  expect(await all(f)).toEqual([record])
})

test('appends of many callers at once are in the order in which they came, and share commits', async () => {
  const f = await Fixture.open()
  const numbers = Array.from({ length: 500 }, (_, n) => n)
  const added = await Promise.all(numbers.map(n => add(f, { n }, n % 2 ? 'knowledge_block' : 'feedback.rating')))
  const read = await all(f)
  expect(read).toEqual(added)
  expect(read.map(({ body }) => body.n)).toEqual(numbers)
  expect(new Set(read.map(({ at }) => at)).size).toBe(500)
})

test('more records than may wait are refused with what can be tried again', async () => {
  const f = await Fixture.open()
  const asked = Array.from({ length: libraryLimits.waiting + 300 }, (_, n) =>
    f.coordinator.library.append({ type: 'feedback.rating', by: 'system', body: { n } }),
  )
  const answers = await Promise.all(asked)
  const refused = answers.filter(answer => !answer.ok)
  expect(refused.length).toBeGreaterThan(0)
  for (const each of refused) expect(each).toMatchObject({ error: { code: 'unavailable', retryable: true } })
  expect(await all(f)).toHaveLength(answers.length - refused.length)
})

test('a follower gets what is there and then what comes, each once and in order, however many follow', async () => {
  const f = await Fixture.open()
  const before = await add(f, { n: 0 })
  await f.restart()
  const stop = new AbortController()
  const followers = Array.from({ length: 20 }, async () => {
    const seen: unknown[] = []
    for await (const { body } of f.coordinator.library.read({ follow: stop.signal })) {
      seen.push(body.n)
      if (seen.length === 201) return seen
    }
    return seen
  })
  const late = collect(f.coordinator.library.read({ after: before.at, follow: stop.signal }))
  for (let n = 1; n <= 200; n += 10)
    await Promise.all(Array.from({ length: 10 }, (_, more) => add(f, { n: n + more }, 'settlement')))
  const wanted = Array.from({ length: 201 }, (_, n) => n)
  for (const seen of await Promise.all(followers)) expect(seen).toEqual(wanted)
  stop.abort()
  const found = (await late).map(({ body }) => body.n)
  expect(found).toEqual(wanted.slice(1, found.length + 1))
})

test('whoever follows an empty library gets its first record', async () => {
  const f = await Fixture.open()
  const stop = new AbortController()
  const first = f.coordinator.library.read({ follow: stop.signal }).next()
  const record = await add(f, { n: 1 })
  expect(await first).toEqual({ done: false, value: record })
})

test('a follower that is slow falls back to the disk and misses nothing', async () => {
  const f = await Fixture.open()
  const stop = new AbortController()
  const first = await add(f, { n: 0 })
  const follower = f.coordinator.library.read({ after: first.at, follow: stop.signal })
  const total = libraryLimits.tailRecords + 500
  for (let n = 1; n <= total; ) {
    const part = Array.from({ length: Math.min(500, total - n + 1) }, () => add(f, { n: n++ }))
    await Promise.all(part)
  }
  const seen: unknown[] = []
  for await (const { body } of follower) if (seen.push(body.n) === total) break
  expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1))
})

test('whoever follows is told when the node stops, and an append after it is refused', async () => {
  const f = await Fixture.open()
  await add(f, { n: 1 })
  const following = collect(f.coordinator.library.read({ follow: new AbortController().signal }))
  const { library } = f.coordinator
  const ended = expect(following).rejects.toMatchObject({ code: 'unavailable', retryable: true })
  await f.coordinator.close()
  await ended
  expect(await library.append({ type: 'settlement', by: bob, body: {} })).toMatchObject(refusal('unavailable'))
})

test('at its limit the library goes on in another run: positions go on, and everything stays readable', async () => {
  const f = await Fixture.open({}, { libraryEntries: 60 })
  const stop = new AbortController()
  const followed = collect(f.coordinator.library.read({ follow: stop.signal }))
  const unfollowed = expect(followed).rejects.toMatchObject({ code: 'unavailable' })
  const added: LibraryRecord[] = []
  for (let n = 0; n < 60; n += 5)
    added.push(
      ...(await Promise.all(
        [0, 1, 2, 3, 4].map(more => add(f, { n: n + more }, more % 2 ? 'settlement' : 'kb.status')),
      )),
    )
  const runs = await libraryRuns(f)
  expect(runs.length).toBeGreaterThan(3)
  expect(await all(f)).toEqual(added)
  expect(added.map(({ at }) => at)).toEqual(added.map(({ at }) => at).toSorted((one, other) => one - other))
  for (const { at } of added) expect(await all(f, at)).toEqual(added.filter(record => record.at > at))
  const ended = (await f.trail.runs()).filter(({ run, ended }) => runs.includes(run) && ended)
  expect(ended).toHaveLength(runs.length - 1)
  await f.restart()
  expect(await all(f)).toEqual(added)
  added.push(await add(f, { n: 60 }))
  expect(await all(f)).toEqual(added)
  for (const run of await libraryRuns(f)) expect((await f.trail.run(run).verify()).findings).toEqual([])
  await unfollowed
})

test("the library is nobody's run: it is not listed, not driven and not at work, and can be looked at", async () => {
  const f = await Fixture.open({ one: () => 'done' }, { libraryEntries: 40 })
  const own = await f.finished(solo('one'))
  for (let n = 0; n < 20; n++) await add(f, { text: 'x'.repeat(1000) }, 'knowledge_block')
  for (const restart of [false, true]) {
    if (restart) await f.restart()
    expect((await f.coordinator.runs.list()).map(({ run }) => run)).toEqual([own.run])
    expect(unwrap(await f.coordinator.runs.find('last'))).toBe(own.run)
    expect((await f.coordinator.records.find({}, () => true)).runs.map(({ run }) => run)).toEqual([own.run])
    expect(await f.coordinator.gates.list()).toEqual([])
    for (const run of await libraryRuns(f)) {
      expect(unwrap(await f.coordinator.views.view(run))).toMatchObject({ run, intent: '', tasks: [] })
      expect(await f.coordinator.views.prompts(run)).toMatchObject({ ok: true })
      expect(await f.coordinator.records.account(run)).toMatchObject(refusal('not_found'))
    }
  }
  expect(f.logged.filter(line => line.startsWith('error'))).toEqual([])
})
