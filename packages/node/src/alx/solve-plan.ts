// The plan of a solve: the steps that were stored with its run, done by tasks of the team's file. A step gives a task
// words and one of the team's agents; everything else, above all what is run, is the team file's.
import { type FittedStep, fitProcedure, parseProcedure, type SolveFacts, type StoredAttempt } from '@parley/alx'
import { allTasks, type PlannedTask, planFor, soloTeam, type Team } from '@parley/coordinator'
import { ok, type Result, refuse } from '@parley/core'
import type { DomainTeam } from './teams.ts'

export interface StoredPlan {
  readonly attempts: SolveFacts['attempts']
  /** The procedure of each attempt. */
  readonly payloads: readonly unknown[]
}

/** The team with the plan of one solve. Refuses with `unknown_team` what the team cannot do (any more). */
export function solvingTeam({ attempts, payloads }: StoredPlan, { team, outline }: DomainTeam): Result<Team> {
  const plans: (readonly PlannedTask[])[] = []
  for (const [at, attempt] of attempts.entries()) {
    const procedure = parseProcedure(payloads[at])
    const fitted = procedure.ok ? fitProcedure(procedure.value, outline) : procedure
    if (!fitted.ok) return refuse('unknown_team', fitted.error.message)
    const plan = tasksFor(attempt, fitted.value, team)
    if (!plan) return refuse('unknown_team', 'The team has changed since the procedure was selected.')
    plans.push(plan)
  }
  const [only, second] = plans
  if (!only) return refuse('unknown_team', 'Nothing was selected to be carried out.')
  return ok({ ...team, plan: second ? alternatives(only, second) : only })
}

function tasksFor(
  { steps }: StoredAttempt,
  fitted: readonly FittedStep[],
  { plan }: Team,
): readonly PlannedTask[] | undefined {
  const names = new Map(steps.map(({ id, stepId }) => [id, stepId]))
  const tasks: PlannedTask[] = []
  for (const { id, stepId, skipped } of steps) {
    if (skipped !== undefined) continue
    const step = fitted.find(({ task }) => task === id)
    const task = plan.find(each => each.id === id)
    if (!step || step.skipped !== undefined || !task) return undefined
    tasks.push(carriedOut(task, step, stepId, names))
  }
  return tasks
}

function carriedOut(
  task: PlannedTask,
  { title, needs, prompt = task.prompt, agent }: FittedStep,
  id: string,
  names: ReadonlyMap<string, string>,
): PlannedTask {
  const words = { id, title, prompt, needs: needs.map(need => names.get(need) ?? need) }
  if (task.plan) return { ...task, ...words, plan: id === task.id ? task.plan : renamed(task.plan, id) }
  if (agent === undefined || agent === task.agent) return { ...task, ...words }
  // Who takes over from the team's own agent was chosen for that one.
  const { fallback: _others, ...own } = task
  return { ...own, ...words, agent }
}

/** Names of tasks are unique in a run, those inside teams included. */
function renamed(plan: readonly PlannedTask[], prefix: string): readonly PlannedTask[] {
  const name = (id: string) => `${prefix}-${id}`
  return plan.map(task => {
    const own = { id: name(task.id), needs: task.needs.map(name) }
    return task.plan ? { ...task, ...own, plan: renamed(task.plan, prefix) } : { ...task, ...own }
  })
}

/** ALX-SOLVE-13: each candidate is a delegate, and the second one begins when the first has failed by its own work. */
function alternatives(first: readonly PlannedTask[], second: readonly PlannedTask[]): readonly PlannedTask[] {
  const taken = new Set([...allTasks([...first, ...second])].map(({ id }) => id))
  const free = (id: string): string => (taken.has(id) ? free(`${id}-way`) : id)
  const [usual] = planFor(soloTeam('any', {}), '{intent}')
  const { priority, merge } = usual!
  const common = { prompt: '{intent}', needs: [], attempts: 1, priority, merge, budget: {} }
  const id = free('attempt-0')
  return [
    { ...common, id, title: 'The first way', plan: first },
    { ...common, id: free('attempt-1'), title: 'The second way', plan: second, standsInFor: id },
  ]
}
