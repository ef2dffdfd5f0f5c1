// Proofs by the secret of the profile (W-SEC-07, -09, -10), also over what lies at rest (W-SEC-16).
import { createHmac, hkdfSync } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  type CheckpointId,
  canonicalize,
  type EnvelopeId,
  type RunId,
  SeededIds,
  type Ticks,
  unwrap,
  type WorkspaceId,
} from '@parley/core'
import type { StoredRecord } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import { forgeMemoryLog, openMemoryStore } from '@parley/trail/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Batch } from '../batch.ts'
import { type CheckpointRecord, proveCheckpoint } from '../checkpoint/checkpoint.ts'
import type { Envelope, EnvelopeRecord } from '../envelope/envelope.ts'
import { arrivalViolation, sealed } from '../envelope/proof.ts'
import { kernelLimits } from '../limits.ts'
import { newRun } from '../run/run.ts'
import { gateOf } from '../testing/conflicts.ts'
import { type Fixture, type FixtureOptions, fixture, refused } from '../testing/fixture.ts'
import { MemoryStates } from '../testing/host.ts'
import { keyedProofs, PROOF_ALGORITHM } from './keyed.ts'
import { violationOf } from './proofs.ts'

const proofs = keyedProofs(new Uint8Array(32).fill(7))
const batch = new Batch(newRun('run' as RunId), { now: 1 as Ticks, ids: new SeededIds(1), proofs })

const text = fc.string({ unit: 'grapheme', maxLength: 12 })
const json = fc.jsonValue({ maxDepth: 2, noUnicodeString: false })

const envelope: fc.Arbitrary<EnvelopeRecord> = fc.record({
  id: text as fc.Arbitrary<EnvelopeId>,
  from: text as fc.Arbitrary<WorkspaceId>,
  to: text as fc.Arbitrary<WorkspaceId>,
  type: text,
  payload: fc.record({ format: text, content: text, attachments: fc.array(json, { maxLength: 3 }) }),
  in_reply_to: fc.option(text) as fc.Arbitrary<EnvelopeId | null>,
  rights: fc.array(fc.record({ type: fc.constantFrom('send', 'send_once'), target: text }), { maxLength: 2 }),
  priority: fc.constantFrom('normal', 'urgent', 'blocking'),
  timestamp: text,
  origin: fc.constantFrom('agent', 'human'),
  originator: text,
})

const checkpoint: fc.Arbitrary<CheckpointRecord> = fc.record(
  {
    id: text as fc.Arbitrary<CheckpointId>,
    workspace: text as fc.Arbitrary<WorkspaceId>,
    type: text,
    payload: fc.record({
      files_changed: fc.array(text, { maxLength: 3 }),
      content: text,
      artifacts: fc.array(fc.record({ artifact_id: text, name: text }), { maxLength: 2 }),
      extra: json,
    }),
    intent: text,
    parent: fc.option(text) as fc.Arbitrary<CheckpointId | null>,
    status: fc.constantFrom('provisional', 'final'),
    confidence: fc.constantFrom('high', 'medium', 'low'),
    resource_usage: fc.record({ tokens_consumed: fc.nat(), wall_time: fc.nat(), cost: fc.nat() }),
    timestamp: text,
  },
  { requiredKeys: ['id', 'workspace', 'type', 'payload', 'intent', 'parent', 'status', 'confidence', 'timestamp'] },
)

/** A change somewhere in a record: a value becomes another one, goes away, or one is added. */
interface Change {
  readonly place: number
  readonly kind: 'replace' | 'remove' | 'add'
  readonly value: unknown
}

const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(),
  kind: fc.constantFrom('replace', 'remove', 'add'),
  value: json,
})

/** All containers in a value, itself among them. */
function* containers(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  yield value as Record<string, unknown>
  for (const each of Object.values(value)) yield* containers(each)
}

