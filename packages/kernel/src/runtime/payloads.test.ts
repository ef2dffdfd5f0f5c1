// The trail names objects and does not copy them (W-ENV-19, W-CP-14, W-TASK-20, W-TRAIL-32).
import { type CheckpointId, type EnvelopeId, type ObjectId, unwrap } from '@parley/core'
import { checkBody, EVENT_TYPES } from '@parley/trail/events'
import { exampleBody } from '@parley/trail/testing'
import { expect, test } from 'vitest'
import { gateOf, overlap } from '../testing/conflicts.ts'
import { type Fixture, fixture } from '../testing/fixture.ts'

const MARKER = 'marker-7f3a'
const marked = (what: string) => `${MARKER} ${what}`

/** Each waits for a human, so that every kind of subject is stored for one. */
const gated = {
  preset: 'gated',
  gates: { workspace_create: true, task_approval: true, envelope_delivery: true, integration: true },
} as const

/** Approves what waits, and lets what follows happen, until nothing waits any more. */
async function approveAll(f: Fixture, change?: object): Promise<void> {
  const [first, ...rest] = await f.run.gates()
  if (!first) return
  const user = f.runtime.user('ux')
  unwrap(change ? await user.modify(f.run.id, first.id, change) : await user.approve(f.run.id, first.id))
  for (const gate of rest) unwrap(await user.approve(f.run.id, gate.id))
  await f.settle()
  await approveAll(f)
}

test('WP-041 what is written for agents and people is in no entry of a whole task, and found by its id', async () => {
  const f = await fixture({ run: { highway: gated, context: { brief: marked('context of the run') } } })
  const drafts = [{ name: 'T', description: marked('description') }]
  const { tasks } = unwrap(await f.root.submitGraph(drafts))
  await approveAll(f, { description: marked('changed description') })
  const directive = { format: 'markdown', content: marked('directive') }
  const context = { note: marked('context') }
  const asked = await f.root.createWorkspace({
    role: 'worker',
    resources: ['**'],
    task: tasks[0]!,
    directive: null,
    context,
  })
  gateOf(asked)
  await approveAll(f)
  const workspace = await f.run.read(run => [...run.workspaces.keys()].at(-1)!)
  const worker = await f.adopt('W', workspace)
  await f.settle()
  expect(unwrap(await worker.consume())?.payload.content).toBe(marked('changed description'))
  unwrap(await worker.started())

  // Mail both ways, one of it changed at its gate, and injected.
  unwrap(await worker.send(f.mail('R', 'query', { payload: { ...directive, content: marked('query') } })))
  await approveAll(f)
  const answer = {
    format: 'markdown',
    content: marked('answer'),
    attachments: [{ text: marked('attachment') }],
  }
  const sent = unwrap(await f.root.send(f.mail('W', 'feedback', { payload: answer }))).envelope
  await approveAll(f, { payload: { ...answer, content: marked('changed answer') } })
  unwrap(await f.runtime.user('ux').inject(f.run.id, f.mail('W', 'directive', { payload: directive })))
  await f.settle()
  unwrap(await worker.writeMemory('notes', marked('memory')))

  const payload = {
    files_changed: ['f'],
    content: marked('content'),
    artifacts: [{ text: marked('artifact') }],
  }
  const made = unwrap(await f.checkpoint('W', { status: 'final', intent: marked('intent'), payload }))
  unwrap(await worker.complete())
  gateOf(await f.root.beginIntegration(f.id('W'), 'evaluated'))
  await approveAll(f)
  const [conflict] = unwrap(await f.root.reportConflicts(f.id('W'), [overlap]))
  const result = { text: marked('result') }
  gateOf(await f.root.resolveConflict(f.id('W'), conflict!, 'coordinator_resolve', 'kept both', result))
  await approveAll(f)
  expect(await f.state('W')).toBe('closed')

  const bodies = (await f.run.entries()).map(
    ({ event_type, body }) => `${event_type} ${JSON.stringify(body)}`,
  )
  expect(bodies.filter(each => each.includes(MARKER))).toEqual([])
  expect(new Set(bodies.map(each => each.split(' ')[0])).size).toBeGreaterThan(20)

  // By its id each is there.
  expect(unwrap(await f.root.task(tasks[0]!)).description).toBe(marked('changed description'))
  expect(unwrap(await f.root.readEnvelope(sent as EnvelopeId)).payload?.content).toBe(
    marked('changed answer'),
  )
  const original = unwrap(await f.run.object(sent as string as ObjectId))?.value as typeof f & {
    payload: object
  }
  expect(original.payload).toMatchObject({ content: marked('answer') })
  const checkpoint = unwrap(await f.root.readCheckpoint(made.checkpoint as CheckpointId))
  expect([checkpoint.intent, checkpoint.payload.content]).toEqual([marked('intent'), marked('content')])
  expect(unwrap(await f.root.readArtifact(made.artifacts[0]!)).artifact.text).toBe(marked('artifact'))
  expect(unwrap(await f.root.readContext(f.id('W')))).toEqual(context)
  expect(unwrap(await f.root.readMemory('notes', f.id('W')))).toBe(marked('memory'))
  expect(unwrap(await f.root.readResult(f.id('W')))).toEqual(result)
})

test('WP-041 the trail refuses a body with a payload in it, whatever the event', () => {
  for (const type of EVENT_TYPES) {
    for (const field of ['payload', 'content', 'artifacts', 'intent', 'directive_text', 'subject_value']) {
      const body = { ...exampleBody(type), [field]: { text: MARKER } }
      expect([type, field, checkBody(type, body)?.code]).toEqual([type, field, 'invalid_body'])
    }
    // A reference where one belongs, and nothing else in its place.
    const spoiled = { ...exampleBody(type) } as Record<string, unknown>
    if ('subject' in spoiled) {
      spoiled.subject = { ...(spoiled.subject as object), value: MARKER }
      expect(checkBody(type, spoiled)?.code).toBe('invalid_body')
    }
  }
  const description = { ...exampleBody('task_created'), description: MARKER }
  expect(checkBody('task_created', description)?.code).toBe('invalid_body')
})
