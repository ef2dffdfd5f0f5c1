// What the surface serves, over real connections: health, metrics, operations and their streams, the description, what
// plugins mount, and how it ends.
import { CallError, CallNode, type OperationMap, OperationRegistry, operation } from '@parley/call'
import { type Principal, SystemClock, Type } from '@parley/core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, onTestFinished, test } from 'vitest'
import { keptLog } from '../testing/ground.ts'
import { codeOf, httpNode, requestAt } from '../testing/http.ts'
import { httpLimits, httpTimes } from './limits.ts'
import type { HttpMount } from './mount.ts'
import { type ServerOptions, startServer } from './server.ts'

const CALLER: Principal = { id: 'ann', kind: 'user', scopes: ['operations'] }

/** A server over operations of the test's own, for a caller who needs no token. */
async function serverWith(operations: OperationMap, more: Partial<ServerOptions> = {}) {
  const log = keptLog()
  const registry = new OperationRegistry(operations)
  const calls = new CallNode({ registry })
  const server = await startServer({
    place: { host: '127.0.0.1', port: 0, tls: false },
    tls: undefined,
    names: [],
    origins: [],
    resolvers: [() => CALLER],
    mounts: [],
    calls,
    registry,
    clock: new SystemClock(),
    log,
    unready: () => undefined,
    metrics: async () => ({
      contentType: 'text/plain',
      text: async () => '',
      answered: () => undefined,
      close: () => undefined,
    }),
    limits: httpLimits,
    times: httpTimes,
    ...more,
  })
  onTestFinished(() => server.close())
  return { server, log, calls, port: server.place.port, request: requestAt.bind(undefined, server.place.port) }
}

const open = { inputSchema: Type.Object({}), outputSchema: {}, accessControl: {} } as const

test('health is told to everybody, and readiness says why not', async () => {
  const { request, coordinator } = await httpNode()
  expect(await request('/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(await request('/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } })
  coordinator.held = {
    code: 'disk_full',
    where: '/',
    since: '2026-01-01T00:00:00.000000Z',
    message: 'No room.',
  } as never
  const held = { status: 503, body: { status: 'not_ready', reason: 'machine_fault' } }
  expect(await request('/readyz')).toMatchObject(held)
  expect(await request('/healthz')).toMatchObject({ status: 200 })
  coordinator.held = undefined
  coordinator.degraded = true
  expect(await request('/readyz')).toMatchObject({ status: 503, body: { reason: 'trail_unavailable' } })
})

test('metrics need the scope `read`, can be parsed, and have no label that a caller chooses', async () => {
  const { request, token } = await httpNode()
  expect((await request('/metrics')).status).toBe(401)
  expect((await request('/metrics', { token: await token(['solve']) })).status).toBe(403)
  const secret = await token(['read', 'operations'])
  for (const path of ['/a', '/b?x=1', '/v1/no/such', '/v1/services/list', `/${secret}`])
    await request(path, { token: secret, body: {}, headers: { 'x-correlation-id': 'c-1' } })
  await request('/healthz', { method: 'PROPFIND' }).catch(() => undefined)
  const { text, headers } = await request('/metrics', { token: secret })
  expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
  const samples = new Map(
    text.split('\n').flatMap(line => {
      if (line === '' || line.startsWith('#')) return []
      const [, name, labels = '', value] = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? []
      expect(Number.isNaN(Number(value)), line).toBe(value === 'Nan')
      return [[`${name}{${labels}}`, Number(value)] as const]
    }),
  )
  expect(samples.get('parley_runs{state="working"}')).toBe(0)
  for (const name of [
    'parley_turns',
    'parley_turns_waiting',
    'parley_gates_waiting',
    'parley_machine_held',
    'parley_trail_entries_total',
    'parley_trail_commit_seconds_count',
    'parley_http_streams',
    'parley_spent_today_usd',
  ])
    expect(samples.get(`${name}{}`), name).toBeGreaterThanOrEqual(0)
  const counted = [...samples].filter(([name]) => name.startsWith('parley_http_requests_total'))
  expect(Object.fromEntries(counted)).toMatchObject({
    'parley_http_requests_total{method="POST",route="unknown",status="404"}': 3,
    'parley_http_requests_total{method="POST",route="/v1/:namespace/:op",status="404"}': 1,
    'parley_http_requests_total{method="POST",route="/v1/:namespace/:op",status="200"}': 1,
  })
  expect(text).not.toContain(secret)
})

