// What failed work left and what became of it, as people are shown it; and the question whether it is to be taken over.
import type { RunId } from '@parley/core'
import type { Folders } from '../folder/folders.ts'
import { coordinatorLimits } from '../limits.ts'
import { candidateOf, leftOf, standOf, targetOf } from '../merge/salvaging.ts'
import { whyFinal } from '../plan/finality.ts'
import type { ProjectedCheckpoint, ProjectedTask, ProjectedWorkspace } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { PlannedTask } from '../team/team.ts'
import { failureText } from './failure-text.ts'
import type { GateView, LeftView, SalvageView } from './people-view.ts'

/** Undefined where nobody wants it, and nobody is asked. */
export function salvageView(
  projection: RunProjection,
  work: ProjectedWorkspace,
  planned: PlannedTask,
  final: boolean,
): SalvageView | undefined {
  const { salvage, checkpoints, facts } = work
  const chosen = checkpoints.find(({ id }) => id === salvage?.checkpoint) ?? candidateOf(work)
  const stand = standOf(projection, work, planned, final)
  if (!chosen || !facts || (stand === 'none' && !final)) return undefined
  // Once a run has ended, nobody is asked any more, and what is left stays.
  const open = !projection.over && stand !== 'none'
  const reason = salvage?.aborted?.replaceAll('_', ' ')
  return {
    state: open || stand === 'merged' || stand === 'discarded' ? stand : 'kept',
    workspace: work.id,
    checkpoint: chosen.id,
    agent: facts.agent,
    files: chosen.files.slice(0, coordinatorLimits.shownFiles),
    ...(chosen.commit !== undefined && { commit: chosen.commit }),
    ...(reason !== undefined && { reason }),
  }
}

export function salvageOfTask(
  projection: RunProjection,
  task: ProjectedTask,
  planned: PlannedTask,
): SalvageView | undefined {
  const work = leftOf(projection, task)
  if (task.status === 'integrated' && !work?.salvage) return undefined
  const final = projection.over || (task.status === 'failed' && whyFinal(projection, task, planned) !== undefined)
  return work && salvageView(projection, work, planned, final)
}

/** The questions to people: each is answered like a gate, by the id of the workspace. */
export function offers(run: RunId, projection: RunProjection): GateView[] {
  return [...projection.tasks.values()].flatMap((task): GateView[] => {
    const planned = projection.plan.get(task.name)
    const view = planned && salvageOfTask(projection, task, planned)
    const work = view && leftOf(projection, task)
    if (!work || view?.state !== 'offered') return []
    const { files, checkpoint, agent } = view
    return [
      {
        id: work.id,
        run,
        kind: 'gate',
        type: 'integration',
        question: `Shall what is left of "${planned!.title}" be taken over (${files.length === 1 ? 'one file' : `${files.length} files`})? Its work failed.`,
        task: task.name,
        workspace: work.id,
        addressee: work.owner,
        waits_for: 'person',
        since: work.ended ?? work.changed,
        changes: [],
        subject: { mode: 'salvage', checkpoint, agent, files },
      },
    ]
  })
}

export async function leftView(
  projection: RunProjection,
  folders: Folders,
  work: ProjectedWorkspace,
  { id, commit, final, text, files }: ProjectedCheckpoint,
): Promise<LeftView> {
  const target = targetOf(projection, work)
  const line = target === projection.root?.id ? undefined : target
  const draft = await folders.draft(commit!, line)
  return {
    task: work.facts!.task,
    workspace: work.id,
    agent: work.facts!.agent,
    checkpoint: id,
    final,
    failure: failureText(work, projection),
    text,
    files: files.slice(0, coordinatorLimits.shownFiles),
    diff: await folders.diff(work.facts!.commit, commit!, { maxBytes: coordinatorLimits.diffBytes }),
    conflicts: draft.ok ? [...draft.value.conflicts] : [],
  }
}
