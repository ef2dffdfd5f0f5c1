// Why a task is not tried again after its newest attempt failed: decides the next step, and tells people.
import type { ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import { repeated } from '../run/breakers.ts'
import type { PlannedTask } from '../team/team.ts'
import { NOT_LOGGED_IN } from '../turn/outage.ts'
import { SETUP_FAILED } from '../turn/ready-folder.ts'
import { failureText } from '../view/failure-text.ts'
import { allowance, type LiveTurn, spentText } from './spending.ts'
import { isWantedAgain, lostAttempts } from './task-agent.ts'

/** Decisions after which nobody tries again: a person's, or a judge's that the work cannot be used. */
const LAST_WORDS = new Set(['rejected', 'gate_rejected_by_human', 'aborted_by_human', 'escalation_timeout'])

/**
 * Of turns that were not taken, and that another attempt would not be either: the profile may spend no more today,
 * setup fails in a folder that holds no work yet, the agent is not logged in, or its program or interpreter is missing.
 */
const NOT_TAKEN = new Set(['budget_exceeded', SETUP_FAILED, NOT_LOGGED_IN, 'not_found', 'not_executable'])

/** Whether a task, or the whole run, was asked to finish in a given time, or the run's time is nearly over. */
export function isEnding(projection: RunProjection, task?: string): boolean {
  return (
    projection.timeRunsOut ||
    projection.controls.some(
      each => each.kind === 'abort' && each.grace !== undefined && (each.task === undefined || each.task === task),
    )
  )
}

/** Undefined while there will be another attempt. */
export function whyFinal(
  projection: RunProjection,
  task: ProjectedTask,
  planned: PlannedTask,
  live?: LiveTurn,
): string | undefined {
  const newest: ProjectedWorkspace | undefined = projection.workspaces.get(task.attempts.at(-1)!)
  const failure = newest ? failureText(newest, projection) : 'It was not done.'
  const { breakers } = projection.facts?.team.limits ?? {}
  const again = breakers && repeated(task, projection, breakers, attempt => failureText(attempt, projection))
  if (again !== undefined) return again
  const { spent } = allowance(projection, planned, task, live)
  // Going over a budget is told with its amounts already.
  if (spent) return newest?.exceeded ? failure : `${failure} ${spentText(spent)}`
  if (newest?.trigger === 'agent_failed' && NOT_TAKEN.has(newest.checkpoints.at(-1)?.turn?.error ?? '')) return failure
  if (isEnding(projection, planned.id)) return failure
  if (newest && isWantedAgain(projection, newest)) return undefined
  const counted = task.attempts.length - Math.min(lostAttempts(projection, task), planned.attempts)
  const over = counted >= planned.attempts || LAST_WORDS.has(newest?.trigger ?? '')
  return over ? failure : undefined
}
