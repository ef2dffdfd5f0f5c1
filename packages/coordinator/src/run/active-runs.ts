// How many runs may be at work: in all, and of each principal. A run that waits for a person is not at work; one that
// is being started is.
import { ParleyError } from '@parley/core'
import { coordinatorLimits } from '../limits.ts'

/** A run that is not over. */
interface OpenRun {
  readonly principal: string
  /** Nothing goes on in it before a person has answered. */
  readonly waits: boolean
}

export class ActiveRuns {
  readonly #open: Pick<ReadonlyMap<unknown, OpenRun>, 'size' | 'values'>
  readonly #most: number
  /** Principals whose runs are being started, once for each. */
  readonly #starting: string[] = []

  /** `most`: of one principal. */
  constructor(open: ReadonlyMap<unknown, OpenRun>, most: number) {
    this.#open = open
    this.#most = most
  }

  /** Refuses with `overloaded` and `too_many_runs`, both retryable. */
  refuse(principal: string): ParleyError | undefined {
    const open = this.#open.size + this.#starting.length
    if (open >= coordinatorLimits.openRuns)
      return refusal('overloaded', `${open} runs are not over yet.`, coordinatorLimits.openRuns)
    const atWork = [...this.#open.values()].filter(({ waits }) => !waits).map(run => run.principal)
    const active = [...atWork, ...this.#starting]
    if (active.length >= coordinatorLimits.activeRuns)
      return refusal('overloaded', `${active.length} runs are at work already.`, coordinatorLimits.activeRuns)
    const own = active.filter(each => each === principal).length
    if (own < this.#most) return undefined
    return refusal(
      'too_many_runs',
      `${principal} has ${own} runs at work, and no principal may have more. Try again when one of them is over.`,
      this.#most,
    )
  }

  /** Counts a run while it is being started. */
  async during<T>(principal: string, start: () => Promise<T>): Promise<T> {
    this.#starting.push(principal)
    try {
      return await start()
    } finally {
      this.#starting.splice(this.#starting.indexOf(principal), 1)
    }
  }
}

function refusal(code: string, message: string, most: number): ParleyError {
  return new ParleyError(code, message, { retryable: true, details: { most } })
}
