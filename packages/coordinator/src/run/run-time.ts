// The time of a run: ends it at its limit. Before that, or when a person asks for it, agents at work have time to
// finish (W-TERM-01): nothing new begins, and what is not done in time is ended. Timers only bring the next look.
import {
  type CancelTimer,
  deadline,
  durationMs,
  parseTimestamp,
  type Ticks,
  type Timestamp,
  unwrap,
} from '@parley/core'
import { ask } from '../ask.ts'
import { after } from '../projection/highway.ts'
import type { ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { RunAtWork } from './run-parts.ts'

export class RunTime {
  readonly #options: RunAtWork
  readonly #endTurns: (reason: string) => Promise<void>
  #limit: CancelTimer | undefined
  #late = false
  /** Until its agents are asked to finish, and then until its end. */
  #grace: CancelTimer | undefined

  constructor(options: RunAtWork, endTurns: (reason: string) => Promise<void>) {
    this.#options = options
    this.#endTurns = endTurns
  }

  /** Whether it took longer than its limit, and was ended for that. */
  async endLate(root: ProjectedWorkspace): Promise<boolean> {
    this.#watchLimit(root)
    if (!this.#late) return false
    const { run, log } = this.#options
    log('warn', `the run ${run.id} took longer than its limit and is ended`)
    await this.#endTurns('The run took longer than its limit.')
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
    const now = run.now()
    const begin = parseTimestamp(ending.at)!
    const untilTold = left(begin, now)
    const untilEnd = left(deadline(begin, ending.grace), now)
    if (untilEnd === 0) {
      await this.#endTurns(ending.reason)
      unwrap(await run.stop())
      return true
    }
    this.#grace?.()
    this.#grace = clock.after(untilTold || untilEnd, poke, { background: true })
    if (untilTold > 0) return false
    projection.timeRunsOut = true
    await this.#windDown(ending.reason, untilEnd)
    return false
  }

  /** Tells those who work, and ends what cannot be told. */
  async #windDown(reason: string, left: number): Promise<void> {
    const { run, projection } = this.#options
    for (const { id, facts, state, termination } of projection.workspaces.values()) {
      if (facts?.kind !== 'work') continue
      if ((state === 'active' || state === 'blocked') && !termination)
        await ask(run.coordinator.terminate(id, Math.max(1, left), reason))
      else if (state === 'idle' || state === 'suspended') await ask(run.coordinator.abort(id))
    }
  }

  cancel(): void {
    this.#limit?.()
    this.#grace?.()
  }
}

interface RunEnding {
  readonly at: Timestamp
  readonly grace: number
  readonly reason: string
}

/** The first request to end the whole run, which later ones do not put off; without one the end of its time. */
function endingOf({ controls, facts, root }: RunProjection): RunEnding | undefined {
  for (const each of controls)
    if (each.kind === 'abort' && each.task === undefined && each.grace !== undefined)
      return { at: each.at, grace: each.grace, reason: each.reason }
  const { timeoutMs, graceMs } = facts?.team.limits ?? {}
  if (!root || timeoutMs === undefined || graceMs === undefined) return undefined
  const at = after(root.created, timeoutMs - graceMs)
  return { at, grace: graceMs, reason: 'The time of the run is nearly over.' }
}

/** Milliseconds until then; 0: now. */
function left(end: Ticks, now: Ticks): number {
  return end <= now ? 0 : Math.ceil(durationMs(now, end))
}
