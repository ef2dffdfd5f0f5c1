// Conformance of the HTTP binding and the envelope (sections 2, 9 and 11), over real sockets.
import { ALX_PROTOCOL_VERSION, isBaseEnvelope, limits, ROUTES } from '@alx/protocol'
import { expect, test } from 'vitest'
import { AlxFixture, candidate, INTENT, type Reply, U, V } from '../testing/fixture.ts'

type Envelope = Readonly<Record<string, unknown>> & {
  readonly ok: boolean
  readonly error?: { readonly code: string; readonly details?: readonly { readonly path: string }[] }
}
const code = ({ body }: Pick<Reply, 'body'>) => (body as Envelope).error?.code

function isEnvelope({ status, headers, body }: Reply): void {
  expect(isBaseEnvelope(body, 'emit')).toBe(true)
  const { ok, error, correlationId } = body as Envelope
  expect([ok, error !== undefined]).toEqual([status < 400, status >= 400])
  expect(headers.get('x-correlation-id')).toBe(correlationId)
  expect(headers.get('x-alx-protocol-version')).toBe(ALX_PROTOCOL_VERSION)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
}

test('ALX-T01 every answer of every route is an envelope whose status agrees with it', async () => {
  const f = await AlxFixture.open()
  const { body } = await f.solve()
  const { executionId, execution } = body
  const bodies: Readonly<Record<string, unknown>> = {
    solve: { intent: INTENT },
    approval: { approvalId: 'none', decision: 'approve' },
    feedback: { executionId, rating: 1 },
    registerKb: { envelope: { type: 'practice' } },
    verifyKb: { envelope: { type: 'practice' } },
    settle: { queryId: 'q', kbHash: `0x${'0'.repeat(64)}`, amount: '1' },
  }
  const params: Readonly<Record<string, string>> = {
    executionId,
    sessionId: execution.sessionId!,
    kbHash: `0x${'0'.repeat(64)}`,
    queryId: 'q',
  }
  for (const [name, { method, path }] of Object.entries(ROUTES)) {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, param: string) => params[param]!)
    const good = await f.call(method, filled, method === 'POST' ? { body: bodies[name] ?? {} } : {})
    isEnvelope(good)
    expect(good.status, name).toBeLessThan(500)
    const headers = { 'x-alx-protocol-version': 'none' }
    const bad = await f.call(method, filled, method === 'POST' ? { body: { protocol: 7 } } : { headers })
    isEnvelope(bad)
    expect(code(bad), name).toBe('INVALID_REQUEST')
    isEnvelope(await f.call(method, filled, { as: null, ...(method === 'POST' && { body: {} }) }))
  }
})

test('ALX-T02 discovery needs no credentials and reports version and capabilities', async () => {
  const f = await AlxFixture.open()
  const reply = await f.get('/v1/protocol', { as: null })
  isEnvelope(reply)
  const { protocol, ...rest } = reply.body as { protocol: { protocol_version: string; capabilities: string[] } }
  expect(protocol.protocol_version).toBe('1.1')
  expect(ALX_PROTOCOL_VERSION).toBe('1.1')
  expect(new Set(protocol.capabilities).size).toBe(protocol.capabilities.length)
  expect(Object.keys(rest).sort()).toEqual(['correlationId', 'ok'])
})

test('ALX-T03 what is no request of ALX is answered with an envelope, too', async () => {
  const f = await AlxFixture.open()
  const replies = [
    await f.get('/v1/nothing'),
    await f.get('/v1/solve'),
    await f.call('DELETE', '/v1/sessions/s'),
    await f.post('/v1/solve', []),
    await f.call('POST', '/v1/solve', { raw: '{' }),
    await f.call('POST', '/v1/solve', { raw: `"${'x'.repeat(limits.bodyBytes - 1)}"` }),
    await f.call('POST', '/v1/solve', { raw: 'intent', headers: { 'content-type': 'text/plain' } }),
    await f.call('POST', '/v1/solve'),
    await f.get('/'),
  ]
  for (const reply of replies) isEnvelope(reply)
  expect(replies.map(reply => [reply.status, code(reply)])).toEqual([
    [404, 'NOT_FOUND'],
    [405, 'METHOD_NOT_ALLOWED'],
    [405, 'METHOD_NOT_ALLOWED'],
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [413, 'REQUEST_TOO_LARGE'],
    [415, 'UNSUPPORTED_MEDIA_TYPE'],
    [400, 'INVALID_REQUEST'],
    [404, 'NOT_FOUND'],
  ])
  expect(replies.map(({ headers }) => headers.get('allow'))).toEqual([null, 'POST', 'GET', ...Array(6).fill(null)])
  // The sheet lets the body of a reset be empty, but `null` is one, and no object (ALX-HTTP-02).
  const { execution } = (await f.solve()).body
  const reset = await f.call('POST', `/v1/sessions/${execution.sessionId}/reset`, { raw: 'null' })
  expect([reset.status, code(reset)]).toEqual([400, 'INVALID_REQUEST'])
  const largest = await f.call('POST', '/v1/solve', { raw: `"${'x'.repeat(limits.bodyBytes - 2)}"` })
  expect(code(largest)).toBe('INVALID_REQUEST')
})

test('ALX-T04 a correlation id of the right form is kept, another is replaced without an error', async () => {
  const f = await AlxFixture.open()
  const given = await f.get('/v1/protocol', { headers: { 'x-correlation-id': 'abc-1' } })
  isEnvelope(given)
  expect(given.body.correlationId).toBe('abc-1')
  const odd = await f.get('/v1/protocol', { headers: { 'x-correlation-id': 'abc 1' } })
  isEnvelope(odd)
  expect(odd.status).toBe(200)
  expect(odd.body.correlationId).toMatch(/^req_[0-9A-Za-z]{16,}$/)
})

