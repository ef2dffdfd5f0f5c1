// Opening a runtime: one at a time over a trail (W-CONC-08), what it reads of each run, and what it checks (W-REC-12).
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { asParleyError, type EntryId, formatTimestamp, type RunId, unwrap } from '@parley/core'
import { fileStateCache, type StateCacheStore, type StoredRecord, stamp, Trail, type TrailStore } from '@parley/trail'
import { openMemoryStore, openSegmentStore, type StoredEntry, tamper } from '@parley/trail/testing'
import { expect, onTestFinished, test } from 'vitest'
import { type Fixture, type FixtureOptions, fixture, withWorker } from '../testing/fixture.ts'
import { rewrite } from '../testing/foreign.ts'
import { GUARDS } from '../testing/host.ts'
import { temporaryProfile } from '../testing/profile.ts'
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
  const profile = temporaryProfile()
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

/** A run on a signed trail, with a worker and some checkpoints. */
async function signed(options: (profile: string) => FixtureOptions = () => ({})): Promise<Fixture> {
  const profile = temporaryProfile()
  const f = await fixture({ profile, ...options(profile) })
  const worker = await f.workspace('W', { directive: { format: 'markdown', content: 'work' } })
  unwrap(await worker.receive())
  for (let count = 0; count < 5; count++) unwrap(await f.checkpoint('W'))
  return f
}

/** Changes one entry of the run, the one with this `seq`. */
function changed(f: Fixture, seq: number, change: (entry: StoredEntry) => StoredEntry) {
  return (records: readonly StoredRecord[]) =>
    records.map(record =>
      record.kind === 'entry' && record.run === f.run.id && record.seq === seq ? change(record) : record,
    )
}

const withOtherSignature = (entry: StoredEntry): StoredEntry => ({
  ...entry,
  signature: `${entry.signature!.startsWith('0') ? '1' : '0'}${entry.signature!.slice(1)}`,
})

test('W-REC-12 a signature that does not fit halts its run, and no other', async () => {
  const f = await signed()
  const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
  await f.reopen(() => tamper(f.options.profile!, changed(f, 7, withOtherSignature)))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/entry 7 .* has a signature that does not fit/)
  expect(f.runtime.active).toEqual([other.id])
})

test('W-REC-12 an entry without the signature that its run has halts it', async () => {
  const f = await signed()
  const bare = ({ signature: _signature, signer: _signer, ...entry }: StoredEntry): StoredEntry => entry
  await f.reopen(() => tamper(f.options.profile!, changed(f, 7, bare)))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/entry 7 .* is not signed, though its run is/)
})

test('W-REC-12 a local trail that was put in order again halts its run, though every link holds', async () => {
  const f = await withWorker()
  for (let count = 0; count < 3; count++) unwrap(await f.checkpoint('W'))
  const at = (await f.run.entries()).findLast(each => each.event_type === 'checkpoint_created')!.seq
  await f.settle()
  await f.reopen(() => rewrite(f, records => anchoredElsewhere(records, at)))
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(`entry ${at} `)
  expect(f.runtime.halted.get(f.run.id)?.message).toMatch(/does not match the local trail/)
})

/** Another anchor in one entry, and the global chain computed anew from there on. */
function anchoredElsewhere(records: readonly StoredRecord[], at: number): StoredRecord[] {
  let last: string | undefined
  return records.map(record => {
    if (record.kind !== 'entry' || record.seq < at) return record
    const anchor = /"local_hash":"[0-9a-f]{64}"/
    const moved = record.seq === at ? record.view.replace(anchor, `"local_hash":"${'0'.repeat(64)}"`) : record.view
    const view = last === undefined ? moved : moved.replace(/"prev_hash":"[0-9a-f]{64}"/, `"prev_hash":"${last}"`)
    last = hash('sha256', view, 'hex')
    return { ...record, view, hash: last }
  })
}

test('W-REC-12 what stands before a kept state is not looked at again; `verify` does that', async () => {
  const secret = new Uint8Array(32).fill(42)
  const f = await signed(profile => ({ secret, stateCache: fileStateCache(profile), stateCacheEntries: 1 }))
  await f.reopen()
  const run = unwrap(await f.runtime.open(f.run.id))
  unwrap(await run.coordinator.look(f.id('W')))
  await f.reopen(() => {
    tamper(f.options.profile!, changed(f, 7, withOtherSignature))
    f.clock.advance(1000)
  })
  expect(f.runtime.halted.size).toBe(0)
  const { findings } = await f.trail.run(f.run.id).verify()
  expect(findings.map(({ seq, damage }) => [seq, damage])).toEqual([[7, 'signature']])
})

const codeOf = (opened: Promise<unknown>) =>
  opened.then(
    () => 'opened',
    cause => asParleyError(cause).code,
  )

test('W-CONC-08 a second runtime over a trail that a live one holds is refused and changes nothing', async () => {
  const f = await withWorker()
  const house = await f.trail.run(f.runtime.house.run).head()
  expect(await codeOf(Runtime.open({ trail: f.trail, clock: f.clock, level: 1 }))).toBe('trail_in_use')
  await f.expectAdded([])
  expect(await f.trail.run(f.runtime.house.run).head()).toEqual(house)
  // The first one goes on, and whoever comes after it may have the trail.
  unwrap(await f.agent('W').blocked('waiting'))
  await f.runtime.close()
  const next = await Runtime.open({ trail: f.trail, clock: f.clock, level: 1 })
  // Closing is safe to repeat: it takes nothing from the next one.
  await f.runtime.close()
  expect(await codeOf(Runtime.open({ trail: f.trail, clock: f.clock, level: 1 }))).toBe('trail_in_use')
  await next.close()
})

test('W-CONC-08 two trails before one store have one writer as well; what could not be opened holds nothing', async () => {
  const store = await openMemoryStore()
  const [one, other] = [new Trail({ store }), new Trail({ store })]
  expect(await codeOf(Runtime.open({ trail: one, deployment: 'zero-trust' }))).not.toBe('trail_in_use')
  const runtime = await Runtime.open({ trail: one, level: 1 })
  expect(await codeOf(Runtime.open({ trail: other, level: 1 }))).toBe('trail_in_use')
  await runtime.close()
  await one.close()
})

const violated = (f: Fixture) =>
  f.expectAmong([['integrity_violation', null, 'protocol', { subject_id: 'E', action_taken: 'quarantined' }]])

test('W-CONC-08 opening finds a second checkpoint on the same place of the chain', async () => {
  const f = await withWorker()
  const first = unwrap(await f.checkpoint('W')).checkpoint
  const [object] = await objectsOf(f, first)
  await f.mark()
  const id = f.ids.next('cp')
  const again = { ...(object as { value: object }), id, value: { ...object!.value, id } }
  const entries = await f.run.entries()
  const made = entries.find(each => each.event_type === 'checkpoint_created')!
  const timestamp = formatTimestamp(f.runtime.clock.take())
  const body = { ...made.body, checkpoint_id: id, timestamp }
  const entry = { ...stamp({ ...made, body } as never, f.ids.next('e') as EntryId, timestamp) }
  unwrap(await f.trail.run(f.run.id).append({ entries: [entry], objects: [again as never] }))
  f.name(entry.id, 'E')
  await f.restart()
  await violated(f)
  expect(unwrap(await f.agent('W').look()).register.map(each => each.id)).toEqual([first])
})

async function objectsOf(f: Fixture, id: string) {
  const found: { id: string; value: object }[] = []
  for await (const record of f.trail.run(f.run.id).replay())
    if (!('event_type' in record) && record.id === id) found.push(record as never)
  return found
}