function changed<T extends object>(record: T, { place, kind, value }: Change, spared: string): T {
  const { [spared]: kept, ...copy } = structuredClone(record) as Record<string, unknown>
  const places = [...containers(copy)].flatMap(container =>
    Object.keys(container).map(key => [container, key] as const),
  )
  const [container, key] = places[place % places.length]!
  if (kind === 'replace') container[key] = value
  else if (Array.isArray(container)) container.splice(Number(key), 1, ...(kind === 'add' ? [1, value] : []))
  else if (kind === 'add') container[`${key}2`] = value
  else delete container[key]
  return { ...copy, [spared]: kept } as T
}

test('AMB-17 whatever is changed in an envelope breaks its proof', () => {
  fc.assert(
    fc.property(envelope, change, (made, how) => {
      const record = sealed(batch, made)
      const known = { id: record.id, from: record.from, record } as Envelope
      expect(arrivalViolation(batch, known)).toBeUndefined()
      expect(arrivalViolation(batch, known, structuredClone(record))).toBeUndefined()
      expect(arrivalViolation(batch, known, { ...record, status: 'validated' })).toBeUndefined()
      const forged = changed(record, how, 'integrity')
      fc.pre(canonicalize(forged) !== canonicalize(record))
      const { integrity } = record
      expect(arrivalViolation(batch, known, forged)).toMatchObject({
        violation: 'hash_mismatch',
        expected: integrity?.proof,
      })
      // The same where the record itself was changed in the store, its proof or not.
      expect(arrivalViolation(batch, { ...known, record: forged })?.violation).toBe('hash_mismatch')
    }),
    { numRuns: 500 },
  )
})

test('W-SEC-09 whatever is changed in the content of a checkpoint breaks its proof', () => {
  fc.assert(
    fc.property(checkpoint, change, (record, how) => {
      const recorded = proveCheckpoint(proofs, record.workspace, record) ?? undefined
      expect(violationOf(recorded, proveCheckpoint(proofs, record.workspace, structuredClone(record)))).toBeUndefined()
      const forged = changed(record, how, 'timestamp')
      fc.pre(canonicalize(forged) !== canonicalize(record))
      expect(violationOf(recorded, proveCheckpoint(proofs, record.workspace, forged))?.violation).toBe('hash_mismatch')
    }),
    { numRuns: 500 },
  )
})

test('a proof belongs to one workspace and one secret, and is the same whenever it is made', () => {
  const [one, other] = ['ws_1', 'ws_2'] as WorkspaceId[]
  const value = { b: 1, a: [true, 'ü'] }
  const proof = proofs.prove(one!, value)
  expect(proof).toEqual({ proof: expect.stringMatching(/^[0-9a-f]{64}$/), algorithm: PROOF_ALGORITHM })
  expect(proofs.prove(one!, { a: [true, 'ü'], b: 1 })).toEqual(proof)
  expect(proofs.prove(other!, value).proof).not.toBe(proof.proof)
  expect(keyedProofs(new Uint8Array(32).fill(8)).prove(one!, value).proof).not.toBe(proof.proof)
  // Keys that fell out of the cache are derived again.
  for (let at = 0; at <= kernelLimits.proofKeys; at++) proofs.prove(`ws_${at + 10}` as WorkspaceId, 1)
  expect(proofs.prove(one!, value)).toEqual(proof)
  expect(keyedProofs(new Uint8Array(32).fill(7)).prove(one!, value)).toEqual(proof)
})

test('a secret that is too short is refused', () => {
  expect(() => keyedProofs(new Uint8Array(31))).toThrow(/31 bytes; it needs at least 32/)
})

test('W-SEC-10 what no proof was recorded for, or what nothing can be read of, is a violation', () => {
  const recorded = { proof: 'aa', algorithm: PROOF_ALGORITHM }
  expect(violationOf(undefined, recorded)).toEqual({ violation: 'proof_missing', expected: null, actual: null })
  expect(violationOf(recorded, null)).toEqual({ violation: 'hash_mismatch', expected: 'aa', actual: null })
  expect(violationOf(recorded, { proof: 'aa', algorithm: 'other' })?.violation).toBe('signature_invalid')
  let deep: unknown = 'deep'
  for (let level = 0; level < 2000; level++) deep = [deep]
  const record = { workspace: 'ws_1', payload: deep } as unknown as CheckpointRecord
  expect(proveCheckpoint(proofs, record.workspace, record)).toBeNull()
})

