// The state cache makes opening fast and changes nothing else, whatever becomes of it.
import { isDeepStrictEqual } from 'node:util'
import { ManualClock, type ObjectId, type RunId, SeededIds, unwrap } from '@parley/core'
import { Trail } from '@parley/trail'
import { openMemoryStore } from '@parley/trail/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StateProof } from '../integrity/state-proof.ts'
import { kernelDefaults } from '../limits.ts'
import { type Fixture, type FixtureOptions, fixture, withWorker } from '../testing/fixture.ts'
import { MemoryStates } from '../testing/host.ts'
import { anyStep, commandOf, prologue, randomTaxonomy, type Step } from '../testing/random-commands.ts'
import { type Replayed, replay } from './actor/recover.ts'
import { StateCache } from './actor/state-cache.ts'
import type { Pieces } from './actor/state-graph.ts'

const SECRET = new Uint8Array(32).fill(42)
const OTHER = SECRET.map(byte => byte + 1)
const RUNS = process.env.PARLEY_SOAK ? 300 : 12

interface Opened extends Replayed {
  readonly faults: readonly unknown[]
  readonly trail: object
}

/** What a process that begins now would make of the run, from kept states or without any. */
async function opened(f: Fixture, store?: MemoryStates): Promise<Opened> {
  const trail = new Trail({ store: await openMemoryStore(f.disks) }).run(f.run.id)
  const faults: unknown[] = []
  const states = store && cacheOf(f, store, trail, faults)
  return { ...(await replay({ id: f.run.id, trail, states })), faults, trail: trail.state()! }
}

function cacheOf(f: Fixture, store: MemoryStates, trail = f.trail.run(f.run.id), faults: unknown[] = []): StateCache {
  const onFault = (cause: unknown) => faults.push(cause)
  const proof = new StateProof(SECRET)
  return new StateCache({ id: f.run.id, trail, clock: new ManualClock(), store, proof, entries: 1, onFault })
}

/** Keeps the state as it is now. */
async function keep(f: Fixture, store: MemoryStates): Promise<void> {
  await f.settle()
  const cache = cacheOf(f, store)
  await f.run.read(run => cache.keep(run))
}

function only(content: Uint8Array, run: RunId): MemoryStates {
  const store = new MemoryStates()
  store.kept.set(run, content)
  return store
}

/** What was kept, without its proof. */
function contentOf(run: RunId, store: MemoryStates): Uint8Array {
  return atOnce(new StateProof(SECRET).open(run, store.saved[0]!.content))!
}

function sealed(run: RunId, content: Uint8Array, secret = SECRET): Uint8Array {
  return atOnce(new StateProof(secret).seal(run, content))
}

const edited = (content: Uint8Array, from: string | RegExp, to: string) =>
  Buffer.from(Buffer.from(content).toString('latin1').replace(from, to), 'latin1')

function atOnce<T>(work: Pieces<T>): T {
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value
}

/** A run with mail, memory, a task and a checkpoint. */
async function worked(options: FixtureOptions = {}): Promise<Fixture> {
  const f = await withWorker({ secret: SECRET, ...options })
  await f.checkpoint('W')
  unwrap(await f.root.submitGraph([{ name: 'a', description: 'do it' }]))
  unwrap(await f.agent('W').writeMemory('note', 'one'))
  await f.settle()
  return f
}

async function expectSame(f: Fixture, one: Opened): Promise<void> {
  const whole = await opened(f)
  expect(isDeepStrictEqual(one.run, whole.run), 'both states are the same').toBe(true)
  expect(one.trail).toEqual(whole.trail)
  expect(one.trace.floor).toBe(whole.trace.floor)
}

async function askSome(f: Fixture, steps: readonly Step[]): Promise<void> {
  const commands = await f.run.read(run => steps.map(step => commandOf(run, step)))
  for (const command of commands) void f.run.submit(command)
  await f.settle()
}

test('from whatever point a state was kept, it and what came later are the state of the whole run', async () => {
  const some = fc.array(anyStep, { minLength: 1, maxLength: 6, size: 'max' })
  const cuts = async (parts: readonly (readonly Step[])[]) => {
    const f = await fixture({ run: { taxonomy: randomTaxonomy }, active: false })
    const store = new MemoryStates()
    const begin = await f.run.read(run => prologue(run))
    for (const command of begin) await f.run.submit(command)
    for (const steps of parts) {
      await keep(f, store)
      await askSome(f, steps)
    }
    const length = await f.run.read(run => run.seq)
    expect(store.saved.length).toBeGreaterThan(0)
    for (const { content } of store.saved) {
      const from = await opened(f, only(content, f.run.id))
      expect(from.faults).toEqual([])
      expect(from.trace.examined).toBeLessThan(length)
      await expectSame(f, from)
    }
    await f.runtime.close()
    await f.trail.close()
  }
  await fc.assert(fc.asyncProperty(fc.array(some, { minLength: 1, maxLength: 6 }), cuts), { numRuns: RUNS })
})

