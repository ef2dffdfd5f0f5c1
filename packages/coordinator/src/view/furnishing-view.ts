// What the folders of a run's agents hold beside the project's files, for whoever approves the plan.
import type { RunFacts } from '../run/facts.ts'
import type { Furnishing } from '../team/folder-fields.ts'
import { agentsOf, allTasks } from '../team/team.ts'
import type { FurnishingView } from './view.ts'

/** Agents with the same in their folders are told together; undefined where none has anything. */
export function furnishingViews({ team, plan }: RunFacts): FurnishingView[] | undefined {
  const tasks = [...allTasks(plan)]
  const agents = [...new Set(tasks.flatMap(agentsOf))]
  const all: (readonly [string, Furnishing])[] = agents.map(name => [name, team.agents[name] ?? {}])
  // The work of a team is judged in a folder that is no agent's.
  if (tasks.some(task => task.plan && task.check)) all.push(['team', team])
  const groups = Map.groupBy(all, ([, { setup, carry }]) => JSON.stringify([setup?.run, carry]))
  const views = [...groups.values()].map(group =>
    viewOf(
      group.map(([name]) => name),
      group[0]![1],
    ),
  )
  const told = views.filter(({ setup, carry }) => setup ?? carry)
  return told.length > 0 ? told : undefined
}

function viewOf(agents: string[], { setup, carry }: Furnishing): FurnishingView {
  return { agents, ...(setup && { setup: [...setup.run] }), ...(carry && { carry: [...carry] }) }
}
