// The proof chain of a recorded act (W-SEC-17): complete for everybody who can act, and broken where what is stored was
// changed.
import { type EntryId, type ObjectId, unwrap } from '@parley/core'
import type { RunTrail } from '@parley/trail'
import type { EventType } from '@parley/trail/events'
import { tamper } from '@parley/trail/testing'
import { expect, test } from 'vitest'
import { gateOf } from '../testing/conflicts.ts'
import { type Fixture, type FixtureOptions, fixture, refused, withWorker } from '../testing/fixture.ts'
import { only } from '../testing/gates.ts'
import { changeObjects, deliveredOnDisk, temporaryProfile } from '../testing/profile.ts'
import { keyedProofs } from './keyed.ts'
import { messageOf } from './message-proof.ts'
import type { ProofReport } from './proof-report.ts'

const secret = new Uint8Array(32).fill(42)

/** With proofs and users. */
const SIGNED: FixtureOptions = { secret, users: 'house', run: { highway: only('integration') } }

const signed = () => fixture({ ...SIGNED, profile: temporaryProfile() })

/** Waits until it is: what settles on a disk takes its time. */
async function until(f: Fixture, state: string): Promise<void> {
  for (let turn = 0; turn < 500 && (await f.state('W')) !== state; turn++)
    await new Promise(resolve => setTimeout(resolve, 10))
  expect(await f.state('W')).toBe(state)
}

/** W made something, a human let it be integrated, and the run ended. */
async function finishedRun(): Promise<Fixture> {
  const f = await deliveredOnDisk(SIGNED)
  unwrap(await f.runtime.users.grant('ux', 'approve_integration'))
  await until(f, 'integrating')
  unwrap(await f.runtime.user('ux').approve(f.run.id, gateOf(await f.root.accept(f.id('W')))))
  await until(f, 'closed')
  unwrap(await f.run.close())
  return f
}

async function entryOf(f: Fixture, type: EventType, actor?: string): Promise<EntryId> {
  const entries = await f.run.entries()
  return entries.find(each => each.event_type === type && (actor === undefined || each.actor === actor))!.id
}

async function proofOf(f: Fixture, type: EventType, actor?: string): Promise<ProofReport> {
  return unwrap(await f.run.proof(await entryOf(f, type, actor)))
}

function statusOf({ identity, message, link, signature, complete }: ProofReport) {
  return [identity.status, message.status, link.status, signature.status, complete]
}

test('W-SEC-17 coordinator, agents, people and the runtime itself each have their proof', async () => {
  const f = await finishedRun()
  const acts: readonly (readonly [EventType, string, ProofReport['party'], string])[] = [
    ['signal_emitted', 'worker', 'agent', 'none'],
    ['envelope_created', 'system', 'coordinator', 'verified'],
    ['envelope_delivered', 'protocol', 'runtime', 'verified'],
    ['integration_started', 'system', 'coordinator', 'none'],
    ['gate_triggered', 'protocol', 'runtime', 'verified'],
    ['gate_resolved', 'ux', 'human', 'verified'],
    ['workspace_state_changed', 'protocol', 'runtime', 'none'],
  ]
  for (const [type, actor, party, message] of acts) {
    const report = await proofOf(f, type, actor)
    expect([type, report.party, report.message.status, report.complete]).toEqual([type, party, message, true])
  }
  // By its place it is found as well.
  const [first] = await f.run.entries()
  expect(unwrap(await f.run.proof(1)).entry).toBe(first!.id)
  expect(refused(await f.run.proof('e_none' as EntryId))).toBe('not_found')
  expect(refused(await f.run.proof(100_000))).toBe('not_found')
})

test('W-SEC-17 what an agent is denied after its workspace has ended is proven too', async () => {
  const f = await signed()
  const worker = await f.workspace('W')
  await f.workspace('other')
  unwrap(await worker.started())
  unwrap(await worker.failed('gone'))
  // Who may not see something is shown nothing, and that is on record.
  expect(unwrap(await worker.query({ workspace: f.id('other') })).entries).toEqual([])
  expect(refused(await worker.writeMemory('x', 1, f.id('other')))).toBe('permission_denied')
  for (const type of ['trail_access_denied', 'capability_denied'] as const) {
    const denied = await proofOf(f, type, 'worker')
    // System-level: the part of a workspace that has ended takes no entries.
    expect(denied).toMatchObject({ workspace: null, party: 'agent', complete: true })
    expect(denied.identity).toMatchObject({ status: 'verified', name: `agent:${f.id('W')}` })
  }
})

test('W-SEC-17 what a delegate does to the tasks below its own is proven to be its act', async () => {
  const f = await signed()
  const submitted = unwrap(await f.root.submitGraph([{ key: 'a', name: 'a', description: 'lead' }] as never))
  const [task] = submitted.tasks
  const delegate = await f.workspace('D', {
    delegate: true,
    task: task!,
    directive: { format: 'markdown', content: 'lead' },
  })
  unwrap(await delegate.receive())
  const part = { key: 'b', name: 'b', description: 'a part', parent_task: task! }
  const [below] = unwrap(await delegate.addTasks(submitted.graph, [part])).tasks
  const deeper = { key: 'c', name: 'c', description: 'a part of it', parent_task: below! }
  unwrap(await delegate.addTasks(submitted.graph, [deeper]))
  await f.workspace('W', { task: below! }, delegate)
  const acts = (await f.run.entries()).filter(
    ({ actor, event_type }) => actor === 'worker' && event_type.startsWith('task_'),
  )
  expect(acts.map(({ event_type, workspace }) => [event_type, workspace])).toEqual([
    ['task_created', f.root.workspace],
    ['task_created', f.root.workspace],
    ['task_assigned', f.root.workspace],
    ['task_status_changed', f.root.workspace],
  ])
  for (const { id } of acts)
    expect(unwrap(await f.run.proof(id)).identity).toMatchObject({ status: 'verified', name: `agent:${f.id('D')}` })
})

