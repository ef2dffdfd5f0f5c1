// What a handler is given beside its input (CALL-CTX-01). A context belongs to one request and cannot be changed or
// made by anybody else; what most handlers never touch (signal, env) is made when it is first asked for.
import type { Principal } from '@parley/core'
import type { BoundEnv, EnvAssembly } from './env.ts'
import type { CallError } from './error.ts'

/** `continue-running`: the child continues when its parent is aborted (CALL-SUB-05). Local only, never on the wire. */
export type AbortPolicy = 'abort-dependents' | 'continue-running'

export interface OperationContext {
  readonly requestId: string
  readonly parentRequestId: string | undefined
  /** Who calls, as the link or a token proved. */
  readonly identity: Principal | undefined
  readonly metadata: Record<string, unknown>
  readonly env: BoundEnv
  /** True for calls that another handler made through its `env`. */
  readonly trusted: boolean
  /** Whom a forwarding node says it acts for: for audit and display, never for access. */
  readonly forwardedFor: unknown
  /** Milliseconds since the Unix epoch. */
  readonly deadline: number | undefined
  /** Fires on abort, timeout and loss of the link. */
  readonly signal: AbortSignal
}

interface ContextFields
  extends Partial<Pick<OperationContext, 'parentRequestId' | 'identity' | 'forwardedFor' | 'deadline'>> {
  readonly requestId: string
  readonly metadata?: Record<string, unknown> | undefined
}

/** The only maker of contexts is this package: `trusted` is a private field, so no object from outside can carry it. */
export class CallContext implements OperationContext {
  readonly #fields: ContextFields
  readonly #assembly: EnvAssembly
  readonly #trusted: boolean
  readonly depth: number
  #metadata: Record<string, unknown> | undefined
  #env: BoundEnv | undefined
  #controller: AbortController | undefined
  #aborted: CallError | undefined
  #dependents: Set<(reason: CallError) => void> | undefined

  constructor(fields: ContextFields, assembly: EnvAssembly, trusted = false, depth = 0) {
    this.#fields = fields
    this.#assembly = assembly
    this.#trusted = trusted
    this.depth = depth
    // CALL-CTX-02: nothing can be hung on a context, or hide what it says.
    Object.freeze(this)
  }

  get requestId(): string {
    return this.#fields.requestId
  }

  get parentRequestId(): string | undefined {
    return this.#fields.parentRequestId
  }

  get identity(): Principal | undefined {
    return this.#fields.identity
  }

  get metadata(): Record<string, unknown> {
    this.#metadata ??= { ...this.#fields.metadata }
    return this.#metadata
  }

  get env(): BoundEnv {
    this.#env ??= this.#assembly.bind(this)
    return this.#env
  }

  get trusted(): boolean {
    return this.#trusted
  }

  get forwardedFor(): unknown {
    return this.#fields.forwardedFor
  }

  get deadline(): number | undefined {
    return this.#fields.deadline
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  get aborted(): CallError | undefined {
    return this.#aborted
  }

  /** Fires the signal, and aborts what this request started. Only the first reason counts. */
  abort(reason: CallError): void {
    if (this.#aborted) return
    this.#aborted = reason
    this.#controller?.abort(reason)
    for (const dependent of this.#dependents ?? []) dependent(reason)
    this.#dependents = undefined
  }

  /** Calls back when this request is aborted; the answer ends that. */
  onAbort(dependent: (reason: CallError) => void): () => void {
    this.#dependents ??= new Set()
    this.#dependents.add(dependent)
    return () => this.#dependents?.delete(dependent)
  }

  /** The context of a nested call (CALL-ENV-04): trusted, with the caller's identity, and no later deadline. */
  child(requestId: string, deadline: number | undefined): CallContext {
    const own = this.#fields.deadline
    return new CallContext(
      {
        requestId,
        parentRequestId: this.#fields.requestId,
        identity: this.#fields.identity,
        // A copy of its own as of now: what the parent changes later is not the child's.
        metadata: this.#metadata ? { ...this.#metadata } : this.#fields.metadata,
        deadline: own === undefined ? deadline : Math.min(own, deadline ?? own),
      },
      this.#assembly,
      true,
      this.depth + 1,
    )
  }
}