test('an operation answers with the response envelope of the call protocol, and a fitting status', async () => {
  const note = { ...open, inputSchema: Type.Object({ text: Type.String() }) }
  const { request, log } = await serverWith({
    '/notes/add': operation({ ...note, opType: 'mutation' }, ({ text }, { identity }) => ({ text, by: identity?.id })),
    '/notes/full': operation({ ...open, opType: 'mutation' }, () => {
      throw new CallError('overloaded', 'Too much.', { retryable: true, details: { most: 3 } })
    }),
    '/notes/odd': operation({ ...open, opType: 'mutation' }, () => {
      throw new CallError('odd', 'It is odd.')
    }),
    '/notes/broken': operation({ ...open, opType: 'query' }, () => {
      throw new Error('/etc/ssh/.ssh/id_ed25519 is missing')
    }),
    '/notes/closed': operation({ ...open, opType: 'query', accessControl: { requiredScopes: ['owner'] } }, () => 1),
    '/notes/inner': operation({ ...open, opType: 'query', visibility: 'internal' }, () => 1),
  })
  const headers = { 'x-correlation-id': 'mine-1' }
  const done = await request('/v1/notes/add', { body: { text: 'x' }, headers })
  expect(done).toMatchObject({ status: 200, headers: { 'x-correlation-id': 'mine-1', 'cache-control': 'no-store' } })
  expect(done.body).toEqual({ requestId: 'mine-1', result: { ok: true, value: { text: 'x', by: 'ann' } } })
  const statuses: Record<string, number> = {}
  for (const op of ['full', 'odd', 'broken', 'closed', 'inner', 'none'])
    statuses[op] = (await request(`/v1/notes/${op}`, { body: {} })).status
  expect(statuses).toEqual({ full: 503, odd: 422, broken: 500, closed: 403, inner: 404, none: 404 })
  expect((await request('/v1/notes/full', { body: {} })).body).toMatchObject({
    result: { ok: false, error: { code: 'overloaded', message: 'Too much.', retryable: true, details: { most: 3 } } },
  })
  expect(await request('/v1/notes/add', { body: { text: 1 } })).toMatchObject({ status: 400 })
  const broken = await request('/v1/notes/broken', { body: {}, headers: { 'x-correlation-id': 'c-2' } })
  expect(broken.text).not.toContain('.ssh')
  expect(log.lines).toContainEqual(
    expect.objectContaining({
      level: 'error',
      message: expect.stringContaining('.ssh'),
      facts: { correlation: 'c-2' },
    }),
  )
  const strange = await request('/v1/notes/add', { body: { text: 'x' }, headers: { 'x-correlation-id': 'a b\u00e4' } })
  expect(strange.headers['x-correlation-id']).toMatch(/^req_[0-9A-Za-z]{16,}$/)
})

const counting: OperationMap = {
  '/count/up': operation(
    {
      ...open,
      opType: 'subscription',
      inputSchema: Type.Object({ to: Type.Integer(), after: Type.Optional(Type.Integer()) }),
    },
    async function* ({ to, after = 0 }) {
      for (let cursor = after + 1; cursor <= to; cursor++) yield { cursor }
      if (to === 3) throw new CallError('enough', 'No more.')
    },
  ),
  '/count/forever': operation({ ...open, opType: 'subscription' }, async function* (_input, { signal }) {
    yield { cursor: 1, text: 'x'.repeat(10_000) }
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
  }),
  '/count/closed': operation(
    { ...open, opType: 'subscription', accessControl: { requiredScopes: ['owner'] } },
    async function* () {
      yield 1
    },
  ),
}

