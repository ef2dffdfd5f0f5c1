// Conformance of approvals (ALX-SOLVE-14), over HTTP and a real trail: gates of tasks and questions of agents.
import { isSessionStatusEnvelope, type SessionStatusEnvelope, type SolveResponse } from '@alx/protocol'
import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { AlxFixture, type FixtureOptions, framesOf, STREAM, step, U } from '../testing/fixture.ts'

const GATED: FixtureOptions = { steps: [step('one'), step('two', { approve: true })] }

async function paused(options = GATED) {
  const f = await AlxFixture.open(options)
  const { status, body } = await f.solve()
  const approvalOf = async () => {
    const last = (await f.events(body.executionId)).at(-1)!
    if (last.type !== 'approval.required') throw new Error(`the run has come to ${last.type}`)
    return last.approval
  }
  const { approvalId } = await approvalOf()
  const decide = (decision: string, more: object = {}) =>
    f.post<SolveResponse>(`/v1/runs/${body.executionId}/approval`, { approvalId, decision, ...more })
  const session = async () => (await f.get<SessionStatusEnvelope>(`/v1/sessions/${body.execution.sessionId}`)).body
  return { f, status, body, approvalOf, decide, session }
}

test('ALX-T18 a step that needs approval pauses its run', async () => {
  const { f, status, body, approvalOf, session } = await paused()
  expect([status, body.ok, body.success, body.execution.status]).toEqual([202, true, false, 'awaiting_approval'])
  expect(body.steps.map(({ status }) => status)).toEqual(['completed', 'pending'])
  expect(await session()).toMatchObject({ status: 'paused', nextStep: expect.stringContaining('gate_') })
  const { approvalId, expiresAt } = await approvalOf()
  const [gate] = (await f.entries(body.executionId, 'gate_triggered')).filter(
    entry => (entry.body as { gate_id: string }).gate_id === approvalId,
  )
  expect(Date.parse(expiresAt!) - Date.parse(gate!.timestamp)).toBeGreaterThan(86_399_000)
  const read = await f.get(`/v1/runs/${body.executionId}`)
  expect(read.status).toBe(202)
  const busy = await f.solve({ options: { sessionId: body.execution.sessionId } })
  expect(busy.body.error?.code).toBe('SESSION_BUSY')
})

test('ALX-T19 an approval resumes the run, and its events go on without a gap', async () => {
  const { f, body, decide, session } = await paused()
  const done = await decide('approve', { note: 'Go on.' })
  expect([done.status, done.body.success]).toEqual([200, true])
  const events = await f.events(body.executionId)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1))
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', ok: true })
  expect((await session()).status).toBe('completed')
  const resolved = await f.entries(body.executionId, 'gate_resolved')
  expect(resolved.at(-1)!.body).toMatchObject({ actor: 'U', action: 'approve', reason: 'Go on.' })
})

test('ALX-T20 a rejection ends the run, and nobody can decide again', async () => {
  const { f, body, decide } = await paused()
  const refused = await decide('reject')
  expect([refused.status, refused.body.error?.code]).toEqual([422, 'APPROVAL_REJECTED'])
  expect((await f.events(body.executionId)).at(-1)).toMatchObject({ type: 'run.failed', ok: false })
  const again = await decide('approve')
  expect([again.status, again.body.error?.code]).toEqual([409, 'APPROVAL_ALREADY_DECIDED'])
  const other = await f.post<SolveResponse>(`/v1/runs/${body.executionId}/approval`, {
    approvalId: 'gate_none',
    decision: 'approve',
  })
  expect([other.status, other.body.error?.code]).toEqual([404, 'APPROVAL_NOT_FOUND'])
  expect((await decide('maybe')).body.error?.code).toBe('INVALID_REQUEST')
  const resolved = await f.entries(body.executionId, 'gate_resolved')
  expect(resolved.at(-1)!.body).toMatchObject({ actor: 'U', action: 'reject' })
})

test('ALX-T21 an approval that nobody gives in time fails the run', async () => {
  const { f, body, decide, session } = await paused()
  f.clock.advance(86_400_001)
  const read = await f.get<SolveResponse>(`/v1/runs/${body.executionId}`)
  expect([read.status, read.body.error?.code]).toEqual([422, 'APPROVAL_EXPIRED'])
  expect((await session()).status).toBe('failed')
  expect((await decide('approve')).body.error?.code).toBe('APPROVAL_ALREADY_DECIDED')
  const live = await f.server.host.runs.read(body.executionId as never)
  await live!.until(({ fold }) => fold.over)
  expect((await f.entries(body.executionId, 'gate_timeout')).length).toBe(1)
  const later = await f.get<SolveResponse>(`/v1/runs/${body.executionId}`)
  expect(later.body).toEqual({ ...read.body, correlationId: later.body.correlationId })
})

