// Conformance of sessions and timelines (sections 5 and 6), over real sockets, a real trail and a real library.
import {
  isSessionStatusEnvelope,
  isSessionTimelineEnvelope,
  SESSION_TIMELINE_EVENT_TYPES,
  type SessionListEnvelope,
  type SessionStatusEnvelope,
  type SessionTimelineEnvelope,
} from '@alx/protocol'
import { expect, test } from 'vitest'
import { AlxFixture, type FixtureOptions, INTENT, V } from '../testing/fixture.ts'
import { timelineEvent } from './timeline.ts'

type Failed = { readonly error?: { readonly code: string } }

const opened = async (options?: FixtureOptions) => {
  const f = await AlxFixture.open(options)
  const session = (id: string | null, as?: typeof V) =>
    f.get<SessionStatusEnvelope & Failed>(`/v1/sessions/${id}`, as && { as })
  const timeline = async (id: string | null, query = '') =>
    (await f.get<SessionTimelineEnvelope>(`/v1/sessions/${id}/timeline${query}`)).body
  const list = async (query = '') => (await f.get<SessionListEnvelope>(`/v1/sessions${query}`)).body
  const fails = () => {
    f.scripts.two = () => {
      throw new Error('no')
    }
  }
  const started = async (more: Record<string, unknown> = {}) => {
    const { body } = await f.solve(more)
    return { ...body, sessionId: body.execution.sessionId! }
  }
  return { f, session, timeline, list, fails, started }
}

const codeOf = (body: unknown) => (body as Failed).error?.code

const records = async (f: AlxFixture) => {
  const all: unknown[] = []
  for await (const { type, by, body } of f.coordinator.library.read()) all.push([type, by, body])
  return all
}

test('ALX-T25 a session is visible to its owner alone', async () => {
  const { f, session, started } = await opened()
  const { sessionId } = await started()
  const foreign = await session(sessionId, V)
  const solve = await f.solve({ options: { sessionId } }, { as: V })
  const unknown = await session('ses_none')
  for (const reply of [foreign, solve, unknown])
    expect([reply.status, reply.body.error?.code]).toEqual([404, 'SESSION_NOT_FOUND'])
  expect(JSON.stringify(foreign.body)).not.toContain(INTENT.target)
  const listed = await f.get<Failed>(`/v1/sessions?userId=${V.id}`)
  expect([listed.status, listed.body.error?.code]).toEqual([403, 'UNAUTHORIZED'])
  const { runs } = await f.server.host.port.find({ principal: V, origin: 'alx' })
  expect(runs).toEqual([])
})

test('ALX-T34 the timeline of a finished run has its steps and then the execution', async () => {
  const { f, timeline, started } = await opened()
  const { sessionId, executionId, steps } = await started()
  const body = await timeline(sessionId)
  expect(isSessionTimelineEnvelope(body, 'emit')).toBe(true)
  const events = body.timeline
  expect(events.map(({ type }) => type)).toEqual(['step', 'step', 'execution'])
  for (const event of events) {
    expect(SESSION_TIMELINE_EVENT_TYPES).toContain(event.type)
    expect(Number.isSafeInteger(event.timestamp)).toBe(true)
    expect(event.executionId).toBe(executionId)
  }
  expect(events.slice(0, 2).map(({ timestamp }) => timestamp)).toEqual(steps.map(each => Date.parse(each.finishedAt!)))
  expect(events.map(({ timestamp }) => timestamp).toSorted((a, b) => a - b)).toEqual(
    events.map(({ timestamp }) => timestamp),
  )
  expect(events.at(-1)).toMatchObject({ ok: true, data: { status: 'completed', confidence: 0.9 } })
  expect((await f.entries(executionId, 'task_completed')).length).toBe(2)
  expect((await timeline(sessionId, '?type=execution')).timeline).toHaveLength(1)
  const first = await timeline(sessionId, '?limit=2')
  const rest = await timeline(sessionId, `?limit=2&cursor=${first.nextCursor}`)
  expect([...first.timeline, ...rest.timeline]).toEqual(events)
  expect(rest.nextCursor).toBeNull()
})

test('ALX-T35 the timeline of a failed run has its error', async () => {
  const { f, timeline, started, fails } = await opened()
  fails()
  const { sessionId, executionId, error } = await started()
  const events = (await timeline(sessionId)).timeline
  expect(events.map(({ type }) => type)).toEqual(['step', 'step', 'error', 'execution'])
  expect(events[2]).toMatchObject({ error: { code: error?.code } })
  expect(events.at(-1)).toMatchObject({ ok: false })
  expect((await f.entries(executionId, 'task_failed')).length).toBe(1)
})

test('ALX-T36 no event of another type is written', () => {
  const event = { type: 'note', timestamp: 1, eventId: 'e', seq: 1, sessionId: 's', executionId: null, summary: 'x' }
  expect(() => timelineEvent(event)).toThrow(TypeError)
})

test('ALX-T37 a session sums up all of its runs and stands as its latest one', async () => {
  const { f, session, started, fails } = await opened()
  const { sessionId, executionId } = await started()
  f.knowledge.improvements.set(executionId, 0.2)
  fails()
  await started({ options: { sessionId } })
  const { body } = await session(sessionId)
  expect(body.summary).toMatchObject({ runCount: 2, successCount: 1, avgImprovement: 0.2 })
  expect(body.summary.text).not.toBe('')
  expect(body.summary.updatedAt).toBeDefined()
  expect(body.status).toBe('failed')
  const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })
  expect(runs.map(({ context }) => context.session)).toEqual([sessionId, sessionId])
})

