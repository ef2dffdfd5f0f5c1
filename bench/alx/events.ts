// Events of one run to many clients at once: how long each takes from its stamp, which is before its commit, until it
// is with each client, and what a client costs the server in memory. The same once more beside a client that never
// reads. One step at a time: the next one ends when every client knows of the last.
import { Agent } from 'node:http'
import { percentiles } from './http-client.ts'
import type { RequestShape } from './request.ts'
import type { Server } from './server.ts'
import { silentWatcher, Watcher } from './watcher.ts'

/** Steps that warm everything up, and those that are measured. */
const STEPS = { warm: 10, measured: 50 } as const
/** Of a run that is watched. */
export const EVENT_STEPS = STEPS.warm + STEPS.measured
/** Connections that are opened at once: a listener's backlog takes no thousand. */
const OPENED_AT_ONCE = 100
/** Milliseconds for one step to be with everybody. */
const PATIENCE = 30_000

export interface EventSource {
  readonly name: string
  readonly server: Server
  /** Starts a run whose steps end one by one, each at `server.next()`; says where its events are. */
  open(): Promise<RequestShape>
}

export interface Watched {
  readonly p50: number
  readonly p99: number
  /** Bytes of the server's memory for each client. */
  readonly perClient: number
}

export interface EventRow {
  readonly name: string
  readonly watched: Watched
  readonly besideSilent: Watched
}

export async function measureEvents(source: EventSource, clients: number): Promise<EventRow> {
  // Code and buffers of the first streams belong to no client.
  await watch(source, Math.min(clients, OPENED_AT_ONCE), false)
  const watched = await watch(source, clients, false)
  const besideSilent = await watch(source, clients, true)
  return { name: source.name, watched, besideSilent }
}

async function watch({ server, open }: EventSource, clients: number, silent: boolean): Promise<Watched> {
  const shape = await open()
  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })
  const idle = silent ? await silentWatcher(shape) : undefined
  const before = await server.memory()
  const watchers: Watcher[] = []
  try {
    while (watchers.length < clients) {
      const count = Math.min(OPENED_AT_ONCE, clients - watchers.length)
      watchers.push(...(await Promise.all(Array.from({ length: count }, () => Watcher.open(shape, agent)))))
    }
    const memory = await server.memory()
    for (let step = 1; step <= EVENT_STEPS; step++) {
      const known = within(PATIENCE, Promise.all(watchers.map(watcher => watcher.stepsEnded(step))))
      server.next()
      await known
      if (step === STEPS.warm) for (const watcher of watchers) watcher.forget()
    }
    const at = percentiles(watchers.flatMap(watcher => watcher.latencies()))
    return { p50: at(0.5), p99: at(0.99), perClient: (memory - before) / clients }
  } finally {
    idle?.destroy()
    for (const watcher of watchers) watcher.close()
    agent.destroy()
  }
}

function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new Error(`an event was not with every client in ${milliseconds} ms`)),
    milliseconds,
  )
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
