// Conformance of solves (sections 2 and 3), over HTTP and a real trail.
import { ALX_PROTOCOL_VERSION, isSolveResponse } from '@alx/protocol'
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { readSolveFacts } from '../run/facts.ts'
import { AlxFixture, candidate, framesOf, INTENT, STREAM, V } from '../testing/fixture.ts'

const code = (body: { readonly error?: { readonly code: string } }) => body.error?.code

test('ALX-T08 a solve answers with every canonical member once its run has completed', async () => {
  const f = await AlxFixture.open()
  const { status, body } = await f.solve()
  expect(status).toBe(200)
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect(body).toMatchObject({ ok: true, success: true, confidence: 0.9, result: 'two is done' })
  expect(body.execution).toMatchObject({ status: 'completed', attempt: 0, dryRun: false, forced: false })
  expect(body.steps.map(({ index, status }) => [index, status])).toEqual([
    [0, 'completed'],
    [1, 'completed'],
  ])
  expect(body).not.toHaveProperty('error')
  expect(body.protocol.protocol_version).toBe(ALX_PROTOCOL_VERSION)
  const integrated = (await f.entries(body.executionId, 'task_status_changed')).filter(
    entry => (entry.body as { to_status?: string }).to_status === 'integrated',
  )
  expect(integrated).toHaveLength(2)
  expect([...f.knowledge.kept.values()].map(({ envelope, curator }) => [envelope.type, curator])).toEqual([
    ['synthesis', 'U'],
  ])
})

test('ALX-T11 a candidate below the limit fails the run with exactly two events', async () => {
  const f = await AlxFixture.open()
  f.candidates = [candidate(0.22)]
  const { status, body } = await f.solve()
  expect([status, code(body), body.error?.type]).toEqual([422, 'LOW_CONFIDENCE', 'approval'])
  expect(body).toMatchObject({ ok: false, success: false, confidence: 0.22 })
  expect(body.artifact).not.toBeNull()
  expect((await f.events(body.executionId)).map(({ type }) => type)).toEqual(['run.started', 'run.failed'])
})

test('ALX-T12 ALX-T13 force overrides the gate and is shown only where it had to; the limit itself passes', async () => {
  const f = await AlxFixture.open()
  f.candidates = [candidate(0.22)]
  const forced = await f.solve({ options: { force: true } })
  expect(forced.body.execution).toMatchObject({ status: 'completed', forced: true })
  f.candidates = [candidate(0.35)]
  for (const force of [false, true]) {
    const { body } = await f.solve({ options: { force } })
    expect(body.execution).toMatchObject({ status: 'completed', forced: false })
  }
  expect((await f.entries(forced.body.executionId, 'task_completed')).length).toBe(2)
})

test('ALX-T14 without a candidate even force selects nothing', async () => {
  const f = await AlxFixture.open()
  f.candidates = []
  const { status, body } = await f.solve({ options: { force: true } })
  expect([status, code(body), body.artifact, body.confidence]).toEqual([422, 'NO_ARTIFACT_SELECTED', null, null])
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect((await f.entries(body.executionId)).at(-1)!.event_type).toBe('workspace_state_changed')
  const read = await f.get(`/v1/runs/${body.executionId}`)
  expect([read.status, code(read.body)]).toEqual([422, 'NO_ARTIFACT_SELECTED'])
})

test('ALX-T15 a dry run plans and leaves no trace', async () => {
  const f = await AlxFixture.open()
  const runs = async () => (await f.trail.runs()).length
  const before = await runs()
  const { status, body } = await f.solve({ options: { dryRun: true } })
  expect(status).toBe(200)
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect(body).toMatchObject({
    ok: true,
    success: true,
    execution: { status: 'planned', sessionId: null, dryRun: true },
  })
  expect(body.steps.map(({ status }) => status)).toEqual(['pending', 'pending'])
  expect(f.turns).toBe(0)
  expect(await runs()).toBe(before)
  expect((await f.get('/v1/sessions')).body.sessions).toEqual([])
  for (const path of ['', '/events']) {
    const read = await f.get(`/v1/runs/${body.executionId}${path}`)
    expect([read.status, code(read.body)]).toEqual([404, 'RUN_NOT_FOUND'])
  }
  f.candidates = [candidate(0.1)]
  const refused = await f.solve({ options: { dryRun: true } })
  expect([refused.status, code(refused.body)]).toEqual([422, 'LOW_CONFIDENCE'])
  expect(isSolveResponse(refused.body, 'emit')).toBe(true)
})

