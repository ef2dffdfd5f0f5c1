// What a node tells of its own and its workers' operations (CALL-DISC), filtered by what the caller may call.
import { type Principal, Type } from '@parley/core'
import { type PathRules, refusal } from './access.ts'
import { CallError } from './error.ts'
import { callLimits } from './limits.ts'
import type { NodeOptions } from './node.ts'
import type { OperationType } from './operation-spec.ts'
import { type OperationPath, parsePath } from './path.ts'
import { notFound, OperationRegistry, PROVEN, RESERVED_SERVICE, type Registered } from './registry.ts'
import { mayRegister, REGISTER, REGISTER_SPEC } from './routing/registration.ts'
import {
  closedRoute,
  fetchSpec,
  isInternal,
  isUnspecified,
  type Route,
  type Routes,
  type Worker,
} from './routing/routes.ts'
import { type WireSpec, wireSpec } from './wire/spec.ts'

interface Asker {
  readonly identity: Principal | undefined
  readonly trusted: boolean
}

interface Listed {
  readonly name: string
  readonly namespace: string
  readonly op_type: OperationType
}

export class Discovery {
  /** The operations below `/services/`. */
  readonly services: OperationRegistry
  readonly #options: NodeOptions
  readonly #routes: Routes
  readonly #rules: PathRules
  /** The node's own names in routed paths; none if it has none. */
  readonly #aliases: readonly string[]
  readonly #prefixes: readonly string[]
  readonly #ofWorkers = new WeakMap<Worker, OperationRegistry>()

  constructor(options: NodeOptions, routes: Routes, rules: PathRules, aliases: readonly string[]) {
    this.#options = options
    this.#routes = routes
    this.#rules = rules
    this.#aliases = aliases
    // `/*/fs/*` is the service on any node, also on one without a name: the empty one is matched by `*` alone.
    this.#prefixes = aliases.length > 0 ? aliases.map(alias => `/${alias}`) : ['/']
    this.services = this.#operations()
    if (options.head) this.services.registerSpec(REGISTER_SPEC, PROVEN)
  }

  /** CALL-ROUTE-03: the same operations about one worker. The head answers them, since it alone knows who asks. */
  ofWorker(worker: Worker): OperationRegistry {
    const known = this.#ofWorkers.get(worker)
    if (known) return known
    const services = this.#operations(worker)
    this.#ofWorkers.set(worker, services)
    return services
  }