test('a subscription is a stream of events with cursors, and continues behind the last one', async () => {
  const { request, log } = await serverWith(counting)
  const all = await request('/v1/count/up', { body: { to: 2 } })
  expect(all.headers['content-type']).toMatch(/^text\/event-stream/)
  const value = (cursor: number) => `event: value\nid: ${cursor}\ndata: {"cursor":${cursor}}\n\n`
  expect(all.text).toBe(
    `${value(1)}${value(2)}event: completed\ndata: {"requestId":"${all.headers['x-correlation-id']}"}\n\n`,
  )
  const logged = { method: 'POST', route: '/v1/:namespace/:op', status: 200, user: 'ann' }
  await expect
    .poll(() => log.lines)
    .toContainEqual(expect.objectContaining({ level: 'info', facts: expect.objectContaining(logged) }))
  const later = await request('/v1/count/up', { body: { to: 3 }, headers: { 'last-event-id': '2' } })
  expect(later.text).toMatch(
    /^event: value\nid: 3\ndata: \{"cursor":3\}\n\nevent: error\ndata: .*"code":"enough".*\n\n$/,
  )
  const closed = await request('/v1/count/closed', { body: {} })
  expect({ status: closed.status, code: codeOf(closed) }).toEqual({ status: 403, code: 'FORBIDDEN' })
})

test('a stream ends with a whole frame when its token is no good any more', async () => {
  let good = true
  const next = Promise.withResolvers<void>()
  const { port } = await serverWith(
    {
      '/count/slow': operation({ ...open, opType: 'subscription' }, async function* () {
        yield { cursor: 1 }
        await next.promise
        yield { cursor: 2 }
      }),
    },
    { resolvers: [() => (good ? CALLER : 'refused')] },
  )
  const headers = { 'content-type': 'application/json' }
  const { body } = await fetch(`http://127.0.0.1:${port}/v1/count/slow`, { method: 'POST', body: '{}', headers })
  const frames: string[] = []
  for await (const chunk of body!) {
    frames.push(Buffer.from(chunk).toString())
    good = false
    next.resolve()
  }
  expect(frames.join('')).toMatch(
    /^event: value\nid: 1\ndata: \{"cursor":1\}\n\nevent: error\ndata: .*"code":"unauthorized".*\n\n$/,
  )
})

test('streams of one principal have a bound, and those that end make room', async () => {
  const { server, port, request } = await serverWith(counting, { limits: { ...httpLimits, streams: 2 } as never })
  const ask = new AbortController()
  const streams = [1, 2].map(() =>
    fetch(`http://127.0.0.1:${port}/v1/count/forever`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
      signal: ask.signal,
    }),
  )
  await Promise.all(streams)
  const refused = await request('/v1/count/forever', { body: {} })
  expect({ status: refused.status, code: codeOf(refused) }).toEqual({ status: 429, code: 'too_many_streams' })
  ask.abort()
  await expect.poll(() => server.streams).toBe(0)
  expect((await request('/v1/count/up', { body: { to: 1 } })).status).toBe(200)
})

test('a stop finishes what is in progress, ends streams with a whole frame, and takes no new requests', async () => {
  const began = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const { server, port, request } = await serverWith({
    ...counting,
    '/slow/answer': operation({ ...open, opType: 'query' }, async () => {
      began.resolve()
      await go.promise
      return 'done'
    }),
  })
  const slow = request('/v1/slow/answer', { body: {} })
  const stream = request('/v1/count/forever', { body: {} })
  await began.promise
  await expect.poll(() => server.streams).toBe(1)
  const closed = server.close()
  const { text } = await stream
  expect(text.endsWith('\n\n')).toBe(true)
  expect(text.split('\n\n').at(-2)).toMatch(/^event: error\ndata: \{"requestId":.*"code":"stopping".*\}$/)
  await expect(requestAt(port, '/healthz')).rejects.toThrow()
  go.resolve()
  expect(await slow).toMatchObject({ status: 200, body: { result: { ok: true, value: 'done' } } })
  await closed
})

test('a stop does not wait longer than its bound for what hangs', async () => {
  const began = Promise.withResolvers<void>()
  const { server, request } = await serverWith(
    {
      '/slow/answer': operation({ ...open, opType: 'query' }, () => {
        began.resolve()
        return new Promise(() => undefined)
      }),
    },
    { times: { ...httpTimes, farewell: 50 } as never },
  )
  const slow = request('/v1/slow/answer', { body: {} }).then(
    () => 'answered',
    () => 'cut off',
  )
  await began.promise
  await server.close()
  expect(await slow).toBe('cut off')
})

