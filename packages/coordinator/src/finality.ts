// Why nothing is tried any more after a task's newest attempt has failed: what decides the next step and what people are told is one thing.
import { repeated } from './breakers.ts'
import { failureText } from './failure-text.ts'
import type { RunProjection, SeenTask, SeenWorkspace } from './projection.ts'
import { allowance, type LiveTurn, spentText } from './spending.ts'
import type { PlannedTask } from './team/team.ts'

/** Decisions after which nobody tries again: a person's, or a judge's that the work cannot be used. */
const LAST_WORDS = new Set(['rejected', 'gate_rejected_by_human', 'aborted_by_human', 'escalation_timeout'])

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
  const over = task.attempts.length >= planned.attempts || LAST_WORDS.has(newest?.trigger ?? '')
  return over ? failure : undefined
}
