// Who does a task: the planned agent, one that took over (W-MIG-05), or the next fallback; and what an attempt that was
// cut off during a handover leaves to the next.
import type { ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { AgentTask, PlannedTask } from '../team/team.ts'
import { nameOf } from '../turn/identities.ts'

/** The agent of the next attempt: whoever had the work last, or was to get it. */
export function agentFor(projection: RunProjection, task: ProjectedTask, planned: AgentTask): string {
  const newest = projection.workspaces.get(task.attempts.at(-1)!)
  const name = newest?.facts && nameOf(newest.migrations.at(-1)?.to ?? newest.facts.agent)
  return name !== undefined && projection.agentConfig(name) ? name : planned.agent
}

/** Who takes over where the agent of this workspace cannot work: the first fallback that was not at it yet. */
export function nextFallback({ facts, migrations }: ProjectedWorkspace, planned: PlannedTask): string | undefined {
  const chain = facts?.kind === 'review' ? planned.review?.fallback : planned.fallback
  const tried = new Set([...migrations.flatMap(({ from, to }) => [from, to]), facts?.agent ?? ''].map(nameOf))
  return chain?.find(agent => !tried.has(agent))
}

/** Attempts that are not counted: nobody could take them over, or a person wants the task done once more. */
export function lostAttempts(projection: RunProjection, task: ProjectedTask): number {
  const attempts = task.attempts.flatMap(id => projection.workspaces.get(id) ?? [])
  return attempts.filter(each => each.trigger === 'migration_error' || isWantedAgain(projection, each)).length
}

/** Whether a person rejected it at its merge and wants its task done once more. */
export function isWantedAgain({ controls }: RunProjection, { id, trigger }: ProjectedWorkspace): boolean {
  if (trigger !== 'gate_rejected_by_human') return false
  return controls.some(each => each.kind === 'again' && each.workspace === (id as string))
}

/** What such an attempt had kept, from which the next one goes on. */
export function leftBy(attempt: ProjectedWorkspace | undefined): { commit: string; base: string } | undefined {
  if (attempt?.trigger !== 'migration_error' || !attempt.facts) return undefined
  const commit = attempt.checkpoints.findLast(each => each.commit !== undefined)?.commit
  return commit === undefined ? undefined : { commit, base: attempt.facts.commit }
}

/** What the agents before this one did in its workspace, for the one that goes on with it; empty if there was none. */
export function predecessorText({ migrations, checkpoints }: ProjectedWorkspace): string {
  const moves = migrations.filter(({ outcome }) => outcome === 'completed')
  if (moves.length === 0) return ''
  const kept = checkpoints.map(({ commit, files, text }) => {
    const what = commit === undefined ? 'A turn that came to nothing' : `Kept (${files.join(', ') || 'no changes'})`
    return `- ${what}: ${text.trim() || 'no words'}`
  })
  return [
    ...moves.map(({ from, to, reason }) => `${from} was followed by ${to}: ${reason}`),
    kept.length > 0 ? 'What was kept, the oldest first:' : 'Nothing was kept; begin anew.',
    ...kept,
    'Your folder is as it was when something was kept last. Go on from there.',
  ].join('\n')
}