test('objects without an entry are neither lost nor taken twice', async () => {
  const f = await worked()
  const store = new MemoryStates()
  await keep(f, store)
  const before = (await f.run.entries()).length
  unwrap(await f.agent('W').writeMemory('note', 'two'))
  await keep(f, store)
  unwrap(await f.agent('W').writeMemory('other', 'three'))
  expect(await f.run.entries()).toHaveLength(before)
  for (const { content } of store.saved) {
    const from = await opened(f, only(content, f.run.id))
    expect(from.faults).toEqual([])
    await expectSame(f, from)
  }
})

describe('a state is passed over, and said to be once', () => {
  type Spoil = (content: Uint8Array, f: Fixture) => Uint8Array | Promise<Uint8Array>
  const spoiled: readonly (readonly [string, Spoil])[] = [
    ['that is empty', () => new Uint8Array()],
    ['that is cut off', content => content.subarray(0, content.length / 2)],
    ['that is noise', content => content.map((byte, index) => (index % 7 === 0 ? byte ^ 0x55 : byte))],
    ['of another version', content => edited(content, /state \d/, 'state 0')],
    [
      'of another run',
      async () => {
        const other = await worked({ ids: new SeededIds(8) })
        const store = new MemoryStates()
        await keep(other, store)
        return contentOf(other.run.id, store)
      },
    ],
  ]
  test.each(spoiled)('%s', async (_what, spoil) => {
    const f = await worked()
    const store = new MemoryStates()
    await keep(f, store)
    const content = await spoil(contentOf(f.run.id, store), f)
    const from = await opened(f, only(sealed(f.run.id, content), f.run.id))
    expect(from.faults).toHaveLength(1)
    await expectSame(f, from)
  })

  const proof = /no valid proof/
  const forged: readonly (readonly [string, (kept: Uint8Array, run: RunId) => Uint8Array])[] = [
    ['was changed', kept => edited(kept, 'docs', '*all')],
    ['has no proof', (kept, _run) => kept.subarray(32)],
    ['is shorter than a proof', kept => kept.subarray(0, 31)],
    ['has the proof of another run', (kept, run) => sealed(`${run}x` as RunId, kept.subarray(32))],
    ['another secret proved', (kept, run) => sealed(run, kept.subarray(32), OTHER)],
  ]
  test.each(forged)('WX-053 that %s', async (_what, forge) => {
    const f = await worked()
    await f.workspace('V', { resources: ['docs'] })
    const store = new MemoryStates()
    await keep(f, store)
    const kept = store.saved[0]!.content
    const content = forge(kept, f.run.id)
    expect(Buffer.from(kept).equals(content)).toBe(false)
    const from = await opened(f, only(content, f.run.id))
    expect(from.faults).toMatchObject([{ code: 'state_cache_unusable', message: expect.stringMatching(proof) }])
    expect(from.run.workspaces.get(f.id('V'))?.authority.resources).toEqual(['docs'])
    await expectSame(f, from)
  })

  test('that is ahead of the trail', async () => {
    // Ids and times are the same in both, so this is one run that was rolled back.
    const [f, further] = [await worked(), await worked()]
    expect(further.run.id).toBe(f.run.id)
    const store = new MemoryStates()
    await further.checkpoint('W')
    await keep(further, store)
    const from = await opened(f, store)
    expect(from.faults).toMatchObject([{ code: 'state_cache_unusable' }])
    await expectSame(f, from)
  })

  test('that cannot be read at all', async () => {
    const f = await worked()
    const store = new MemoryStates()
    store.load = () => Promise.reject(new Error('the disk is away'))
    const from = await opened(f, store)
    expect(from.faults).toEqual([new Error('the disk is away')])
    await expectSame(f, from)
  })
})

test('a state that changes before it is written out is not kept', async () => {
  const f = await worked()
  const store = new MemoryStates()
  const cache = cacheOf(f, store)
  const kept = f.run.read(run => cache.keep(run))
  // It has begun by now, and waits for others to have their turn.
  for (let turn = 0; turn < 10; turn++) await null
  cache.changing()
  await kept
  expect(store.saved).toEqual([])
  await f.run.read(run => cache.keep(run))
  expect(store.saved).toHaveLength(1)
})