test.each([32, 64, 100])(
  'W-SEC-07 a proof is HMAC-SHA-256 with a key that HKDF makes of a secret of %i bytes and the workspace',
  length => {
    const secret = new Uint8Array(length).fill(7)
    const value = { b: 'ä', a: [1, null] }
    const key = new Uint8Array(hkdfSync('sha256', secret, '', 'parley workspace proof ws_1', 32))
    const proof = createHmac('sha256', key).update(canonicalize(value)).digest('hex')
    expect(keyedProofs(secret).prove('ws_1' as WorkspaceId, value)).toEqual({ proof, algorithm: PROOF_ALGORITHM })
  },
)

const secret = new Uint8Array(32).fill(42)
const CREATING = { gates: { task_approval: false, workspace_create: true } } as never

type StoredObject = Extract<StoredRecord, { kind: 'object' }>
type Rewriting = (object: StoredObject) => StoredObject | undefined

/** Somebody with access to the store changes objects of the run, or takes them away; then the runtime opens again. */
async function rewritten(f: Fixture, kind: string, how: Rewriting): Promise<void> {
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
  (from: string | RegExp, to: string): Rewriting =>
  object => ({ ...object, data: object.data.replace(from, to) })

const stripped: Rewriting = object => ({ ...object, data: object.data.replace(/^mac:1:[^:]*:[^:]*:/, '') })

/** The run takes nothing, and the house says why, once, however often the runtime is opened. */
async function expectHalted(f: Fixture, object?: string): Promise<void> {
  for (const time of ['first', 'second']) {
    if (time === 'second') await f.reopen()
    expect(f.runtime.halted.get(f.run.id)).toMatchObject({ code: 'run_halted', cause: { code: 'content_damaged' } })
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
  await rewritten(f, 'gate', put('"resources":["docs"]', '"resources":["*"]'))
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
    await rewritten(f, kind, put(from, to))
    await expectHalted(f)
    expect([...f.runtime.halted.keys()]).not.toContain(other.id)
    expect(refused(await f.runtime.open(other.id))).toBe('ok')
  })
})

describe('WX-058 a proof cannot be taken away', () => {
  const ways: readonly (readonly [string, Rewriting])[] = [
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
    await rewritten(f, 'highway', how)
    expect(f.runtime.halted.get(f.run.id)?.code).toBe('run_halted')
  })
})

test('WX-058 another kind does not let changed content in', async () => {
  const { f } = await busy()
  await rewritten(f, 'memory', object => ({ ...put('"one"', '"two"')(object)!, objectKind: 'checkpoint' }))
  await expectHalted(f)
})

test('WX-059 a run that was begun without proofs goes on, says from where on there are some, and loses none of them', async () => {
  const options: { secret?: Uint8Array } & FixtureOptions = { level: 1, run: { context: { note: 'of the run' } } }
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
  await rewritten(f, 'memory', object =>
    object.data.includes('"two"') ? stripped(object) : put('"one"', '"1"')(object),
  )
  await expectHalted(f)
})

test('WX-060 what is read by itself is checked as well, and the run goes on', async () => {
  const { f } = await busy({ stateCache: new MemoryStates(), stateCacheEntries: 1 })
  await rewritten(f, 'memory', put('"one"', '"two"'))
  const run = unwrap(await f.runtime.open(f.run.id))
  const worker = unwrap(await run.worker(f.id('W')))
  expect(refused(await worker.readMemory('note'))).toBe('content_damaged')
  expect(await violations(f, run.id)).toMatchObject([{ subject_type: 'trail_entry', action_taken: 'flagged' }])
})
