// What the profile spends in a day, in one place: the ledger, the cap as the configuration has it now, the profile's
// own turns, and what a turn that a crash ended had set aside.
import {
  type AgentAdapter,
  type AgentKind,
  type Clock,
  err,
  INTERACTIVE,
  type Ledger,
  ok,
  type Result,
  type RunId,
} from '@parley/core'
import { ALP_ORIGIN, linkPaths, openLedger } from '@parley/link'
import { nodeLimits } from '../limits.ts'
import type { NodeLog } from '../log/log.ts'
import type { SpentToday } from '../operations/budget.ts'
import { AskedTurns } from './asked-turns.ts'
import { OwnTurns } from './own-turns.ts'
import { ToldCosts } from './told-costs.ts'

export interface SpendingOptions {
  /** The profile's folder. */
  readonly home: string
  readonly clock: Clock
  /** `budget.daily_usd` as it stands; asked every time. */
  readonly dailyUsd: () => number | undefined
  readonly log: Pick<NodeLog, 'error' | 'info'>
}

export class Spending {
  readonly ledger: Ledger
  readonly #own: OwnTurns
  readonly #asked: AskedTurns

  /** Before any turn is at work: what is set aside then, nobody is working for. */
  static open(options: SpendingOptions): Spending {
    const spending = new Spending(options)
    spending.#settleOrphans(options.log)
    return spending
  }

  private constructor({ home, clock, dailyUsd, log }: SpendingOptions) {
    this.ledger = openLedger(linkPaths(home).ledger, {
      clock,
      cap: dailyUsd,
      failed: (what, cause) => log.error(what, { cause }),
    })
    const told = new ToldCosts()
    this.#own = new OwnTurns({ ledger: this.ledger, told, clock, log })
    this.#asked = new AskedTurns(told)
  }

  /**
   * The same agent, with each turn on the ledger of the one who pays for it. What a peer has asked for is there
   * already, for the whole ask.
   */
  ledgered(
    agent: AgentAdapter,
    { origin, costs }: { readonly origin: string; readonly costs: AgentKind['costs'] },
  ): AgentAdapter {
    if (costs === 'nothing') return agent
    if (origin === ALP_ORIGIN) return this.#asked.noted(agent)
    return costs === 'elsewhere' ? this.#own.stoppable(agent) : this.#own.ledgered(agent)
  }

  /** Whether a turn of a run for a peer was cut off before its agent said what it cost. */
  costUnknown(run: RunId): boolean {
    return this.#asked.costUnknown(run)
  }

  /** Refuses with `budget_exceeded` where the cap is reached, or `ledger_unavailable`: then nothing is started. */
  mayStart(): Result<void> {
    const { refusal } = this.#own
    return refusal ? err(refusal) : ok(undefined)
  }

  today(): SpentToday {
    const { day, profile, byPeer, reserved } = this.ledger.today()
    const { damage } = this.ledger
    const by = [...byPeer].map(([name, { usd, tokens }]) => ({ name, usd, tokens }))
    return {
      day,
      cap: this.ledger.cap ?? null,
      used_usd: profile.usd,
      used_tokens: profile.tokens,
      reserved_usd: [...reserved.values()].reduce((sum, { usd }) => sum + usd, 0),
      by: by
        .toSorted((one, other) => other.usd - one.usd || other.tokens - one.tokens || (one.name < other.name ? -1 : 1))
        .slice(0, nodeLimits.spenders),
      ...(damage && { problem: `${damage.problem} ${damage.remedy}` }),
    }
  }

  /**
   * Nobody can say any more what a turn cost that a crash ended: the record of its run does not tell one turn from
   * another. Where there is a cap, all that was set aside counts as spent, so that a crash never makes room. What peers
   * had asked for is settled by their runs.
   */
  #settleOrphans(log: SpendingOptions['log']): void {
    const capped = this.ledger.cap !== undefined
    let usd = 0
    const orphans = this.ledger.orphans().filter(({ name }) => name === INTERACTIVE)
    for (const orphan of orphans) {
      try {
        usd += orphan.settle(capped ? undefined : {}).usd
      } catch (cause) {
        log.error('what a turn of an earlier node had set aside could not be settled', { cause })
      }
    }
    if (orphans.length > 0)
      log.info(`${orphans.length} turns of an earlier node were cut off; $${usd.toFixed(2)} are booked for them`)
  }
}