  /** CALL-ACL-08: `/agent/chat` and `/head/agent/chat` are one operation; a rule for either name holds for both. */
  ownRefusal(path: string, identity: Principal | undefined): CallError | undefined {
    const { explainDenials } = this.#options
    // Every call comes by here.
    if (this.#rules.none) return undefined
    let refused = this.#rules.refusal(path, identity, explainDenials)
    for (const prefix of this.#prefixes) refused ??= this.#rules.refusal(`${prefix}${path}`, identity, explainDenials)
    return refused
  }

  #operations(worker?: Worker): OperationRegistry {
    const registry = new OperationRegistry({}, { reserved: true })
    const open = { opType: 'query', accessControl: {}, outputSchema: {} } as const
    const listInput = Type.Union([Type.Object({}), Type.Null()])
    registry.register(
      { ...open, name: `/${RESERVED_SERVICE}/list`, inputSchema: listInput },
      (_input, asker) => {
        const operations = worker
          ? this.#routed(worker, asker)
          : [...this.#own(asker), ...this.#routes.workers().flatMap(each => this.#routed(each, asker))]
        return { operations: operations.toSorted((one, other) => (one.name < other.name ? -1 : 1)) }
      },
      PROVEN,
    )
    registry.register(
      { ...open, name: `/${RESERVED_SERVICE}/schema`, inputSchema: {} },
      (input, asker) => {
        const name = (input as { readonly name?: unknown } | null)?.name
        if (typeof name !== 'string') throw new CallError('INVALID_INPUT', 'missing required field: name')
        return this.#describe(worker ? pathAt(worker, name) : name, asker)
      },
      PROVEN,
    )
    return registry
  }

  #own({ identity, trusted }: Asker): readonly Listed[] {
    const may = (operation: Registered) =>
      (trusted && operation.path !== REGISTER) ||
      this.#options.listAll ||
      !(ownAccess(operation, identity) ?? this.ownRefusal(operation.path, identity))
    return [...this.services.list(), ...this.#options.registry.list()]
      .filter(operation => operation.external && isServed(operation) && may(operation))
      .map(({ path, namespace, spec }) => ({ name: path, namespace, op_type: spec.opType }))
  }

  #routed({ alias, routes }: Worker, { identity, trusted }: Asker): readonly Listed[] {
    const rules = this.#rules
    const { listAll, allowUnspecified } = this.#options
    const isOpen = (route: Route) =>
      route.access ? !refusal(route.access, identity) : allowUnspecified && isUnspecified(route)
    const may = (route: Route, name: string) => trusted || listAll || (isOpen(route) && !rules.refusal(name, identity))
    return [...routes.values()].flatMap(route => {
      const { local, spec } = route
      const name = `/${alias}${local}`
      if (isInternal(route) || !may(route, name)) return []
      // CALL-DISC-01: what is not known to be a query must not be repeated as one.
      return [{ name, namespace: parsePath(local)!.service, op_type: spec?.opType ?? 'mutation' }]
    })
  }

  /** The spec behind a path, if there is one that may be shown. Throws `CallError`. */
  #describe(name: string, asker: Asker): WireSpec | Promise<WireSpec> {
    const target = parsePath(name)
    if (!target) throw notFound(shown(name))
    if (target.node !== undefined && !this.#aliases.includes(target.node)) return this.#describeRoute(target, asker)
    const registry = target.service === RESERVED_SERVICE ? this.services : this.#options.registry
    const operation = registry.find(target.local)
    if (!operation?.external || !isServed(operation)) throw notFound(target.path)
    const { identity, trusted } = asker
    if (!trusted) allow(ownAccess(operation, identity) ?? this.ownRefusal(target.local, identity))
    return wireSpec(operation, target.path)
  }

  #describeRoute(target: OperationPath, { identity, trusted }: Asker): WireSpec | Promise<WireSpec> {
    const ruled = () => this.#rules.refusal(target.path, identity)
    const worker = this.#routes.worker(target.node!)
    const discovery = worker && target.service === RESERVED_SERVICE && this.services.find(target.local)
    if (discovery && discovery.path !== REGISTER) {
      if (!trusted) allow(ruled())
      return wireSpec(discovery, target.path)
    }
    const route = worker?.routes.get(target.local)
    if (!worker || !route) throw notFound(target.path)
    const told = () => {
      const { spec, access } = route
      if (isInternal(route)) throw notFound(target.path)
      if (!spec || !access) throw closedRoute(target.path, route)
      if (!trusted) allow(refusal(access, identity) ?? ruled())
      return wireSpec({ spec, access, namespace: target.service }, target.path)
    }
    return route.access || isInternal(route)
      ? told()
      : fetchSpec(worker.link, route, callLimits.schemaFetchMs).then(told)
  }
}

/** The full path of what a caller names when it asks about one worker: it may use the worker's own name for it. */
function pathAt({ alias }: Worker, name: string): string {
  const target = parsePath(name)
  if (!target || (target.node !== undefined && target.node !== alias)) throw notFound(shown(name))
  return `/${alias}${target.local}`
}

function shown(name: string): string {
  return name.slice(0, callLimits.pathLength)
}

/** Registration is the node's own affair, and has no handler in any registry. */
function isServed({ handler, path }: Registered): boolean {
  return handler !== undefined || path === REGISTER
}

/** A worker that may register a single alias may call it too. */
function ownAccess({ access, path }: Registered, identity: Principal | undefined): CallError | undefined {
  return path === REGISTER && mayRegister(identity) ? undefined : refusal(access, identity)
}

function allow(refused: CallError | undefined): void {
  if (refused) throw refused
}
