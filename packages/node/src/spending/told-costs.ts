// Which agents tell what their turns cost, and so what a turn that was cut off counts: agents tell it at the end of a
// turn, which such a turn did not come to.
import type { ParleyError, TurnResult, Usage } from '@parley/core'
import { nodeLimits } from '../limits.ts'

export class ToldCosts {
  /** Agents by name: whether they tell what their turns cost. */
  readonly #tells = new Map<string, boolean>()

  /** Undefined as long as no turn of the agent has shown it. */
  tells(name: string): boolean | undefined {
    return this.#tells.get(name)
  }

  /** What the turn of an agent cost, as far as it said; `cut off` where it could not say it any more. */
  read(name: string, result: TurnResult): Usage | 'cut off' {
    const { usage, outcome } = result
    if (usage.usd !== undefined) {
      this.#remember(name, true)
      return usage
    }
    if (outcome === 'failed') return isCutOff(result.error) ? 'cut off' : usage
    if (!this.#tells.has(name)) this.#remember(name, false)
    return usage
  }

  #remember(name: string, tells: boolean): void {
    this.#tells.set(name, tells)
    const [oldest] = this.#tells.keys()
    if (this.#tells.size > nodeLimits.knownAgents && oldest !== undefined) this.#tells.delete(oldest)
  }
}

const CUT_OFF = new Set(['aborted', 'timeout', 'output_limit'])

function isCutOff({ code, details }: ParleyError): boolean {
  return CUT_OFF.has(code) || typeof details.signal === 'string'
}
