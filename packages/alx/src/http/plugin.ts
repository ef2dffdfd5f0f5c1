// The HTTP binding (section 11) as a Fastify plugin: all routes below the prefix under which it is registered, with the
// checks in the order of ALX-SOLVE-03. Its host must allow parameters of 128 characters (`maxParamLength`).
import {
  negotiate,
  parseApprovalDecision,
  parseFeedbackInput,
  parseKbRegisterInput,
  parseKbVerifyInput,
  parseSettlementInput,
  parseSolveCallInput,
  type Result,
  ROUTES,
  type Route,
  type SettlementInput,
  limits as wireLimits,
} from '@alx/protocol'
import type { FastifyError, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { SIGNED_REQUEST_HEADER, type SignedMatter, type SignedRequests } from '../kb/signed-requests.ts'
import { type AlxServer, thrownAnswer } from '../server/alx-server.ts'
import { type Answer, forbidden, refusal, refused } from '../server/answer.ts'
import { commonHeaders, type Exchange, enveloped, exchangeOf, write } from './exchange.ts'
import { HANDLERS, invalid, type Streamed } from './handlers.ts'
import { ALX_SCOPES, type Authenticate, type RouteName, SCOPES } from './scopes.ts'
import { Streams } from './streams.ts'

export interface AlxPluginOptions {
  readonly server: AlxServer
  /** Checks signatures beside tokens, where the capability `signed-requests` is on. */
  readonly signedRequests?: Pick<SignedRequests, 'verify'>
  /** Without it everybody is whoever they say: for development alone (ALX-HTTP-04). */
  readonly authenticate?: Authenticate
  /** Whether what `authenticate` has found still holds: streams ask before each event, and end once it does not. */
  readonly allowed?: (request: FastifyRequest) => boolean
}

type Parse = (value: unknown) => Result<unknown>

const PARSERS: { readonly [name in NonNullable<Route['takes']>]?: Parse } = {
  SolveCallInput: parseSolveCallInput,
  ApprovalDecision: parseApprovalDecision,
  FeedbackInput: parseFeedbackInput,
  KbRegisterInput: parseKbRegisterInput,
  KbVerifyInput: parseKbVerifyInput,
  SettlementInput: parseSettlementInput,
}

export const alxPlugin: FastifyPluginAsync<AlxPluginOptions> = async (fastify, options) => {
  const { server, authenticate, allowed, signedRequests } = options
  const { clock, ids, log, now } = server.host
  const { protocol } = server
  const exchanges = new WeakMap<FastifyRequest, Exchange>()
  const streams = new Streams(clock, now)

  const exchangeFor = (request: FastifyRequest): Exchange => {
    const exchange = exchanges.get(request) ?? exchangeOf(request, ids)
    exchanges.set(request, exchange)
    return exchange
  }
  const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer) =>
    write(reply, exchangeFor(request), protocol, answer)

  const thrown = (request: FastifyRequest, cause: unknown): Answer => {
    const { correlationId } = exchangeFor(request)
    log('error', 'A request failed.', { correlationId, cause })
    return thrownAnswer(cause)
  }

  /** Checks 2: who asks, and whether they may. */
  const admit = async (request: FastifyRequest, name: RouteName): Promise<Answer | undefined> => {
    const exchange = exchangeFor(request)
    const { correlationId } = exchange
    const scope = SCOPES[name]
    if (scope === undefined || authenticate === undefined) {
      exchange.caller = { principal: developer('anonymous'), development: true, correlationId }
      return undefined
    }
    const known = await authenticate(request)
    if ('refused' in known) {
      return known.refused === 'missing'
        ? refusal('AUTH_REQUIRED', 'This route needs a token: authorization: Bearer <token>.')
        : refusal('UNAUTHORIZED', 'The token is unknown, expired or malformed.')
    }
    exchange.caller = { principal: known.principal, development: false, correlationId }
    return known.principal.scopes.includes(scope) ? undefined : forbidden(`The token lacks the scope '${scope}'.`)
  }

  /** Checks 6 and 7. */
  const bodyOf = (request: FastifyRequest, route: Route): Result<unknown> => {
    const { headers } = request
    const header = headers['x-alx-protocol-version']
    const version = typeof header === 'string' ? header : undefined
    const none = route.takes ? undefined : {}
    // `null` is a body, and no object.
    const body: unknown = route.method === 'GET' ? undefined : request.body === undefined ? none : request.body
    if (route.method === 'POST' && !isObject(body)) return invalidResult('$', 'must be a JSON object')
    const { protocol: offer, ...rest } = (body ?? {}) as Readonly<Record<string, unknown>>
    const agreed = negotiate(offer, version)
    if (!agreed.ok) return agreed
    const parse = route.takes && PARSERS[route.takes]
    if (!parse) return { ok: true, value: body }
    return route.takes === 'SolveCallInput'
      ? keyed({ ...rest, ...(offer !== undefined && { protocol: offer }) }, parse, headers)
      : parse(body)
  }

  /** ALX-SIG-04: a signature that comes with a request must be good; none need come. */
  const signed = async (request: FastifyRequest, name: RouteName, body: unknown): Promise<Answer | undefined> => {
    const header = request.headers[SIGNED_REQUEST_HEADER]
    const matter = typeof header === 'string' ? matterOf(name, request.params, body) : undefined
    if (!matter || !signedRequests || !server.enabled.has('signed-requests')) return undefined
    const verified = await signedRequests.verify(header as string, matter)
    return verified.ok ? undefined : refused(verified.error)
  }

  const stream = (request: FastifyRequest, reply: FastifyReply, { last, ...streamed }: Streamed) => {
    const exchange = exchangeFor(request)
    // With those that others have set: without the ones of CORS no page of another origin could read the stream.
    const headers = { ...reply.getHeaders(), ...commonHeaders(exchange) }
    reply.hijack()
    streams.open({
      ...streamed,
      response: reply.raw,
      headers,
      ...(allowed && { allowed: () => allowed(request) }),
      ...(last && {
        last: () => `event: alx.response\ndata: ${JSON.stringify(enveloped(exchange, protocol, last()))}\n\n`,
      }),
    })
  }

  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: wireLimits.bodyBytes },
    (_request, text, done) => {
      try {
        done(null, text === '' ? undefined : JSON.parse(text as string))
      } catch {
        done(new NotJson())
      }
    },
  )
  fastify.addHook('preClose', async () => {
    streams.close()
    server.close()
  })

  fastify.setErrorHandler((error: FastifyError, request, reply) =>
    send(request, reply, formAnswer(error) ?? thrown(request, error)),
  )
  fastify.setNotFoundHandler((request, reply) => send(request, reply, notFound(request, reply, fastify.prefix)))

  for (const [key, route] of Object.entries(ROUTES)) {
    const name = key as RouteName
    const { capability, method } = route
    fastify.route({
      method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      exposeHeadRoute: false,
      onRequest: async (request, reply) => {
        exchangeFor(request).solves = name === 'solve'
        if (capability !== undefined && !server.enabled.has(capability))
          return send(
            request,
            reply,
            refusal('CAPABILITY_NOT_SUPPORTED', `This server does not offer '${capability}'.`),
          )
        const refused = await admit(request, name)
        return refused && send(request, reply, refused)
      },
      handler: async (request, reply) => {
        const body = bodyOf(request, route)
        if (!body.ok) return send(request, reply, refused(body.error))
        const exchange = exchangeFor(request)
        const caller = named(exchange.caller!, body.value, request.query)
        const wantsStream = request.headers.accept?.includes('text/event-stream') ?? false
        if (wantsStream && streams.full)
          return send(request, reply, refusal('RATE_LIMITED', 'Too many streams are open.'))
        try {
          const unsigned = await signed(request, name, body.value)
          if (unsigned) return send(request, reply, unsigned)
          await server.open()
          const answer = await HANDLERS[name](server, {
            caller,
            body: body.value,
            params: request.params as Readonly<Record<string, string>>,
            query: request.query as Readonly<Record<string, unknown>>,
            stream: wantsStream,
            lastEventId: request.headers['last-event-id'] as string | undefined,
          })
          if ('live' in answer) return stream(request, reply, answer)
          return send(request, reply, answer)
        } catch (cause) {
          return send(request, reply, thrown(request, cause))
        }
      },
    })
  }
}

