// What a head knows of its workers (CALL-ROUTE-06 to -08): aliases, the links behind them, and the operations that each
// offers. A set of operations is replaced as a whole; a link that closes takes everything of it along in one step.
import { type AccessRule, accessRule } from '../access.ts'
import { CallError } from '../error.ts'
import { callLimits } from '../limits.ts'
import type { Link } from '../link/link.ts'
import { parsePath } from '../path.ts'
import { notFound, RESERVED_SERVICE } from '../registry.ts'
import { readSpec, type ToldSpec } from '../wire/spec.ts'
import { FairShare } from './share.ts'

export interface Route {
  /** `/{service}/{op}` as the worker knows it. */
  readonly local: string
  /** Undefined while the worker has not told it. */
  spec: ToldSpec | undefined
  /** Undefined while it is not known who may call. */
  access: AccessRule | undefined
  /** Why the access that the worker declared admits nobody, whatever the head allows. */
  closed?: string | undefined
  asking?: Promise<void> | undefined
  /** Whether a call made the head ask once more, and that is over. */
  askedAgain?: boolean
}

export interface Worker {
  readonly alias: string
  readonly link: Link
  readonly owner: string
  readonly routes: ReadonlyMap<string, Route>
  readonly share: FairShare
}

export class Routes {
  /** Milliseconds after a loss in which calls of the alias get `UNAVAILABLE` in place of `NOT_FOUND`. */
  readonly #graceMs: number
  readonly #now: () => number
  readonly #workers = new Map<string, Worker>()
  readonly #byLink = new Map<Link, string>()
  /** When an alias was lost, while its grace lasts. */
  readonly #lost = new Map<string, number>()

  constructor(rejoinGraceMs: number, now: () => number) {
    this.#graceMs = rejoinGraceMs
    this.#now = now
  }

  worker(alias: string): Worker | undefined {
    return this.#workers.get(alias)
  }

  workers(): readonly Worker[] {
    return [...this.#workers.values()]
  }

  /** What a routed path leads to just now, or why to nothing (CALL-ROUTE-03, -08). */
  resolve(alias: string, local: string): { readonly worker: Worker; readonly route: Route } | CallError {
    const path = `/${alias}${local}`
    const worker = this.reach(alias, path)
    if (worker instanceof CallError) return worker
    const route = worker.routes.get(local)
    return route && !isInternal(route) ? { worker, route } : notFound(path)
  }

  reach(alias: string, path: string): Worker | CallError {
    const worker = this.#workers.get(alias)
    if (worker) return worker
    return this.#mayReturn(alias) ? new CallError('UNAVAILABLE', `${alias} is not connected just now`) : notFound(path)
  }

  knows(alias: string): boolean {
    return this.#workers.has(alias) || this.#mayReturn(alias)
  }

  /** Whether the alias was lost a moment ago. */
  #mayReturn(alias: string): boolean {
    const lost = this.#lost.get(alias)
    if (lost !== undefined && this.#now() - lost <= this.#graceMs) return true
    this.#lost.delete(alias)
    return false
  }

  /** Undefined if the link may hold the alias (CALL-ROUTE-06). */
  conflict(alias: string, link: Link, owner: string): CallError | undefined {
    const held = this.#byLink.get(link)
    if (held !== undefined && held !== alias)
      return new CallError('CONFLICT', `this link is registered as ${held} already`)
    const holder = this.#workers.get(alias)
    if (holder && holder.link !== link && holder.owner !== owner)
      return new CallError('CONFLICT', `the alias ${alias} is taken`)
    return undefined
  }

  /** The whole set, atomically. Returns the link that lost the alias to this one, if any. */
  replace(worker: Omit<Worker, 'share'>): Link | undefined {
    const before = this.#workers.get(worker.alias)
    const same = before?.link === worker.link
    const replaced = same ? undefined : before?.link
    if (replaced) this.#byLink.delete(replaced)
    const share = same ? before.share : new FairShare(callLimits.workerRequests)
    this.#workers.set(worker.alias, { ...worker, share })
    this.#byLink.set(worker.link, worker.alias)
    this.#lost.delete(worker.alias)
    return replaced
  }

  remove(link: Link): void {
    const alias = this.#byLink.get(link)
    if (alias === undefined) return
    this.#byLink.delete(link)
    this.#workers.delete(alias)
    if (this.#graceMs > 0) this.#remember(alias)
  }

  /** Those whose grace is over are forgotten, and the oldest where there are too many. */
  #remember(alias: string): void {
    this.#lost.delete(alias)
    this.#lost.set(alias, this.#now())
    for (const oldest of this.#lost.keys()) {
      if (this.#lost.size > callLimits.lostAliases) this.#lost.delete(oldest)
      else if (this.#mayReturn(oldest)) return
    }
  }
}

/** Takes a spec from a worker (CALL-ROUTE-05). Silence does not revoke access or visibility that it declared before. */
export function specify(route: Route, given: unknown): void {
  const spec = readSpec(given)
  if (!spec) return
  const { name, accessControl, accessProblem } = spec
  if (name !== undefined && parsePath(name)?.local !== route.local) {
    route.closed = `its worker tells of ${name.slice(0, callLimits.pathLength)} instead`
    return
  }
  route.spec = isInternal(route) ? { ...spec, visibility: 'internal' } : spec
  if (accessControl) route.access = accessRule(accessControl)
  else route.closed = accessProblem ?? route.closed
}

/** CALL-REG-02: what is internal does not exist for others, whatever it demands. */
export function isInternal({ spec }: Route): boolean {
  return spec?.visibility === 'internal'
}

/** Whether its worker has told nothing of who may call: all that `allowUnspecified` opens. */
export function isUnspecified({ access, closed }: Route): boolean {
  return access === undefined && closed === undefined
}

/** Why it cannot be called, or not yet. */
export function closedRoute(path: string, { spec, closed }: Route): CallError {
  const missing = spec ? 'its spec has no access_control' : 'its worker has not told its spec'
  return new CallError('FORBIDDEN', `who may call ${path} is not known: ${closed ?? missing}`)
}

/** Asks a worker for the specs of its routes, a few at a time, until the time is over. `now` is in milliseconds. */
export async function fetchSpecs(link: Link, routes: readonly Route[], now: () => number): Promise<void> {
  const open = routes.filter(route => !route.access)
  const until = now() + callLimits.schemaFetchMs
  const next = async (): Promise<void> => {
    for (let route = open.shift(); route; route = open.shift()) {
      const timeout = until - now()
      if (timeout <= 0 || link.closed) return
      await fetchSpec(link, route, timeout)
    }
  }
  await Promise.all(Array.from({ length: callLimits.schemaFetches }, next))
}

/** Concurrent callers share one request for the spec of a route. */
export function fetchSpec(link: Link, route: Route, timeout: number): Promise<void> {
  route.asking ??= askForSpec(link, route, timeout).finally(() => {
    route.asking = undefined
  })
  return route.asking
}

async function askForSpec(link: Link, route: Route, timeout: number): Promise<void> {
  const answer = await link.callEnvelope(`/${RESERVED_SERVICE}/schema`, { name: route.local }, { timeout })
  if (answer.result.ok) specify(route, answer.result.value)
}
