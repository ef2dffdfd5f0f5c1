// What a person approves together with the request for a run: the plan in that request, and nothing later (§8.2).
import type { ProjectedGate } from '../projection/highway.ts'
import type { ProjectedTask } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { PlannedTask } from '../team/team.ts'

export function descriptionOf({ prompt, title }: PlannedTask): string {
  return prompt || title
}

/** The task of the plan that a `task_approval` gate is about, at its place and in its words. */
export function plannedFor(
  { tasks, facts }: Pick<RunProjection, 'tasks' | 'facts'>,
  gate: ProjectedGate,
): PlannedTask | undefined {
  const task = gate.task === null ? undefined : tasks.get(gate.task)
  const planned = task && facts && plannedAt(tasks, facts.plan, task)
  const { description } = gate.record.subject as { readonly description?: unknown }
  return planned !== undefined && description === descriptionOf(planned) ? planned : undefined
}

/** The tasks of a team within the team are those of its own plan. */
function plannedAt(
  tasks: RunProjection['tasks'],
  plan: readonly PlannedTask[],
  { name, parent }: ProjectedTask,
): PlannedTask | undefined {
  const above = parent === null ? undefined : tasks.get(parent)
  const beside = parent === null ? plan : above && plannedAt(tasks, plan, above)?.plan
  return beside?.find(({ id }) => id === name)
}
