// POST /v1/{namespace}/{op}: the operations of the registry over HTTP. Each request is a link of its own to the node,
// with its principal as the other end, so that access control, deadlines and flow are those of the socket.
import { CallError, CallNode, memoryPair, OperationRegistry, parsePath, type ResponseEnvelope } from '@parley/call'
import type { Principal } from '@parley/core'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { NodeLog } from '../log/log.ts'
import { httpLimits, httpTimes } from './limits.ts'
import { errorBody, refusal, refusalBody, statusOf } from './refusals.ts'
import type { Frame, Streams } from './streams.ts'

export interface OperationRoutesOptions {
  readonly calls: CallNode
  readonly registry: OperationRegistry
  readonly streams: Streams
  readonly log: Pick<NodeLog, 'error'>
  readonly now: () => number
}

export const OPERATIONS_ROUTE = '/v1/:namespace/:op'
export const OPERATIONS_SCOPE = 'operations'

interface Params {
  readonly namespace: string
  readonly op: string
}

export function operationRoutes(app: FastifyInstance, options: OperationRoutesOptions): void {
  const outside = new CallNode({ registry: new OperationRegistry() })
  app.post<{ Params: Params }>(OPERATIONS_ROUTE, { config: { scopes: [OPERATIONS_SCOPE] } }, async (request, reply) => {
    const path = parsePath(`/${request.params.namespace}/${request.params.op}`)
    if (!path || path.node !== undefined) {
      const none = refusal('not_found')
      return reply.code(none.status).send(refusalBody(none, request.id))
    }
    const [near, far] = memoryPair({ first: request.principal! })
    options.calls.attach(far)
    const link = outside.attach(near)
    try {
      if (options.registry.find(path.path)?.stream) return await stream(request, reply, path.path, link, options)
      const deadline = options.now() + httpTimes.answer
      const answer = await link.callEnvelope(path.path, request.body ?? {}, { requestId: request.id, deadline })
      return answerWith(reply, answer, options.log)
    } finally {
      link.close('the request is over')
    }
  })
}

function answerWith(reply: FastifyReply, answer: ResponseEnvelope, log: Pick<NodeLog, 'error'>): FastifyReply {
  const { requestId, result } = answer
  if (result.ok) return reply.send({ requestId, result: { ok: true, value: result.value } })
  note(result.error, requestId, log)
  return reply.code(statusOf(result.error)).send(errorBody(result.error, requestId))
}

/** What the caller is not told. */
function note({ code, message }: CallError, correlation: string, log: Pick<NodeLog, 'error'>): void {
  if (code === 'INTERNAL') log.error(`an operation failed over HTTP: ${message}`, { correlation })
}

type Link = ReturnType<CallNode['attach']>

async function stream(
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
  link: Link,
  { streams, log, registry }: OperationRoutesOptions,
): Promise<FastifyReply> {
  const input = continued(request, registry.find(path)!.spec.inputSchema)
  const principal: Principal = request.principal!
  const release = streams.open(principal)
  if (!release) {
    const many = refusal('too_many_streams')
    return reply.code(many.status).send(refusalBody(many, request.id))
  }
  try {
    const values = link.subscribe(path, input, { requestId: request.id, buffer: httpLimits.streamBuffer })
    const iterator = values[Symbol.asyncIterator]()
    let first: IteratorResult<unknown>
    try {
      // A refusal is an answer with its status, not a stream.
      first = await iterator.next()
    } catch (thrown) {
      return answerWith(reply, failed(thrown, request.id), log)
    }
    await streams.write(reply, framed(first, iterator, request.id, log), why => ended(why, request.id))
    return reply
  } finally {
    release()
  }
}

function failed(thrown: unknown, requestId: string): ResponseEnvelope {
  const error = thrown instanceof CallError ? thrown : new CallError('INTERNAL', String(thrown))
  return { requestId, result: { ok: false, error } } as ResponseEnvelope
}

function ended(why: 'stopping' | 'unauthorized', requestId: string): Frame {
  return { event: 'error', data: refusalBody(refusal(why), requestId) }
}

/** The values, then `completed`; or `error`, with the envelope of a refusal. */
async function* framed(
  first: IteratorResult<unknown>,
  iterator: AsyncIterator<unknown>,
  requestId: string,
  log: Pick<NodeLog, 'error'>,
): AsyncGenerator<Frame> {
  try {
    for (let next = first; !next.done; next = await iterator.next())
      yield { event: 'value', id: cursorOf(next.value), data: next.value }
    yield { event: 'completed', data: { requestId } }
  } catch (thrown) {
    const { result } = failed(thrown, requestId)
    if (result.ok) return
    note(result.error, requestId, log)
    yield { event: 'error', data: errorBody(result.error, requestId) }
  } finally {
    await iterator.return?.()
  }
}

/** Most streams of ours carry their place in the trail. */
function cursorOf(value: unknown): number | undefined {
  const cursor = typeof value === 'object' && value !== null ? (value as { cursor?: unknown }).cursor : undefined
  return typeof cursor === 'number' ? cursor : undefined
}

/** A stream that was cut off continues behind `Last-Event-ID`, where the operation takes a place to begin after. */
function continued({ body, headers }: FastifyRequest, inputSchema: object): unknown {
  const last = headers['last-event-id']
  const input = body ?? {}
  const takes = 'after' in ((inputSchema as { readonly properties?: object }).properties ?? {})
  if (!takes || typeof last !== 'string' || !/^\d{1,15}$/.test(last) || typeof input !== 'object') return input
  return { ...input, after: Number(last) }
}