test('ALX-T39 progress is unknown without a plan, and a part of it while the run waits', async () => {
  const steps = [step('one'), step('two', { approve: true }), step('three'), step('four')]
  const { f, session, body } = await paused({ steps })
  expect((await session()).progress).toBe(0.25)
  f.candidates = []
  const none = await f.solve()
  const { body: unplanned } = await f.get<SessionStatusEnvelope>(`/v1/sessions/${none.body.execution.sessionId}`)
  expect(unplanned).toHaveProperty('progress', null)
  expect((await f.entries(body.executionId, 'task_completed')).length).toBe(1)
})

test('ALX-T69 a session has all of its members in every state', async () => {
  const { f, session } = await paused()
  f.plan = { kind: 'steps', steps: [step('one')] }
  const good = await f.solve()
  f.scripts.one = () => {
    throw new Error('no')
  }
  const bad = await f.solve()
  const of = async (id: string | null) => (await f.get<SessionStatusEnvelope>(`/v1/sessions/${id}`)).body
  const sessions = [await session(), await of(bad.body.execution.sessionId), await of(good.body.execution.sessionId)]
  expect(sessions.map(({ status }) => status)).toEqual(['paused', 'failed', 'completed'])
  for (const each of sessions) {
    expect(isSessionStatusEnvelope(each, 'emit')).toBe(true)
    expect(each.userId).toBe(U.id)
    expect(each).toHaveProperty('nextStep')
  }
  for (const { nextStep } of sessions.slice(0, 2)) expect(nextStep).toMatch(/./)
  expect((await f.entries(bad.body.executionId, 'task_failed')).length).toBe(1)
})

test('a paused run is there after a restart, and a stream of its events goes on behind the approval', async () => {
  const { f, body, decide } = await paused()
  await f.restart()
  const stream = await fetch(`${f.url}/v1/runs/${body.executionId}/events`, {
    headers: { ...STREAM, authorization: 'Bearer U' },
  })
  const done = await decide('approve')
  expect(done.status).toBe(200)
  const frames = framesOf(await stream.text())
  expect(frames.map(({ event }) => event)).toContain('approval.required')
  expect(frames.at(-1)!.event).toBe('run.completed')
})

test("an agent's question is an approval whose note is the reply", async () => {
  const f = await AlxFixture.open()
  let told = ''
  f.scripts.two = async ({ token, signal }) => {
    const mail = unwrap(await unwrap(f.coordinator.verbs(token!)).ask('Which door?', 60_000, signal))
    told = mail.map(({ text }) => text).join()
    return `I took ${told}`
  }
  const { status, text } = await f.solve({}, { headers: STREAM })
  expect(status).toBe(200)
  const frames = framesOf(text)
  expect(frames.slice(-2)).toMatchObject([
    { event: 'approval.required', data: { approval: { reason: 'Which door?', expiresAt: null } } },
    { event: 'alx.response', data: { ok: true, success: false, execution: { status: 'awaiting_approval' } } },
  ])
  const { executionId } = frames.at(-1)!.data as { executionId: string }
  const { approvalId } = frames.at(-2)!.data.approval as { approvalId: string }
  const done = await f.post<SolveResponse>(`/v1/runs/${executionId}/approval`, {
    approvalId,
    decision: 'approve',
    note: 'the left one',
  })
  expect([done.status, done.body.success]).toEqual([200, true])
  expect(told).toContain('the left one')
})

test('the time limit of a solve counts working time: it stands still while a person is asked', async () => {
  const { f, body, decide } = await paused()
  f.clock.advance(3_600_000)
  let begun = () => {}
  const working = new Promise<void>(resolve => {
    begun = resolve
  })
  f.scripts.two = ({ signal }) => {
    begun()
    return new Promise(resolve => signal.addEventListener('abort', () => resolve('ended')))
  }
  const decided = decide('approve')
  await working
  f.clock.advance(120_000)
  const { status, body: late } = await decided
  expect([status, late.error?.code]).toEqual([504, 'EXECUTION_TIMEOUT'])
  expect(late.steps.map(({ status }) => status)).toEqual(['completed', 'failed'])
  const events = await f.events(body.executionId)
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['step.failed', 'run.failed'])
  const [end] = (await f.entries(body.executionId, 'workspace_state_changed')).slice(-1)
  expect(end!.body).toMatchObject({ to_state: 'failed' })
})
