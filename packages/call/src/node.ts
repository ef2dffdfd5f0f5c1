// A node: its registry, its env, its links, discovery, and as a head the routes to its workers. It decides where a
// request goes (CALL-ROUTE-03); links and transports know nothing of that.
import { type Clock, type IdentityProvider, type Principal, SystemClock } from '@parley/core'
import { type PathRule, PathRules, refusal } from './access.ts'
import { Discovery } from './discovery.ts'
import { choosing, EnvAssembly, type EnvOptions } from './env.ts'
import { CallError } from './error.ts'
import { callLimits } from './limits.ts'
import type { Inbound } from './link/inbound.ts'
import { Link } from './link/link.ts'
import type { Dispatcher, LinkOptions } from './link/link-options.ts'
import { notFound, type OperationRegistry, RESERVED_SERVICE } from './registry.ts'
import { forward } from './routing/forward.ts'
import { REGISTER, readRegistration, registrationRefusal, TAKEN_OVER, takenOver } from './routing/registration.ts'
import { routed } from './routing/remote.ts'
import { closedRoute, fetchSpec, fetchSpecs, isUnspecified, type Route, Routes, type Worker } from './routing/routes.ts'
import { local, serve } from './serve.ts'
import type { Transport } from './transport/transport.ts'
import type { InboundRequest } from './wire/request.ts'

export interface NodeOptions {
  readonly registry: OperationRegistry
  /** The node's own name in routed paths. A head is `head` by default, any other node has none. */
  readonly alias?: string
  readonly head?: boolean
  /** Further bindings of the env that handlers get; the registry is always its fallback. */
  readonly env?: EnvOptions
  readonly pathRules?: readonly PathRule[]
  readonly identities?: IdentityProvider
  readonly clock?: Clock
  /** `/services/list` shows every external operation, callable or not. */
  readonly listAll?: boolean
  /** Opens workers' operations whose spec says nothing of access; what it does say is still enforced. */
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
  /** A head is `head` beside its own alias: workers register at that name, and no worker may have it. */
  readonly #aliases: readonly string[]
  readonly #discovery: Discovery
  readonly #assembly: EnvAssembly
  readonly #rules: PathRules
  readonly #routes: Routes
  readonly #links = new Set<Link>()
  readonly #registering = new WeakMap<Link, Promise<void>>()
  readonly #clock: Clock

