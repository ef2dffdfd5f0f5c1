// Breakers end work that leads nowhere: attempts with the same result, turns that change nothing, runs that start runs.
import { ParleyError } from '@parley/core'
import { coordinatorLimits } from '../limits.ts'
import type { ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { Breakers } from '../team/team.ts'

/** Why no further attempt at a task is made, if its last ones came to the same. */
export function repeated(
  task: ProjectedTask,
  projection: RunProjection,
  { repetition }: Breakers,
  failure: (attempt: ProjectedWorkspace) => string,
): string | undefined {
  if (repetition === 0 || task.attempts.length < repetition) return undefined
  const last = task.attempts.slice(-repetition).flatMap(id => projection.workspaces.get(id) ?? [])
  const same = (one: (attempt: ProjectedWorkspace) => string | undefined) =>
    one(last[0]!) !== undefined && last.every(each => one(each) === one(last[0]!))
  const made = (attempt: ProjectedWorkspace) => attempt.checkpoints.findLast(each => each.commit)?.commit
  if (!same(failure) && !same(made)) return undefined
  return `Breaker: ${repetition} attempts in a row came to the same. ${failure(last.at(-1)!)}`
}

/** Runs that were started lately, for runs that start runs or that something starts again and again. */
export class StartBreaker {
  readonly #starts: { readonly at: number; readonly key: string; readonly parent: string | undefined }[] = []

  /** `now` in ticks. Refuses with `breaker_open`. `depth`: how many runs stand above this one. */
  refuse(
    key: string,
    parent: { readonly run: string; readonly depth: number } | undefined,
    now: number,
    force: boolean,
  ): ParleyError | undefined {
    this.#forget(now)
    if (parent && parent.depth > coordinatorLimits.startedDepth)
      return open(
        `The run ${parent.run} was itself started by an agent, and its agents start no further runs.`,
        'Give its task a plan of its own, or start the run yourself.',
      )
    if (force) return undefined
    const children = this.#starts.filter(each => parent && each.parent === parent.run).length
    if (parent && children >= coordinatorLimits.startedRuns)
      return open(
        `Agents of ${parent.run} have started ${children} runs within an hour.`,
        'If that is what you want, start it yourself with --force.',
      )
    const same = this.#starts.filter(each => each.key === key).length
    if (same < coordinatorLimits.sameRuns) return undefined
    return open(
      `The same intent was started ${same} times within an hour for this project.`,
      'If that is what you want, use --force.',
    )
  }

  note(key: string, parent: string | undefined, now: number): void {
    this.#starts.push({ at: now, key, parent })
  }

  #forget(now: number): void {
    const hour = 60 * 60_000_000
    while (this.#starts[0] && (this.#starts[0].at < now - hour || this.#starts.length > coordinatorLimits.notedStarts))
      this.#starts.shift()
  }
}

function open(what: string, next: string): ParleyError {
  return new ParleyError('breaker_open', `${what} ${next}`)
}
