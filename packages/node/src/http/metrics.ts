// Metrics for Prometheus. Labels are closed sets: routes by their template, methods and states that exist. What is
// asked of other parts is asked at a scrape, and a part that fails leaves its gauges out.
import type { Coordination } from '@parley/coordinator'
import type { Counter, Gauge, Histogram } from 'prom-client'
import type { AlxCounts } from '../alx/node-alx.ts'
import type { NodeLog } from '../log/log.ts'
import type { Spending } from '../spending/spending.ts'
import { NODE_VERSION } from '../version.ts'
import type { Commits } from './commits.ts'

export interface MetricsSources {
  readonly coordinator: Pick<Coordination, 'runs' | 'gates' | 'load' | 'held' | 'degraded'>
  readonly spending: Pick<Spending, 'today'>
  readonly commits: Commits
  /** Undefined while ALX is not in use. */
  readonly alx: () => AlxCounts | undefined
  readonly clients: () => number
  readonly requests: () => number
  readonly streams: () => number
  readonly log: Pick<NodeLog, 'warn'>
}

export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
  answered(method: string, route: string, status: number, seconds: number): void
  close(): void
}

const LIVE = ['working', 'waiting'] as const
const METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS']
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const MOST_RUNS = 1_000

export async function nodeMetrics(sources: MetricsSources): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } = (await import('prom-client')).default
  const registers = [new Registry()] as const
  const [registry] = registers
  collectDefaultMetrics({ register: registry })
  const gauge = (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ name: `parley_${name}`, help, labelNames, registers: [...registers] })
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name: `parley_${name}`, help, labelNames, registers: [...registers] })
  const histogram = (name: string, help: string, labelNames: string[] = []): Histogram =>
    new Histogram({ name: `parley_${name}`, help, labelNames, buckets: SECONDS, registers: [...registers] })

  gauge('info', 'Always 1; the version is a label', ['version']).set({ version: NODE_VERSION }, 1)
  const gauges = {
    runs: gauge('runs', 'Runs that are not over, by state', ['state']),
    turns: gauge('turns', 'Turns of agents at work'),
    turnsWaiting: gauge('turns_waiting', 'Turns that wait for a free place'),
    gates: gauge('gates_waiting', 'Gates and questions that wait for a person'),
    held: gauge('machine_held', '1 while a fault of the machine holds all work up'),
    degraded: gauge('trail_degraded', '1 while acts of people cannot be recorded'),
    clients: gauge('call_clients', 'Connections of the call protocol'),
    requests: gauge('http_requests_in_progress', 'HTTP requests in progress, streams included'),
    streams: gauge('http_streams', 'HTTP streams that are open'),
    spent: gauge('spent_today_usd', 'US dollars spent today (UTC)'),
    reserved: gauge('reserved_today_usd', 'US dollars set aside for turns at work'),
    blocks: gauge('alx_blocks', 'Knowledge Blocks that are registered'),
    sessions: gauge('alx_sessions', 'Sessions of ALX'),
    cap: gauge('daily_cap_usd', 'US dollars that may be spent in a day; 0: no cap'),
  }
  const appended = counter('trail_entries_total', 'Entries appended to the trail since the node opened HTTP')
  const commits = histogram('trail_commit_seconds', 'Time to write and sync one commit of the trail')
  const requests = counter('http_requests_total', 'HTTP requests', ['method', 'route', 'status'])
  const lasted = histogram('http_request_seconds', 'Time until an HTTP request was answered', ['route'])
  const unwatch = sources.commits.watch((entries, milliseconds) => {
    appended.inc(entries)
    commits.observe(milliseconds / 1000)
  })

  const look = async (about: string, set: () => void | Promise<void>, ...failed: readonly Gauge[]) => {
    try {
      await set()
    } catch (cause) {
      for (const each of failed) each.reset()
      sources.log.warn(`metrics: ${about} cannot be told`, { cause })
    }
  }
  const collect = async () => {
    const { coordinator, spending } = sources
    await look(
      'runs',
      async () => {
        const live = await coordinator.runs.list({ states: [...LIVE], limit: MOST_RUNS })
        for (const state of LIVE) gauges.runs.set({ state }, live.filter(run => run.state === state).length)
      },
      gauges.runs,
    )
    await look('gates', async () => gauges.gates.set((await coordinator.gates.list()).length), gauges.gates)
    await look(
      'spending',
      () => {
        const { used_usd, reserved_usd, cap } = spending.today()
        gauges.spent.set(used_usd)
        gauges.reserved.set(reserved_usd)
        gauges.cap.set(cap ?? 0)
      },
      gauges.spent,
      gauges.reserved,
    )
    gauges.turns.set(coordinator.load.turns)
    gauges.turnsWaiting.set(coordinator.load.waiting)
    gauges.held.set(coordinator.held ? 1 : 0)
    gauges.degraded.set(coordinator.degraded ? 1 : 0)
    gauges.clients.set(sources.clients())
    gauges.requests.set(sources.requests())
    gauges.streams.set(sources.streams())
    const alx = sources.alx()
    if (alx) {
      gauges.blocks.set(alx.blocks)
      gauges.sessions.set(alx.sessions)
    }
  }
  return {
    contentType: registry.contentType,
    text: async () => {
      await collect()
      return registry.metrics()
    },
    answered: (method, route, status, seconds) => {
      requests.inc({ method: METHODS.includes(method) ? method : 'other', route, status: String(status) })
      lasted.observe({ route }, seconds)
    },
    close: () => {
      unwatch()
      registry.clear()
    },
  }
}