  constructor(options: NodeOptions) {
    this.#options = options
    this.#registry = options.registry
    this.#aliases = [
      ...(options.alias === undefined ? [] : [options.alias]),
      ...(options.head && options.alias !== 'head' ? ['head'] : []),
    ]
    this.#clock = options.clock ?? new SystemClock()
    this.#rules = new PathRules(options.pathRules)
    this.#routes = new Routes(options.rejoinGraceMs ?? 0, () => this.#clock.now() / 1000)
    this.#discovery = new Discovery(options, this.#routes, this.#rules, this.#aliases)
    // CALL-ENV-03, CALL-DISC-03: a key is bound once, and this one is taken.
    if (options.env?.bindings && RESERVED_SERVICE in options.env.bindings)
      throw new TypeError(`the namespace '${RESERVED_SERVICE}' is bound to the node's own operations`)
    const fallback = options.env?.fallback ?? local(this.#registry)
    const services = local(this.#discovery.services)
    this.#assembly = new EnvAssembly({
      clock: this.#clock,
      ...options.env,
      bindings: { [RESERVED_SERVICE]: services, ...options.env?.bindings },
      fallback: routed(this.#routes, {
        fallback,
        services: worker => this.#discovery.ofWorker(worker),
        tellCaller: !options.hideCallers,
      }),
      own: {
        aliases: this.#aliases,
        binding: choosing(({ namespace }) => (namespace === RESERVED_SERVICE ? services : fallback)),
      },
    })
  }

  /** CALL-ROUTE-03: undefined for a node that is no head, unless it was given one. */
  get alias(): string | undefined {
    return this.#aliases[0]
  }

  get env() {
    return this.#assembly.root
  }

  get links(): readonly Link[] {
    return [...this.#links]
  }

  get workers(): readonly string[] {
    return this.#routes.workers().map(({ alias }) => alias)
  }

  /** Takes a transport into use, whichever side opened it. */
  attach(transport: Transport, options: Pick<LinkOptions, 'profile'> = {}): Link {
    const { log } = this.#options
    const link = new Link({ transport, dispatcher: this, clock: this.#clock, ...options, ...(log && { log }) })
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
    if (target.node !== undefined && !this.#aliases.includes(target.node)) {
      this.#route(request, inbound)
      return
    }
    const denied = this.#discovery.ownRefusal(target.local, inbound.identity)
    if (this.#options.head && target.local === REGISTER) void this.#register(request, inbound, denied)
    else {
      const registry = target.service === RESERVED_SERVICE ? this.#discovery.services : this.#registry
      this.#serve(registry, request, inbound, denied)
    }
  }

  #serve(registry: OperationRegistry, request: InboundRequest, inbound: Inbound, denied: CallError | undefined): void {
    const { target } = request
    const operation = registry.find(target.local)
    if (!operation?.external || !operation.handler) inbound.fail(notFound(target.path))
    else if (denied) inbound.fail(denied)
    else serve(registry, operation, request, inbound, this.#assembly)
  }

  /** `asked`: its worker has been asked for the spec on behalf of this request. */
  #route(request: InboundRequest, inbound: Inbound, asked = false): void {
    const { target } = request
    const denied = this.#rules.refusal(target.path, inbound.identity, this.#options.explainDenials)
    if (target.service === RESERVED_SERVICE) {
      // CALL-ROUTE-03: discovery of a worker, which hears nothing of it.
      const worker = this.#routes.reach(target.node!, target.path)
      if (worker instanceof CallError) inbound.fail(worker)
      else this.#serve(this.#discovery.ofWorker(worker), request, inbound, denied)
      return
    }
    const found = this.#routes.resolve(target.node!, target.local)
    if (found instanceof CallError) {
      inbound.fail(found)
      return
    }
    const { worker, route } = found
    if (denied) inbound.fail(denied)
    else if (this.#isKnown(route)) this.#forward(worker, route, request, inbound)
    else if (asked) inbound.fail(closedRoute(target.path, route))
    else void this.#askFirst(worker, route, request, inbound)
  }

  /** Whether it is known what a caller needs; with `allowUnspecified`, nothing once the worker was asked in vain. */
  #isKnown(route: Route): boolean {
    if (route.access) return true
    return this.#options.allowUnspecified === true && route.askedAgain === true && isUnspecified(route)
  }

  /** CALL-ROUTE-05: a spec that did not come at registration is requested once more; until then calls are refused. */
  async #askFirst(worker: Worker, route: Route, request: InboundRequest, inbound: Inbound): Promise<void> {
    await fetchSpec(worker.link, route, callLimits.schemaFetchMs)
    route.askedAgain = true
    // Meanwhile the caller may have left, the worker have withdrawn the operation, or the rules have changed.
    if (!inbound.ended) this.#route(request, inbound, true)
  }

  /** The head checks the original caller; the worker checks the head. */
  #forward(worker: Worker, route: Route, request: InboundRequest, inbound: Inbound): void {
    const refused = route.access && refusal(route.access, inbound.identity, this.#options.explainDenials)
    if (refused) inbound.fail(refused)
    else forward(worker, route, request, inbound, !this.#options.hideCallers)
  }

  /** CALL-ROUTE-06: the whole set of a worker's operations, replaced at once when everything about them is known. */
  async #register(request: InboundRequest, inbound: Inbound, denied: CallError | undefined): Promise<void> {
    const { identity, link } = inbound
    const checked = readRegistration(request.input, this.alias)
    const refused =
      registrationRefusal(identity, request.input) ??
      denied ??
      (checked instanceof CallError ? checked : this.#routes.conflict(checked.alias, link, identity?.id ?? ''))
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
    const replaced = late ?? this.#routes.replace({ alias, link, owner: identity!.id, routes })
    if (replaced instanceof CallError) {
      inbound.fail(replaced)
      return
    }
    const operations = [...routes.keys()].map(path => `/${alias}${path}`)
    inbound.respond({ node: alias, registered: operations.length, operations })
    if (replaced) takeOver(replaced, alias)
  }
}

/** CALL-ROUTE-06: the link that has lost its alias hears why first, so that its worker does not take it back. */
function takeOver(link: Link, alias: string): void {
  const reason = takenOver(alias)
  try {
    link.emit(TAKEN_OVER, alias, { reason })
  } catch {
    // A link that takes only tiny messages: its worker sees no more than that it is closed.
  }
  link.close(reason)
}
