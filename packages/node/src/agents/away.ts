// Agents whose service said when it works again: they are not asked before. Kept in memory: after a restart each is
// asked once.
import { createHash } from 'node:crypto'
import { type Outage, outageIn, outageText } from '@parley/agents'
import {
  type AgentAdapter,
  type AgentSettings,
  type Clock,
  formatTimestamp,
  ParleyError,
  type Timestamp,
} from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { withTurns } from '../spending/own-turns.ts'
import { kindFor } from './kinds.ts'

export interface AwayAgent extends Outage {
  readonly until: Timestamp
}

interface Known {
  readonly program: string
  readonly away: AwayAgent
}

export class AwayAgents {
  readonly #clock: Clock
  /** By settings and credentials: who shares both shares the limit. */
  readonly #known = new Map<string, Known>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same agent, which is asked only when its service works, as far as that is known. */
  heeded(agent: AgentAdapter, settings: AgentSettings, environment: NodeJS.ProcessEnv): AgentAdapter {
    const kind = kindFor(settings)
    const { program } = kind.describe(settings)
    const { timeoutMs: _, slots: __, ...same } = settings
    const variables = kind.passes(settings).map(name => environment[name] ?? null)
    const account = createHash('sha256')
      .update(JSON.stringify([same, variables]))
      .digest('hex')
    return withTurns(agent, async (input, emit) => {
      const away = this.#now(account)
      if (away) {
        const message = `The agent ${agent.name} was not asked: ${outageText(away)}.`
        const error = new ParleyError('agent_unavailable', message, { retryable: true, details: { outage: away } })
        return { outcome: 'failed', error, usage: {} }
      }
      const result = await agent.takeTurn(input, emit)
      const outage = result.outcome === 'failed' ? outageIn(result.error) : undefined
      if (outage?.until !== undefined) this.#remember(account, { program, away: { ...outage, until: outage.until } })
      return result
    })
  }

  /** Of agents with this program, the one that is away the longest. */
  of(program: string): AwayAgent | undefined {
    const now = formatTimestamp(this.#clock.now())
    const away = [...this.#known.values()].filter(each => each.program === program).map(each => each.away)
    return away.filter(({ until }) => until > now).toSorted((a, b) => (a.until < b.until ? 1 : -1))[0]
  }

  #now(account: string): AwayAgent | undefined {
    const away = this.#known.get(account)?.away
    if (away && away.until > formatTimestamp(this.#clock.now())) return away
    this.#known.delete(account)
    return undefined
  }

  #remember(account: string, known: Known): void {
    this.#known.set(account, known)
    const [oldest] = this.#known.keys()
    if (this.#known.size > nodeLimits.awayAgents && oldest !== undefined) this.#known.delete(oldest)
  }
}
