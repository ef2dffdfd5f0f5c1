// The profile's own turns on the daily ledger (ALP-BUD-01): what a turn may cost is set aside before it begins, and
// what it did cost is booked when it ended. A turn for a peer is not among them: ALP sets aside for the whole ask.
import {
  type AgentAdapter,
  type Clock,
  err,
  type Grant,
  INTERACTIVE,
  invariant,
  type Ledger,
  ParleyError,
  pause,
  type Result,
  type TurnEvent,
  type TurnInput,
  type TurnResult,
  ticksPerMillisecond,
  type Usage,
} from '@parley/core'
import { nodeTimes } from '../limits.ts'
import type { NodeLog } from '../log/log.ts'
import { budgetExceeded, budgetSetAside, ledgerUnavailable } from './exceeded.ts'
import type { ToldCosts } from './told-costs.ts'

export interface OwnTurnsOptions {
  readonly ledger: Pick<Ledger, 'reserve' | 'exhausted' | 'unusable'>
  readonly told: ToldCosts
  readonly clock: Clock
  readonly log: Pick<NodeLog, 'error'>
}

type Emit = (event: TurnEvent) => void

export class OwnTurns {
  readonly #options: OwnTurnsOptions

  constructor(options: OwnTurnsOptions) {
    this.#options = options
  }

  /** Why nothing may be started now. */
  get refusal(): ParleyError | undefined {
    const { ledger, clock } = this.#options
    const exhausted = ledger.exhausted()
    return exhausted ? budgetExceeded(exhausted, clock.now()) : ledger.unusable
  }

  /** The same agent, each of whose turns is on the ledger. */
  ledgered(agent: AgentAdapter): AgentAdapter {
    const closing = new AbortController()
    return {
      ...withTurns(agent, (input, emit) => this.#take(agent, input, emit, closing.signal)),
      close: () => {
        closing.abort(new ParleyError('closed', `The agent ${agent.name} takes no more turns: it was closed.`))
        return agent.close()
      },
    }
  }

  /** The same agent, for whose turns somebody else pays: nothing is booked here, but the cap stops them too. */
  stoppable(agent: AgentAdapter): AgentAdapter {
    return withTurns(agent, async (input, emit) => {
      const { refusal } = this
      return refusal ? failed(refusal) : agent.takeTurn(input, emit)
    })
  }

  async #take(agent: AgentAdapter, input: TurnInput, emit: Emit, closing: AbortSignal): Promise<TurnResult> {
    const { name } = agent
    const reserved = await this.#reserve(name, input, emit, AbortSignal.any([input.signal, closing]))
    if (!reserved.ok) return failed(reserved.error)
    const grant = reserved.value
    invariant(grant.name === INTERACTIVE, 'what the profile spends itself is booked under its own name')
    // Of an agent that tells nothing, nothing was set aside: that is no limit for it.
    const budget = this.#options.told.tells(name) === false ? input.budget : grant.budget
    let result: TurnResult
    try {
      result = await agent.takeTurn({ ...input, ...(budget && { budget }) }, emit)
    } catch (defect) {
      this.#settle(grant, this.#options.told.tells(name) ? undefined : {})
      throw defect
    }
    this.#settle(grant, this.#spent(name, result))
    return result
  }

  /** Waits while the cap is not reached and only what is set aside for other turns stands in the way. */
  async #reserve(name: string, input: TurnInput, emit: Emit, signal: AbortSignal): Promise<Result<Grant>> {
    const { clock } = this.#options
    const until = clock.now() + nodeTimes.ledgerWait * ticksPerMillisecond
    for (let waits = false; ; waits = true) {
      if (signal.aborted) return err(ended(signal.reason))
      const reserved = this.#tryReserve(name, input)
      if (reserved.ok || !reserved.error.retryable || clock.now() >= until) return reserved
      if (!waits) emit({ type: 'notice', text: WAITS })
      await pause(clock, nodeTimes.ledgerLook, signal)
    }
  }

  #tryReserve(name: string, { budget }: TurnInput): Result<Grant> {
    const { ledger, clock } = this.#options
    const wanted = this.#options.told.tells(name) === false ? { ...budget, usd: 0 } : budget
    try {
      const reserved = ledger.reserve(INTERACTIVE, wanted)
      if (reserved.ok) return reserved
      if (reserved.error instanceof ParleyError) return err(reserved.error)
      return err(this.refusal ?? budgetSetAside(reserved.error, clock.now()))
    } catch (cause) {
      return err(ledgerUnavailable(cause))
    }
  }

  /** What is booked; undefined where nobody knows, which books all that was set aside. */
  #spent(name: string, result: TurnResult): Usage | undefined {
    const { told } = this.#options
    const spent = told.read(name, result)
    if (spent !== 'cut off') return spent
    return told.tells(name) ? undefined : result.usage
  }

  /** The turn is over, whatever becomes of the ledger: what was set aside for it counts until the next start. */
  #settle(grant: Grant, usage: Usage | undefined): void {
    try {
      grant.settle(usage)
    } catch (cause) {
      this.#options.log.error('what a turn cost could not be booked; what was set aside for it counts instead', {
        cause,
      })
    }
  }
}

/** The same agent, whose turns are taken in another way. */
export function withTurns(agent: AgentAdapter, takeTurn: AgentAdapter['takeTurn']): AgentAdapter {
  return { name: agent.name, kind: agent.kind, reach: agent.reach, takeTurn, close: () => agent.close() }
}

const WAITS = "Waits: what is left of today's budget is set aside for other turns."

function failed(error: ParleyError): TurnResult {
  return { outcome: 'failed', error, usage: {} }
}

/** As every adapter says it. */
function ended(reason: unknown): ParleyError {
  if (!(reason instanceof ParleyError)) return new ParleyError('aborted', 'The turn was ended before it began.')
  if (reason.code === 'closed') return reason
  return new ParleyError('aborted', `The turn was ended before it began: ${reason.message}`, {
    details: { reason: reason.code },
    cause: reason,
  })
}
