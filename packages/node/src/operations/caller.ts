// Whoever called an operation that needs a scope.
import type { Principal } from '@parley/core'

/** Every operation that asks this needs a scope, so there is somebody. */
export function caller(identity: Principal | undefined): Principal {
  if (identity) return identity
  throw new TypeError('an operation that needs a scope was called by nobody')
}
