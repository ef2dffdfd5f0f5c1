// What a caller can rely on for single calls: results, errors, retries, paging.
import { kbHashFromEnvelope } from '@alx/protocol'
import { expect, test } from 'vitest'
import { type AlxClient, type ClientOptions, createAlxClient } from './client.ts'
import { AlxError, AlxProtocolViolation, AlxTransportError } from './errors.ts'
import { answer, BASE, failure, type Handler, PROTOCOL, type Server, serve } from './testing/http-server.ts'
import { CALL, eventsOf, HASH, responseOf } from './testing/samples.ts'
import { FakeTiming } from './testing/timing.ts'

async function against(
  handler: Handler,
  options: Partial<ClientOptions> = {},
): Promise<{ client: AlxClient; server: Server; timing: FakeTiming }> {
  const server = await serve(handler)
  const timing = new FakeTiming()
  return { client: createAlxClient({ baseUrl: server.url, timing, ...options }), server, timing }
}
const thrown = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    value => expect.fail(`resolved with ${JSON.stringify(value)}`),
    error => error,
  )
const answering =
  (status: number, body: unknown, headers?: Record<string, string>): Handler =>
  (_, response) =>
    answer(response, status, body, headers)
const completed = responseOf('run_1', 'completed')

test('ALX-T58 unknown members come along, unknown events are reported and skipped, an unknown code is not retried', async () => {
  const more = { ...completed, zz: { deep: [null] }, execution: { ...completed.execution, zz: 1 } }
  const solving = await against(answering(200, more))
  expect(await solving.client.solve(CALL)).toEqual(more)

  const [started, ...others] = eventsOf('run_1', 'completed')
  const paused = { type: 'run.paused', seq: 2, runId: 'run_1', zz: 1 }
  const events = [started, paused, ...others.map(event => ({ ...event, seq: (event as { seq: number }).seq + 1 }))]
  const unknown: unknown[] = []
  const reading = await against(answering(200, { ...BASE, runId: 'run_1', events }), {
    onUnknownEvent: (event, source) => unknown.push([source, event]),
  })
  const read = await reading.client.getRunEvents('run_1')
  expect(read.events.map(event => event.type)).toEqual(eventsOf('run_1', 'completed').map(event => event.type))
  expect(unknown).toEqual([['run', paused]])

  const failing = await against(answering(500, failure('BRAND_NEW', { retryable: true }, 'brand_new')))
  const error = await thrown(failing.client.getRun('run_1'))
  expect(error).toBeInstanceOf(AlxError)
  expect(error).toMatchObject({ code: 'BRAND_NEW', type: 'internal', retryable: true, httpStatus: 500 })
  expect(failing.server.asked).toHaveLength(1)
})

