// How a node is: what `/node/status` tells.
import type { CallNode } from '@parley/call'
import type { Coordination, RunSummarySchema } from '@parley/coordinator'
import {
  asParleyError,
  type Clock,
  formatTimestamp,
  type RunId,
  type Static,
  type Ticks,
  ticksPerMillisecond,
} from '@parley/core'
import { ALP_ORIGIN, isPeer } from '@parley/link'
import type { Trail } from '@parley/trail'
import type { Config } from './config/load.ts'
import type { HttpSurface } from './http/surface.ts'
import type { NodeLink } from './link/node-link.ts'
import type { NodeLog } from './log/log.ts'
import type { NodeStatus } from './operations/node.ts'
import type { StartedBy } from './reach/node-file.ts'
import { NODE_VERSION } from './version.ts'

export interface StatusParts {
  readonly trail: Trail
  readonly coordinator: Coordination
  readonly link: NodeLink
  readonly http: HttpSurface
  readonly calls: CallNode
  readonly started: Ticks
}

export async function nodeStatus(
  { config, startedBy, log }: { readonly config: Config; readonly startedBy: StartedBy; readonly log: NodeLog },
  clock: Clock,
  { trail, coordinator, link, http, calls, started }: StatusParts,
): Promise<NodeStatus> {
  const live = await liveRuns(coordinator, log)
  const storage = coordinator.storage.status()
  return {
    profile: config.paths.profile,
    folder: config.paths.folder,
    socket: config.paths.socket,
    pid: process.pid,
    version: NODE_VERSION,
    runtime: process.version,
    started: formatTimestamp(started),
    started_by: startedBy,
    uptime_ms: Math.max(0, Math.floor((clock.now() - started) / ticksPerMillisecond)),
    runs: {
      working: live.filter(({ state }) => state === 'working').length,
      waiting: live.filter(({ state }) => state === 'waiting').length,
      for_peers: await answersIn(live, coordinator),
    },
    clients: calls.links.length,
    deployment: config.values.deployment,
    idle_timeout_ms: startedBy === 'on-demand' ? config.values.idleTimeoutMs : 0,
    storage: { ...storage, faults: [...storage.faults] },
    link: link.status(),
    http: http.status(),
    machine: coordinator.held ?? null,
    damage: trail.damage.map(({ code, message, runs }) => ({ code, message, runs: [...runs] })),
  }
}

/**
 * A user who wants to stop or repair a node asks for its status first: unreadable runs must not keep it from answering.
 */
async function liveRuns(coordinator: Coordination, log: NodeLog): Promise<readonly Static<typeof RunSummarySchema>[]> {
  try {
    return await coordinator.runs.list({ states: ['waiting', 'working'], limit: 1000 })
  } catch (cause) {
    const { code, message } = asParleyError(cause)
    log.error(`the runs at work cannot be told: ${message}`, { code })
    return []
  }
}

/** A peer may have started others over the call protocol: those go on with the next node. */
async function answersIn(live: readonly Static<typeof RunSummarySchema>[], coordinator: Coordination): Promise<number> {
  const ofPeers = live.filter(({ principal }) => isPeer(principal))
  const stored = await Promise.all(ofPeers.map(({ run }) => coordinator.records.storedRun(run as RunId)))
  return stored.filter(each => each.ok && each.value.origin === ALP_ORIGIN).length
}