test('W-SEC-17 a message that was changed in the store breaks its own step and no other', async () => {
  const f = await finishedRun()
  const id = await entryOf(f, 'checkpoint_created')
  await f.reopen(() => changeObjects(f, 'checkpoint', data => data.replace('"intent":"show', '"intent":"hide')))
  const run = unwrap(await f.runtime.open(f.run.id))
  expect(statusOf(unwrap(await run.proof(id)))).toEqual(['verified', 'failed', 'verified', 'verified', false])
})

test('W-SEC-17 a checkpoint is checked against its own proof, whatever the store vouches for', async () => {
  const f = await finishedRun()
  const entry = (await f.run.entries()).find(({ event_type }) => event_type === 'checkpoint_created')!
  const stored = f.trail.run(f.run.id)
  const proofs = keyedProofs(secret)
  /** A store that gives something else for the checkpoint, under a proof of its own that fits. */
  const giving = (change: object) => {
    const object = async (id: ObjectId) => {
      const found = await stored.object(id)
      return found && { ...found, value: { ...(found.value as object), ...change } }
    }
    return { object } as unknown as RunTrail
  }
  const statuses = async (change: object) => (await messageOf({ trail: giving(change), proofs }, entry)).status
  expect(await statuses({})).toBe('verified')
  expect(await statuses({ intent: 'something else' })).toBe('failed')
  expect(await statuses({ id: 'cp_other' })).toBe('failed')
})

test('W-SEC-17 a failure that an agent reports while its work is judged stays its own, whatever ends it later', async () => {
  const f = await deliveredOnDisk(SIGNED)
  await until(f, 'integrating')
  unwrap(await f.agent('W').failed('the model broke'))
  unwrap(await f.root.abort(f.id('W')))
  await until(f, 'failed')
  const failures = (await f.run.entries()).filter(
    ({ event_type, body }) => event_type === 'signal_emitted' && (body as { type: string }).type === 'failed',
  )
  expect(failures.map(({ actor }) => actor)).toEqual(['worker', 'system'])
  const [own, forced] = await Promise.all(failures.map(async ({ id }) => unwrap(await f.run.proof(id))))
  expect(own).toMatchObject({ party: 'agent', identity: { status: 'verified', name: `agent:${f.id('W')}` } })
  expect(forced).toMatchObject({ party: 'coordinator', identity: { status: 'verified' } })
})

test('W-SEC-17 who made a workspace is proven by the parent that it had then, though it has another one since', async () => {
  const f = await signed()
  const delegate = await f.workspace('D', { delegate: true, directive: { format: 'markdown', content: 'lead' } })
  unwrap(await delegate.receive())
  unwrap(await f.runtime.users.accept({ user: 'uy', method: 'password' }))
  await f.workspace('W', { owner: 'uy' } as never, delegate)
  unwrap(await f.root.abort(f.id('D')))
  await f.settle()
  const entries = await f.run.entries()
  const made = entries.find(
    ({ event_type, workspace }) => event_type === 'workspace_created' && workspace === f.id('W'),
  )!
  expect(unwrap(await f.run.proof(made.id))).toMatchObject({
    party: 'agent',
    identity: { status: 'verified', name: `agent:${f.id('D')}` },
  })
})

/** Flips the first digit of the signature of one entry. */
async function forge(f: Fixture, id: EntryId): Promise<void> {
  await f.reopen(() => {
    tamper(f.options.profile!, records =>
      records.map(record => {
        if (record.kind !== 'entry' || !record.view.includes(`"id":"${id}"`)) return record
        const [digit, ...rest] = record.signature!
        return { ...record, signature: [digit === '0' ? '1' : '0', ...rest].join('') }
      }),
    )
    f.clock.advance(1000)
  })
}

test('W-SEC-17 a signature that does not fit breaks the act that it is under, and whatever rests on it', async () => {
  const f = await finishedRun()
  const made = await entryOf(f, 'checkpoint_created')
  const created = (await f.run.entries()).find(
    each => each.event_type === 'workspace_created' && each.workspace === f.id('W'),
  )!.id
  await forge(f, created)
  const run = unwrap(await f.runtime.open(f.run.id))
  expect(statusOf(unwrap(await run.proof(created)))).toEqual(['verified', 'none', 'verified', 'failed', false])
  // The name of the one who made the checkpoint rests on that entry.
  expect(statusOf(unwrap(await run.proof(made)))).toEqual(['failed', 'verified', 'verified', 'verified', false])
})

test('W-SEC-17 without a secret, signatures and users the report says what is missing', async () => {
  const f = await withWorker({ level: 1 })
  unwrap(await f.final('W'))
  const report = await proofOf(f, 'checkpoint_created')
  expect(statusOf(report)).toEqual(['verified', 'missing', 'verified', 'missing', false])
  unwrap(await f.runtime.user('ux').abort(f.run.id, f.id('W')))
  const human = await proofOf(f, 'workspace_state_changed', 'ux')
  expect(human.party).toBe('human')
  expect(human.identity).toMatchObject({ status: 'missing', entry: null })
})
