// A node: its registry, its env, its links, discovery, and as a head the routes to its workers. It decides where a request goes
// (CALL-ROUTE-03); links and transports know nothing of that.
import { type Clock, type IdentityProvider, type Principal, SystemClock, Type } from '@parley/core'
import { type PathRule, PathRules, refusal } from './access.ts'
import { EnvAssembly, type EnvOptions } from './env.ts'
import { CallError } from './error.ts'
import type { Inbound } from './inbound.ts'
import { callLimits } from './limits.ts'
import { type Dispatcher, Link, type LinkOptions } from './link.ts'
import { isAlias, type OperationPath, parsePath } from './path.ts'
import {
  notFound,
  type OperationRegistry,
  RESERVED_SERVICE,
  type Registered,
  OperationRegistry as Registry,
} from './registry.ts'
import type { InboundRequest } from './request.ts'
import { forward } from './routing/forward.ts'
import { routed } from './routing/remote.ts'
import { fetchSpec, fetchSpecs, type Route, Routes, specify, type Worker } from './routing/routes.ts'
import { local, serve } from './serve.ts'
import { wireSpec } from './spec.ts'
import type { Transport } from './transport/transport.ts'

export interface NodeOptions {
  readonly registry: OperationRegistry
  /** The node's own name in routed paths; `head` by default. */
  readonly alias?: string
  /** Workers may register here. */
  readonly head?: boolean
  /** Further bindings of the env that handlers get; the registry is always its fallback. */
  readonly env?: EnvOptions
  readonly pathRules?: readonly PathRule[]
  readonly identities?: IdentityProvider
  readonly clock?: Clock
  /** `/services/list` shows every external operation, callable or not. */
  readonly listAll?: boolean
  /** Operations of workers whose spec is not known may be called. */
  readonly allowUnspecified?: boolean
  /** Workers are not told whom a call is made for. */
  readonly hideCallers?: boolean
  readonly rejoinGraceMs?: number
  readonly explainDenials?: boolean
  readonly log?: (message: string) => void
}

export class CallNode implements Dispatcher {
  readonly #options: NodeOptions
  readonly #registry: OperationRegistry
  readonly #services: OperationRegistry
  readonly #assembly: EnvAssembly
  readonly #rules: PathRules
  readonly #routes: Routes
  readonly #links = new Set<Link>()
  readonly #registering = new WeakMap<Link, Promise<void>>()
  readonly #clock: Clock

