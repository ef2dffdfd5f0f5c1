// Calling operations from code (CALL-ENV): one `invoke` for every path; assembly decides where an operation runs.
import { type Clock, SystemClock } from '@parley/core'
import { expiryOf, subscriptionExpiry } from './call-options.ts'
import type { AbortPolicy, CallContext } from './context.ts'
import { CallError } from './error.ts'
import { callLimits } from './limits.ts'
import type { OperationType } from './operation-spec.ts'
import { type OperationPath, parsePath } from './path.ts'
import { ResponseEnvelope } from './response.ts'

interface InvokeOptions {
  /** Milliseconds since the Unix epoch. Never later than that of the request this call belongs to. */
  readonly deadline?: number
  readonly abortPolicy?: AbortPolicy
  /** Values of a subscription over a link that may wait for the consumer; 1,024 by default, which is also the most. */
  readonly buffer?: number
}

/**
 * Where calls of a namespace go, with the same results everywhere (CALL-ENV-06). `invoke` never rejects, `subscribe`
 * never throws: errors come with the first pull. A binding ends calls at their deadlines, which are valid.
 */
export interface Binding {
  invoke(call: BoundCall): ResponseEnvelope | Promise<ResponseEnvelope>
  subscribe(call: BoundCall): AsyncIterable<unknown>
}

export interface BoundCall {
  readonly namespace: string
  readonly op: string
  readonly input: unknown
  readonly requestId: string
  /** The request that this call is part of; undefined for a call from outside of any. */
  readonly parent: CallContext | undefined
  readonly assembly: EnvAssembly
  readonly options: InvokeOptions
}

export interface EnvOptions {
  /** By namespace, or by node: then operations are `service/op`. */
  readonly bindings?: Readonly<Record<string, Binding>>
  /** For namespaces without a binding of their own. */
  readonly fallback?: Binding
  /** Others do not exist. */
  readonly allowedNamespaces?: readonly string[]
  /** The node's own aliases, which are keys as well, and where its operations are: `invoke('head', 'agent/chat')`. */
  readonly own?: { readonly aliases: readonly string[]; readonly binding: Binding }
  readonly clock?: Clock
}

export class EnvAssembly {
  readonly clock: Clock
  readonly #bindings: ReadonlyMap<string, Binding>
  readonly #fallback: Binding | undefined
  readonly #own: EnvOptions['own']
  readonly #allowed: ReadonlySet<string> | undefined

  constructor(options: EnvOptions) {
    this.#bindings = new Map(Object.entries(options.bindings ?? {}))
    this.#fallback = options.fallback
    this.#own = options.own
    this.clock = options.clock ?? systemClock
    this.#allowed = options.allowedNamespaces && new Set(options.allowedNamespaces)
  }

  /** An env that makes its calls as part of a request. */
  bind(parent: CallContext): BoundEnv {
    return new BoundEnv(this, parent)
  }

  /** An env for code that handles no request. */
  get root(): BoundEnv {
    return new BoundEnv(this, undefined)
  }

  /** The path of an operation of this node's own, where the key is its alias. */
  ownPath(namespace: string, op: string): OperationPath | undefined {
    if (!this.#own?.aliases.includes(namespace)) return undefined
    const path = parsePath(`/${namespace}/${op}`)
    return path?.node === undefined ? undefined : path
  }

  find(namespace: string, own: boolean): Binding | undefined {
    if (this.#allowed && !this.#allowed.has(namespace)) return undefined
    return own ? this.#own?.binding : (this.#bindings.get(namespace) ?? this.#fallback)
  }
}

export class BoundEnv {
  readonly #assembly: EnvAssembly
  readonly #parent: CallContext | undefined

  constructor(assembly: EnvAssembly, parent: CallContext | undefined) {
    this.#assembly = assembly
    this.#parent = parent
  }

  /** Resolves to a value or an error; it never rejects for what an operation does. */
  async invoke<T = unknown>(
    namespace: string,
    op: string,
    input: unknown = null,
    options: InvokeOptions = NO_OPTIONS,
  ): Promise<ResponseEnvelope<T>> {
    const requestId = crypto.randomUUID()
    const call = this.#call(namespace, op, input, requestId, options, expiryOf)
    if (call instanceof CallError) return ResponseEnvelope.failure(requestId, call)
    return (await call.binding.invoke(call)) as ResponseEnvelope<T>
  }

  /** The values of a subscription; rejects with `CallError`. It begins with the first pull. */
  subscribe<T = unknown>(
    namespace: string,
    op: string,
    input: unknown = null,
    options: InvokeOptions = NO_OPTIONS,
  ): AsyncIterable<T> {
    let taken = false
    const values = () => {
      if (taken) throw new TypeError('a subscription has one consumer')
      taken = true
      const call = this.#call(namespace, op, input, crypto.randomUUID(), options, subscriptionExpiry)
      const opened = call instanceof CallError ? failed(call) : call.binding.subscribe(call)
      return (opened as AsyncIterable<T>)[Symbol.asyncIterator]()
    }
    return { [Symbol.asyncIterator]: values }
  }

  #call(
    namespace: string,
    op: string,
    input: unknown,
    requestId: string,
    options: InvokeOptions,
    expiry: (options: InvokeOptions, now: number) => number | CallError,
  ) {
    if (namespace === '' || op === '')
      return new CallError('INVALID_INPUT', 'a call needs a namespace and an operation')
    // CALL-SUB-05: what an aborted request has not started yet does not start.
    if (this.#parent?.aborted)
      return new CallError('ABORTED', `/${namespace}/${op} belongs to a request that was aborted`)
    if ((this.#parent?.depth ?? 0) >= callLimits.depth)
      return new CallError('RESOURCE_EXHAUSTED', `calls nest deeper than ${callLimits.depth}`, {
        retryable: false,
      })
    const due = options.deadline === undefined ? undefined : expiry(options, this.#assembly.clock.now() / 1000)
    if (due instanceof CallError) return due
    const own = this.#assembly.ownPath(namespace, op)
    const binding = this.#assembly.find(own?.service ?? namespace, own !== undefined)
    if (!binding) return unknownOperation(`/${namespace}/${op}`)
    return {
      namespace: own?.service ?? namespace,
      op: own?.op ?? op,
      input,
      requestId,
      parent: this.#parent,
      assembly: this.#assembly,
      options,
      binding,
    }
  }
}

/** The binding that `bindingOf` chooses for each call, or its refusal. */
export function choosing(bindingOf: (call: BoundCall) => Binding | CallError): Binding {
  return {
    invoke(call) {
      const binding = bindingOf(call)
      return binding instanceof CallError ? ResponseEnvelope.failure(call.requestId, binding) : binding.invoke(call)
    },
    subscribe(call) {
      const binding = bindingOf(call)
      return binding instanceof CallError ? failed(binding) : binding.subscribe(call)
    },
  }
}

/** A stream of which nothing comes but an error. */
export function failed(error: CallError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) }
}

/** CALL-ENV-05: streams are not truncated to their first value, and what answers once is not subscribed to. */
export function wrongType(path: string, type: OperationType): CallError {
  return new CallError('INVALID_OPERATION_TYPE', `${path} is a ${type}`)
}

/** CALL-ENV-03: nothing is bound to a sound path, or there can be no such path. */
export function unknownOperation(path: string): CallError {
  return parsePath(path)
    ? new CallError('NOT_FOUND', `operation not found: ${path}`)
    : new CallError('INVALID_INPUT', `'${path.slice(0, 80)}' is no operation path`)
}

const systemClock = new SystemClock()
const NO_OPTIONS: InvokeOptions = Object.freeze({})