test('ALX-T59 answers that break the protocol are violations that name the rule', async () => {
  const { protocol: _, ...withoutProtocol } = completed
  const cases: [number, unknown, string][] = [
    [500, completed, 'WG-08'],
    [200, withoutProtocol, 'WG-02'],
    [200, { ...completed, correlationId: '' }, 'WG-02'],
    [500, 'Internal Server Error', 'ALX-HTTP-06'],
    [200, '[]', 'ALX-HTTP-06'],
    [500, { ...BASE, ok: false }, 'WG-05'],
    [500, { ...BASE, ok: false, error: { type: 'internal', message: 'm' } }, 'WG-05'],
    [500, { ...BASE, ok: false, error: { code: 'A_CODE' } }, 'ALX-ERR-01'],
    [200, { ...completed, error: null }, 'ALX-ENV-03'],
    [200, { ...completed, confidence: 2 }, 'WG-06'],
  ]
  for (const [status, body, rule] of cases) {
    const { client, server } = await against(answering(status, body))
    const error = await thrown(client.solve(CALL))
    expect(error).toBeInstanceOf(AlxProtocolViolation)
    expect([status, body, (error as AlxProtocolViolation).rule]).toEqual([status, body, rule])
    expect((error as Error).message).toMatch(/^POST \/v1\/solve was answered against [\w-]+ .* server's operator\.$/)
    expect(server.asked).toHaveLength(1)
  }
  const events = eventsOf('run_1', 'failed').map(event =>
    event.type === 'run.failed' ? { ...event, ok: true } : event,
  )
  const reading = await against(answering(200, { ...BASE, runId: 'run_1', events }))
  expect(await thrown(reading.client.getRunEvents('run_1'))).toMatchObject({ rule: 'WG-09' })
  const lies = eventsOf('run_1', 'completed').map(event => ({
    ...event,
    ...(event.type === 'run.completed' && { ok: false }),
  }))
  const other = await against(answering(200, { ...BASE, runId: 'run_1', events: lies }))
  expect(await thrown(other.client.getRunEvents('run_1'))).toMatchObject({ rule: 'WG-10' })
})

test('ALX-T60 canonical members count and aliases beside them do not', async () => {
  const solving = await against(answering(200, { ...completed, confidence: 0.8, confidenceScore: 0.1 }))
  expect((await solving.client.solve(CALL)).confidence).toBe(0.8)
  const failing = await against(answering(400, { ...failure('A_CODE'), code: 'B_CODE', message: 'alias' }))
  expect(await thrown(failing.client.solve(CALL))).toMatchObject({ code: 'A_CODE', message: 'the server says A_CODE' })
})

test('ALX-T61 a retried solve has the same idempotency key, and the wait that the server asked for', async () => {
  const { client, server, timing } = await against((_, response, count) =>
    count === 1
      ? answer(response, 429, failure('RATE_LIMITED', {}, 'rate_limit'), { 'retry-after': '0' })
      : answer(response, 200, completed),
  )
  expect(await client.solve(CALL)).toEqual(completed)
  const keys = server.asked.map(({ body }) => (body!.options as Record<string, unknown>).idempotencyKey)
  expect(keys).toEqual([
    expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    keys[0],
  ])
  expect(timing.pauses).toEqual([0])
})

test('ALX-T62 a Knowledge Block that is not what its hash says is refused, unless the caller does not want the check', async () => {
  const envelope = {
    type: 'practice',
    domain: 'ops',
    sources: [],
    payload: { type: 'practice', rationale: 'r', contexts: [], failureModes: [] },
  }
  const kbHash = kbHashFromEnvelope(envelope)
  const rest = { curator: 'U', createdAt: '2026-11-19T10:00:00.000Z', status: 'active', attribution: [], queryFee: '0' }
  const record = { ...BASE, kbHash, kbId: null, envelope, ...rest }
  const altered = { ...envelope, payload: { ...envelope.payload, rationale: 'another' } }
  const swapped = { ...record, kbHash: kbHashFromEnvelope(altered), envelope: altered }
  const empty = { ...record, envelope: { ...envelope, payload: { a: null } } }
  const good = await against(answering(200, record))
  expect(await good.client.getKb(kbHash)).toEqual(record)
  for (const body of [{ ...record, envelope: altered }, { ...record, kbHash: HASH }, swapped, empty]) {
    const { client } = await against(answering(200, body))
    expect(await thrown(client.getKb(kbHash))).toMatchObject({ name: 'AlxProtocolViolation', rule: 'ALX-KB-05' })
    expect(await client.getKb(kbHash, { verify: false })).toEqual(body)
  }
})

test('ALX-T67 an unknown timeline event is kept and reported once; unknown capabilities and absent aliases are fine', async () => {
  const note = { type: 'note', anything: 1 }
  const unknown: unknown[] = []
  const timeline = { ...BASE, sessionId: 's', userId: 'U', status: 'active', timeline: [note], nextCursor: null }
  const reading = await against(answering(200, timeline), { onUnknownEvent: (...told) => unknown.push(told) })
  expect((await reading.client.getTimeline('s')).timeline).toEqual([note])
  expect(unknown).toEqual([[note, 'timeline']])
  const newer = { ...BASE, protocol: { ...PROTOCOL, capabilities: ['zz-new'] } }
  expect(await (await against(answering(200, newer))).client.protocol()).toEqual(newer)
  expect(await (await against(answering(200, completed))).client.solve(CALL)).toEqual(completed)
})

test('ALX-SDK-05 a failed run is thrown with all of its answer; a rejection that was asked for is returned', async () => {
  const failed = responseOf('run_1', 'failed')
  const { client } = await against(answering(422, failed), {})
  const error = (await thrown(client.getRun('run_1'))) as AlxError
  expect(error).toMatchObject({ code: 'EXECUTION_FAILED', type: 'execution', httpStatus: 422, correlationId: 'req_1' })
  expect([error.envelope, error.run]).toEqual([failed, failed])

  const rejected = { ...failed, error: failure('APPROVAL_REJECTED', {}, 'approval').error }
  const deciding = await against(answering(422, rejected))
  expect(await deciding.client.decideApproval('run_1', { approvalId: 'a', decision: 'reject' })).toEqual(rejected)
  const approve = deciding.client.decideApproval('run_1', { approvalId: 'a', decision: 'approve' })
  expect(await thrown(approve)).toMatchObject({ code: 'APPROVAL_REJECTED' })
  const refused = await against(answering(404, failure('APPROVAL_NOT_FOUND')))
  const reject = refused.client.decideApproval('run_1', { approvalId: 'a', decision: 'reject' })
  expect(await thrown(reject)).toMatchObject({ code: 'APPROVAL_NOT_FOUND', run: undefined })
})

test('ALX-SDK-08 pauses double from 250 ms, and there are no more retries than allowed', async () => {
  for (const code of ['RATE_LIMITED', 'UPSTREAM_UNAVAILABLE', 'IDEMPOTENCY_IN_PROGRESS']) {
    const { client, server, timing } = await against(answering(503, failure(code)), { maxRetries: 3 })
    expect(await thrown(client.solve(CALL))).toMatchObject({ code })
    expect([server.asked.length, timing.pauses]).toEqual([4, [250, 500, 1000]])
  }
  const never = await against(answering(503, failure('UPSTREAM_UNAVAILABLE')), { maxRetries: 0 })
  await thrown(never.client.getRun('run_1'))
  expect(never.server.asked).toHaveLength(1)
})

test('ALX-SDK-08 only a GET, or a POST with a key, is sent again', async () => {
  const busy: Handler = (_, response) => answer(response, 503, failure('UPSTREAM_UNAVAILABLE'))
  const { client, server } = await against(busy)
  const calls: [() => Promise<unknown>, number][] = [
    [() => client.protocol(), 3],
    [() => client.getSettlement('q'), 3],
    [() => client.settle({ queryId: 'q', kbHash: HASH, amount: '1' }), 3],
    [() => client.decideApproval('r', { approvalId: 'a', decision: 'approve' }), 1],
    [() => client.sendFeedback({ executionId: 'r', rating: 1 }), 1],
    [() => client.resetSession('s'), 1],
    [() => client.forkSession('s'), 1],
    [() => client.verifyKb({ envelope: {} as never }), 1],
    [() => client.registerKb({ envelope: {} as never }), 1],
  ]
  for (const [call, times] of calls) {
    const before = server.asked.length
    expect(await thrown(call())).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
    expect([String(call), server.asked.length - before]).toEqual([String(call), times])
  }
})

test('ALX-SDK-08 retry-after is honoured as seconds and as a date, and a wait beyond the bound is left to the caller', async () => {
  const after = (value: string) =>
    against((_, response, count) =>
      count === 1
        ? answer(response, 429, failure('RATE_LIMITED'), { 'retry-after': value })
        : answer(response, 200, completed),
    )
  for (const [value, pause] of [
    ['7', 7000],
    ['Thu, 19 Nov 2026 10:00:09 GMT', 9000],
    ['Thu, 19 Nov 2026 09:00:00 GMT', 0],
    ['soon', 250],
  ] as const) {
    const { client, timing } = await after(value)
    await client.solve(CALL)
    expect([value, timing.pauses]).toEqual([value, [pause]])
  }
  const { client, timing } = await after('3600')
  expect(await thrown(client.solve(CALL))).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 3_600_000 })
  expect(timing.pauses).toEqual([])
})