/** What an agent says on purpose. */
const declared = () => {
  throw new ParleyError('no_quota', 'The account in /srv/accounts/key is empty.')
}

test('ALX-T16 a step that fails ends the run, and the run says so everywhere', async () => {
  const f = await AlxFixture.open()
  f.scripts.two = declared
  const { status, body, text } = await f.solve()
  expect([status, code(body)]).toEqual([422, 'EXECUTION_FAILED'])
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect(body.steps.map(({ status }) => status)).toEqual(['completed', 'failed'])
  expect(body.steps[1]).toMatchObject({ error: { code: 'EXECUTION_FAILED' } })
  const events = await f.events(body.executionId)
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['step.failed', 'run.failed'])
  expect(events.at(-1)).toMatchObject({ ok: false, error: { code: 'EXECUTION_FAILED', type: 'execution' } })
  expect(text + JSON.stringify(events)).not.toContain('/srv')
  expect((await f.entries(body.executionId, 'task_failed')).length).toBe(1)
  const read = await f.get(`/v1/runs/${body.executionId}`)
  expect([read.status, code(read.body)]).toEqual([422, 'EXECUTION_FAILED'])
})

test('ALX-T17 when the first candidate fails, the second one is carried out in the same run', async () => {
  const f = await AlxFixture.open()
  const other = candidate(0.6, 'second')
  f.candidates = [candidate(0.9), other]
  let tries = 0
  f.scripts.two = () => {
    tries++
    return tries === 1 ? declared() : 'the second way'
  }
  const { status, body } = await f.solve()
  expect([status, body.ok, body.execution.attempt, body.confidence]).toEqual([200, true, 1, 0.6])
  expect(isSolveResponse(body, 'emit')).toBe(true)
  expect(body.artifact?.artifactId).toBe(other.artifact.artifactId)
  expect(body.result).toContain('the second way')
  expect(body.steps.map(({ attempt, status, stepId }) => [attempt, status, stepId])).toEqual([
    [0, 'completed', 'one'],
    [0, 'failed', 'two'],
    [1, 'completed', 'one-2'],
    [1, 'completed', 'two-2'],
  ])
  const { timeline } = (
    await f.get<{ timeline: { type: string; data?: object; timestamp: number }[] }>(
      `/v1/sessions/${body.execution.sessionId}/timeline`,
    )
  ).body
  expect(timeline.filter(({ type }) => type === 'fallback')).toMatchObject([
    {
      timestamp: Date.parse(body.steps[2]!.startedAt!),
      data: { fromArtifactId: candidate(0.9).artifact.artifactId, toArtifactId: other.artifact.artifactId },
    },
  ])
  expect((await f.entries(body.executionId, 'task_failed')).length).toBeGreaterThan(0)
  f.scripts.two = declared
  const both = await f.solve()
  expect([both.status, both.body.execution.attempt, code(both.body)]).toEqual([422, 1, 'EXECUTION_FAILED'])
  f.scripts.two = () => 'the first way'
  const first = await f.solve()
  expect([first.body.execution.attempt, first.body.steps.length]).toEqual([0, 2])
})

test('ALX-T65 what nobody foresaw is contained, and its step is closed', async () => {
  const f = await AlxFixture.open()
  f.scripts.two = () => {
    throw new Error('cannot read /srv/secret/plan.txt')
  }
  const { status, body, text } = await f.solve()
  expect([status, code(body)]).toEqual([500, 'INTERNAL_ERROR'])
  const events = await f.events(body.executionId)
  expect(text + JSON.stringify(events)).not.toContain('/srv')
  expect(events.slice(-2)).toMatchObject([{ type: 'step.failed' }, { type: 'run.failed', ok: false }])
  expect(JSON.stringify(await f.entries(body.executionId, 'task_failed'))).toContain('/srv/secret')
  f.candidates = () => {
    throw new Error('cannot read /srv/secret/index')
  }
  const unselected = await f.solve()
  expect([unselected.status, code(unselected.body), unselected.body.artifact]).toEqual([500, 'INTERNAL_ERROR', null])
  expect(unselected.text).not.toContain('/srv')
  expect((await f.events(unselected.body.executionId)).map(({ type }) => type)).toEqual(['run.started', 'run.failed'])
})

