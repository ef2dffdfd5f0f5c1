// The HTTP surface of a node: whether it is open, where, and why not. An error in it is reported and never keeps the
// node from starting: what works over its socket goes on. Fastify is loaded when the surface is opened, and not before.
import type { Coordination } from '@parley/coordinator'
import { asParleyError, err, ok, ParleyError, type Result } from '@parley/core'
import type { SettingValues } from '../config/settings.ts'
import type { Listener } from '../deployment.ts'
import type { NodeStatus } from '../operations/node.ts'
import { bearerTokens } from './authenticate.ts'
import type { Commits } from './commits.ts'
import { httpLimits, httpTimes } from './limits.ts'
import type { MetricsSources } from './metrics.ts'
import { addressOf } from './names.ts'
import type { Server, ServerOptions } from './server.ts'
import { readTls } from './tls.ts'
import type { Tokens } from './tokens/tokens.ts'

type HttpValues = Pick<
  SettingValues,
  'httpOn' | 'httpHost' | 'httpPort' | 'httpNames' | 'httpOrigins' | 'httpTlsCert' | 'httpTlsKey' | 'httpTlsClientCa'
>

type Given = Pick<ServerOptions, 'mounts' | 'calls' | 'registry' | 'clock' | 'log'> & {
  readonly tokens: Pick<Tokens, 'principalOf'>
  readonly coordinator: Coordination
  readonly spending: MetricsSources['spending']
  readonly commits: Commits
  readonly alx: MetricsSources['alx']
}

export interface SurfaceBounds {
  readonly limits?: Partial<Readonly<Record<keyof typeof httpLimits, number>>>
  readonly times?: Partial<Readonly<Record<keyof typeof httpTimes, number>>>
}

/** For the deployment model (W-SEC-13), before anything is opened. */
export function httpListeners(values: HttpValues): readonly Listener[] {
  if (!values.httpOn) return []
  return [
    values.httpTlsCert === undefined ? { kind: 'http' } : { kind: 'tls', mutual: values.httpTlsClientCa !== undefined },
  ]
}

export class HttpSurface {
  readonly #values: HttpValues
  #server: Server | undefined
  #problem: ParleyError | undefined

  constructor(values: HttpValues) {
    this.#values = values
  }

  /** Never rejects: what is wrong is in the log and in the status. */
  async open(given: Given, bounds: SurfaceBounds = {}): Promise<void> {
    if (!this.#values.httpOn) return
    const opened = await this.#start(given, bounds)
    if (opened.ok) {
      this.#server = opened.value
      given.log.info(`HTTP is open on ${addressOf(opened.value.place)}`)
      return
    }
    this.#problem = opened.error
    const { code, message, cause } = opened.error
    given.log.error(message, { code, ...(code === 'http_failed' && { cause }) })
  }

  async #start(given: Given, bounds: SurfaceBounds): Promise<Result<Server>> {
    const { httpHost: host, httpPort: port, httpNames: names, httpOrigins: origins } = this.#values
    const tls = readTls(this.#values)
    if (!tls.ok) return tls
    const place = { host, port, tls: tls.value !== undefined }
    const limits = { ...httpLimits, ...bounds.limits } as typeof httpLimits
    const times = { ...httpTimes, ...bounds.times } as typeof httpTimes
    try {
      const [{ startServer }, { nodeMetrics }] = await Promise.all([import('./server.ts'), import('./metrics.ts')])
      const { coordinator, tokens, calls } = given
      const clients = () => calls.links.length
      const options: ServerOptions = {
        ...given,
        ...{ place, tls: tls.value, names, origins, limits, times },
        resolvers: [bearerTokens(tokens)],
        unready: () => unready(coordinator),
        metrics: server => nodeMetrics({ ...given, ...server, clients }),
      }
      return ok(await startServer(options))
    } catch (cause) {
      return err(notOpened(cause, addressOf(place)))
    }
  }

  /** Requests in progress, streams among them. */
  get requests(): number {
    return this.#server?.requests ?? 0
  }

  status(): NodeStatus['http'] {
    if (!this.#values.httpOn) return null
    const server = this.#server
    const problem = this.#problem
    return {
      at: server ? addressOf(server.place) : null,
      problem: problem ? { code: problem.code, message: problem.message } : null,
      requests: server?.requests ?? 0,
      streams: server?.streams ?? 0,
    }
  }

  /** No new requests; those in progress finish within a bound, streams end with a whole frame. Safe to repeat. */
  async close(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    await server?.close()
  }
}

function unready({ stopping, held, degraded }: Coordination): string | undefined {
  if (stopping.aborted) return 'stopping'
  if (held) return 'machine_fault'
  return degraded ? 'trail_unavailable' : undefined
}

function notOpened(cause: unknown, at: string): ParleyError {
  const { code } = cause as NodeJS.ErrnoException
  const goOn = 'The node goes on without it.'
  if (code === 'EADDRINUSE') {
    const next = 'Free the port or choose another one (http.port in config.yaml, parley up --http PORT).'
    return new ParleyError('http_port_in_use', `HTTP is not open: another program listens on ${at}. ${goOn} ${next}`)
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
    const why = code === 'EACCES' ? 'this user may not listen there' : 'this machine does not have the address'
    return new ParleyError('http_cannot_listen', `HTTP is not open on ${at}: ${why}. ${goOn}`)
  }
  return new ParleyError('http_failed', `HTTP is not open: ${asParleyError(cause).message}. ${goOn}`, { cause })
}