test('ALX-SDK-08 a lost connection is retried before any answer, and not in the middle of one', async () => {
  const early = await against((_, response, count) =>
    count === 1 ? response.destroy() : answer(response, 200, completed),
  )
  expect(await early.client.solve(CALL)).toEqual(completed)
  const late = await against((_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{', () => response.destroy())
  })
  const error = await thrown(late.client.solve({ ...CALL, options: { idempotencyKey: 'mine' } }))
  expect(error).toMatchObject({ name: 'AlxTransportError', reason: 'interrupted', idempotencyKey: 'mine' })
  expect((error as Error).message).toMatch(/repeat it with the idempotency key mine/)
  expect(late.server.asked).toHaveLength(1)
})

test('ALX-SDK-04 a call ends at its time limit, also in the middle of a body, and when its signal fires', async () => {
  for (const head of [false, true]) {
    let reached = () => {}
    const there = new Promise<void>(resolve => {
      reached = resolve
    })
    const { client, timing } = await against((_, response) => {
      if (head) response.writeHead(200).write('{"ok":')
      reached()
    })
    const late = thrown(client.solve(CALL))
    await there
    timing.expire(60_000)
    expect(await late).toMatchObject({ reason: 'timeout', idempotencyKey: expect.any(String) })

    const controller = new AbortController()
    const aborted = thrown(client.getRun('run_1', { signal: controller.signal }))
    controller.abort(new Error('enough'))
    expect(await aborted).toMatchObject({ message: 'enough' })
  }
  const { client, server } = await against(answering(200, completed))
  expect(await thrown(client.getRun('r', { signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' })
  expect(server.asked).toEqual([])
})

test('ALX-SDK-04 an abort ends the pause before a retry, and a fetch that ignores its signal holds up nobody', async () => {
  const controller = new AbortController()
  const { client, server } = await against((_, response) => {
    answer(response, 503, failure('UPSTREAM_UNAVAILABLE'), { 'retry-after': '59' })
  })
  const waiting = thrown(client.getRun('r', { signal: controller.signal }))
  controller.abort(new Error('enough'))
  expect(await waiting).toMatchObject({ message: 'enough' })

  const deaf = createAlxClient({ baseUrl: server.url, fetch: () => new Promise(() => {}) })
  const signal = AbortSignal.timeout(1)
  expect(await thrown(deaf.getRun('r', { signal }))).toMatchObject({ name: 'TimeoutError' })
})

test('ALX-SDK-04 an answer above the bound is refused', async () => {
  const big = Buffer.alloc(1024 * 1024, 32)
  const { client } = await against((_, response) => {
    response.on('error', () => {})
    for (let count = 0; count < 33; count += 1) response.write(big)
    response.end()
  })
  expect(await thrown(client.getRun('r'))).toMatchObject({ name: 'AlxTransportError', reason: 'too_large' })
})

test('ALX-ENV-05 every request says its protocol version, and only where it belongs', async () => {
  const { client, server } = await against(answering(500, failure('INTERNAL_ERROR')), { token: 'secret-token' })
  const envelope = { type: 't', domain: 'd', sources: [], payload: {} }
  const calls: Promise<unknown>[] = [
    client.protocol({ correlationId: 'abc-1' }),
    client.solve(CALL),
    client.getRun('r'),
    client.getRunEvents('r', { afterSeq: 2 }),
    client.decideApproval('r', { approvalId: 'a', decision: 'approve' }),
    client.sendFeedback({ executionId: 'r', rating: 1 }),
    client.getSession('s'),
    client.listSessions({ limit: 1, cursor: 'a&b', status: 'active', userId: 'U' }),
    client.getTimeline('s', { type: 'fork' }),
    client.resetSession('s'),
    client.forkSession('s'),
    client.registerKb({ envelope }),
    client.getKb(HASH),
    client.getLineage(HASH, { direction: 'descendants' }),
    client.verifyKb({ envelope }),
    client.settle({ queryId: 'q', kbHash: HASH, amount: '1' }),
    client.getSettlement('q'),
  ]
  await Promise.all(calls.map(thrown))
  expect(server.asked).toHaveLength(calls.length)
  for (const { body, headers } of server.asked) {
    const version = body
      ? (body.protocol as Record<string, unknown>).protocol_version
      : headers['x-alx-protocol-version']
    expect(version).toBe('1.1')
    expect(headers).toMatchObject({ accept: 'application/json', authorization: 'Bearer secret-token' })
  }
  expect(server.asked.map(({ method, url }) => `${method} ${url}`).sort()).toEqual(
    [
      'GET /alx/v1/protocol',
      'POST /alx/v1/solve',
      'GET /alx/v1/runs/r',
      'GET /alx/v1/runs/r/events?afterSeq=2',
      'POST /alx/v1/runs/r/approval',
      'POST /alx/v1/feedback',
      'GET /alx/v1/sessions/s',
      'GET /alx/v1/sessions?limit=1&cursor=a%26b&status=active&userId=U',
      'GET /alx/v1/sessions/s/timeline?type=fork',
      'POST /alx/v1/sessions/s/reset',
      'POST /alx/v1/sessions/s/fork',
      'POST /alx/v1/kb',
      `GET /alx/v1/kb/${HASH}`,
      `GET /alx/v1/kb/${HASH}/lineage?direction=descendants`,
      'POST /alx/v1/kb/verify',
      'POST /alx/v1/settlements',
      'GET /alx/v1/settlements/q',
    ].sort(),
  )
  expect(server.asked.filter(({ headers }) => headers['x-correlation-id'] === 'abc-1')).toHaveLength(1)
})

test('ALX-SDK-05 no error shows the token, even where the server or the platform repeats it', async () => {
  const token = 'tok"en\\0123456789'
  const echo: Handler = ({ headers }, response) =>
    answer(
      response,
      401,
      failure('UNAUTHORIZED', { message: `bad ${headers.authorization}`, details: [{ path: 'h', issue: token }] }),
    )
  const { client } = await against(echo, { token })
  const error = (await thrown(client.getRun('r'))) as AlxError
  expect(error.message).toBe('bad Bearer [token]')
  expect(JSON.stringify([error, error.envelope, error.stack])).not.toContain('0123456789')

  for (const bad of ['with space', 'line\nbreak-0123', 'ümlaut-0123', '']) {
    const refused = (() => {
      try {
        createAlxClient({ baseUrl: 'http://127.0.0.1:1/', token: bad })
      } catch (error) {
        return String(error)
      }
      return 'accepted'
    })()
    expect(refused).toBe('TypeError: token must be a non-empty string of visible ASCII characters, without spaces')
  }
  expect(() => createAlxClient({ baseUrl: 'http://u:secret-0123@h/' })).toThrow(/^(?!.*0123).*user name/)
})

test('ALX-SDK-04 what cannot be a request is refused before anything is sent', async () => {
  for (const baseUrl of ['', '/alx', 'ftp://h/', 'http://h/?a', 'http://h/#a'])
    expect(() => createAlxClient({ baseUrl })).toThrow(/^baseUrl must/)
  for (const options of [
    { timeoutMs: 0 },
    { timeoutMs: 1.5 },
    { maxRetries: -1 },
    { maxRetries: 101 },
    { timeoutMs: 2 ** 31 },
  ])
    expect(() => createAlxClient({ baseUrl: 'http://h/', ...options })).toThrow(RangeError)
  const { client, server } = await against(answering(200, completed))
  for (const id of ['', '.', '..']) expect(await thrown(client.getRun(id))).toBeInstanceOf(TypeError)
  expect(await thrown(client.protocol({ correlationId: 'a b' }))).toBeInstanceOf(TypeError)
  expect(server.asked).toEqual([])
  await client.getRun('a/../b?c')
  expect(server.asked[0]!.url).toBe('/alx/v1/runs/a%2F..%2Fb%3Fc')
})

test('ALX-HTTP-03 a redirect is not followed: the token goes nowhere but to the server that was named', async () => {
  const elsewhere = await serve(answering(200, completed))
  const { client } = await against(answering(307, '', { location: `${elsewhere.url}/v1/runs/r` }), {
    token: 'secret-token',
  })
  expect(await thrown(client.getRun('r'))).toMatchObject({ name: 'AlxTransportError' })
  expect(elsewhere.asked).toEqual([])
})

test('ALX-SESS-09 every item of all pages comes once, and a cursor that leads nowhere is a violation', async () => {
  const summary = { intent: 'i', status: 'active', progress: null, updatedAt: '2026-11-19T10:00:00.000Z' }
  const page = (cursor: string | null) => {
    const at = Number(cursor ?? 0)
    const sessions = Array.from({ length: at === 100 ? 20 : 50 }, (_, index) => ({
      ...summary,
      sessionId: `s${at + index}`,
    }))
    return { ...BASE, userId: 'U', sessions, nextCursor: at === 100 ? null : String(at + 50) }
  }
  const { client, server } = await against(({ url }, response) =>
    answer(response, 200, page(new URL(url, 'http://h').searchParams.get('cursor'))),
  )
  const ids: string[] = []
  for await (const session of client.eachSession({ limit: 50, status: 'active' })) ids.push(session.sessionId)
  expect(ids).toEqual(Array.from({ length: 120 }, (_, index) => `s${index}`))
  expect(server.asked.map(({ url }) => url.split('?')[1])).toEqual([
    'limit=50&status=active',
    'limit=50&cursor=50&status=active',
    'limit=50&cursor=100&status=active',
  ])
  const fork = { type: 'fork', timestamp: 1, eventId: 'e', seq: 1, sessionId: 's', executionId: null, summary: 'x' }
  const endless = { ...BASE, sessionId: 's', userId: 'U', status: 'active', timeline: [fork], nextCursor: 'same' }
  const looping = await against(answering(200, endless))
  const told: unknown[] = []
  const walk = async () => {
    for await (const event of looping.client.eachTimelineEvent('s')) told.push(event)
  }
  expect(await thrown(walk())).toMatchObject({ rule: 'ALX-SESS-09' })
  expect(told).toEqual([fork, fork])
})

test('ALX-SDK-04 without a server the error says what to check', async () => {
  const { client } = await against((_, response) => void response.destroy())
  const error = await thrown(client.getRun('r'))
  expect(error).toBeInstanceOf(AlxTransportError)
  expect((error as Error).message).toMatch(
    /^GET \/v1\/runs\/r got no answer from http:\/\/127\.0\.0\.1:\d+\. Check that/,
  )
})
