// Conformance of run events (section 4), over real sockets and a real trail.
import { parseRunEvent, RUN_EVENT_TYPES } from '@alx/protocol'
import { expect, test } from 'vitest'
import { AlxFixture, framesOf, STREAM, step } from '../testing/fixture.ts'
import { RunEvents } from './run-events.ts'

const ORIGIN = { runId: 'run_1', correlationId: 'req_1', sessionId: 'ses_1' }
const PROTOCOL = { protocol_version: '1.1', capabilities: [] }
const AT = '2026-01-01T00:00:00.000Z'
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

test('ALX-T28 a solve as a stream has the events of its run and then its answer', async () => {
  const f = await AlxFixture.open()
  const reply = await f.solve({}, { headers: STREAM })
  expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const frames = framesOf(reply.text)
  const events = frames.slice(0, -1)
  for (const { event, data } of events) {
    expect(RUN_EVENT_TYPES).toContain(event)
    expect(data.type).toBe(event)
  }
  expect(events.map(({ id }) => id)).toEqual(events.map((_, at) => String(at + 1)))
  expect(events.map(({ event }) => event)).toEqual([
    'run.started',
    'step.started',
    'step.completed',
    'step.started',
    'step.completed',
    'artifact.created',
    'run.completed',
  ])
  const last = frames.at(-1)!
  expect([last.event, last.data.ok, last.data.success]).toEqual(['alx.response', true, true])
  const { executionId } = last.data as { executionId: string }
  expect(await f.events(executionId)).toEqual(events.map(({ data }) => data))
  // The trail had it first.
  expect((await f.entries(executionId, 'task_completed')).length).toBe(2)
})

test('ALX-T29 only terminal events say ok, first and terminal ones the protocol, and time never goes back', async () => {
  const f = await AlxFixture.open()
  const good = await f.solve()
  f.scripts.two = () => {
    throw new Error('no')
  }
  const bad = await f.solve()
  for (const { body } of [good, bad]) {
    const events = await f.events(body.executionId)
    events.forEach((event, at) => {
      expect(parseRunEvent(event, 'emit').ok).toBe(true)
      const isEnd = at === events.length - 1
      expect('ok' in event).toBe(isEnd)
      expect('protocol' in event).toBe(isEnd || at === 0)
      expect(event.timestamp).toMatch(ISO)
      expect(at === 0 || events[at - 1]!.timestamp <= event.timestamp).toBe(true)
    })
    const { started, finished } = { started: body.execution.startedAt, finished: body.execution.finishedAt }
    expect([events[0]!.timestamp, events.at(-1)!.timestamp]).toEqual([started, finished])
    const [first] = await f.entries(body.executionId)
    expect(first!.timestamp.slice(0, 23)).toBe(started.slice(0, 23))
  }
})

test('ALX-T30 a step that is left out is skipped, and the run completes', async () => {
  const f = await AlxFixture.open({ steps: [step('one'), step('two', { skipped: 'No agent for it.' }), step('three')] })
  const { body } = await f.solve()
  expect(body.execution.status).toBe('completed')
  expect(body.steps[1]).toMatchObject({ status: 'skipped', reason: 'No agent for it.' })
  const events = (await f.events(body.executionId)).filter(event => 'stepId' in event && event.stepId === 'two')
  expect(events.map(({ type }) => type)).toEqual(['step.skipped'])
  const tasks = await f.entries(body.executionId, 'task_created')
  expect(tasks.map(entry => (entry.body as { name: string }).name)).toEqual(['one', 'three'])
})

test('ALX-T31 no event of another type is made', () => {
  const events = new RunEvents(ORIGIN, PROTOCOL)
  events.started(AT)
  expect(() => events.emit('run.cancelled' as 'run.failed', AT)).toThrow(TypeError)
  expect(events.list).toHaveLength(1)
})

test('ALX-T32 nobody can make a terminal event say the wrong thing', () => {
  const events = new RunEvents(ORIGIN, PROTOCOL)
  const error = { type: 'internal', code: 'INTERNAL_ERROR', message: 'no' }
  events.completed(AT, { ok: false })
  events.failed(AT, error, { ok: true })
  expect(events.list.map(event => 'ok' in event && event.ok)).toEqual([true, false])
})

test('ALX-T33 events are read from a place on, and are gone when their time is over', async () => {
  const f = await AlxFixture.open()
  const { body } = await f.solve()
  const path = `/v1/runs/${body.executionId}/events`
  const read = await f.get<{ events: { seq: number }[]; runId: string }>(`${path}?afterSeq=2`)
  expect(read.body.runId).toBe(body.executionId)
  expect(read.body.events.map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7])
  for (const bad of ['-1', 'x', '1.5']) expect((await f.get(`${path}?afterSeq=${bad}`)).status).toBe(400)
  f.clock.advance(301_000)
  const gone = await f.get<{ error: { code: string } }>(path)
  expect([gone.status, gone.body.error.code]).toEqual([410, 'RUN_EVENTS_EXPIRED'])
  // The trail keeps what the events were made of.
  expect((await f.entries(body.executionId)).length).toBeGreaterThan(0)
  expect((await f.get(`/v1/runs/${body.executionId}`)).status).toBe(200)
})

test('ALX-T68 streams say who they answer, and a stream can be resumed behind an event', async () => {
  const f = await AlxFixture.open()
  const first = await f.solve({}, { headers: STREAM })
  const { executionId, correlationId } = framesOf(first.text).at(-1)!.data as Record<string, string>
  const headers = { ...STREAM, 'last-event-id': '2' }
  const second = await f.get(`/v1/runs/${executionId}/events`, { headers })
  for (const { headers } of [first, second]) {
    expect(headers.get('x-correlation-id')).toMatch(/^req_/)
    expect(headers.get('x-alx-protocol-version')).toBe('1.1')
  }
  const resumed = framesOf(second.text)
  expect(resumed.map(({ id }) => id)).toEqual(['3', '4', '5', '6', '7'])
  for (const { data } of resumed) expect(data.correlationId).toBe(correlationId)
  expect(resumed.at(-1)!.data).toMatchObject({ ok: true, protocol: { protocol_version: '1.1' } })
  expect(first.headers.get('x-correlation-id')).toBe(correlationId)
  expect((await f.entries(executionId!)).at(-1)!.body).toMatchObject({ to_state: 'closed' })
})