const pages: HttpMount = {
  prefix: '/pages',
  plugin: async app => {
    app.get('/open', { config: { open: true } }, () => ({ open: true }))
    app.get('/mine', ({ principal, id }) => ({ user: principal?.id, id }))
  },
  refuse: ({ code }, id) => ({ said: code, id }),
  openapi: () => ({
    tags: [{ name: 'pages' }],
    paths: { '/pages/mine': { get: { responses: { 200: { description: 'Mine' } } } } },
    schemas: { Page: { type: 'object' } },
  }),
}

test('a plugin is behind all checks, answers refusals in its own form, and is in the description', async () => {
  const { request, token } = await httpNode({ http: { mounts: [pages] } })
  expect((await request('/pages/open')).body).toEqual({ open: true })
  const refused = await request('/pages/mine', { headers: { 'x-correlation-id': 'c-9' } })
  expect(refused).toMatchObject({ status: 401, body: { said: 'auth_required', id: 'c-9' } })
  expect((await request('/pages/mine', { headers: { host: 'evil.example' } })).body).toMatchObject({
    said: 'host_refused',
  })
  expect((await request('/pages/none')).body).toMatchObject({ said: 'not_found' })
  expect(codeOf(await request('/pagesx'))).toBe('not_found')
  const mine = await request('/pages/mine', { token: await token(['solve']), headers: { 'x-correlation-id': 'c-10' } })
  expect(mine.body).toEqual({ user: 'ann', id: 'c-10' })
  expect((await request('/openapi.json')).body).toMatchObject({
    paths: { '/pages/mine': {} },
    components: { schemas: { Page: {} } },
  })
})

test('a plugin that refuses by itself learns why there is nobody, and whoever is there is known to it', async () => {
  const asking: HttpMount = {
    prefix: '/asking',
    authenticates: true,
    plugin: async app => {
      app.get('/:who', ({ principal, unauthenticated, params }) => ({ user: principal?.id, unauthenticated, params }))
    },
  }
  const { request, token } = await httpNode({ http: { mounts: [asking] } })
  const who = 'x'.repeat(200)
  const of = async (secret?: string) =>
    (await request(`/asking/${who}`, secret === undefined ? {} : { token: secret })).body
  expect(await of()).toEqual({ unauthenticated: 'auth_required', params: { who } })
  expect(await of('nonsense')).toEqual({ unauthenticated: 'unauthorized', params: { who } })
  expect(await of(await token(['solve']))).toEqual({ user: 'ann', params: { who } })
  expect((await request('/asking/x', { headers: { host: 'evil.example' } })).status).toBe(421)
})

test('the description is valid OpenAPI 3.1, has every operation, and every answer has the envelope of a failure', async () => {
  const { request, client } = await httpNode()
  const { body } = await request('/openapi.json')
  const validator = new Validator()
  expect(await validator.validate(structuredClone(body))).toEqual({ valid: true })
  expect(() => validator.resolveRefs()).not.toThrow()
  const { operations } = (await client.call('services' as never, 'list' as never, {} as never)) as {
    operations: { name: string }[]
  }
  const paths = Object.keys(body.paths as object)
  const own = operations.map(({ name }) => name).filter(name => !name.startsWith('/services/'))
  expect(paths.filter(path => path.startsWith('/v1/')).toSorted()).toEqual(own.map(name => `/v1${name}`).toSorted())
  for (const methods of Object.values(body.paths as object) as Record<string, { responses: object }>[])
    for (const { responses } of Object.values(methods)) expect(responses).toHaveProperty('default')
})

test('the page to read comes from here alone, and its policy says so', async () => {
  const { request } = await httpNode()
  const page = await request('/docs/')
  expect(page.status).toBe(200)
  expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
  expect(page.text.match(/(?:src|href)="(?:https?:)?\/\/[^"]*"/g)).toBeNull()
  const [, script] = /src="([^"]*swagger-ui-bundle\.js)"/.exec(page.text) ?? []
  const at = new URL(script!, 'http://x/docs/').pathname
  expect((await request(at)).status).toBe(200)
})
