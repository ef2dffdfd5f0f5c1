// Passing a call on to a worker (CALL-ROUTE-04): the node segment is stripped, the input goes through unchanged, every
// answer comes back as it is. Each leg has its own request id, profile and limits.
import type { Principal } from '@parley/core'
import type { SubscribeOptions } from '../call-options.ts'
import { CallError } from '../error.ts'
import { callDefaults } from '../limits.ts'
import type { Inbound } from '../link/inbound.ts'
import type { Link } from '../link/link.ts'
import type { InboundRequest } from '../wire/request.ts'
import type { Route, Worker } from './routes.ts'

/** `tellCaller`: whether the worker is told whom the call is made for. */
export function forward(
  worker: Worker,
  route: Route,
  request: InboundRequest,
  inbound: Inbound,
  tellCaller: boolean,
): void {
  const { identity } = inbound
  const release = worker.share.take(identity?.id ?? inbound.link)
  if (!release) {
    inbound.fail(noShare(worker))
    return
  }
  const requestId = crypto.randomUUID()
  const { link } = worker
  const passed = {
    requestId,
    parentRequestId: inbound.id,
    // With the allowance for the caller's clock, if it needed one: it holds for the whole way.
    ...(inbound.deadline !== undefined && { deadline: inbound.deadline }),
    ...(request.idleTimeout !== undefined && { idleTimeout: request.idleTimeout }),
    ...(request.metadata && { metadata: request.metadata }),
    ...(tellCaller && identity && { forwardedFor: claim(identity) }),
  }
  inbound.onAbort(() => link.abort(requestId))
  const type = route.spec?.opType
  if (type === undefined || type === 'subscription') {
    // After a value it may be over, or a silent stream; that cannot be told apart, so it gives its place back.
    const unsure = type === undefined && { idleAfterValue: callDefaults.unknownIdle, onValue: release }
    void forwardStream(link, route.local, request, inbound, { ...passed, ...unsure }).then(release)
    return
  }
  link.request(route.local, request.input, passed, {
    once: true,
    value: value => {
      release()
      inbound.respond(value)
    },
    end: aborted => {
      release()
      if (aborted) inbound.abandon()
      else inbound.complete()
    },
    fail: error => {
      release()
      inbound.fail(error)
    },
  })
}

/** CALL-ROUTE-10. */
export function noShare({ alias }: Worker): CallError {
  return new CallError('RESOURCE_EXHAUSTED', `this caller has its share of requests at ${alias} already`)
}

/** Buffers no more than a subscription may; the caller's leg decides when the next value goes out. Never rejects. */
async function forwardStream(
  worker: Link,
  path: string,
  request: InboundRequest,
  inbound: Inbound,
  { onValue, ...passed }: SubscribeOptions & { readonly onValue?: () => void },
): Promise<void> {
  let aborted = false
  const values = worker.subscribe(path, request.input, { ...passed, single: false, onEnd: by => (aborted = by) })
  try {
    for await (const value of values) {
      onValue?.()
      if (!inbound.value(value)) return
      const room = inbound.room()
      if (room) await room
    }
    if (aborted) inbound.abandon()
    else inbound.complete()
  } catch (thrown) {
    inbound.fail(thrown instanceof CallError ? thrown : new CallError('INTERNAL', 'the stream could not be passed on'))
  }
}

export function claim({ id, scopes, resources }: Principal) {
  return { id, scopes, ...(resources !== undefined && { resources }) }
}