test('ALX-T72 the correlation id of the request is in its answer, in every event and in the log', async () => {
  const f = await AlxFixture.open()
  f.scripts.two = declared
  const { body, headers } = await f.solve({}, { headers: { 'x-correlation-id': 'abc-1' } })
  expect([body.correlationId, headers.get('x-correlation-id')]).toEqual(['abc-1', 'abc-1'])
  for (const event of await f.events(body.executionId)) expect(event.correlationId).toBe('abc-1')
  const logged = f.logged.find(({ facts }) => (facts as { correlationId?: string }).correlationId === 'abc-1')
  expect(logged?.facts).toMatchObject({ run: body.executionId, code: 'EXECUTION_FAILED' })
  expect((await f.entries(body.executionId, 'task_failed')).length).toBe(1)
})

const keyed = (key: string, more: object = {}) => ({ options: { idempotencyKey: key, ...more } })
const canonical = (body: object) => {
  const { correlationId: _, cached: __, ...rest } = body as Record<string, unknown>
  return rest
}
const alxRuns = async (f: AlxFixture) =>
  (await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })).runs.length

test('ALX-T22 ALX-T70 one key is one run, whoever asks how often, also after a restart', async () => {
  const f = await AlxFixture.open()
  const first = await f.solve(keyed('k1'))
  const again = await f.solve(keyed('k1'))
  const other = await f.solve({ ...keyed('k1'), zz: 1, protocol: { protocol_version: '1.0' } })
  const header = await f.solve({}, { headers: { 'idempotency-key': 'k1' } })
  await f.restart()
  const later = await f.solve(keyed('k1'))
  expect(first.body).not.toMatchObject({ cached: true })
  for (const reply of [again, other, header, later]) {
    expect(reply.status).toBe(200)
    expect(canonical(reply.body)).toEqual(canonical(first.body))
    expect(reply.body.cached).toBe(true)
    expect(reply.body.correlationId).not.toBe(first.body.correlationId)
  }
  const stream = framesOf((await f.solve(keyed('k1'), { headers: STREAM })).text)
  expect(stream.map(({ event }) => event)).toEqual(['alx.response'])
  expect(canonical(stream[0]!.data)).toEqual(canonical(first.body))
  expect([await alxRuns(f), f.turns]).toEqual([1, 2])
  const both = await f.solve(keyed('k1'), { headers: { 'idempotency-key': 'k2' } })
  expect(code(both.body)).toBe('INVALID_REQUEST')
})

test('ALX-T23 a key that was used for another request is a conflict', async () => {
  const f = await AlxFixture.open()
  await f.solve(keyed('k1'))
  const reply = await f.solve({ ...keyed('k1'), intent: { ...INTENT, target: 'site' } })
  expect([reply.status, code(reply.body)]).toEqual([409, 'IDEMPOTENCY_CONFLICT'])
  expect(await alxRuns(f)).toBe(1)
  const own = await f.solve({ ...keyed('k1'), intent: { ...INTENT, target: 'site' } }, { as: V })
  expect(own.status).toBe(200)
})

/** A step that goes on when it is told to, and tells when it has begun. */
function blocked() {
  const begun = Promise.withResolvers<void>()
  const go = Promise.withResolvers<string>()
  const script = () => {
    begun.resolve()
    return go.promise
  }
  return { script, begun: begun.promise, finish: () => go.resolve('done') }
}

