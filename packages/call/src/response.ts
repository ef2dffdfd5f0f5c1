// The one response envelope of all paths (CALL-ENV-02): the request's id, and a value or an error. Only what was made
// here counts as one; an object that merely looks like it is data (CALL-REG-08).
import { CallError } from './error.ts'
import type { ResponseMeta } from './profile/profile.ts'

type CallResult<T> =
  | { readonly ok: true; readonly value: T; readonly meta?: ResponseMeta }
  | { readonly ok: false; readonly error: CallError }

export class ResponseEnvelope<T = unknown> {
  readonly requestId: string
  readonly result: CallResult<T>

  constructor(requestId: string, result: CallResult<T>) {
    this.requestId = requestId
    this.result = result
  }

  static success<T>(requestId: string, value: T, meta?: ResponseMeta): ResponseEnvelope<T> {
    return new ResponseEnvelope(requestId, meta ? { ok: true, value, meta } : { ok: true, value })
  }

  static failure(requestId: string, error: CallError): ResponseEnvelope<never> {
    return new ResponseEnvelope<never>(requestId, { ok: false, error })
  }

  unwrap(): T {
    if (this.result.ok) return this.result.value
    throw this.result.error
  }
}

/** CALL-REG-09: what a handler threw, as what its caller gets. Stacks and causes stay here. */
export function thrownError(thrown: unknown, declared: readonly string[], mask = false): CallError {
  try {
    return describeThrown(thrown, declared, mask)
  } catch {
    // An object without `toString`, a message that is no text, a revoked proxy: anything can be thrown.
    return new CallError('INTERNAL', MASKED)
  }
}

function describeThrown(thrown: unknown, declared: readonly string[], mask: boolean): CallError {
  if (thrown instanceof CallError) return thrown
  if (!(thrown instanceof Error)) {
    const text = String(thrown)
    return new CallError('INTERNAL', mask ? MASKED : text, { details: { raw: mask ? MASKED : text } })
  }
  const code = declared.find(each => thrown.message === each || thrown.message.startsWith(`${each}:`))
  if (code !== undefined) return new CallError(code, thrown.message, { retryable: false })
  return new CallError('INTERNAL', mask ? MASKED : thrown.message)
}

const MASKED = 'internal error'
