// The one error type of Parley: what crosses a boundary has a stable code that programs branch on, a message
// for people, and details that never hold secrets. Codes come from the specs; only `internal` is defined here.
export interface ParleyErrorOptions {
  /** True if the same request may succeed later without being changed. Default false. */
  readonly retryable?: boolean
  readonly details?: Record<string, unknown>
  readonly cause?: unknown
}

export interface ParleyErrorJson {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>
}

const noDetails: Readonly<Record<string, unknown>> = Object.freeze({})

export class ParleyError extends Error {
  override readonly name = 'ParleyError'
  readonly code: string
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: string, message: string, options: ParleyErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details === undefined ? noDetails : Object.freeze({ ...options.details })
  }

  /** What may leave the process: no stack, no cause. */
  toJSON(): ParleyErrorJson {
    return { code: this.code, message: this.message, retryable: this.retryable, details: this.details }
  }
}

/** A ParleyError stays what it is; anything else that was thrown is a defect or a broken environment: `internal`. */
export function asParleyError(thrown: unknown): ParleyError {
  if (thrown instanceof ParleyError) return thrown
  return new ParleyError('internal', describe(thrown), { cause: thrown })
}

function describe(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name
  try {
    return String(thrown)
  } catch {
    return 'a value without a text form was thrown'
  }
}
