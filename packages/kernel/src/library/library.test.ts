// The library run in the kernel: whole records whatever fails, one library whatever crashes, nobody's to direct.
import { type ObjectId, type Result, type RunId, unwrap, type WorkspaceId } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import { CAPABILITIES, type EventBody } from '@parley/trail/events'
import { edited, seededRandom, tamper } from '@parley/trail/testing'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { type Fixture, type FixtureOptions, fixture, refused } from '../testing/fixture.ts'
import { person } from '../testing/people.ts'
import { temporaryProfile } from '../testing/profile.ts'
import type { FiledRecord } from './library.ts'

const DAY = 24 * 60 * 60_000
const MADE = 'knowledge_block'
const ASKED = 'feedback.rating'

async function withUsers(options: FixtureOptions = {}): Promise<Fixture> {
  const f = await fixture({ users: 'house', ...options })
  if (f.runtime.users.get('u') === undefined) await person(f, 'u', 'inject_directive')
  return f
}

/** `user` asks; without one the node does it itself. */
async function file(f: Fixture, n: number, user?: string): Promise<Result<FiledRecord>> {
  const { library } = f.runtime
  const ready = await library.ready()
  return ready.ok ? library.file(user, { record: n % 2 ? MADE : ASKED, content: `{"n":${n}}` }) : ready
}

/** Positions and contents of what is on record, over all runs of the library. */
async function records(f: Fixture): Promise<[at: number, n: number, by: string][]> {
  const found: [number, number, string][] = []
  for (const { run, base } of await f.runtime.library.parts(0)) {
    const trail = f.trail.run(run)
    const types = ['human_injection', 'checkpoint_created']
    for (const { event_type, seq, body, actor } of unwrap(await trail.query({ event_type: types, limit: 1000 }))
      .entries) {
      const made = event_type === 'checkpoint_created'
      const asked = body as EventBody<'human_injection'>
      if (!made && (asked.status !== 'delivered' || asked.type === MADE)) continue
      const id = made ? (body as EventBody<'checkpoint_created'>).checkpoint_id : asked.envelope_id
      const { payload } = (await trail.object(id as ObjectId))!.value as EnvelopeRecord & { payload: { by: string } }
      found.push([base + seq, JSON.parse(payload.content).n, made ? payload.by : actor])
    }
  }
  return found
}

async function types(f: Fixture, run: RunId): Promise<string[]> {
  return unwrap(await f.trail.run(run).query({ limit: 1000 })).entries.map(({ event_type }) => event_type)
}

const current = async (f: Fixture) => unwrap(await f.runtime.library.run())!

test('the library is founded with its first record, below it the worker that makes its results', async () => {
  const f = await withUsers()
  expect(await f.runtime.library.run()).toMatchObject({ ok: true, value: undefined })
  expect(await f.trail.runs()).toHaveLength(2)
  const filed = [await file(f, 1, 'u'), await file(f, 2, 'u'), await file(f, 3), await file(f, 4)].map(unwrap)
  expect(await records(f)).toEqual(filed.map(({ at }, index) => [at, index + 1, index < 2 ? 'u' : 'system']))
  const run = await current(f)
  expect((await types(f, run)).slice(-17)).toEqual([
    // A person asks for a block.
    'human_injection',
    'envelope_created',
    'envelope_delivered',
    'signal_emitted',
    'checkpoint_created',
    'signal_emitted',
    'signal_delivered',
    // A person rates.
    'human_injection',
    'envelope_created',
    'envelope_delivered',
    'signal_emitted',
    // The node makes two.
    ...['checkpoint_created', 'signal_emitted', 'signal_delivered'],
    ...['checkpoint_created', 'signal_emitted', 'signal_delivered'],
  ])
  expect(f.runtime.active).toEqual([f.run.id])
  expect((await f.trail.run(run).verify()).findings).toEqual([])
  const before = await types(f, run)
  for (let count = 0; count < 3; count++) await f.restart()
  expect(await current(f)).toBe(run)
  expect((await types(f, run)).filter(type => type !== 'recovery_completed')).toEqual(before)
})

