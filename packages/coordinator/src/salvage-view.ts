// What failed work left and what became of it, as people are shown it; and the question whether it is to be taken over.
import type { RunId } from '@parley/core'
import { whyFinal } from './finality.ts'
import type { GateView } from './highway-contract.ts'
import { coordinatorLimits } from './limits.ts'
import type { RunProjection, SeenTask, SeenWorkspace } from './projection.ts'
import { candidateOf, leftOf, standOf } from './salvaging.ts'
import { plannedTasks } from './spending.ts'
import type { SalvageView } from './succession-contract.ts'
import type { PlannedTask } from './team/team.ts'

/** Undefined where nobody wants it, and nobody is asked. */
export function salvageView(
  seen: RunProjection,
  work: SeenWorkspace,
  planned: PlannedTask,
  final: boolean,
): SalvageView | undefined {
  const { salvage, checkpoints, facts } = work
  const chosen = checkpoints.find(({ id }) => id === salvage?.checkpoint) ?? candidateOf(work)
  const stand = standOf(seen, work, planned, final)
  if (!chosen || !facts || stand === 'none') return undefined
  const reason = salvage?.aborted?.replaceAll('_', ' ')
  return {
    // Once a run has ended, nobody is asked any more.
    state: seen.over && stand !== 'merged' ? 'discarded' : stand,
    workspace: work.id,
    checkpoint: chosen.id,
    agent: facts.agent,
    files: chosen.files.slice(0, coordinatorLimits.shownFiles),
    ...(reason !== undefined && { reason }),
  }
}

export function salvageOfTask(
  seen: RunProjection,
  task: SeenTask,
  planned: PlannedTask,
): SalvageView | undefined {
  const work = leftOf(seen, task)
  const final = task.status === 'failed' && whyFinal(seen, task, planned) !== undefined
  return work && salvageView(seen, work, planned, final)
}

/** The questions to people: each is answered like a gate, by the id of the workspace. */
export function offers(run: RunId, seen: RunProjection): GateView[] {
  const plan = plannedTasks(seen.facts?.plan ?? [])
  return [...seen.tasks.values()].flatMap((task): GateView[] => {
    const planned = plan.get(task.name)
    const view = planned && salvageOfTask(seen, task, planned)
    const work = view && leftOf(seen, task)
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
