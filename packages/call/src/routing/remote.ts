// The remote path of an env (CALL-ENV-03): over a link, or on a head to whatever worker is registered under a name just
// now. A key is a namespace, so that it moves by assembly alone; where operations are `service/op` it is a node.
import { bufferOf } from '../call-options.ts'
import { type Binding, type BoundCall, choosing, failed, unknownOperation, wrongType } from '../env.ts'
import { CallError } from '../error.ts'
import { callLimits } from '../limits.ts'
import type { Link } from '../link/link.ts'
import type { OperationType } from '../operation-spec.ts'
import { type OperationPath, parsePath } from '../path.ts'
import { type OperationRegistry, RESERVED_SERVICE } from '../registry.ts'
import { ResponseEnvelope } from '../response.ts'
import { local } from '../serve.ts'
import { claim, noShare } from './forward.ts'
import type { Routes, Worker } from './routes.ts'

interface RemoteOptions {
  /** The link leads to a head and not to the node itself: the path keeps the node. */
  readonly viaHead?: boolean
  /** Whether the other node is told whom a call is made for (CALL-ROUTE-04); true by default. */
  readonly tellCaller?: boolean
}

/** A link, or what finds the one of the moment: then the binding outlives a connection. */
export type LinkSource = Link | (() => Link | undefined)

export function remote(source: LinkSource, options: RemoteOptions = {}): Binding {
  const linkOf = typeof source === 'function' ? source : () => source
  const { viaHead = false, tellCaller = true } = options
  const pathOf = ({ namespace, op }: BoundCall) => (op.includes('/') && !viaHead ? `/${op}` : `/${namespace}/${op}`)
  return {
    invoke(call) {
      const link = linkOf()
      const path = pathOf(call)
      if (!link) return ResponseEnvelope.failure(call.requestId, unreachable(path))
      return invokeOver(link, path, call, passedOn(call, tellCaller))
    },
    subscribe(call) {
      const link = linkOf()
      const path = pathOf(call)
      return link ? subscribeOver(link, path, call, passedOn(call, tellCaller)) : failed(unreachable(path))
    },
  }
}

function unreachable(path: string): CallError {
  return new CallError('UNAVAILABLE', `${path} cannot be reached: there is no connection just now`)
}

type PassedOn = ReturnType<typeof passedOn>

async function invokeOver(link: Link, path: string, call: BoundCall, passed: PassedOn): Promise<ResponseEnvelope> {
  const type = link.types.get(path) ?? (await ask(link, path, passed))
  if (type === 'subscription') return ResponseEnvelope.failure(call.requestId, wrongType(path, type))
  const response = await link.callEnvelope(path, call.input, passed)
  // It answers without having told its type; it is not asked again.
  if (type === undefined && response.result.ok) link.types.remember(path, undefined)
  return response
}

function subscribeOver(link: Link, path: string, call: BoundCall, passed: PassedOn): AsyncIterable<unknown> {
  // A handler that moves to another node should not lose what it had before to a small buffer.
  const options = { ...passed, buffer: bufferOf(call.options.buffer, callLimits.receiveBufferMost) }
  const open = (type: OperationType | undefined): AsyncIterable<unknown> =>
    type === undefined || type === 'subscription'
      ? link.subscribe(path, call.input, { ...options, ...(type && { single: false }) })
      : failed(wrongType(path, type))
  const type = link.types.get(path)
  return type === undefined ? later(() => ask(link, path, passed).then(open)) : open(type)
}

/** What the other node is told besides path and input. */
function passedOn({ parent, options, requestId }: BoundCall, tellCaller: boolean) {
  const deadlines = [parent?.deadline, options.deadline].filter(each => each !== undefined)
  return {
    requestId,
    ...(parent && { parentRequestId: parent.requestId, metadata: parent.metadata }),
    ...(parent?.identity && tellCaller && { forwardedFor: claim(parent.identity) }),
    ...(deadlines.length > 0 && { deadline: Math.min(...deadlines) }),
    ...(parent && options.abortPolicy !== 'continue-running' && { signal: parent.signal }),
  }
}

/** CALL-ENV-05: a type that is not known is asked for first. That of discovery itself is no question. */
async function ask(
  link: Link,
  path: string,
  { deadline, signal }: { readonly deadline?: number; readonly signal?: AbortSignal },
): Promise<OperationType | undefined> {
  const target = parsePath(path)
  if (!target || target.service === RESERVED_SERVICE) return undefined
  return link.types.ask(path, { ...(deadline !== undefined && { deadline }), ...(signal && { signal }) })
}

/** A stream that can be opened only after something else; it is opened with the first pull. */
function later(open: () => Promise<AsyncIterable<unknown>>): AsyncIterable<unknown> {
  let opened: Promise<AsyncIterator<unknown>> | undefined
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        opened ??= open().then(values => values[Symbol.asyncIterator]())
        return (await opened).next()
      },
      return: async () => (await (await opened)?.return?.()) ?? { done: true, value: undefined },
    }),
  }
}

interface RoutedOptions {
  readonly fallback: Binding
  /** The operations below `/services/` that tell of a worker: the head answers them itself (CALL-ROUTE-03). */
  readonly services: (worker: Worker) => OperationRegistry
  readonly tellCaller: boolean
}

/** CALL-ROUTE-07: `invoke('dev1', 'fs/readFile')` by a handler of the head; other names are the fallback's. */
export function routed(routes: Routes, { fallback, services, tellCaller }: RoutedOptions): Binding {
  return choosing(call => {
    if (!call.op.includes('/') || !routes.knows(call.namespace)) return fallback
    const path = `/${call.namespace}/${call.op}`
    const target = parsePath(path)
    if (!target) return unknownOperation(path)
    const worker = routes.reach(call.namespace, path)
    if (worker instanceof CallError) return worker
    if (target.service === RESERVED_SERVICE) return named(target, local(services(worker)))
    const found = routes.resolve(call.namespace, `/${call.op}`)
    if (found instanceof CallError) return found
    // What the worker said when it registered needs no asking.
    if (found.route.spec) worker.link.types.remember(found.route.local, found.route.spec.opType)
    return shared(worker, remote(worker.link, { tellCaller }))
  })
}

/** The same operation by the name that it has without its node. */
function named({ service: namespace, op }: OperationPath, binding: Binding): Binding {
  return {
    invoke: call => binding.invoke({ ...call, namespace, op }),
    subscribe: call => binding.subscribe({ ...call, namespace, op }),
  }
}

/** CALL-ROUTE-10: a handler's calls count for its caller; those without a caller are the head's own. */
function shared(worker: Worker, binding: Binding): Binding {
  const take = ({ parent }: BoundCall) => worker.share.take(parent?.identity?.id)
  return {
    async invoke(call) {
      const release = take(call)
      if (!release) return ResponseEnvelope.failure(call.requestId, noShare(worker))
      try {
        return await binding.invoke(call)
      } finally {
        release()
      }
    },
    async *subscribe(call) {
      const release = take(call)
      if (!release) throw noShare(worker)
      try {
        yield* binding.subscribe(call)
      } finally {
        release()
      }
    },
  }
}

/** CALL-ENV-03, for a node that dialed: where operations are `service/op` the key is a node, and the peer knows it. */
export function ownOrPeer(own: Binding, peer: Binding): Binding {
  return choosing(({ op }) => (op.includes('/') ? peer : own))
}