class NotJson extends Error {
  readonly code = 'NOT_JSON'
}

/** Failures of Fastify before a handler is reached (ALX-HTTP-06). */
function formAnswer({ code, statusCode }: FastifyError): Answer | undefined {
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refusal('REQUEST_TOO_LARGE', `The body is larger than ${wireLimits.bodyBytes} bytes.`)
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refusal('UNSUPPORTED_MEDIA_TYPE', 'The body must be application/json.')
    case 'NOT_JSON':
      return invalid('$', 'must be JSON')
    default:
      return statusCode !== undefined && statusCode < 500 ? invalid('$', 'cannot be read') : undefined
  }
}

function notFound({ url, method }: FastifyRequest, reply: FastifyReply, prefix: string): Answer {
  const path = url.split('?')[0]!.slice(prefix.length)
  const allowed = Object.values(ROUTES).flatMap(route => (matches(route.path, path) ? [route.method] : []))
  if (allowed.length === 0) return refusal('NOT_FOUND', 'There is no such route.')
  const allow = [...new Set(allowed)].join(', ')
  reply.header('allow', allow)
  return refusal('METHOD_NOT_ALLOWED', `${method} is not for this route, which takes ${allow}.`)
}

function matches(route: string, path: string): boolean {
  const [parts, given] = [route.split('/'), path.split('/')]
  return parts.length === given.length && parts.every((part, at) => part.startsWith('{') || part === given[at])
}

/** What a signature must be about; undefined for routes that name no block. */
function matterOf(name: RouteName, params: unknown, body: unknown): SignedMatter | undefined {
  if (name === 'kb' || name === 'lineage') return { kbHash: (params as { readonly kbHash: string }).kbHash }
  return name === 'settle' ? (body as SettlementInput) : undefined
}

/** `idempotency-key` is another way to say `options.idempotencyKey` (ALX-SOLVE-02). */
function keyed(
  body: Readonly<Record<string, unknown>>,
  parse: Parse,
  headers: FastifyRequest['headers'],
): Result<unknown> {
  const header = headers['idempotency-key']
  if (header === undefined) return parse(body)
  const { options = {} } = body
  if (!isObject(options)) return parse(body)
  const { idempotencyKey = header } = options
  if (idempotencyKey !== header) return invalidResult('options.idempotencyKey', 'must equal the header idempotency-key')
  return parse({ ...body, options: { ...options, idempotencyKey } })
}

function invalidResult(path: string, issue: string): Result<never> {
  return { ok: false, error: invalid(path, issue).body.error! }
}

/** In development everybody is whoever they say. */
function named(caller: NonNullable<Exchange['caller']>, body: unknown, query: unknown) {
  if (!caller.development) return caller
  const { meta } = isObject(body) ? body : {}
  const said = isObject(meta) ? meta.userId : isObject(query) ? query.userId : undefined
  return typeof said === 'string' && said !== '' ? { ...caller, principal: developer(said) } : caller
}

function developer(id: string) {
  return { id, kind: 'user', scopes: ALX_SCOPES } as const
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