test('ALX-T24 while the first call under a key is unfinished, another one is told so', async () => {
  const f = await AlxFixture.open()
  const { script, begun, finish } = blocked()
  f.scripts.two = script
  const first = f.solve(keyed('k1'))
  const racing = await f.solve(keyed('k1'))
  await begun
  const second = await f.solve(keyed('k1'))
  for (const reply of [racing, second])
    expect([reply.status, code(reply.body)]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS'])
  finish()
  expect((await first).status).toBe(200)
  expect(await alxRuns(f)).toBe(1)
})

test('ALX-T26 a session has one unfinished run: another solve and a reset are refused, also when they race', async () => {
  const f = await AlxFixture.open()
  const { body } = await f.solve()
  const { sessionId } = body.execution
  const { script, begun, finish } = blocked()
  f.scripts.two = script
  const racing = Array.from({ length: 4 }, () => f.solve({ options: { sessionId } }))
  await begun
  const late = await f.solve({ options: { sessionId } })
  const reset = await f.post(`/v1/sessions/${sessionId}/reset`)
  for (const reply of [late, reset]) expect([reply.status, code(reply.body)]).toEqual([409, 'SESSION_BUSY'])
  finish()
  const ended = await Promise.all(racing)
  expect(ended.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
  expect(await alxRuns(f)).toBe(2)
})

test('ALX-T27 what a selector sees does not depend on meta', async () => {
  const f = await AlxFixture.open()
  await f.solve({ context: { a: 1 }, meta: { source: 'cli' } })
  await f.solve({ context: { a: 1 }, meta: { source: 'web', userId: 'U' } })
  expect(f.selections[0]).toEqual(f.selections[1])
  expect(JSON.stringify(f.selections)).not.toContain('cli')
  const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })
  expect(runs.map(({ context }) => context.meta)).toEqual(['{"source":"web","userId":"U"}', '{"source":"cli"}'])
})

test('the largest and the deepest context that the protocol allows is stored whole', async () => {
  const f = await AlxFixture.open()
  f.plan = { kind: 'none', result: 'ok' }
  const nested = (levels: number): unknown => (levels === 0 ? null : { a: nested(levels - 1) })
  for (const context of [{ text: 'x'.repeat(262_100) }, { a: nested(60) }]) {
    const { status, body } = await f.solve({ context, meta: { a: nested(60) } })
    expect(status).toBe(200)
    const live = await f.server.host.runs.read(body.executionId as never)
    expect(live!.fold.run.facts.context).toEqual(context)
    const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx', limit: 1 })
    expect(readSolveFacts(runs[0]!.context)?.context).toEqual(context)
  }
})

test('ALX-T74 aliases repeat what they are called after', async () => {
  const f = await AlxFixture.open()
  const good = (await f.solve(keyed('k1'))).body
  expect(good).toMatchObject({
    confidenceScore: good.confidence,
    improvement: null,
    fallbackUsed: false,
    idempotencyKey: 'k1',
    reason: expect.any(String),
    selectMeta: { minConfidence: 0.35, candidates: [{ artifactId: good.artifact!.artifactId, confidence: 0.9 }] },
  })
  f.scripts.two = declared
  const bad = (await f.solve()).body
  expect(bad).toMatchObject({ code: 'EXECUTION_FAILED', confidenceScore: 0.9 })
  expect([good, bad].map(body => isSolveResponse(body, 'emit'))).toEqual([true, true])
  expect((await f.entries(bad.executionId, 'task_failed')).length).toBe(1)
})

test('a disconnected client cancels nothing (ALX-HTTP-07), and its result is registered', async () => {
  const f = await AlxFixture.open()
  const { script, begun, finish } = blocked()
  f.scripts.two = script
  const leaving = new AbortController()
  const gone = fetch(`${f.url}/v1/solve`, {
    method: 'POST',
    headers: { authorization: 'Bearer U', 'content-type': 'application/json' },
    body: JSON.stringify({ intent: INTENT }),
    signal: leaving.signal,
  })
  await begun
  leaving.abort()
  await expect(gone).rejects.toThrow()
  finish()
  const [{ sessionId }] = (await f.get<{ sessions: { sessionId: string }[] }>('/v1/sessions')).body.sessions as [
    { sessionId: string },
  ]
  const { runs } = await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })
  const live = await f.server.host.runs.read(runs[0]!.run)
  await live!.until(({ fold }) => fold.over)
  expect((await f.get(`/v1/sessions/${sessionId}`)).body.status).toBe('completed')
  expect(f.knowledge.kept.size).toBe(1)
})
