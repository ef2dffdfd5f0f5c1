// Objects that were changed in the store under `single-runtime` (W-SEC-16): nothing of them becomes a part of the
// state, and that is on record.
import { isDeepStrictEqual } from 'node:util'
import { type RunId, unwrap, type WorkspaceId } from '@parley/core'
import type { StoredRecord } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import { forgeMemoryLog, openMemoryStore } from '@parley/trail/testing'
import { describe, expect, test } from 'vitest'
import { gateOf } from '../testing/conflicts.ts'
import { type Fixture, type FixtureOptions, fixture, refused } from '../testing/fixture.ts'
import { MemoryStates } from '../testing/states.ts'

const secret = new Uint8Array(32).fill(42)
const CREATING = { gates: { task_approval: false, workspace_create: true } } as never

type StoredObject = Extract<StoredRecord, { kind: 'object' }>
type Change = (object: StoredObject) => StoredObject | undefined

/** Somebody with access to the store changes objects of the run, or takes them away; then the runtime opens again. */
async function change(f: Fixture, kind: string, how: Change): Promise<void> {
  let count = 0
  const changed = (record: StoredRecord): StoredRecord[] => {
    if (record.kind !== 'object' || record.objectKind !== kind || record.run !== f.run.id) return [record]
    const made = how(record)
    if (!isDeepStrictEqual(made, record)) count++
    return made ? [made] : []
  }
  await f.reopen(async () => {
    const store = await openMemoryStore(f.disks)
    const records: StoredRecord[] = []
    for (const { run } of await store.runs()) for await (const each of store.replay(run)) records.push(each)
    await store.close()
    f.disks = { trail: await forgeMemoryLog(records.flatMap(changed)), blobs: f.disks.blobs }
    f.clock.advance(1000)
  })
  expect(count).toBeGreaterThan(0)
}

/** Another text in what an object holds; its proof stays, since nobody can make another. */
const put =
  (from: string | RegExp, to: string): Change =>
  object => ({ ...object, data: object.data.replace(from, to) })

const stripped: Change = object => ({ ...object, data: object.data.replace(/^mac:1:[^:]*:[^:]*:/, '') })

/** The run takes nothing, and the house says why, once, however often the runtime is opened. */
async function expectHalted(f: Fixture, object?: string): Promise<void> {
  for (const time of ['first', 'second']) {
    if (time === 'second') await f.reopen()
    expect(f.runtime.halted.get(f.run.id)).toMatchObject({
      code: 'run_halted',
      cause: { code: 'content_damaged' },
    })
    expect(await violations(f, f.runtime.house.run)).toEqual([
      {
        subject_type: 'trail_entry',
        subject_id: object ?? expect.any(String),
        violation: 'hash_mismatch',
        expected: null,
        actual: null,
        action_taken: 'flagged',
      },
    ])
  }
}

async function violations(f: Fixture, run: RunId): Promise<EventBody<'integrity_violation'>[]> {
  const page = unwrap(await f.trail.run(run).query({ event_type: 'integrity_violation' }))
  return page.entries.map(({ body }) => body as EventBody<'integrity_violation'>)
}

/** A run with objects of most kinds, and a gate at which a creation waits. */
async function busy(options: FixtureOptions = {}): Promise<{ f: Fixture; gate: string }> {
  const f = await fixture({ secret, run: { highway: CREATING, context: { note: 'of the run' } }, ...options })
  const directive = { format: 'markdown', content: 'work' }
  const first = gateOf(await f.root.createWorkspace({ role: 'worker', directive }))
  const { result } = unwrap(await f.runtime.user('ux').approve(f.run.id, first))
  const worker = await f.adopt('W', (unwrap(result!) as { workspace: WorkspaceId }).workspace)
  await f.settle()
  unwrap(await worker.consume())
  unwrap(await worker.writeMemory('note', 'one'))
  unwrap(await f.root.submitGraph([{ name: 'a', description: 'do it' }]))
  unwrap(await f.run.meter(worker.workspace, { tokens: 5 }))
  const gate = gateOf(await f.root.createWorkspace({ role: 'worker', resources: ['docs'], directive }))
  await f.settle()
  return { f, gate }
}