describe('a runtime keeps states', () => {
  const ENTRIES = 16

  async function busy(entries = ENTRIES): Promise<{ f: Fixture; states: MemoryStates }> {
    const states = new MemoryStates()
    const f = await worked({ stateCache: states, stateCacheEntries: entries })
    return { f, states }
  }

  /** The entries that the last recovery read. */
  async function examined(f: Fixture): Promise<unknown> {
    const marker = (await f.run.entries()).findLast(each => each.event_type === 'recovery_completed')
    return (marker!.body as { trail_entries_examined: number }).trail_entries_examined
  }

  test('once a run with enough news has come to rest, and not before', async () => {
    const { f, states } = await busy()
    await f.advance(kernelDefaults.stateCacheRest - 1)
    expect(states.saved).toEqual([])
    await f.checkpoint('W')
    await f.advance(1)
    expect(states.saved).toEqual([])
    await f.advance(kernelDefaults.stateCacheRest)
    expect(states.saved).toMatchObject([{ run: f.run.id }])
    await f.advance(10 * kernelDefaults.stateCacheRest)
    expect(states.saved).toHaveLength(1)
    await expectSame(f, await opened(f, states))
  })

  test('of a run that never rests, too', async () => {
    const { f, states } = await busy(4)
    for (let round = 0; round < 20 && states.saved.length < 2; round++) await f.checkpoint('W')
    expect(states.saved.length).toBeGreaterThanOrEqual(2)
    for (const { content } of states.saved) await expectSame(f, await opened(f, only(content, f.run.id)))
  })

  test('when it stops in good order; the next one then reads only what came later', async () => {
    const { f, states } = await busy()
    const picture = await f.picture()
    const written = (await f.run.entries()).length
    await f.restart()
    expect(states.saved.filter(({ run }) => run === f.run.id)).toHaveLength(1)
    expect(await examined(f)).toBe(0)
    expect(await f.picture()).toEqual(picture)
    // From here on it is as if the process were killed: what it kept before stays.
    states.save = async () => undefined
    await f.checkpoint('W')
    await f.restart()
    const entries = await f.run.entries()
    expect(await examined(f)).toBe(entries.findLastIndex(each => each.event_type === 'recovery_completed') - written)
    expect(entries.length - written).toBeGreaterThan(2)
    expect((await f.trail.run(f.run.id).verify()).findings).toEqual([])
  })

  test('not where somebody else has written to the trail', async () => {
    const { f, states } = await busy()
    const value = { workspace: f.id('W'), key: 'note', value: 'of somebody else' }
    const note = { id: f.ids.next('obj') as ObjectId, kind: 'memory', value }
    unwrap(await f.trail.run(f.run.id).append({ entries: [], objects: [note] }))
    await f.checkpoint('W')
    await f.restart()
    expect(states.saved.map(({ run }) => run)).not.toContain(f.run.id)
    await f.force('W', 'migrating')
    await expectSame(f, await opened(f, states))
    expect((await f.run.read(run => run.workspaces.get(f.id('W'))))?.memory?.get('note')).toBe(note.id)
  })

  test('not of short runs, and none of a run that has ended', async () => {
    const { f, states } = await busy(10_000)
    await f.restart()
    expect(states.saved).toEqual([])
    const other = await busy()
    await other.f.advance(2 * kernelDefaults.stateCacheRest)
    expect([...other.states.kept.keys()]).toContain(other.f.run.id)
    unwrap(await other.f.run.stop())
    await other.f.settle()
    expect([...other.states.kept.keys()]).not.toContain(other.f.run.id)
  })

  test('and begins with one when a commit failed and the state is read back', async () => {
    const { f, states } = await busy()
    await f.advance(2 * kernelDefaults.stateCacheRest)
    const picture = await f.picture()
    expect(states.loads).toBe(0)
    f.disks.trail.fail('write', { times: 100 })
    expect((await f.checkpoint('W')).ok).toBe(false)
    f.disks.trail.mend()
    expect(states.loads).toBe(1)
    expect(await f.picture()).toEqual(picture)
  })

  test('WX-053 none without a secret', async () => {
    const states = new MemoryStates()
    const f = await withWorker({ level: 1, stateCache: states, stateCacheEntries: 1 })
    await f.advance(5 * kernelDefaults.stateCacheRest)
    await f.restart()
    expect(states.saved).toEqual([])
    expect(await examined(f)).toBeGreaterThan(0)
  })

  test('and does without where they cannot be kept', async () => {
    const states = new MemoryStates()
    states.save = () => Promise.reject(new Error('no space left'))
    const faults: unknown[] = []
    const onStateCacheFault = (cause: unknown) => faults.push(cause)
    const f = await worked({ stateCache: states, stateCacheEntries: ENTRIES, onStateCacheFault })
    await f.advance(5 * kernelDefaults.stateCacheRest)
    expect(faults).toEqual([new Error('no space left')])
    await f.checkpoint('W')
    const picture = await f.picture()
    await f.restart()
    expect(await f.picture()).toEqual(picture)
  })
})
