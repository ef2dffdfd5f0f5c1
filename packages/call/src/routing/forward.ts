// Passing a call on to a worker (CALL-ROUTE-04): the node segment is stripped, the input goes through unchanged, every answer comes back
// as it is. Each leg has its own request id, profile and limits.
import { CallError } from '../error.ts'
import type { Inbound } from '../inbound.ts'
import type { Link } from '../link.ts'
import type { InboundRequest } from '../request.ts'
import { randomUUID } from '../uuid.ts'
import type { Route } from './routes.ts'

export interface ForwardOptions {
  /** Whether the worker is told whom the call is made for. */
  readonly tellCaller: boolean
}

export function forward(
  worker: Link,
  route: Route,
  request: InboundRequest,
  inbound: Inbound,
  options: ForwardOptions,
): void {
  const requestId = randomUUID()
  const { identity } = inbound
  const passed = {
    requestId,
    parentRequestId: inbound.id,
    ...(request.deadline !== undefined && { deadline: request.deadline }),
    ...(request.idleTimeout !== undefined && { idleTimeout: request.idleTimeout }),
    ...(request.metadata && { metadata: request.metadata }),
    ...(options.tellCaller && identity && { forwardedFor: claim(identity) }),
  }
  inbound.onAbort(() => worker.abort(requestId))
  const streams = route.spec?.opType === 'subscription'
  if (streams) {
    void forwardStream(worker, route.local, request, inbound, passed)
    return
  }
  worker.request(route.local, request.input, passed, {
    once: true,
    value: value => inbound.respond(value),
    end: aborted => (aborted ? inbound.abandon() : inbound.complete()),
    fail: error => inbound.fail(error),
  })
}

/** Values wait here only as the limits of a subscription allow; the caller's leg decides when the next one goes out. */
async function forwardStream(
  worker: Link,
  path: string,
  request: InboundRequest,
  inbound: Inbound,
  passed: { readonly requestId: string },
): Promise<void> {
  let aborted = false
  const values = worker.subscribe(path, request.input, { ...passed, onEnd: by => (aborted = by) })
  try {
    for await (const value of values) {
      if (!inbound.value(value)) return
      const room = inbound.room()
      if (room) await room
    }
    if (aborted) inbound.abandon()
    else inbound.complete()
  } catch (thrown) {
    inbound.fail(
      thrown instanceof CallError ? thrown : new CallError('INTERNAL', 'the stream could not be passed on'),
    )
  }
}

function claim({
  id,
  scopes,
  resources,
}: {
  readonly id: string
  readonly scopes: readonly string[]
  readonly resources?: unknown
}) {
  return { id, scopes, ...(resources !== undefined && { resources }) }
}
