// Turns for peers. ALP has set aside what the whole ask may cost; here it is only noted in which runs a turn was cut
// off before its agent said what it cost (ALP-BUD-08). Otherwise a peer that cancels every ask would spend the owner's
// money for nothing.
import type { AgentAdapter, RunId, TurnResult } from '@parley/core'
import { nodeLimits } from '../limits.ts'
import { withTurns } from './own-turns.ts'
import type { ToldCosts } from './told-costs.ts'

export class AskedTurns {
  readonly #told: ToldCosts
  /** The oldest first. */
  readonly #unknown = new Set<RunId>()

  constructor(told: ToldCosts) {
    this.#told = told
  }

  noted(agent: AgentAdapter): AgentAdapter {
    const { name } = agent
    return withTurns(agent, async (input, emit) => {
      // Nothing begins, so that nothing is spent.
      if (input.signal.aborted) return agent.takeTurn(input, emit)
      let result: TurnResult
      try {
        result = await agent.takeTurn(input, emit)
      } catch (defect) {
        this.#note(name, input.run)
        throw defect
      }
      if (this.#told.read(name, result) === 'cut off') this.#note(name, input.run)
      return result
    })
  }

  costUnknown(run: RunId): boolean {
    return this.#unknown.has(run)
  }

  /** Of an agent that never tells, nothing is counted; one that has not shown it yet is taken for one that does. */
  #note(name: string, run: RunId): void {
    if (this.#told.tells(name) === false) return
    this.#unknown.add(run)
    const [oldest] = this.#unknown
    if (this.#unknown.size > nodeLimits.unknownCosts && oldest !== undefined) this.#unknown.delete(oldest)
  }
}
