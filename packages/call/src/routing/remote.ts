// The remote path of an env (CALL-ENV-03): the key is a node, the operation is `service/op`. A link of its own for each node, or on a
// head whatever worker is registered under that name just now.
import type { Binding, BoundCall } from '../env.ts'
import { CallError } from '../error.ts'
import type { Link } from '../link.ts'
import { type OperationPath, parsePath } from '../path.ts'
import { type OperationRegistry, RESERVED_SERVICE } from '../registry.ts'
import { ResponseEnvelope } from '../response.ts'
import { local } from '../serve.ts'
import { claim, noShare } from './forward.ts'
import type { Routes, Worker } from './routes.ts'

export interface RemoteOptions {
  /** The link leads to a head: the node stays in the path. */
  readonly viaHead?: boolean
  /** Whether the other node is told whom a call is made for (CALL-ROUTE-04); true by default. */
  readonly tellCaller?: boolean
}

export function remote(link: Link, options: RemoteOptions = {}): Binding {
  const pathOf = (namespace: string, op: string) => (options.viaHead ? `/${namespace}/${op}` : `/${op}`)
  const passed = (call: BoundCall) => {
    const { identity } = call.parent ?? {}
    const deadlines = [call.parent?.deadline, call.options.deadline].filter(each => each !== undefined)
    return {
      requestId: call.requestId,
      ...(call.parent && { parentRequestId: call.parent.requestId, metadata: call.parent.metadata }),
      ...(identity && options.tellCaller !== false && { forwardedFor: claim(identity) }),
      ...(deadlines.length > 0 && { deadline: Math.min(...deadlines) }),
      ...(call.parent && call.options.abortPolicy !== 'continue-running' && { signal: call.parent.signal }),
    }
  }
  return {
    invoke: call => link.callEnvelope(pathOf(call.namespace, call.op), call.input, passed(call)),
    subscribe: call => link.subscribe(pathOf(call.namespace, call.op), call.input, passed(call)),
  }
}

export interface RoutedOptions {
  /** For names that are no worker's. */
  readonly fallback: Binding
  /** The operations below `/services/` that tell of a worker: the head answers them itself (CALL-ROUTE-03). */
  readonly services: (worker: Worker) => OperationRegistry
  readonly tellCaller: boolean
}

/** CALL-ROUTE-07: `invoke('dev1', 'fs/readFile')` by a handler of the head; other names are the fallback's. */
export function routed(routes: Routes, { fallback, services, tellCaller }: RoutedOptions): Binding {
  const bindingOf = (call: BoundCall, stream: boolean): Binding | CallError => {
    if (!call.op.includes('/') || !routes.knows(call.namespace)) return fallback
    const path = `/${call.namespace}/${call.op}`
    const worker = routes.reach(call.namespace, path)
    if (worker instanceof CallError) return worker
    const target = parsePath(path)
    if (target?.service === RESERVED_SERVICE) return named(target, local(services(worker)))
    const found = routes.resolve(call.namespace, `/${call.op}`)
    if (found instanceof CallError) return found
    const opType = found.route.spec?.opType
    if (opType !== undefined && (opType === 'subscription') !== stream)
      return new CallError('INVALID_OPERATION_TYPE', `${path} is a ${opType}`)
    return shared(worker, remote(worker.link, { tellCaller }))
  }
  return {
    invoke(call) {
      const binding = bindingOf(call, false)
      return binding instanceof CallError
        ? ResponseEnvelope.failure(call.requestId, binding)
        : binding.invoke(call)
    },
    subscribe(call) {
      const binding = bindingOf(call, true)
      if (binding instanceof CallError) throw binding
      return binding.subscribe(call)
    },
  }
}

/** The same operation by the name that it has without its node. */
function named({ service: namespace, op }: OperationPath, binding: Binding): Binding {
  return {
    invoke: call => binding.invoke({ ...call, namespace, op }),
    subscribe: call => binding.subscribe({ ...call, namespace, op }),
  }
}

/** CALL-ROUTE-10: calls of handlers count for whoever called them; calls of nobody are the head's own. */
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
