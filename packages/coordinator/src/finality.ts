// Why nothing is tried any more after a task's newest attempt has failed: what decides the next step and what people are told is one thing.
import { repeated } from './breakers.ts'
import { failureText } from './failure-text.ts'
import type { RunProjection, SeenTask, SeenWorkspace } from './projection.ts'
import { allowance, type LiveTurn, spentText } from './spending.ts'
import { lostAttempts } from './succession.ts'
import type { PlannedTask } from './team/team.ts'

/** Decisions after which nobody tries again: a person's, or a judge's that the work cannot be used. */
const LAST_WORDS = new Set(['rejected', 'gate_rejected_by_human', 'aborted_by_human', 'escalation_timeout'])

/** How the reason of a turn begins that was not taken because the profile may spend no more today: another attempt would be told the same. */
export const DAILY_BUDGET = 'Daily budget:'

/** Whether a task, or all of them, are to come to their end in the time that they were given: a person wants it, or the run's time is nearly over. */
export function isEnding(seen: RunProjection, task?: string): boolean {
  return (
    seen.timeRunsOut ||
    seen.controls.some(
      each =>
        each.kind === 'abort' && each.grace !== undefined && (each.task === undefined || each.task === task),
    )
  )
}

/** Undefined while there will be another attempt. */
export function whyFinal(
  seen: RunProjection,
  task: SeenTask,
  planned: PlannedTask,
  live?: LiveTurn,
): string | undefined {
  const newest: SeenWorkspace | undefined = seen.workspaces.get(task.attempts.at(-1)!)
  const failure = newest ? failureText(newest, seen) : 'It was not done.'
  const { breakers } = seen.facts?.team.limits ?? {}
  const again = breakers && repeated(task, seen, breakers, attempt => failureText(attempt, seen))
  if (again !== undefined) return again
  const { spent } = allowance(seen, planned, task, live)
  if (spent) return `${failure} ${spentText(spent)}`
  if (newest?.trigger === 'agent_failed' && failure.startsWith(DAILY_BUDGET)) return failure
  if (isEnding(seen, planned.id)) return failure
  const counted = task.attempts.length - Math.min(lostAttempts(seen, task), planned.attempts)
  const over = counted >= planned.attempts || LAST_WORDS.has(newest?.trigger ?? '')
  return over ? failure : undefined
}
