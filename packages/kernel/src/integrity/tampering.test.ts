// Mail and checkpoints that were changed on their way or in the store (W-SEC-02, -07, -09, -10): found, on record,
// without effect.
import { type ObjectId, type Result, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { EnvelopeDraft } from '../envelope/envelope.ts'
import type { RunDraft } from '../run/start.ts'
import { type Fixture, fixture, refused, withWorker } from '../testing/fixture.ts'
import { arrived, rejected, send, withNotes } from '../testing/mail.ts'
import { changeObjects, deliveredOnDisk } from '../testing/profile.ts'
import { carriedFixture, carriedWorker } from '../testing/transport.ts'

const secret = new Uint8Array(32).fill(42)

/** Somebody with access to the disk changes the content of what is stored as one kind of object. */
async function changeStored(f: Fixture, kind: string, from: string, to: string): Promise<void> {
  let count = 0
  await f.restart(() =>
    changeObjects(f, kind, stored => {
      if (stored.includes(from)) count++
      return stored.replace(from, to)
    }),
  )
  expect(count).toBe(1)
  await f.mark()
}

async function inboxOf(f: Fixture, name: string): Promise<readonly string[]> {
  return unwrap(await f.agent(name).look()).inbox
}

function envelopeOf(result: Result<unknown>): string {
  return result.ok ? '' : (result.error.details.envelope as string)
}

test('W-ENV-10 what stands behind a forged envelope in its channel is delivered all the same', async () => {
  const { f, transport } = await carriedWorker({ secret })
  transport.alter = envelope => (envelope.priority === 'urgent' ? { ...envelope, from: 'x' } : envelope)
  await Promise.all([
    send(f, f.root, 'E1', 'W', 'directive', { priority: 'urgent' }),
    send(f, f.root, 'E2', 'W', 'directive'),
  ])
  await f.expectAmong([
    ['envelope_rejected', 'R', 'protocol', { envelope_id: 'E1', reason: 'integrity_violation' }],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E2' }],
  ])
})

test('W-HWY-08 once a human has changed a payload, its earlier version is forged, though its proof was valid', async () => {
  const run: Partial<RunDraft> = { highway: { gates: { task_approval: false, envelope_delivery: true } } }
  const { f, transport } = await carriedFixture({ secret, run })
  await f.workspace('W')
  await f.mark()
  const human = f.runtime.user('ux')
  const payload = { format: 'markdown', content: 'changed' }
  for (const [name, version] of [
    ['E1', 'old'],
    ['E2', 'new'],
  ] as const) {
    const envelope = await send(f, f.root, name, 'W', 'directive')
    const original = unwrap(await f.run.object(envelope as string as ObjectId))?.value
    transport.alter = carried => (version === 'old' ? original : carried)
    const [gate] = await f.run.read(state => [...state.gates.keys()])
    unwrap(await human.modify(f.run.id, gate!, { payload }))
    await f.settle()
  }
  await f.expectAmong([
    ['envelope_rejected', 'R', 'protocol', { envelope_id: 'E1', reason: 'integrity_violation' }],
    ['envelope_delivered', 'W', 'protocol', { envelope_id: 'E2' }],
  ])
  expect(unwrap(await f.agent('W').consume())?.payload.content).toBe('changed')
})

test('W-ENV-08 a repetition of what is placed already is recognised before its proof is looked at', async () => {
  const { f, transport } = await carriedWorker({ secret })
  let times = 0
  transport.fate = () => (times === 0 ? 'unconfirmed' : 'pass')
  transport.alter = envelope => (times++ === 0 ? envelope : { ...envelope, type: 'feedback' })
  await send(f, f.root, 'E', 'W', 'directive')
  await f.settle()
  await f.advance(1000)
  await f.expectAmong([
    ['envelope_delivered', 'W', 'protocol'],
    ['envelope_redelivered', 'W', 'protocol'],
  ])
  expect(await inboxOf(f, 'W')).toHaveLength(1)
})

test('W-ENV-08 what waits for its receiver is checked when it is placed, also after a restart', async () => {
  const f = await deliveredOnDisk()
  const directive = { format: 'markdown', content: 'second' }
  const second = await f.workspace('W2', { directive })
  unwrap(await second.receive())
  unwrap(await f.root.suspend(second.workspace, 'pause'))
  const { envelope } = unwrap(await f.root.feedback(second.workspace, { format: 'markdown', content: 'held' }))
  f.name(envelope, 'E')
  await changeStored(f, 'envelope', '"content":"held"', '"content":"hold"')
  unwrap(await f.root.resume(f.id('W2')))
  await expect.poll(async () => unwrap(await f.root.readEnvelope(envelope)).status).toBe('rejected')
  await f.expectAmong([
    ['integrity_violation', null, 'protocol', { subject_id: 'E', violation: 'hash_mismatch' }],
    rejected({ id: 'E', from: 'R', to: 'W2', type: 'feedback' }, 'integrity_violation'),
  ])
  expect(await inboxOf(f, 'W2')).toEqual([])
})

test('W-SEC-10 the coordinator is told of mail that was changed at rest, and it stays out after a restart', async () => {
  const f = await deliveredOnDisk()
  const second = await f.workspace('W2', { directive: { format: 'markdown', content: 'second' } })
  unwrap(await second.receive())
  const mail = (content: string) => f.root.feedback(second.workspace, { format: 'markdown', content })
  const ids = [unwrap(await mail('first letter')).envelope, unwrap(await mail('second letter')).envelope]
  await expect.poll(() => inboxOf(f, 'W2')).toEqual(ids)
  await changeStored(f, 'envelope', '"content":"first letter"', '"content":"other letter"')
  const worker = f.agent('W2')
  expect(refused(await worker.consume())).toBe('rejected(integrity_violation)')
  expect(f.notices.filter(notice => notice.kind === 'security')).toMatchObject([
    { to: f.id('R'), event: 'integrity_violation', subject: ids[0], reason: 'hash_mismatch' },
  ])
  expect(unwrap(await worker.consume())?.payload.content).toBe('second letter')
  await f.restart()
  expect(await inboxOf(f, 'W2')).toEqual([])
  expect(unwrap(await f.agent('W2').consume())).toBeUndefined()
  expect(await f.run.read(({ envelopes }) => ids.map(id => envelopes.get(id)?.forged))).toEqual([true, false])
})

test('W-ENV-05 a proof of the sender over what it submits is accepted, with defaults in place or left out', async () => {
  const f = await withWorker({ secret })
  const draft = unwrap(f.root.seal(f.mail('W', 'directive')))
  f.name(unwrap(await f.root.send(draft)).envelope, 'E1')
  const spelled: EnvelopeDraft = { ...draft, priority: 'normal', rights: [], in_reply_to: null, from: f.id('R') }
  f.name(unwrap(await f.root.send(spelled)).envelope, 'E2')
  await f.expectAdded([
    ...arrived('sig1', { id: 'E1', from: 'R', to: 'W', type: 'directive' }),
    ...arrived('sig2', { id: 'E2', from: 'R', to: 'W', type: 'directive' }),
  ])
})

type Claim = readonly [what: string, reason: string, change: (draft: EnvelopeDraft) => EnvelopeDraft]

const CLAIMS: readonly Claim[] = [
  ['another receiver', 'hash_mismatch', draft => ({ ...draft, to: 'nobody' })],
  ['another type', 'hash_mismatch', draft => ({ ...draft, type: 'nothing' })],
  ['another priority', 'hash_mismatch', draft => ({ ...draft, priority: 'urgent' })],
  ['an attachment', 'hash_mismatch', draft => ({ ...draft, payload: { ...draft.payload, attachments: [1] } })],
  [
    'another algorithm',
    'signature_invalid',
    draft => ({ ...draft, integrity: { ...draft.integrity!, algorithm: 'crc' } }),
  ],
]

test.each(CLAIMS)('W-ENV-05 the proof comes before type and receiver: %s', async (_what, violation, change) => {
  const f = await withWorker({ secret })
  const result = await f.root.send(change(unwrap(f.root.seal(f.mail('W', 'directive')))))
  expect(refused(result)).toBe('rejected(integrity_violation)')
  f.name(envelopeOf(result), 'E')
  await f.expectAmong([
    ['integrity_violation', null, 'protocol', { subject_id: 'E', violation, action_taken: 'rejected' }],
    ['envelope_rejected', 'R', 'protocol', { envelope_id: 'E', reason: 'integrity_violation' }],
  ])
})

test('W-ENV-05 the proof of another workspace is foreign, and the structure comes first', async () => {
  const f = await fixture({ secret, run: withNotes })
  const one = await f.worker('W1')
  const two = await f.worker('W2')
  const draft = unwrap(two.seal(f.mail('R', 'query')))
  expect(refused(await one.send(draft))).toBe('rejected(integrity_violation)')
  expect(refused(await two.send(draft))).toBe('ok')
  expect(refused(await one.send({ ...draft, priority: 'high' as never }))).toBe('rejected(invalid_structure)')
})

test('0.5 what is no envelope is not sealed, and the refusal is a value', async () => {
  const f = await withWorker({ secret })
  const { payload: _payload, ...rest } = f.mail('W', 'directive')
  for (const draft of [rest, { ...rest, payload: 'text' }, undefined, { ...f.mail('W', 'directive'), to: () => 0 }])
    expect(refused(f.root.seal(draft as never))).toBe('invalid_argument')
})

test('a runtime without a secret makes no proofs, and takes none that it could not check', async () => {
  const f = await withWorker({ level: 1 })
  expect(refused(f.root.seal(f.mail('W', 'directive')))).toBe('unsupported')
  const integrity = { proof: 'ab', algorithm: 'hmac-sha256' }
  expect(refused(await f.root.send(f.mail('W', 'directive', { integrity })))).toBe('rejected(invalid_structure)')
  const { envelope } = unwrap(await f.root.send(f.mail('W', 'directive')))
  expect(unwrap(await f.run.object(envelope as never))?.value).not.toHaveProperty('integrity')
})

test('W-SEC-10 there is no lenient mode: what was made without proofs is refused once there are some', async () => {
  const options: { level: 1 | 3 } = { level: 1 }
  const f = await withWorker(options)
  await f.bring('W', 'integrating')
  options.level = 3
  await f.restart()
  expect(refused(await f.root.accept(f.id('W')))).toBe('rejected(integrity_violation)')
  const [violation] = (await f.added()).filter(entry => entry.event_type === 'integrity_violation')
  expect(violation?.body).toMatchObject({ subject_type: 'checkpoint', violation: 'proof_missing', expected: null })
})
