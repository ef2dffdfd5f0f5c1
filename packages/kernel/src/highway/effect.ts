// What the end of a gate means for the transition that it held up: the table of W-HWY-07, by type.
import { assertNever, ok, type Result, type TaskId } from '@parley/core'
import type { Batch } from '../batch.ts'
import { onItsWay } from '../envelope/envelope.ts'
import { writeConflictDecided } from '../integration/conflict.ts'
import { writeIntegrationDecided } from '../integration/gated.ts'
import { integratorOf } from '../integration/integration.ts'
import { writeTurnedBack } from '../lifecycle/transition.ts'
import { invalidState, type Refusal } from '../refusal.ts'
import { knownWorkspace } from '../run/run.ts'
import { decideCancelTask, writeApproved } from '../task/decide.ts'
import { writeTaskStatus } from '../task/follow.ts'
import type { Task } from '../task/task.ts'
import { writeMemberDecided } from '../workspace/batch-abort.ts'
import { decideCreate, writeGateRejected } from '../workspace/create.ts'
import { decideAbort } from '../workspace/failure.ts'
import { decideTerminate } from '../workspace/terminate.ts'
import type { GateModifications, Paused, Resolution } from './gate.ts'

export type Ending = Pick<Resolution, 'action' | 'actor' | 'modifications'>

export function carryOut(batch: Batch, waiting: Paused, { actor, modifications }: Ending): Result<unknown> {
  const paused = modifications ? withChanges(waiting, modifications) : waiting
  switch (paused.type) {
    case 'task_approval': {
      const task = draft(batch, paused.task)
      if (task.ok) writeApproved(batch, paused.task, actor)
      return task.ok ? ok(undefined) : task
    }
    case 'workspace_create':
      return decideCreate(batch, knownWorkspace(batch.run, paused.caller), paused.draft, true)
    case 'envelope_delivery':
      // From here on its channel offers it.
      return ok(undefined)
    case 'integration':
      return askerGone(batch, paused) ?? writeIntegrationDecided(batch, paused, 'approve', actor)
    case 'conflict_resolution':
      return (
        askerGone(batch, paused) ??
        writeConflictDecided(batch, paused, modifications?.strategy ? 'modify' : 'approve', actor)
      )
    case 'workspace_abort': {
      const caller = knownWorkspace(batch.run, paused.caller)
      const { workspace, grace } = paused
      if (grace) return decideTerminate(batch, caller, { workspace, gracePeriod: grace.period, ...grace }, true)
      if (paused.task !== undefined) return decideCancelTask(batch, caller, paused.task, true)
      if (paused.group === undefined) return decideAbort(batch, caller, paused.workspace, 'aborted_by_coordinator')
      const aborted = decideAbort(batch, caller, paused.workspace, 'batch_abort')
      writeMemberDecided(batch, paused.group, paused.workspace, aborted.ok)
      return aborted
    }
    default:
      return assertNever(paused)
  }
}

/** Nobody integrates in the name of another (§9.1): a source that has a new parent by now is for that one to judge. */
function askerGone(
  batch: Batch,
  paused: Extract<Paused, { type: 'integration' | 'conflict_resolution' }>,
): Refusal | undefined {
  const source = knownWorkspace(batch.run, paused.source)
  const integrator = integratorOf(batch.run, source, paused.mode)
  if (integrator.id === paused.caller) return undefined
  return invalidState(`${paused.caller} asked for it; ${integrator.id} integrates ${source.id} now.`)
}

/** Rejected. The reason strings are the same whoever decided; `gate_resolved` says who did (AMB-65). */
export function drop(batch: Batch, paused: Paused, actor: string): void {
  switch (paused.type) {
    case 'task_approval': {
      const task = draft(batch, paused.task)
      if (task.ok) writeTaskStatus(batch, task.value, 'cancelled', actor)
      return
    }
    case 'workspace_create':
      writeGateRejected(batch, knownWorkspace(batch.run, paused.caller))
      return
    case 'envelope_delivery': {
      const envelope = batch.run.envelopes.get(paused.envelope)
      if (envelope && onItsWay(envelope)) writeTurnedBack(batch, envelope, 'gate_rejected_by_human')
      return
    }
    case 'integration':
      writeIntegrationDecided(batch, paused, 'reject', actor)
      return
    case 'conflict_resolution':
      writeConflictDecided(batch, paused, 'reject', actor)
      return
    case 'workspace_abort':
      if (paused.group !== undefined) writeMemberDecided(batch, paused.group, paused.workspace, false)
      return
    default:
      assertNever(paused)
  }
}

function draft(batch: Batch, id: TaskId): Result<Task> {
  const task = batch.run.tasks.get(id)
  if (task?.status === 'draft') return ok(task)
  return invalidState(`The task ${id} is ${task?.status ?? 'unknown'}, no draft any more.`)
}

/** Tasks and envelopes change in the state itself (highway/evolve.ts). */
function withChanges(paused: Paused, changed: GateModifications): Paused {
  if (paused.type === 'workspace_create') return { ...paused, draft: { ...(paused.draft as object), ...changed } }
  if (paused.type === 'integration' || paused.type === 'conflict_resolution') return { ...paused, ...changed } as Paused
  // The code on the trail stays what it was; the accompanying text is in the answer (W-HWY-08).
  return paused
}