test('W-SEC-16 a creation that was changed while it waited at its gate is not carried out', async () => {
  const { f, gate } = await busy()
  await change(f, 'gate', put('"resources":["docs"]', '"resources":["*"]'))
  await expectHalted(f, gate)
  expect(refused(await f.runtime.user('ux').approve(f.run.id, gate as never))).toBe('run_halted')
})

describe('W-SEC-16 an object that was changed at rest halts its run, and no other', () => {
  const changes: readonly (readonly [kind: string, from: string, to: string])[] = [
    ['highway', '"on":true', '"on":false'],
    ['settings', '"budget_warning":80', '"budget_warning":99'],
    ['context', 'of the run', 'of nothing'],
    ['memory', '"one"', '"two"'],
    ['task', 'do it', 'do not'],
    ['usage', '"tokens":5', '"tokens":0'],
  ]
  test.each(changes)('%s', async (kind, from, to) => {
    const { f } = await busy()
    const other = unwrap(await f.runtime.start({ owner: 'ux', highway: 'off' }))
    await change(f, kind, put(from, to))
    await expectHalted(f)
    expect([...f.runtime.halted.keys()]).not.toContain(other.id)
    expect(refused(await f.runtime.open(other.id))).toBe('ok')
  })
})

describe('WX-058 a proof cannot be taken away', () => {
  const ways: readonly (readonly [string, Change])[] = [
    ['from an object', stripped],
    ['with its object', () => undefined],
    [
      'by another kind',
      object => ({ ...object, objectKind: 'checkpoint', data: object.data.replace('true', 'false') }),
    ],
    ['by another id', object => ({ ...object, id: 'obj_other' as never })],
    [
      'by another place',
      object => ({ ...object, data: object.data.replace(/^mac:1:[^:]*:/, 'mac:1:0000000000000000:') }),
    ],
  ]
  test.each(ways)('%s', async (_way, how) => {
    const { f } = await busy()
    await change(f, 'highway', how)
    expect(f.runtime.halted.get(f.run.id)?.code).toBe('run_halted')
  })
})

test('WX-058 another kind does not let changed content in', async () => {
  const { f } = await busy()
  await change(f, 'memory', object => ({ ...put('"one"', '"two"')(object)!, objectKind: 'checkpoint' }))
  await expectHalted(f)
})

test('WX-058 a directive that was taken away before it was sent is missed', async () => {
  const { f } = await busy()
  await change(f, 'directive', () => undefined)
  await expectHalted(f)
})

test('WX-059 a run that was begun without proofs goes on, says from where on there are some, and loses none of them', async () => {
  const options: { secret?: Uint8Array } & FixtureOptions = {
    level: 1,
    run: { context: { note: 'of the run' } },
  }
  const f = await fixture(options)
  const worker = await f.worker('W')
  unwrap(await worker.writeMemory('old', 'one'))
  options.secret = secret
  await f.restart()
  await f.restart()
  const marks = unwrap(await f.trail.run(f.run.id).query({ event_type: 'recovery_completed' })).entries
  expect(marks.map(({ body }) => 'content_proof' in body)).toEqual([true, false])
  expect(unwrap(await f.agent('W').readMemory('old'))).toBe('one')
  unwrap(await f.agent('W').writeMemory('new', 'two'))
  await change(f, 'memory', object => (object.data.includes('"two"') ? stripped(object) : put('"one"', '"1"')(object)))
  await expectHalted(f)
})

test('WX-060 what is read by itself is checked as well, and the run goes on', async () => {
  const { f } = await busy({ stateCache: new MemoryStates(), stateCacheEntries: 1 })
  await change(f, 'memory', put('"one"', '"two"'))
  const run = unwrap(await f.runtime.open(f.run.id))
  const worker = unwrap(await run.worker(f.id('W')))
  expect(refused(await worker.readMemory('note'))).toBe('content_damaged')
  expect(await violations(f, run.id)).toMatchObject([{ subject_type: 'trail_entry', action_taken: 'flagged' }])
})
