// The Fastify server: the checks that every request passes, in their order, and what is mounted behind them. Loaded
// only when the surface is opened. Order: stopping, Host, Origin, requests in progress, rate of the address, CORS, who
// calls, scope, rate of the principal.
import { randomInt } from 'node:crypto'
import type { Socket } from 'node:net'
import cors from '@fastify/cors'
import rateLimit from '@fastify/rate-limit'
import type { CallNode, OperationRegistry } from '@parley/call'
import type { Clock } from '@parley/core'
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import type { NodeLog } from '../log/log.ts'
import { authenticated, mayUse } from './authenticate.ts'
import { docsPage } from './docs.ts'
import { httpLimits, type httpTimes } from './limits.ts'
import type { Metrics } from './metrics.ts'
import type { HttpMount, Resolver } from './mount.ts'
import { OwnNames, type Place } from './names.ts'
import { openApiDocument } from './openapi.ts'
import { operationRoutes } from './operations.ts'
import { type HttpRefusal, type HttpRefusalCode, knownRefusal, refusal, refusalBody } from './refusals.ts'
import { Streams } from './streams.ts'
import type { Tls } from './tls.ts'

export interface ServerOptions {
  readonly place: Place
  readonly tls: Tls | undefined
  readonly names: readonly string[]
  readonly origins: readonly string[]
  readonly resolvers: readonly Resolver[]
  readonly mounts: readonly HttpMount[]
  readonly calls: CallNode
  readonly registry: OperationRegistry
  readonly clock: Clock
  readonly log: NodeLog
  /** Why the node takes on no work; undefined while it does. */
  readonly unready: () => string | undefined
  readonly metrics: (server: { readonly requests: () => number; readonly streams: () => number }) => Promise<Metrics>
  readonly limits: typeof httpLimits
  readonly times: typeof httpTimes
}

export interface Server {
  /** Where it listens. */
  readonly place: Place
  readonly requests: number
  readonly streams: number
  close(): Promise<void>
}

const CORRELATION = new RegExp(`^[A-Za-z0-9._:-]{1,${httpLimits.correlationLength}}$`)
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** What is asked often, by programs that watch. */
const QUIET = ['/healthz', '/readyz', '/metrics']
const UNKNOWN = 'unknown'

