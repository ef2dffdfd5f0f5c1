// Refusals are values: what state or input may refuse returns a Result. Exceptions are for defects and broken machines.
import { ParleyError, type ParleyErrorOptions } from './error.ts'

export type Ok<T> = { readonly ok: true; readonly value: T }
export type Err<E = ParleyError> = { readonly ok: false; readonly error: E }
export type Result<T, E = ParleyError> = Ok<T> | Err<E>

export function ok<T>(value: T): Ok<T> {
  return { ok: true, value }
}

export function err<E>(error: E): Err<E> {
  return { ok: false, error }
}

/** The usual refusal: a ParleyError with a code of the spec, as a value. */
export function refuse(code: string, message: string, options?: ParleyErrorOptions): Err<ParleyError> {
  return err(new ParleyError(code, message, options))
}

/** The value, or the error thrown: for callers to whom a refusal would be a defect. */
export function unwrap<T, E>(result: Result<T, E>): T {
  if (result.ok) return result.value
  throw result.error
}
