// Decisions of which a trail holds only the first part (W-REC-24): what is missing is produced once. Our own batches
// are atomic; the trails of other runtimes need not be.
import type { CheckpointId, WorkspaceId } from '@parley/core'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { writeGateEffect } from '../highway/resolve.ts'
import { isTransition } from '../lifecycle/states.ts'
import { BY_PROTOCOL, writeTransition } from '../lifecycle/transition.ts'
import { writeDefaultRights, writeRight } from '../port-right/decide.ts'
import type { Run } from '../run/run.ts'
import { writeDelivered, writeEmitted } from '../signal/signal.ts'
import { boundTask, writeTaskCompleted, writeTaskFailed, writeTaskIntegrated } from '../task/follow.ts'
import { byHuman, byProtocol, writeFailure, writeRestOfCascade } from '../workspace/failure.ts'
import { ended, openChildren, type Workspace } from '../workspace/workspace.ts'
import type { HalfApplied } from './plan.ts'
import type { Trace } from './trace.ts'

export function halfApplied(run: Run, trace: Trace): readonly HalfApplied[] {
  const workspaces = [...run.workspaces.values()]
  const open = workspaces.filter(workspace => !ended(workspace))
  const isOpen = (id: WorkspaceId) => run.workspaces.get(id) !== undefined && !ended(run.workspaces.get(id)!)
  return [
    ...(trace.resolved.length > 0 ? [{ type: 'gate_effects', resolved: trace.resolved } as const] : []),
    ...[...trace.aborts]
      .filter(([workspace]) => isOpen(workspace))
      .map(([workspace, by]) => ({ type: 'abort', workspace, by }) as const),
    ...[...trace.completed]
      .filter(([workspace]) => isOpen(workspace))
      .map(([workspace, by]) => ({ type: 'close', workspace, by }) as const),
    ...workspaces
      .filter(each => each.status === 'failed' && openChildren(each).length > 0)
      .map(({ id: workspace }) => ({ type: 'cascade', workspace }) as const),
    ...[...trace.unsignalled].map(checkpoint => ({ type: 'checkpoint_signal', checkpoint }) as const),
    ...open
      .filter(each => !holdsReceive(each))
      .map(({ id: workspace }) => ({ type: 'initial_rights', workspace }) as const),
    ...workspaces.flatMap(each => laggingTask(run, each, trace.failures.get(each.id))),
  ]
}

/** W-TASK-10, -11: one step for each entry that the task of this workspace lacks. */
function laggingTask(run: Run, workspace: Workspace, reason: string | undefined): readonly HalfApplied[] {
  const status = boundTask({ run }, workspace)?.status
  const step = { type: 'task_status', workspace: workspace.id, reason } as const
  const begun = status === 'assigned' || status === 'in_progress'
  switch (workspace.status) {
    case 'failed':
      return begun || status === 'completed' ? [step] : []
    case 'closed':
      return begun ? [step, step] : status === 'completed' ? [step] : []
    case 'integrating':
    case 'conflicted':
      return status === 'assigned' || (begun && workspace.deliverable) ? [step] : []
    default:
      return []
  }
}

export function writeHalfApplied(batch: Batch, step: HalfApplied): void {
  switch (step.type) {
    case 'gate_effects':
      for (const { gate, resolution } of step.resolved) writeGateEffect(batch, gate, resolution)
      return
    case 'checkpoint_signal':
      writeCheckpointSignal(batch, step.checkpoint)
      return
    default: {
      const workspace = batch.run.workspaces.get(step.workspace)
      if (workspace) writeFor(batch, workspace, step)
    }
  }
}

type OfWorkspace = Extract<HalfApplied, { readonly workspace: WorkspaceId }>

function writeFor(batch: Batch, workspace: Workspace, step: OfWorkspace): void {
  if (step.type === 'cascade') writeRestOfCascade(batch, workspace)
  else if (step.type === 'task_status') writeTaskFollows(batch, workspace, step.reason)
  // Everything else is about workspaces that live.
  else if (ended(workspace)) return
  else if (step.type === 'abort') writeAborted(batch, workspace, step.by)
  else if (step.type === 'close') writeClosed(batch, workspace, step.by)
  else if (step.type === 'initial_rights') writeInitialRights(batch, workspace)
  else if (workspace.status === 'idle') {
    writeTransition(batch, workspace, { to: 'active', trigger: 'first_envelope', ...BY_PROTOCOL })
  }
}

/** W-HWY-22: by the person who answered the escalation, or by its fallback. */
function writeAborted(batch: Batch, workspace: Workspace, by: string): void {
  writeFailure(batch, workspace, by === 'fallback' ? byProtocol('escalation_timeout') : byHuman(by))
}

function writeTaskFollows(batch: Batch, workspace: Workspace, reason: string | undefined): void {
  const completed = boundTask(batch, workspace)?.status === 'completed'
  if (workspace.status === 'failed') writeTaskFailed(batch, workspace, reason ?? 'failed')
  else if (completed && workspace.status === 'closed') writeTaskIntegrated(batch, workspace)
  else writeTaskCompleted(batch, workspace)
}

/** W-INT-04: the merge is on record; the workspace closes as it would have then. */
function writeClosed(batch: Batch, workspace: Workspace, by: string): void {
  const trigger = workspace.status === 'conflicted' ? 'conflict_resolved' : 'integration_succeeded'
  if (!isTransition(workspace.status, 'closed', trigger)) return
  const { parent } = workspace
  const initiator = parent ? initiatorOf(parent) : 'protocol'
  writeTransition(batch, workspace, { to: 'closed', trigger, actor: by, initiator })
  writeTaskIntegrated(batch, workspace)
}

/** W-CP-12 */
function writeCheckpointSignal(batch: Batch, id: CheckpointId): void {
  const checkpoint = batch.run.checkpoints.get(id)
  const workspace = checkpoint && batch.run.workspaces.get(checkpoint.workspace)
  if (!workspace || ended(workspace)) return
  const signal = writeEmitted(batch, workspace, { type: 'checkpoint', ref: id, actor: 'protocol' })
  writeDelivered(batch, signal)
}

/** W-PORT-03: the right to its own inbox, then those between it and its parent, as at its creation. */
function writeInitialRights(batch: Batch, workspace: Workspace): void {
  if (holdsReceive(workspace)) return
  const { parent } = workspace
  const creator = workspace.creator && batch.run.workspaces.get(workspace.creator)
  const by = creator ? { actor: actorOf(creator), id: creator.id } : { actor: 'protocol', id: workspace.id }
  writeRight(batch, by, 'receive', workspace.id, workspace.id)
  if (parent) writeDefaultRights(batch, by, workspace, parent)
}

function holdsReceive(workspace: Workspace): boolean {
  return workspace.rights?.get(workspace.id)?.some(right => right.type === 'receive') ?? false
}
