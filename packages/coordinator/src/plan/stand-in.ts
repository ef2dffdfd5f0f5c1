// Tasks that stand in for others (`standsInFor`): when one begins, and what counts as done with it. It takes the place
// of work that failed by itself. What a person, a budget or the time has ended is not done in another way.
import type { ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { PlannedTask } from '../team/team.ts'
import { isEnding } from './finality.ts'
import { allowance } from './spending.ts'

/** Its agent gave up, its check or a reviewer sent it back, or a reviewer turned it down. */
const BY_ITSELF = new Set(['agent_failed', 'revision_required', 'rejected'])

/** Of a task that has failed for good: whether nothing but its own work is the reason. */
export function failedByItself(projection: RunProjection, task: ProjectedTask): boolean {
  const planned = projection.plan.get(task.name)
  const newest = projection.workspaces.get(task.attempts.at(-1)!)
  if (!planned || isEnding(projection, task.name) || allowance(projection, planned, task).spent) return false
  if (projection.controls.some(each => each.kind === 'abort' && each.task === task.name)) return false
  if (GATES.some(type => projection.highway.ended(type, task.id)?.action === 'reject')) return false
  // It needs something that has failed, which says why.
  if (!newest) return true
  if (!BY_ITSELF.has(newest.trigger ?? '')) return false
  if ([newest, ...projection.about(newest.id)].some(isOverBudget)) return false
  const parts = [...projection.tasks.values()].filter(({ parent, seq }) => parent === task.id && seq > newest.seq)
  return parts.every(part => part.status === 'integrated' || failedByItself(projection, part))
}

const GATES = ['task_approval', 'workspace_create'] as const

function isOverBudget({ exceeded, trigger, checkpoints }: ProjectedWorkspace): boolean {
  const refused = checkpoints.at(-1)?.turn?.error === 'budget_exceeded'
  return exceeded !== undefined || trigger === 'budget_exceeded' || refused
}

/** Whether a task whose needs are met may begin; undefined for one that stands in for nobody. */
export function standOfStandIn(
  projection: RunProjection,
  planned: PlannedTask,
  subject: ProjectedTask | undefined,
  isFinal: (task: ProjectedTask) => boolean,
): 'waits' | 'begins' | 'never' | undefined {
  if (planned.standsInFor === undefined) return undefined
  switch (subject?.status) {
    case undefined:
    case 'integrated':
    case 'cancelled':
      return 'never'
    case 'failed':
      if (!isFinal(subject)) return 'waits'
      return failedByItself(projection, subject) ? 'begins' : 'never'
    default:
      return 'waits'
  }
}

/** The task itself and all that stand in for it or that it stands in for: one of them is enough. */
export function alternatives(plan: readonly PlannedTask[], id: string): readonly string[] {
  const first = (task: PlannedTask | undefined, depth = 0): string | undefined => {
    const before = depth < plan.length ? plan.find(each => each.id === task?.standsInFor) : undefined
    return before ? first(before, depth + 1) : task?.id
  }
  const root = first(plan.find(each => each.id === id))
  return plan.filter(task => first(task) === root).map(task => task.id)
}

interface Told {
  readonly id: string
  readonly state: string
  readonly stands_in_for?: string
}

/** Of a task that has failed: the last one that took its place and failed too, or itself. */
export function lastTried<Task extends Told>(tasks: readonly Task[], task: Task): Task {
  const next = tasks.find(each => each.stands_in_for === task.id && each.state === 'failed')
  return next ? lastTried(tasks, next) : task
}
