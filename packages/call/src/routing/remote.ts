// The remote path of an env (CALL-ENV-03): the key is a node, the operation is `service/op`. A link of its own for each node, or on a
// head whatever worker is registered under that name just now.
import type { Binding, BoundCall } from '../env.ts'
import { CallError } from '../error.ts'
import type { Link } from '../link.ts'
import { ResponseEnvelope } from '../response.ts'
import type { Routes } from './routes.ts'

export function remote(link: Link, options: { readonly viaHead?: boolean } = {}): Binding {
  const pathOf = (namespace: string, op: string) => (options.viaHead ? `/${namespace}/${op}` : `/${op}`)
  const passed = (call: BoundCall) => {
    const deadlines = [call.parent?.deadline, call.options.deadline].filter(each => each !== undefined)
    return {
      requestId: call.requestId,
      ...(call.parent && { parentRequestId: call.parent.requestId, metadata: call.parent.metadata }),
      ...(deadlines.length > 0 && { deadline: Math.min(...deadlines) }),
      ...(call.parent && call.options.abortPolicy !== 'continue-running' && { signal: call.parent.signal }),
    }
  }
  return {
    invoke: call => link.callEnvelope(pathOf(call.namespace, call.op), call.input, passed(call)),
    subscribe: call => link.subscribe(pathOf(call.namespace, call.op), call.input, passed(call)),
  }
}

/** CALL-ROUTE-07: `invoke('dev1', 'fs/readFile')` by a handler of the head; other names are the fallback's. */
export function routed(routes: Routes, fallback: Binding): Binding {
  const bindingOf = (call: BoundCall, stream: boolean): Binding | CallError => {
    if (!call.op.includes('/') || !routes.knows(call.namespace)) return fallback
    const found = routes.resolve(call.namespace, `/${call.op}`)
    if (found instanceof CallError) return found
    const opType = found.route.spec?.opType
    if (opType !== undefined && (opType === 'subscription') !== stream)
      return new CallError('INVALID_OPERATION_TYPE', `/${call.namespace}/${call.op} is a ${opType}`)
    return remote(found.worker.link)
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
