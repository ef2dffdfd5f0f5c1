// What each agent has used in the turns that ended since a moment, over all runs, and the turns at work: from the
// record of the runs, by the agent that took the turn.
import { parseTimestamp, type RunId, type Static, type Ticks, Type } from '@parley/core'
import { given } from '../given.ts'
import { coordinatorLimits } from '../limits.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { RunsHost } from '../run/runs-host.ts'
import { nameOf } from '../turn/identities.ts'
import { closed } from './people-view.ts'
import type { RunViews } from './run-views.ts'
import { total } from './to-view.ts'
import { type UsageView, UsageViewSchema } from './view.ts'

export const AgentUsageSchema = closed({ agent: Type.String(), usage: UsageViewSchema })
/** A turn at work, with what its agent has told so far. */
export const RunningTurnSchema = closed({
  run: Type.String(),
  task: Type.String(),
  agent: Type.String(),
  usage: UsageViewSchema,
})
type AgentUsageView = Static<typeof AgentUsageSchema>
type RunningTurnView = Static<typeof RunningTurnSchema>

export class AgentUsage {
  readonly #host: RunsHost
  readonly #views: Pick<RunViews, 'readable'>
  /** Of runs that are over, by run, its last change and the moment; the oldest first. */
  readonly #known = new Map<string, readonly AgentUsageView[]>()

  constructor(host: RunsHost, views: Pick<RunViews, 'readable'>) {
    this.#host = host
    this.#views = views
  }

  /** A damaged run keeps nobody from the others. */
  async since(from: Ticks): Promise<{ agents: AgentUsageView[]; turns: RunningTurnView[] }> {
    const { trail, drivers, runtime } = this.#host
    const runs = (await trail.runs()).filter(each => each.run !== runtime.house.run && !each.imported)
    const used: AgentUsageView[] = []
    const turns: RunningTurnView[] = []
    for (const { run, updated } of runs) {
      const driver = drivers.get(run)
      if (driver?.knows) {
        used.push(...usedSince(driver.projection, from))
        for (const { id, facts, ended } of driver.projection.workspaces.values()) {
          const turn = ended === undefined ? driver.driver(id)?.turn : undefined
          if (turn && facts) turns.push({ run, task: facts.task, agent: facts.agent, usage: total([oneTurn(turn)]) })
        }
      } else if (updated >= from) used.push(...(await this.#ofOver(run, `${run} ${updated} ${from}`, from)))
    }
    const agents = [...Map.groupBy(used, ({ agent }) => agent)].map(([agent, all]) => ({
      agent,
      usage: total(all.map(({ usage }) => usage)),
    }))
    return { agents: agents.toSorted(dearestFirst), turns }
  }

  async #ofOver(run: RunId, key: string, from: Ticks): Promise<readonly AgentUsageView[]> {
    const known = this.#known.get(key)
    if (known) return known
    const read = await this.#views.readable(run)
    if (!read.ok) return []
    const used = usedSince(read.value, from)
    this.#known.set(key, used)
    const [oldest] = this.#known.keys()
    if (this.#known.size > coordinatorLimits.keptUsages && oldest !== undefined) this.#known.delete(oldest)
    return used
  }
}

/** A check is a program that uses nothing. */
function usedSince({ workspaces }: RunProjection, from: Ticks): AgentUsageView[] {
  return [...workspaces.values()].flatMap(({ facts, checkpoints }) =>
    checkpoints.flatMap(({ turn, at, agent }) =>
      facts?.kind !== 'check' && turn && turn.outcome !== 'kept' && parseTimestamp(at)! >= from
        ? [{ agent: nameOf(agent), usage: oneTurn(turn) }]
        : [],
    ),
  )
}

function oneTurn({ wall_ms, output_bytes, tokens_in, tokens_out, tokens_cached, usd }: Omit<UsageView, 'turns'>) {
  const told = { tokens_in, tokens_out, tokens_cached, usd }
  return { turns: 1, wall_ms, output_bytes, ...given(told) }
}

function dearestFirst({ agent: a, usage: one }: AgentUsageView, { agent: b, usage: other }: AgentUsageView): number {
  return (other.usd ?? 0) - (one.usd ?? 0) || other.wall_ms - one.wall_ms || (a < b ? -1 : 1)
}
