// What failed work left (W-INT-18 to -20): who judges it, where that stands, and the steps to its merge. The trail
// decides, as for all work; the task stays failed.
import { unwrap, type WorkspaceId } from '@parley/core'
import { ask } from '../ask.ts'
import type { KeptCommit } from '../folder/repository.ts'
import { coordinatorLimits } from '../limits.ts'
import { isEnding } from '../plan/finality.ts'
import { isSalvage } from '../projection/highway.ts'
import type {
  ProjectedCheckpoint,
  ProjectedConflict,
  ProjectedTask,
  ProjectedWorkspace,
} from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { Salvage } from '../team/moving-work-fields.ts'
import type { PlannedTask } from '../team/team.ts'
import { failureText } from '../view/failure-text.ts'
import { clip, conflictText, finalOf, isLocked, type Merging, mergersOf } from './merging.ts'
import { sideText } from './side.ts'
import { readConflicts, readUnusable } from './verdict.ts'

/** `offered`: a person is asked. `wanted`: it is taken over as soon as it can be. */
export type SalvageStand = 'none' | 'offered' | 'wanted' | 'open' | 'merged' | 'discarded'

/** What of a failed workspace can be saved: the newest final checkpoint with files, else the newest (W-INT-18). */
export function candidateOf({ state, facts, checkpoints }: ProjectedWorkspace): ProjectedCheckpoint | undefined {
  if (state !== 'failed' || !facts) return undefined
  const kept = checkpoints.filter(({ commit }) => commit !== undefined && commit !== facts.commit)
  return kept.findLast(each => each.final) ?? kept.at(-1)
}

export function leftOf(projection: RunProjection, task: ProjectedTask): ProjectedWorkspace | undefined {
  const attempts = task.attempts.map(id => projection.workspaces.get(id))
  return attempts.findLast(each => each !== undefined && candidateOf(each) !== undefined)
}

/** Work that is in no result and that nobody has let go, the newest of each task: it is kept when the run ends. */
export function keptWorks(projection: RunProjection) {
  return [...projection.tasks.values()].flatMap(task => {
    const planned = projection.plan.get(task.name)
    const work = task.status === 'integrated' ? undefined : leftOf(projection, task)
    if (!planned || !work) return []
    const stand = standOf(projection, work, planned, true)
    return stand === 'merged' || stand === 'discarded'
      ? []
      : [{ task: task.name, work, checkpoint: candidateOf(work)! }]
  })
}

export function keptCommits(projection: RunProjection): readonly KeptCommit[] {
  return keptWorks(projection).map(({ work, checkpoint }) => ({ name: work.id, commit: checkpoint.commit! }))
}

/** Into whose line it goes: that of its parent, or the run's own where the parent is no more. */
export function targetOf(projection: RunProjection, { parent }: ProjectedWorkspace): WorkspaceId | undefined {
  const above = parent === null ? undefined : projection.workspaces.get(parent)
  return above && above.ended === undefined ? above.id : projection.root?.id
}

/** What a person has said about it. */
function decisionOf(projection: RunProjection, { id }: ProjectedWorkspace) {
  const said = projection.controls.findLast(each => each.kind === 'salvage' && each.workspace === id)
  return said?.kind === 'salvage' ? said : undefined
}

/** A person who asked an agent to finish in vain is there to be asked; a run that is ended asks nobody. */
function choiceOf(projection: RunProjection, work: ProjectedWorkspace, planned: PlannedTask): Salvage {
  const ended = projection.controls.some(each => each.kind === 'abort' && each.task === undefined)
  if (ended || projection.timeRunsOut) return { way: 'never' }
  const inVain = work.trigger === 'graceful_termination_expired' && isEnding(projection, planned.id)
  return planned.salvage ?? { way: inVain ? 'ask' : 'never' }
}

/** `final`: nothing else is tried for its task. */
export function standOf(
  projection: RunProjection,
  work: ProjectedWorkspace,
  planned: PlannedTask,
  final: boolean,
): SalvageStand {
  const { salvage } = work
  if (salvage?.open) return 'open'
  if (salvage?.merged !== undefined) return 'merged'
  const said = decisionOf(projection, work)
  const answer = projection.highway.ended('integration', work.id)
  const turnedDown = answer?.action === 'reject' && isSalvage(answer.gate)
  if (salvage || said?.take === false || turnedDown) return 'discarded'
  if (said?.take) return 'wanted'
  if (!final) return 'none'
  const { way } = choiceOf(projection, work, planned)
  return way === 'never' ? 'none' : way === 'ask' ? 'offered' : 'wanted'
}