test('ALX-T05 any minor of the same major will do; another major and no version are refused', async () => {
  const f = await AlxFixture.open()
  const asked = (version: string) => f.solve({ protocol: { protocol_version: version } })
  for (const version of ['1.9', '1.0']) {
    const { status, body } = await asked(version)
    expect([status, body.protocol.protocol_version]).toEqual([200, '1.1'])
  }
  const other = await asked('2.0')
  expect([code(other), other.body.protocol.protocol_version]).toEqual(['UNSUPPORTED_PROTOCOL_VERSION', '1.1'])
  expect(code(await asked('x'))).toBe('INVALID_REQUEST')
  const header = { 'x-alx-protocol-version': '2.0' }
  expect(code(await f.get('/v1/sessions', { headers: header }))).toBe('UNSUPPORTED_PROTOCOL_VERSION')
  const both = await f.solve({ protocol: { protocol_version: '1.0' } }, { headers: header })
  expect(both.status).toBe(200)
})

test('ALX-T06 unknown members and capabilities change nothing and are not repeated', async () => {
  const f = await AlxFixture.open()
  const { status, body } = await f.solve({
    intent: { ...INTENT, mood: 'hasty' },
    options: { force: true, colour: 'red' },
    protocol: { protocol_version: '1.1', capabilities: ['zz-unknown'] },
    surprise: { a: 1 },
  })
  expect(status).toBe(200)
  expect(body).not.toHaveProperty('surprise')
  expect(f.selections[0]!.intent).toEqual(INTENT)
})

test('ALX-T07 null for a known member is refused, with its path', async () => {
  const f = await AlxFixture.open()
  const reply = await f.solve({ options: { dryRun: null } })
  expect([code(reply), reply.body.error?.details?.[0]?.path]).toEqual(['INVALID_REQUEST', 'options.dryRun'])
})

test('ALX-T09 a solve of the wrong shape is refused before anything happens', async () => {
  const f = await AlxFixture.open()
  for (const body of [
    {},
    { intent: { ...INTENT, verb: '  ' } },
    { intent: { ...INTENT, target: 5 } },
    { intent: INTENT, context: [] },
  ]) {
    const reply = await f.post('/v1/solve', body)
    isEnvelope(reply)
    expect([reply.status, code(reply), reply.body.success]).toEqual([400, 'INVALID_REQUEST', false])
    expect(reply.body).not.toHaveProperty('executionId')
  }
  expect(f.selections).toEqual([])
  expect((await f.server.host.port.find({ principal: f.server.host.self, origin: 'alx' })).runs).toEqual([])
})

test('ALX-T10 without credentials, with wrong ones and with those of another user nothing is solved', async () => {
  const f = await AlxFixture.open()
  const body = { intent: INTENT, meta: { userId: V.id } }
  const replies = [
    await f.post('/v1/solve', body, { as: null }),
    await f.post('/v1/solve', body, { as: { ...U, id: 'nobody' } }),
    await f.post('/v1/solve', body),
    await f.post('/v1/solve', { intent: INTENT }, { as: { ...U, id: 'reader' } }),
    // Credentials come before everything that the body may be.
    await f.call('POST', '/v1/solve', { raw: '{', as: null }),
  ]
  for (const reply of replies) isEnvelope(reply)
  expect(replies.map(reply => [reply.status, code(reply)])).toEqual([
    [401, 'AUTH_REQUIRED'],
    [401, 'UNAUTHORIZED'],
    [403, 'UNAUTHORIZED'],
    [403, 'UNAUTHORIZED'],
    [401, 'AUTH_REQUIRED'],
  ])
  expect(f.selections).toEqual([])
})

test('ALX-T66 a route that is switched off says so, and its capability is not advertised', async () => {
  const f = await AlxFixture.open({ capabilities: ['solve', 'runs'] })
  const reply = await f.post('/v1/settlements', { queryId: 'q', kbHash: `0x${'0'.repeat(64)}`, amount: '1' })
  isEnvelope(reply)
  expect([reply.status, code(reply)]).toEqual([501, 'CAPABILITY_NOT_SUPPORTED'])
  const { protocol } = (await f.get('/v1/protocol')).body as { protocol: { capabilities: string[] } }
  expect(protocol.capabilities).toEqual(['solve', 'runs'])
})

test('without authentication everybody is whoever the request says (ALX-HTTP-04)', async () => {
  const f = await AlxFixture.open({ authenticated: false })
  const { body } = await f.solve({ meta: { userId: 'W' } }, { as: null })
  const session = await f.get(`/v1/sessions/${body.execution.sessionId}`, { as: null })
  expect([session.status, session.body.userId]).toEqual([200, 'W'])
  const { body: other } = await f.solve({}, { as: null })
  expect((await f.get(`/v1/sessions/${other.execution.sessionId}`, { as: null })).body.userId).toBe('anonymous')
})

test('what a port throws is contained: a fixed message, and the cause in the log under the correlation id', async () => {
  const f = await AlxFixture.open({
    wrap: port => ({
      ...port,
      start: async () => {
        throw new Error('/etc/secret is missing')
      },
    }),
  })
  f.candidates = [candidate(0.9)]
  const reply = await f.solve({}, { headers: { 'x-correlation-id': 'abc-2' } })
  isEnvelope(reply as unknown as Reply)
  expect([reply.status, code(reply)]).toEqual([500, 'INTERNAL_ERROR'])
  expect(reply.text).not.toContain('/etc')
  expect(f.logged.find(({ facts }) => (facts as { correlationId?: string }).correlationId === 'abc-2')).toBeDefined()
})
