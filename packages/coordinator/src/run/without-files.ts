// Runs without a project: what keeps a plan from being one, and the plan as such a run keeps it.
import { ParleyError } from '@parley/core'
import type { CoordinatorOptions } from '../contract.ts'
import { agentsOf, allTasks, type PlannedTask, type Team } from '../team/team.ts'

/** Refuses with `invalid_project` where a task or an agent needs files. */
export function needsProject(
  { agents }: Team,
  plan: readonly PlannedTask[],
  works: CoordinatorOptions['worksWithoutFolder'],
): ParleyError | undefined {
  for (const task of allTasks(plan)) {
    if (task.check) return needed(`the task ${task.id} has a check, which runs in a folder`)
    if (task.paths && task.paths.length > 0) return needed(`the task ${task.id} may change files`)
    for (const name of agentsOf(task)) {
      const agent = agents[name]
      if (!agent || !works?.(agent)) return needed(`${name} works in a folder`)
      if (agent.setup || agent.carry) return needed(`the folder of ${name} is to be set up`)
    }
  }
  return undefined
}

function needed(why: string): ParleyError {
  return new ParleyError('invalid_project', `The run needs a project: ${why}. Name the folder of one.`)
}

/** Nothing is to be changed by any task, and so the run has no result of files. */
export function withoutFiles(plan: readonly PlannedTask[]): readonly PlannedTask[] {
  return plan.map(task => (task.plan ? { ...task, paths: [], plan: withoutFiles(task.plan) } : { ...task, paths: [] }))
}