export async function salvageWork(merging: Merging, work: ProjectedWorkspace, planned: PlannedTask): Promise<void> {
  const { projection, handle } = merging
  const { salvage } = work
  if (!salvage?.open) {
    if (projection.highway.waits('integration', work.id) || (await isLocked(handle, work.id))) return
    const said = decisionOf(projection, work)
    const named = work.checkpoints.find(({ id }) => id === said?.checkpoint)
    const checkpoint = named ?? candidateOf(work)!
    const basis = said ? `${said.by} judged what was left` : 'an agent judges what was left'
    await ask(handle.salvage(work.id, { checkpoint: checkpoint.id, strategy: 'evaluated', basis }))
    return
  }
  const conflict = salvage.conflicts.find(({ settled }) => settled === undefined)
  if (conflict) return settle(merging, work, planned, conflict)
  // The last one settles all of it.
  if (salvage.conflicts.length > 0) return
  if (judge(projection, work, planned)) return judgedByAgent(merging, work)
  const draft = unwrap(await merging.folders.draft(commitOf(work), merging.line))
  if (draft.conflicts.length === 0) {
    await ask(handle.mergeSalvage(work.id, { commit: null }, { baseAware: true }))
    return
  }
  const resources = draft.conflicts
  const description = `What failed work left does not fit what was merged meanwhile, in: ${resources.join(', ')}.`
  const found = { type: 'content_overlap', resources, description: clip(description) } as const
  await ask(handle.reportConflicts(work.id, [found], { baseAware: true }))
}

/** The agent that judges it; undefined where a person has. */
function judge(projection: RunProjection, work: ProjectedWorkspace, planned: PlannedTask): string | undefined {
  const choice = choiceOf(projection, work, planned)
  return decisionOf(projection, work)?.take || choice.way !== 'agent' ? undefined : choice.by
}

async function judgedByAgent(merging: Merging, work: ProjectedWorkspace): Promise<void> {
  const { handle } = merging
  const judges = mergersOf(merging, work, work.salvage?.seq)
  if (judges.some(each => each.ended === undefined && each.state !== 'integrating')) return
  const result = finalOf(judges.findLast(each => each.state === 'integrating'))
  if (!result) {
    if (judges.length >= coordinatorLimits.mergeAttempts) await ask(handle.discardSalvage(work.id))
    else await merging.merge(work, unwrap(await merging.folders.draft(commitOf(work), merging.line)))
    return
  }
  if (readUnusable(result.text) !== undefined) {
    await ask(handle.discardSalvage(work.id))
    return
  }
  const found = readConflicts(result.text)
  if (found.length > 0) await ask(handle.reportConflicts(work.id, found, { baseAware: true }))
  else await ask(handle.mergeSalvage(work.id, { commit: result.commit ?? null }, { baseAware: true }))
}

async function settle(
  merging: Merging,
  work: ProjectedWorkspace,
  planned: PlannedTask,
  conflict: ProjectedConflict,
): Promise<void> {
  const { projection, handle } = merging
  if (projection.highway.waits('conflict_resolution', work.id)) return
  const result = finalOf(mergersOf(merging, work, work.salvage?.seq).at(-1))
  const agent = judge(projection, work, planned) !== undefined
  const turnedDown = projection.highway.ended('conflict_resolution', work.id)?.action === 'reject'
  const made = agent && result ? { commit: result.commit ?? null } : undefined
  const { draft, files, shown } = await conflictText(merging, commitOf(work))
  // The runtime goes by the paths alone: whoever judged it has read both versions, or they fit together as they are.
  const joined = made !== undefined || !conflict.resources.some(path => draft.conflicts.includes(path))
  if (conflict.foundBy === 'runtime' && joined && !turnedDown) {
    const both = `Both versions of ${conflict.resources.join(', ')} were joined.`
    await ask(handle.resolveConflict(work.id, conflict.id, 'coordinator_resolve', clip(both), made))
    return
  }
  if (agent && planned.merge.conflicts === 'rework' && !turnedDown) {
    // Nothing is done again for work that has failed for good: what was left is let go.
    await ask(handle.resolveConflict(work.id, conflict.id, 'agent_rework', clip(failureText(work, projection))))
    return
  }
  const resolution = made
    ? 'Take the result of the agent that judged it in spite of this.'
    : sideText(
        'incoming',
        `Whose version of ${files} is taken: incoming is what was left, existing is what was merged before.\n${shown}`,
      )
  await ask(handle.resolveConflict(work.id, conflict.id, 'escalate', clip(resolution), made))
}

export function commitOf(work: ProjectedWorkspace): string {
  const chosen = work.checkpoints.find(({ id }) => id === work.salvage?.checkpoint)
  return chosen?.commit ?? candidateOf(work)?.commit ?? work.facts!.commit
}
