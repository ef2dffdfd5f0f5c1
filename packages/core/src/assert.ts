// Statements that must hold. A failure is a defect in Parley, never a fault of its input.
import { ParleyError } from './error.ts'

/** Ends a `switch` over a closed set: a member without a case does not compile. */
export function assertNever(value: never): never {
  throw new ParleyError('internal', `unexpected member of a closed set: ${String(value)}`)
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new ParleyError('internal', `broken invariant: ${message}`)
}