test('ALX-T38 the intent of a session is that of its first solve, also after a restart', async () => {
  const { f, session, started } = await opened()
  const { sessionId } = await started()
  expect((await session(sessionId)).body.intent).toBe('deploy api (engineering)')
  await started({ intent: { verb: 'test', target: 'site', domain: 'qa' }, options: { sessionId } })
  expect((await session(sessionId)).body.intent).toBe('deploy api (engineering)')
  await f.restart()
  expect((await session(sessionId)).body).toMatchObject({ intent: 'deploy api (engineering)', status: 'completed' })
})

test('ALX-T40 a session without runs is abandoned by time alone, and a solve opens it again', async () => {
  const { f, session, started } = await opened()
  const { sessionId } = await started()
  const { body: child } = await f.post<SessionStatusEnvelope>(`/v1/sessions/${sessionId}/fork`)
  expect((await session(child.sessionId)).body.status).toBe('active')
  f.clock.advance(86_400_001)
  const abandoned = (await session(child.sessionId)).body
  expect([abandoned.status, typeof abandoned.nextStep]).toEqual(['abandoned', 'string'])
  expect((await f.solve({ options: { sessionId: child.sessionId } })).status).toBe(200)
  expect((await session(child.sessionId)).body.status).toBe('completed')
  expect(await records(f)).toEqual([
    ['session.fork', 'U', { sessionId, forkedSessionId: child.sessionId, intent: 'deploy api (engineering)' }],
  ])
})

test('ALX-T41 a reset clears and loses nothing, a fork leaves its parent as it was', async () => {
  const { f, session, timeline, started } = await opened()
  const { sessionId } = await started()
  const before = (await timeline(sessionId)).timeline
  const reset = await f.post<SessionStatusEnvelope>(`/v1/sessions/${sessionId}/reset`)
  expect(isSessionStatusEnvelope(reset.body, 'emit')).toBe(true)
  expect(reset.body).toMatchObject({ status: 'active', progress: 0, nextStep: null, summary: { runCount: 1 } })
  const after = (await timeline(sessionId)).timeline
  expect(after.slice(0, -1)).toEqual(before)
  expect(after.at(-1)).toMatchObject({ type: 'reset', executionId: null, data: { contextCleared: true } })
  const fork = await f.post<SessionStatusEnvelope>(`/v1/sessions/${sessionId}/fork`)
  expect([fork.status, fork.body.userId, fork.body.intent]).toEqual([201, 'U', reset.body.intent])
  expect(fork.body.summary.runCount).toBe(0)
  expect((await timeline(fork.body.sessionId)).timeline).toMatchObject([
    { type: 'fork', data: { parentSessionId: sessionId } },
  ])
  expect((await timeline(sessionId)).timeline.at(-1)).toMatchObject({
    type: 'fork',
    data: { forkedSessionId: fork.body.sessionId },
  })
  expect((await records(f)).map(record => (record as string[])[0])).toEqual(['session.reset', 'session.fork'])
  await f.restart()
  expect((await session(sessionId)).body).toMatchObject({ status: 'active', progress: 0 })
  expect((await timeline(fork.body.sessionId)).timeline).toHaveLength(1)
})

test('a solve in a session is told what was answered since its last reset, also in a fork', async () => {
  const { f, started } = await opened()
  const told: string[] = []
  f.scripts.one = ({ context }) => {
    told.push(
      context
        .filter(({ kind }) => kind === 'memory')
        .map(({ text }) => text)
        .join(),
    )
    return 'one'
  }
  const { sessionId } = await started()
  await started({ options: { sessionId } })
  const { body: child } = await f.post<SessionStatusEnvelope>(`/v1/sessions/${sessionId}/fork`)
  await f.post(`/v1/sessions/${sessionId}/reset`)
  await started({ options: { sessionId } })
  await started({ options: { sessionId: child.sessionId } })
  expect(told).toEqual(['', 'two is done', '', 'two is done,two is done'])
})

test('ALX-T42 a walk over all pages has every session once, whatever changes meanwhile', async () => {
  const { f, list, started } = await opened()
  const { sessionId } = await started()
  const made = [sessionId]
  for (let at = 1; at < 120; at++) {
    const { body } = await f.post<SessionStatusEnvelope>(`/v1/sessions/${sessionId}/fork`)
    made.push(body.sessionId)
  }
  const first = await list('?limit=50')
  // What moves to the front meanwhile is still to come.
  await f.post(`/v1/sessions/${made[3]}/reset`)
  const second = await list(`?limit=50&cursor=${first.nextCursor}`)
  const third = await list(`?limit=50&cursor=${second.nextCursor}`)
  const pages = [first, second, third]
  expect(pages.map(({ sessions }) => sessions.length)).toEqual([50, 50, 20])
  expect(third.nextCursor).toBeNull()
  const walked = pages.flatMap(({ sessions }) => sessions.map(each => each.sessionId))
  expect(walked.toSorted()).toEqual(made.toSorted())
  expect(codeOf(await list('?limit=0'))).toBe('INVALID_REQUEST')
  expect(codeOf(await list('?cursor=zzz'))).toBe('INVALID_CURSOR')
  expect(codeOf(await list(`?cursor=${first.nextCursor}&status=active`))).toBe('INVALID_CURSOR')
  expect(codeOf(await list('?status=asleep'))).toBe('INVALID_REQUEST')
  const again = await list('?limit=200')
  expect(again.sessions[0]!.sessionId).toBe(made[3])
  expect((await records(f)).length).toBe(120)
})