test('a request names what is made of it by its hash, so that the content stands once', async () => {
  const f = await withUsers()
  unwrap(await file(f, 1, 'u'))
  const trail = f.trail.run(await current(f))
  const [asked] = unwrap(await trail.query({ event_type: 'human_injection' })).entries
  const [made] = unwrap(await trail.query({ event_type: 'checkpoint_created' })).entries
  const { envelope_id } = asked!.body as EventBody<'human_injection'>
  const request = (await trail.object(envelope_id as ObjectId))!.value as EnvelopeRecord
  expect(request).toMatchObject({ type: MADE, originator: 'u', origin: 'human' })
  expect(JSON.parse(request.payload.content)).toEqual({ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
  const result = await trail.object((made!.body as EventBody<'checkpoint_created'>).checkpoint_id as ObjectId)
  expect(result!.value).toMatchObject({ type: MADE, payload: { by: 'u', request: envelope_id, content: '{"n":1}' } })
})

test('whoever may do everything elsewhere may file records here and nothing else, and each attempt is on record', async () => {
  const f = await withUsers()
  const owner = await person(f, 'a', ...CAPABILITIES.filter(each => each !== 'view_trail_own'))
  unwrap(await file(f, 1, 'a'))
  const run = await current(f)
  const { root, worker } = await unwrap(await f.runtime.open(run)).read(state => ({
    root: state.root!.id,
    worker: [...state.workspaces.keys()].at(-1)!,
  }))
  const draft = (to: WorkspaceId, type: string) => ({ to, type, payload: { format: 'text', content: 'x' } })
  const attempts = [
    () => owner.inject(run, draft(root, 'directive')),
    () => owner.inject(run, draft(worker, 'feedback')),
    // Nor its own records by another way: they would have no result.
    () => owner.inject(run, draft(root, MADE)),
    () => owner.abort(run, root),
    () => owner.abort(run, worker),
    () => owner.suspend(run, worker, 'why'),
    () => owner.resume(run, worker),
    () => owner.transferOwnership(run, worker, 'a'),
    () => owner.raiseBudget(run, worker, {}),
  ]
  for (const attempt of attempts) expect(refused(await attempt())).toBe('permission_denied')
  const denied = unwrap(await f.trail.run(run).query({ event_type: 'capability_denied' })).entries
  expect(denied.map(({ actor, body }) => [actor, (body as EventBody<'capability_denied'>).action])).toEqual(
    [
      ...['inject', 'inject', 'inject', 'user_abort', 'user_abort', 'user_suspend', 'user_resume'],
      ...['user_transfer_ownership', 'user_raise_budget'],
    ].map(action => ['a', action]),
  )
  unwrap(await file(f, 2, 'a'))
  expect(await records(f)).toHaveLength(2)
})

test('records are filed in the library run and in no other', async () => {
  const f = await withUsers()
  const filing = { record: ASKED, content: '{}' } as const
  for (const run of [f.run.id, f.runtime.house.run]) {
    expect(refused(await f.runtime.submit(run, { type: 'file', user: 'u', ...filing }))).toBe('invalid_state')
    expect(refused(await f.runtime.submit(run, { type: 'file_own', ...filing }))).toBe('invalid_state')
  }
})

test('nobody starts a run that would pass for the library, and the host binds no agent in it', async () => {
  const bound: string[] = []
  const f = await withUsers({ bind: agent => void bound.push(agent.run) })
  unwrap(await file(f, 1, 'u'))
  const run = await current(f)
  const context = { library: true, base: 0, previous: { run, seq: 5, hash: null } }
  expect(refused(await f.runtime.start({ owner: 'u', context }))).toBe('invalid_argument')
  await f.restart()
  expect(await current(f)).toBe(run)
  expect(bound).toContain(f.run.id)
  expect(bound).not.toContain(run)
})

test('at its limit the library is succeeded: positions go on, the old run closes, and all of them verify', async () => {
  const f = await withUsers({ libraryEntries: 30 })
  const filed: FiledRecord[] = []
  for (let n = 0; n < 30; n++) filed.push(unwrap(await file(f, n, 'u')))
  expect(await records(f)).toEqual(filed.map(({ at }, n) => [at, n, 'u']))
  const parts = await f.runtime.library.parts(0)
  expect(parts.length).toBeGreaterThan(3)
  for (const [index, { run }] of parts.entries()) {
    const { ended } = (await f.trail.runs()).find(each => each.run === run)!
    expect(ended).toBe(index < parts.length - 1)
    expect((await f.trail.run(run).verify()).findings).toEqual([])
    const [start] = await f.trail.starts([run])
    const before = parts[index - 1]
    expect(start!.context).toMatchObject({ library: true, previous: before ? { run: before.run } : null })
  }
  expect(f.runtime.active).toEqual([f.run.id])
  // Who begins to read late needs no runs from before.
  expect(await f.runtime.library.parts(filed.at(-1)!.at)).toEqual(parts.slice(-1))
  await f.restart()
  expect(await f.runtime.library.parts(0)).toEqual(parts)
  expect(unwrap(await file(f, 30, 'u')).at).toBeGreaterThan(filed.at(-1)!.at)
})

test('records that come together while the library is succeeded are each filed once', async () => {
  const f = await withUsers({ libraryEntries: 40 })
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  const filed = (await Promise.all(numbers.map(n => file(f, n, 'u')))).map(unwrap)
  const found = await records(f)
  expect(found.map(([, n]) => n).toSorted((one, other) => one - other)).toEqual(numbers)
  expect(found.map(([at]) => at)).toEqual(filed.map(({ at }) => at).toSorted((one, other) => one - other))
})

// One commit more each time, over a founding, records and a succession; `write` loses a commit, `sync` tears it.
test.each(
  (['write', 'sync'] as const).flatMap(fault => Array.from({ length: 22 }, (_, commit) => [fault, commit] as const)),
)(
  'power goes when %s fails at commit %i: what was acknowledged is there, and nothing by halves',
  async (fault, after) => {
    const f = await withUsers({ libraryEntries: 26 })
    f.disks.trail.fail(fault, { after, times: Number.POSITIVE_INFINITY })
    const acknowledged: FiledRecord[] = []
    for (let n = 0; n < 8; n++) {
      // Where the trail is away the kernel holds what is asked; the power goes before that is over.
      const filed = await Promise.race([file(f, n, 'u'), f.settle().then(() => undefined)])
      if (!filed?.ok) break
      acknowledged.push(filed.value)
    }
    const random = seededRandom(after + 1)
    const disks = { trail: f.disks.trail.crash(random), blobs: f.disks.blobs.crash(random) }
    const g = await withUsers({ libraryEntries: 26, disks, ids: f.ids })
    const found = await records(g)
    expect(found.slice(0, acknowledged.length).map(([at]) => at)).toEqual(acknowledged.map(({ at }) => at))
    expect(found.map(([, n]) => n)).toEqual(found.map((_, n) => n))
    expect(found.length).toBeLessThanOrEqual(acknowledged.length + 1)
    const next = unwrap(await file(g, found.length, 'u'))
    expect(next.at).toBeGreaterThan(found.at(-1)?.[0] ?? 0)
    expect(await records(g)).toEqual([...found, [next.at, found.length, 'u']])
    const open = (await g.trail.runs()).filter(({ ended }) => !ended).map(({ run }) => run)
    const libraries = (await g.runtime.library.parts(0)).map(({ run }) => run)
    expect(open.filter(run => libraries.includes(run))).toEqual(libraries.slice(-1))
    expect(g.runtime.halted.size).toBe(0)
  },
)

test('where the trail cannot be written a record is refused, nothing of it is there, and later ones go through', async () => {
  const f = await withUsers()
  const first = unwrap(await file(f, 1, 'u'))
  f.disks.trail.fail('write', { times: Number.POSITIVE_INFINITY })
  expect(refused(await file(f, 3, 'u'))).toBe('trail_unavailable')
  f.disks.trail.mend()
  const pending = file(f, 5, 'u')
  await f.advance(2000)
  const second = unwrap(await pending)
  expect(await records(f)).toEqual([
    [first.at, 1, 'u'],
    [second.at, 5, 'u'],
  ])
})

test('W-TRAIL-28 the library is exempt from deletion: it is compacted and cold, and all of it can be read', async () => {
  const f = await withUsers({ libraryEntries: 30, storage: { compactAfter: 60_000, warm: DAY, cold: DAY } })
  for (let n = 0; n < 20; n++) unwrap(await file(f, n, 'u'))
  const found = await records(f)
  const [first] = await f.runtime.library.parts(0)
  // As covered as anything can be before it is deleted.
  unwrap(await f.runtime.storage.snapshot(first!.run))
  unwrap(await f.run.close())
  for (let day = 0; day < 6; day++) {
    await f.advance(DAY)
    await f.settle()
  }
  const cold = () => f.disks.trail.list(`cold/${first!.run}`)
  await vi.waitFor(() => expect(cold()).toContain('run.json'), { timeout: 10_000, interval: 5 })
  // A run of somebody's, compacted at the same time, loses what its retention does not cover any more.
  for (let day = 0; day < 6; day++) {
    await f.advance(DAY)
    await f.settle()
  }
  expect(f.runtime.storage.status().faults).toEqual([])
  expect((await f.trail.tiers()).deleted).toBeLessThanOrEqual((await f.run.entries()).length)
  expect(await records(f)).toEqual(found)
  await f.reopen()
  expect(await records(f)).toEqual(found)
  expect((await f.trail.run(first!.run).verify()).findings).toEqual([])
})

test('a library that is damaged keeps neither the node nor other runs from working, and is not replaced', async () => {
  const profile = temporaryProfile()
  const f = await withUsers({ profile })
  unwrap(await file(f, 1, 'u'))
  const library = await current(f)
  f.clock.advance(1000)
  await f.reopen(() =>
    tamper(profile, all =>
      all.map(each =>
        each.run === library && each.kind === 'entry' && each.seq === 4
          ? edited(each, '"event_type"', '"event-type"')
          : each,
      ),
    ),
  )
  expect(f.runtime.active).toEqual([f.run.id])
  expect(refused(await file(f, 2, 'u'))).toBe('trail_damaged')
  expect(refused(await f.runtime.library.run())).toBe('trail_damaged')
  await expect(f.runtime.library.parts(0)).rejects.toMatchObject({ code: 'trail_damaged' })
  expect(await f.trail.runs()).toHaveLength(3)
  unwrap(await f.runtime.users.accept({ user: 'v', method: 'password' }))
})

test('a library that the machine keeps from being read is neither replaced nor driven, and goes on once it can be read', async () => {
  const f = await withUsers()
  const first = unwrap(await file(f, 1, 'u'))
  const library = await current(f)
  const readable = Object.getPrototypeOf(f.trail.run(library)) as { replay: RunTrail['replay'] }
  const { replay } = readable
  onTestFinished(() => {
    readable.replay = replay
  })
  readable.replay = function (this: RunTrail, ...options) {
    if (this.id === library)
      throw Object.assign(new Error('EIO: i/o error'), { code: 'EIO', errno: -5, syscall: 'read' })
    return replay.apply(this, options)
  }
  await f.reopen()
  expect(f.runtime.active).toEqual([f.run.id])
  expect(refused(await file(f, 2, 'u'))).toBe('trail_unavailable')
  await expect(f.runtime.library.parts(0)).rejects.toMatchObject({ code: 'trail_unavailable', retryable: true })
  readable.replay = replay
  const second = unwrap(await file(f, 2, 'u'))
  expect(await records(f)).toEqual([
    [first.at, 1, 'u'],
    [second.at, 2, 'u'],
  ])
  expect(await current(f)).toBe(library)
  expect(f.runtime.active).toEqual([f.run.id])
})

test('a library whose newest run is gone, as after a restore, goes on behind what is left and gives no position twice', async () => {
  const profile = temporaryProfile()
  const f = await withUsers({ profile, libraryEntries: 30 })
  const filed: FiledRecord[] = []
  for (let n = 0; n < 10; n++) filed.push(unwrap(await file(f, n, 'u')))
  const before = await records(f)
  const parts = await f.runtime.library.parts(0)
  const newest = parts.at(-1)!
  f.clock.advance(1000)
  await f.reopen(() => tamper(profile, all => all.filter(({ run }) => run !== newest.run), { removeHeads: true }))
  const left = before.filter(([at]) => at <= newest.base)
  expect(left.length).toBeGreaterThan(0)
  expect(left.length).toBeLessThan(before.length)
  expect(await records(f)).toEqual(left)
  const next = unwrap(await file(f, 10, 'u'))
  expect(next.at).toBeGreaterThan(filed.at(-1)!.at)
  expect(await records(f)).toEqual([...left, [next.at, 10, 'u']])
  const now = await f.runtime.library.parts(0)
  expect(now.slice(0, -1)).toEqual(parts.slice(0, -1))
  await f.reopen()
  expect(await f.runtime.library.parts(0)).toEqual(now)
})