  constructor(options: NodeOptions) {
    this.#options = options
    this.#registry = options.registry
    this.#clock = options.clock ?? new SystemClock()
    this.#rules = new PathRules(options.pathRules)
    this.#routes = new Routes({
      rejoinGraceMs: options.rejoinGraceMs ?? 0,
      now: () => this.#clock.now() / 1000,
    })
    this.#services = discovery(this)
    // CALL-ENV-03, CALL-DISC-03: a key is bound once, and this one is taken.
    if (options.env?.bindings && RESERVED_SERVICE in options.env.bindings)
      throw new TypeError(`the namespace '${RESERVED_SERVICE}' is bound to the node's own operations`)
    this.#assembly = new EnvAssembly({
      clock: this.#clock,
      ...options.env,
      bindings: { [RESERVED_SERVICE]: local(this.#services), ...options.env?.bindings },
      fallback: routed(this.#routes, options.env?.fallback ?? local(this.#registry)),
    })
  }

  get alias(): string {
    return this.#options.alias ?? 'head'
  }

  /** Calls from code that handles no request. */
  get env() {
    return this.#assembly.root
  }

  get links(): readonly Link[] {
    return [...this.#links]
  }

  /** Aliases of the workers that are registered now. */
  get workers(): readonly string[] {
    return this.#routes.workers().map(({ alias }) => alias)
  }

  /** Takes a transport into use, whoever opened it. */
  attach(transport: Transport, options: Pick<LinkOptions, 'profile'> = {}): Link {
    const { log } = this.#options
    const link = new Link({
      transport,
      dispatcher: this,
      clock: this.#clock,
      ...options,
      ...(log && { log }),
    })
    this.#links.add(link)
    link.onClose(() => {
      this.#routes.remove(link)
      this.#links.delete(link)
    })
    return link
  }

  close(): void {
    for (const link of this.#links) link.close('the node is closing')
  }

  /** One atomic swap; calls under way keep what they were let in by. */
  setPathRules(rules: readonly PathRule[]): void {
    this.#rules.replace(rules)
  }

  async identify(token: string): Promise<Principal | undefined> {
    return this.#options.identities?.byToken(token)
  }

  dispatch(request: InboundRequest, inbound: Inbound): void {
    const { target } = request
    const own = target.node === undefined || target.node === this.alias
    const denied = own
      ? this.#ownRefusal(target.local, inbound.identity)
      : this.#rules.refusal(target.path, inbound.identity, this.#options.explainDenials)
    if (!own) this.#route(target, request, inbound, denied)
    else if (this.#options.head && target.local === REGISTER) void this.#register(request, inbound, denied)
    else this.#serve(target, request, inbound, denied)
  }

  /** CALL-ACL-08: `/agent/chat` and `/head/agent/chat` are one operation; a rule for either of its names holds for both. */
  #ownRefusal(path: string, identity: Principal | undefined): CallError | undefined {
    const { explainDenials } = this.#options
    return (
      this.#rules.refusal(path, identity, explainDenials) ??
      this.#rules.refusal(`/${this.alias}${path}`, identity, explainDenials)
    )
  }

  #serve(
    target: OperationPath,
    request: InboundRequest,
    inbound: Inbound,
    denied: CallError | undefined,
  ): void {
    const registry = target.service === RESERVED_SERVICE ? this.#services : this.#registry
    const operation = registry.find(target.local)
    if (!operation?.external || !operation.handler) inbound.fail(notFound(target.path))
    else if (denied) inbound.fail(denied)
    else serve(registry, operation, request, inbound, this.#assembly)
  }

  #route(
    target: OperationPath,
    request: InboundRequest,
    inbound: Inbound,
    denied: CallError | undefined,
  ): void {
    const found = this.#routes.resolve(target.node!, target.local)
    if (found instanceof CallError) {
      inbound.fail(found)
      return
    }
    const { worker, route } = found
    if (denied) inbound.fail(denied)
    else if (!route.access && !this.#options.allowUnspecified)
      void this.#askFirst(worker, route, request, inbound)
    else this.#forward(worker, route, request, inbound)
  }

  /** CALL-ROUTE-05: a spec that did not come at registration is asked for once more; until then nobody is let in. */
  async #askFirst(worker: Worker, route: Route, request: InboundRequest, inbound: Inbound): Promise<void> {
    await fetchSpec(worker.link, route, callLimits.schemaFetchMs)
    if (route.access) this.#forward(worker, route, request, inbound)
    else inbound.fail(new CallError('FORBIDDEN', `what ${route.local} demands of its callers is not known`))
  }

  /** The head checks the original caller; the worker checks the head. */
  #forward(worker: Worker, route: Route, request: InboundRequest, inbound: Inbound): void {
    const refused = route.access && refusal(route.access, inbound.identity, this.#options.explainDenials)
    if (refused) inbound.fail(refused)
    else forward(worker.link, route, request, inbound, { tellCaller: !this.#options.hideCallers })
  }

  /** CALL-ROUTE-06: the whole set of a worker's operations, replaced at once when everything about them is known. */
  async #register(request: InboundRequest, inbound: Inbound, denied: CallError | undefined): Promise<void> {
    const { identity, link } = inbound
    const checked = readRegistration(request.input, this.alias)
    const refused =
      mayRegister(identity, request.input) ??
      denied ??
      (checked instanceof CallError
        ? checked
        : this.#routes.conflict(checked.alias, link, identity?.id ?? ''))
    if (refused || checked instanceof CallError) {
      inbound.fail(refused ?? (checked as CallError))
      return
    }
    const { alias, routes } = checked
    // One after another: what a worker registered last is what holds.
    const fetched = (this.#registering.get(link) ?? Promise.resolve()).then(() =>
      inbound.ended ? undefined : fetchSpecs(link, [...routes.values()], () => this.#clock.now() / 1000),
    )
    this.#registering.set(link, fetched)
    await fetched
    if (inbound.ended) return
    const late = this.#routes.conflict(alias, link, identity!.id)
    if (late) {
      inbound.fail(late)
      return
    }
    const replaced = this.#routes.replace({ alias, link, owner: identity!.id, routes })
    const operations = [...routes.keys()].map(path => `/${alias}${path}`)
    inbound.respond({ node: alias, registered: operations.length, operations })
    replaced?.close(`${alias} has connected anew`)
  }

  // For discovery

  /** Operations that a caller may see, by the path that it would use. */
  visible(
    identity: Principal | undefined,
    trusted: boolean,
  ): readonly { readonly name: string; readonly operation: Registered | Route }[] {
    const { listAll, allowUnspecified } = this.#options
    const may = (access: Registered['access'] | undefined, ruled: () => CallError | undefined) =>
      trusted || listAll || ((access ? !refusal(access, identity) : allowUnspecified) && !ruled())
    const own = [...this.#services.list(), ...this.#registry.list()]
      .filter(
        ({ external, handler, access, path }) =>
          external && handler && may(access, () => this.#ownRefusal(path, identity)),
      )
      .map(operation => ({ name: operation.path, operation }))
    const routed = this.#routes
      .workers()
      .flatMap(({ alias, routes }) =>
        [...routes.values()]
          .filter(
            ({ access, local: path, spec }) =>
              spec?.visibility !== 'internal' &&
              may(access, () => this.#rules.refusal(`/${alias}${path}`, identity)),
          )
          .map(operation => ({ name: `/${alias}${operation.local}`, operation })),
      )
    return [...own, ...routed].toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** The spec behind a path, if there is one that may be shown. */
  describe(name: string, identity: Principal | undefined, trusted: boolean): unknown {
    const target = parsePath(name)
    if (!target) throw notFound(name)
    if (target.node === undefined || target.node === this.alias) {
      const registry = target.service === RESERVED_SERVICE ? this.#services : this.#registry
      const operation = registry.find(target.local)
      if (!operation?.external) throw notFound(target.path)
      if (!trusted) allow(refusal(operation.access, identity) ?? this.#ownRefusal(target.local, identity))
      return wireSpec(operation, target.path)
    }
    const worker = this.#routes.worker(target.node)
    const route = worker && this.#routes.find(worker, target.local)
    if (!worker || !route || route.spec?.visibility === 'internal') throw notFound(target.path)
    return this.#describeRoute(worker, route, target, identity, trusted)
  }

  async #describeRoute(
    worker: Worker,
    route: Route,
    target: OperationPath,
    identity: Principal | undefined,
    trusted: boolean,
  ) {
    if (!route.spec) await fetchSpec(worker.link, route, callLimits.schemaFetchMs)
    const { spec, access } = route
    if (!spec || !access)
      throw new CallError('FORBIDDEN', `what ${target.path} demands of its callers is not known`)
    if (!trusted) allow(refusal(access, identity) ?? this.#rules.refusal(target.path, identity))
    return wireSpec({ spec, access, namespace: target.service } as Registered, target.path)
  }
}

const REGISTER = `/${RESERVED_SERVICE}/register`

function allow(refused: CallError | undefined): void {
  if (refused) throw refused
}

/** CALL-DISC: read-only, open to everybody, and filtered by what the caller may call. */
function discovery(node: CallNode): OperationRegistry {
  const registry = new Registry({}, { reserved: true })
  const open = { opType: 'query', accessControl: {}, outputSchema: {} } as const
  const listInput = Type.Union([Type.Object({}), Type.Null()])
  registry.register(
    { ...open, name: `/${RESERVED_SERVICE}/list`, inputSchema: listInput },
    (_input, context) => ({
      operations: node.visible(context.identity, context.trusted).map(({ name, operation }) => ({
        name,
        namespace: parsePath(name)!.service,
        op_type: operation.spec?.opType ?? 'query',
      })),
    }),
  )
  registry.register({ ...open, name: `/${RESERVED_SERVICE}/schema`, inputSchema: {} }, (input, context) => {
    const name = (input as { readonly name?: unknown } | null)?.name
    if (typeof name !== 'string') throw new CallError('INVALID_INPUT', 'missing required field: name')
    return node.describe(name, context.identity, context.trusted)
  })
  return registry
}

/** Who may register under an alias: whoever holds the scope for all, or for just this one. */
function mayRegister(identity: Principal | undefined, input: unknown): CallError | undefined {
  if (!identity) return new CallError('FORBIDDEN', 'authentication required')
  const alias = (input as { readonly node?: unknown } | null)?.node
  const { scopes } = identity
  if (
    scopes.includes('node:register') ||
    (typeof alias === 'string' && scopes.includes(`node:register:${alias}`))
  )
    return undefined
  return new CallError('FORBIDDEN', 'access denied')
}

function readRegistration(
  input: unknown,
  own: string,
): { alias: string; routes: Map<string, Route> } | CallError {
  const invalid = (message: string) => new CallError('INVALID_INPUT', message)
  const { node, operations } = (input ?? {}) as { readonly node?: unknown; readonly operations?: unknown }
  if (typeof node !== 'string' || !isAlias(node)) return invalid('node must be an alias')
  if (node === 'head' || node === RESERVED_SERVICE || node === own)
    return invalid(`the alias ${node} is reserved`)
  if (!Array.isArray(operations)) return invalid('operations must be a list of paths')
  if (operations.length > callLimits.registeredOperations)
    return invalid(`a node registers at most ${callLimits.registeredOperations} operations`)
  const routes = new Map<string, Route>()
  for (const given of operations as unknown[]) {
    const name = typeof given === 'string' ? given : (given as { readonly name?: unknown } | null)?.name
    const path = typeof name === 'string' ? parsePath(name) : undefined
    if (!path || path.node !== undefined || path.service === RESERVED_SERVICE)
      return invalid(
        `'${typeof name === 'string' ? name.slice(0, 80) : typeof name}' is no local operation path`,
      )
    const route: Route = { local: path.path, spec: undefined, access: undefined }
    if (typeof given !== 'string') specify(route, given)
    routes.set(path.path, route)
  }
  return { alias: node, routes }
}
