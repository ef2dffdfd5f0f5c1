// What a worker says to register (CALL-ROUTE-06): who may, under which alias, and what is refused.
import { type Principal, Type } from '@parley/core'
import { CallError } from '../error.ts'
import { callLimits } from '../limits.ts'
import type { OperationSpec } from '../operation-spec.ts'
import { isAlias, parsePath } from '../path.ts'
import { RESERVED_SERVICE } from '../registry.ts'
import { type Route, specify } from './routes.ts'

export const REGISTER = `/${RESERVED_SERVICE}/register`

/** The event that tells a worker that its alias is another's now; the topic is the alias. */
export const TAKEN_OVER = `${RESERVED_SERVICE}.takenOver`

export function takenOver(alias: string): string {
  return `another worker of the same identity has registered as ${alias}`
}

/** Registers any alias; `node:register:{alias}` registers just that one. */
const SCOPE = 'node:register'

/** How the operation is listed (CALL-DISC-01). */
export const REGISTER_SPEC: OperationSpec = {
  name: REGISTER,
  opType: 'mutation',
  description: `Registers a worker and its operations. The scope ${SCOPE}:{alias} is enough for that alias.`,
  inputSchema: Type.Object({
    node: Type.String(),
    operations: Type.Array(Type.Union([Type.String(), Type.Object({ name: Type.String() })])),
  }),
  outputSchema: Type.Object({
    node: Type.String(),
    registered: Type.Integer(),
    operations: Type.Array(Type.String()),
  }),
  accessControl: { requiredScopes: [SCOPE] },
}

export function mayRegister(identity: Principal | undefined): boolean {
  return identity?.scopes.some(scope => scope === SCOPE || scope.startsWith(`${SCOPE}:`)) ?? false
}

/** Undefined if the caller may register under the alias that it gives. */
export function registrationRefusal(identity: Principal | undefined, input: unknown): CallError | undefined {
  if (!identity) return new CallError('FORBIDDEN', 'authentication required')
  const alias = (input as { readonly node?: unknown } | null)?.node
  const { scopes } = identity
  const own = typeof alias === 'string' ? `${SCOPE}:${alias}` : SCOPE
  return scopes.includes(SCOPE) || scopes.includes(own) ? undefined : new CallError('FORBIDDEN', 'access denied')
}

/** `own`: the alias of the head itself. */
export function readRegistration(
  input: unknown,
  own: string | undefined,
): { alias: string; routes: Map<string, Route> } | CallError {
  const invalid = (message: string) => new CallError('INVALID_INPUT', message)
  const { node, operations } = (input ?? {}) as { readonly node?: unknown; readonly operations?: unknown }
  if (typeof node !== 'string' || !isAlias(node)) return invalid('node must be an alias')
  if (node === 'head' || node === RESERVED_SERVICE || node === own) return invalid(`the alias ${node} is reserved`)
  if (!Array.isArray(operations)) return invalid('operations must be a list of paths')
  if (operations.length > callLimits.registeredOperations)
    return invalid(`a node registers at most ${callLimits.registeredOperations} operations`)
  const routes = new Map<string, Route>()
  for (const given of operations as unknown[]) {
    const name = typeof given === 'string' ? given : (given as { readonly name?: unknown } | null)?.name
    const path = typeof name === 'string' ? parsePath(name) : undefined
    if (!path || path.node !== undefined || path.service === RESERVED_SERVICE)
      return invalid(`'${typeof name === 'string' ? name.slice(0, 80) : typeof name}' is no local operation path`)
    const route: Route = { local: path.path, spec: undefined, access: undefined }
    if (typeof given !== 'string') specify(route, given)
    routes.set(path.path, route)
  }
  return { alias: node, routes }
}
