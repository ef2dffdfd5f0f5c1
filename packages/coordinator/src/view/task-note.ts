// What is said of a task as it stands, and of a conflict.
import type { WorkspaceId } from '@parley/core'
import { sideOf } from '../merge/side.ts'
import { whyFinal } from '../plan/finality.ts'
import { allowance, spentText } from '../plan/spending.ts'
import type { ProjectedConflict, ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { PlannedTask } from '../team/team.ts'
import { failureText, sentence } from './failure-text.ts'
import type { TaskState } from './view.ts'

/** `It does not fit the work on "First", which is merged, in list.txt.` */
export function conflictText(
  { workspaces, plan }: RunProjection,
  about: ProjectedWorkspace | undefined,
  conflict: ProjectedConflict | undefined,
): string {
  // An integrator says it in its own words; the runtime names workspaces.
  if (conflict?.foundBy === 'integrator') return sentence(conflict.description)
  const resources = conflict?.resources ?? []
  const others = [...workspaces.values()].filter(
    ({ id, facts, merged, checkpoints }) =>
      id !== about?.id &&
      facts?.kind === 'work' &&
      merged !== undefined &&
      checkpoints.findLast(each => each.final)?.files.some(file => resources.includes(file)),
  )
  const titles = new Set(others.map(({ facts }) => `"${plan.get(facts!.task)?.title ?? facts!.task}"`))
  const whose = titles.size === 0 ? 'what was merged before' : `the work on ${[...titles].join(', ')}, which is merged`
  return `It does not fit ${whose}${resources.length === 0 ? '' : `, in ${resources.join(', ')}`}.`
}

export function proposalText(
  title: string,
  { strategy, resolution }: { readonly strategy: string; readonly resolution: string },
): string {
  const side = strategy === 'escalate' ? sideOf(resolution) : undefined
  if (side === 'incoming')
    return `Shall the version of ${title} replace what was merged? To keep what was merged, change the resolution to existing.`
  if (side === 'existing') return `Shall what was merged stay, without the version of ${title}?`
  if (strategy === 'agent_rework') return `Shall ${title} be done again on the present state?`
  return `Shall it be settled so? ${resolution.split('\n', 1)[0]}`
}

/** What is to be said of a task as it stands. */
export function noteOf(
  state: TaskState,
  task: ProjectedTask | undefined,
  planned: PlannedTask,
  newest: ProjectedWorkspace | undefined,
  projection: RunProjection,
): string | undefined {
  if (state === 'cancelled') return task && cancelNote(task, planned, projection)
  if (!newest) return planned.standsInFor && `It begins if ${titleOf(planned.standsInFor, projection)} fails.`
  if (state === 'working') return sentBack(task, projection)
  if (state === 'blocked') return newest.reason
  if (state === 'suspended') return `Suspended${newest.decidedBy === undefined ? '' : ` by ${newest.decidedBy}`}.`
  const move = newest.migrations.at(-1)
  if (state === 'migrating' && move) return `${move.to} takes over from ${move.from}: ${move.reason}`
  if (state === 'conflicted')
    return conflictText(
      projection,
      newest,
      newest.conflicts.find(({ settled }) => !settled),
    )
  if (state !== 'failed' && state !== 'ready') return undefined
  const why = (task?.status === 'failed' && whyFinal(projection, task, planned)) || failureText(newest, projection)
  const other = [...projection.plan.values()].find(({ standsInFor }) => standsInFor === planned.id)
  const began = other && projection.task(other.id)?.attempts.length
  return began ? `${sentence(why)} ${titleOf(other.id, projection)} takes its place.` : why
}

function titleOf(id: string, { plan }: RunProjection): string {
  return `"${plan.get(id)?.title ?? id}"`
}

/** Why the attempt before this one came to nothing. */
function sentBack(task: ProjectedTask | undefined, projection: RunProjection): string | undefined {
  const before = projection.workspaces.get(task?.attempts.at(-2) as WorkspaceId)
  return before && `attempt ${task!.attempts.length - 1} was sent back: ${failureText(before, projection)}`
}

/** Why a task did not take the place of another one. */
function notBegun(id: string, projection: RunProjection): string {
  const title = titleOf(id, projection)
  if (projection.task(id)?.status === 'integrated') return `Not needed: ${title} is done.`
  return `Not begun: it takes the place of ${title} only where its work fails by itself.`
}

/** A gate was open for it when it ended. */
function wasGated({ highway }: RunProjection, { id }: ProjectedTask): boolean {
  const types = ['task_approval', 'workspace_create', 'envelope_delivery'] as const
  return types.some(type => highway.ended(type, id)?.actor === 'protocol')
}

function cancelNote(task: ProjectedTask, planned: PlannedTask, projection: RunProjection): string {
  for (const type of ['task_approval', 'workspace_create', 'envelope_delivery'] as const) {
    const end = projection.highway.ended(type, task.id)
    if (end?.action !== 'reject') continue
    // The protocol closes a gate whose task has ended otherwise: with its run, or with what it needs.
    if (end.actor === 'protocol') continue
    const by = end.actor === 'system' ? 'the coordinator' : end.actor
    const who = end.actor === 'fallback' ? 'nobody approved it in time' : `${by} did not approve it`
    const why = end.reason === undefined || end.actor === 'fallback' ? '' : `: ${end.reason}`
    return sentence(`Not done: ${who}${why}`)
  }
  const { spent } = allowance(projection, planned, task)
  if (spent) return spentText(spent)
  const why = projection.controls.findLast(each => each.kind === 'abort' && each.task === undefined)
  if (why?.kind === 'abort' && task.attempts.length === 0 && wasGated(projection, task))
    return sentence(`Not done: ${why.by} ended the run`)
  if (planned.standsInFor !== undefined) return notBegun(planned.standsInFor, projection)
  const lacks = planned.needs.find(need => {
    const status = projection.task(need)?.status
    return status === 'failed' || status === 'cancelled'
  })
  return lacks === undefined ? 'Not needed any more.' : `Not done: it needs ${lacks}, which was not done.`
}