/** Rejects where the address cannot be bound. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { limits, times, tls, clock, log } = options
  const parts = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: times.headers,
    connectionsCheckingInterval: times.look,
  }
  const common: FastifyServerOptions = {
    bodyLimit: limits.bodyBytes,
    requestTimeout: times.request,
    keepAliveTimeout: times.keepAlive,
    maxRequestsPerSocket: limits.requestsOfConnection,
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: limits.paramLength },
    genReqId: ({ headers }) => correlationOf(headers['x-correlation-id']),
    clientErrorHandler: answerGarbage,
    frameworkErrors: (error, request, reply) => void fail(error, request, reply),
  }
  const mutual = tls?.ca && { requestCert: true, rejectUnauthorized: true }
  // Its types tell a server with TLS from one without; what is used of it here is the same.
  const app = (
    tls ? fastify({ ...common, https: { ...parts, ...tls, ...mutual } } as never) : fastify({ ...common, http: parts })
  ) as FastifyInstance
  app.server.maxConnections = limits.connections
  app.server.maxHeadersCount = limits.headers
  app.decorateRequest('principal', undefined)
  app.decorateRequest('unauthenticated', undefined)
  app.removeContentTypeParser('text/plain')

  const streams = new Streams(clock, limits, request => typeof authenticated(options.resolvers, request) !== 'string')
  let inProgress = 0
  let stopping = false
  const metrics = await options.metrics({ requests: () => inProgress, streams: () => streams.count })

  const mountAt = (url: string) => options.mounts.find(({ prefix }) => isBelow(prefix, url))
  const refuse = (request: FastifyRequest, reply: FastifyReply, code: HttpRefusalCode, retryAfter?: number) => {
    const refused = refusal(code, retryAfter)
    if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
    if (refused.status === 401) reply.header('www-authenticate', 'Bearer')
    const mount = mountAt(request.url)
    const body = mount?.refuse?.(refused, request.id, request.url) ?? refusalBody(refused, request.id)
    // What the router refuses has passed no hook.
    return reply
      .headers({ ...headersOf(request), ...mount?.headers })
      .code(refused.status)
      .send(body)
  }

  await app.register(rateLimit, { global: false, cache: limits.counted })
  const perMinute = { timeWindow: 60_000, cache: limits.counted }
  const ofAddress = app.createRateLimit({ ...perMinute, max: limits.addressPerMinute })
  const ofPrincipal = app.createRateLimit({
    ...perMinute,
    max: limits.principalPerMinute,
    keyGenerator: ({ principal }) => principal!.id,
  })
  let own = new OwnNames(options.place, options.names)

  app.addHook('onRequest', async (request, reply) => {
    inProgress++
    reply.raw.once('close', () => inProgress--)
    reply.headers(headersOf(request))
    const { host, origin } = request.headers
    if (stopping) return refuse(request, reply.header('connection', 'close'), 'stopping', 1)
    if (!own.isOwn(host)) return refuse(request, reply, 'host_refused')
    if (origin !== undefined && !own.isOwnOrigin(origin) && !options.origins.includes(origin))
      return refuse(request, reply, 'origin_refused')
    if (inProgress > limits.requests) return refuse(request, reply, 'overloaded', 1)
    const rate = await ofAddress(request)
    if (!rate.isAllowed && rate.isExceeded) return refuse(request, reply, 'rate_limited', rate.ttlInSeconds)
  })
  await app.register(cors, {
    origin: [...options.origins],
    methods: ['GET', 'HEAD', 'POST'],
    allowedHeaders: [
      'authorization',
      'content-type',
      'idempotency-key',
      'last-event-id',
      'x-alx-protocol-version',
      'x-correlation-id',
    ],
    exposedHeaders: ['x-correlation-id', 'x-alx-protocol-version', 'retry-after'],
    maxAge: 600,
  })
  app.addHook('onRequest', async (request, reply) => {
    const { open, scopes } = request.routeOptions.config
    // What is not there needs no token to be told so.
    if (open === true || request.is404) return
    const found = authenticated(options.resolvers, request)
    if (typeof found === 'string') {
      request.unauthenticated = found
      // By the route that was found, whatever the address looks like.
      return mountAt(request.routeOptions.url ?? '')?.authenticates ? undefined : refuse(request, reply, found)
    }
    if (!mayUse(found, scopes)) return refuse(request, reply, 'forbidden')
    request.principal = found
    const rate = await ofPrincipal(request)
    if (!rate.isAllowed && rate.isExceeded) return refuse(request, reply, 'rate_limited', rate.ttlInSeconds)
  })
  app.addHook('onResponse', async (request, reply) => {
    // The template and never the address itself, which may say anything.
    const route = request.is404 ? UNKNOWN : (request.routeOptions.url ?? UNKNOWN)
    const { statusCode, elapsedTime } = reply
    metrics.answered(request.method, route, statusCode, elapsedTime / 1000)
    const facts = { method: request.method, route, status: statusCode, ms: Math.round(elapsedTime) }
    const who = { correlation: request.id, ...(request.principal && { user: request.principal.id }) }
    log[QUIET.includes(route) ? 'debug' : 'info']('an HTTP request was answered', { ...facts, ...who })
  })

  function fail(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const known = knownRefusal(error)
    if (known !== undefined) return refuse(request, reply, known)
    log.error('an HTTP request failed', { cause: error, correlation: request.id, route: request.routeOptions?.url })
    return refuse(request, reply, 'internal')
  }
  app.setErrorHandler(fail)
  app.setNotFoundHandler((request, reply) => refuse(request, reply, 'not_found'))

  app.get('/healthz', { config: { open: true } }, () => ({ status: 'ok' }))
  app.get('/readyz', { config: { open: true } }, (_request, reply) => {
    const reason = stopping ? 'stopping' : options.unready()
    return reason === undefined ? { status: 'ready' } : reply.code(503).send({ status: 'not_ready', reason })
  })
  app.get('/metrics', { config: { scopes: ['read'] } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  )
  operationRoutes(app, {
    calls: options.calls,
    registry: options.registry,
    streams,
    log,
    now: () => clock.now() / 1000,
  })
  for (const { prefix, plugin } of options.mounts) await app.register(plugin, { prefix, streams })
  const documents = options.mounts.flatMap(({ openapi }) => openapi?.() ?? [])
  await docsPage(app, openApiDocument(options.registry, documents))

  await app.listen({ host: options.place.host, port: options.place.port })
  const address = app.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.place.port
  const place = { ...options.place, port }
  own = new OwnNames(place, options.names)
  return {
    place,
    get requests() {
      return inProgress
    },
    get streams() {
      return streams.count
    },
    close: async () => {
      stopping = true
      streams.stop()
      const late = Promise.withResolvers<void>()
      const cancel = clock.after(times.farewell, late.resolve)
      const closed = app.close()
      await Promise.race([closed, late.promise])
      cancel()
      // What is still in progress is cut off.
      app.server.closeAllConnections()
      await closed
      metrics.close()
    },
  }
}

/** Of every answer. */
function headersOf({ id }: FastifyRequest) {
  return {
    'x-correlation-id': id,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  }
}

function isBelow(prefix: string, url: string): boolean {
  return url.startsWith(prefix) && ['', '/', '?'].includes(url.charAt(prefix.length))
}

/** Any text of the right form is taken as it is; anything else is no error, and replaced. */
function correlationOf(header: string | string[] | undefined): string {
  if (typeof header === 'string' && CORRELATION.test(header)) return header
  return `req_${Array.from({ length: 20 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')}`
}

const OF_PARSER: Readonly<Record<string, HttpRefusalCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'timeout',
}

/** What is no request, or comes too slowly: one answer, and the connection ends. */
function answerGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || socket.destroyed) {
    socket.destroy()
    return
  }
  const refused: HttpRefusal = refusal(OF_PARSER[error.code ?? ''] ?? 'bad_request')
  const id = correlationOf(undefined)
  const body = JSON.stringify(refusalBody(refused, id))
  const head = [
    `HTTP/1.1 ${refused.status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-correlation-id: ${id}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
