// The time of a run: ends it at its limit; before that, or when a person asks for it, lets its agents finish
// (winding-down.ts). Timers only bring the next look.
import { type CancelTimer, durationMs, parseTimestamp, unwrap } from '@parley/core'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunAtWork } from './run-parts.ts'
import { endingLeft, endingOf, windDown } from './winding-down.ts'

export class RunTime {
  readonly #options: RunAtWork
  #limit: CancelTimer | undefined
  #late = false
  /** Until its agents are asked to finish, and then until its end. */
  #grace: CancelTimer | undefined

  constructor(options: RunAtWork) {
    this.#options = options
  }

  /** Whether it took longer than its limit, and was ended for that. */
  async endLate(root: ProjectedWorkspace): Promise<boolean> {
    this.#watchLimit(root)
    if (!this.#late) return false
    const { run, log } = this.#options
    log('warn', `the run ${run.id} took longer than its limit and is ended`)
    unwrap(await run.stop())
    return true
  }

  #watchLimit(root: ProjectedWorkspace): void {
    const { clock, facts, poke } = this.#options
    const { timeoutMs } = facts.team.limits
    if (timeoutMs === undefined || this.#limit) return
    const left = timeoutMs - durationMs(parseTimestamp(root.created)!, clock.now())
    const over = () => {
      this.#late = true
      poke()
    }
    this.#limit = clock.after(Math.max(0, left), over, { background: true })
  }

  /** Whether its time to finish is over, and it was ended for that. */
  async endInTime(): Promise<boolean> {
    const { run, projection, clock, poke } = this.#options
    const ending = endingOf(projection)
    if (!ending) return false
    const { untilTold, untilEnd } = endingLeft(ending, run.now())
    if (untilEnd === 0) {
      unwrap(await run.stop())
      return true
    }
    this.#grace?.()
    this.#grace = clock.after(untilTold || untilEnd, poke, { background: true })
    if (untilTold > 0) return false
    projection.timeRunsOut = true
    await windDown(projection, run.coordinator, ending, untilEnd)
    return false
  }

  cancel(): void {
    this.#limit?.()
    this.#grace?.()
  }
}
