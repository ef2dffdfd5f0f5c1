// The types of the peer's operations that one link knows; others are asked for (CALL-SUB-07, CALL-ENV-05).
import type { CallOptions } from '../call-options.ts'
import { callLimits } from '../limits.ts'
import type { OperationType } from '../operation-spec.ts'
import type { ResponseEnvelope } from '../response.ts'
import { readType } from '../wire/spec.ts'

type Asking = Pick<CallOptions, 'deadline' | 'signal' | 'authToken'>

export class OperationTypes {
  readonly #call: (path: string, input: unknown, options: CallOptions) => Promise<ResponseEnvelope>
  readonly #known = new Map<string, OperationType | undefined>()

  constructor(call: (path: string, input: unknown, options: CallOptions) => Promise<ResponseEnvelope>) {
    this.#call = call
  }

  get(path: string): OperationType | undefined {
    return this.#known.get(path)
  }

  /** Undefined for what the peer does not tell: it is not asked again. */
  remember(path: string, type: OperationType | undefined): void {
    if (this.#known.size >= callLimits.operationTypes) this.#known.clear()
    this.#known.set(path, type)
  }

  /** The type as the peer tells it; undefined if it does not. */
  async ask(path: string, options: Asking = {}): Promise<OperationType | undefined> {
    if (this.#known.has(path)) return this.#known.get(path)
    const { deadline = Number.POSITIVE_INFINITY, ...rest } = options
    const limit = Number.isFinite(deadline) ? { deadline } : { timeout: callLimits.schemaFetchMs }
    const { result } = await this.#call('/services/schema', { name: path }, { ...rest, ...limit })
    const type = result.ok ? readType(result.value) : undefined
    // What is refused now may be there, or be allowed, later.
    if (type !== undefined) this.remember(path, type)
    return type
  }
}
