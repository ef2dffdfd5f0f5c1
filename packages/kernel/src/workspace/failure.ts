// How a workspace fails, whatever the cause: the record of the failure (W-LIFE-10), the cascade (W-WS-12), the end of a
// run by its root (W-TOPO-TREE-06), and abort (W-WS-09).
import { ok, type Result } from '@parley/core'
import type { BudgetDimension } from '@parley/trail/events'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { abortGated, type GuardedOutcome } from '../highway/gate.ts'
import { writeGatesEnded } from '../highway/invalidate.ts'
import { writeAbortion, writeSalvageEnded } from '../integration/integration.ts'
import { STATE_RULES, type Trigger } from '../lifecycle/states.ts'
import { writeTransition, writeUndeliverable } from '../lifecycle/transition.ts'
import { invalidState } from '../refusal.ts'
import { type Emitted, writeDelivered, writeEmitted } from '../signal/signal.ts'
import { writeTaskFailed } from '../task/follow.ts'
import { writeMigrationFailed } from './migration.ts'
import { operand } from './operation.ts'
import { writeOrphaned, writeRerouted } from './orphan.ts'
import { childrenOf, ended, isRoot, subtree, type Workspace } from './workspace.ts'

export interface Failure {
  readonly trigger: Trigger
  readonly reason: string
  readonly actor: string
  readonly initiator: string
  readonly signaller: string
  /** What the `failed` signal says, where that is more than the code (W-SIG-13). */
  readonly signalReason?: string
  /** The limit that was reached (W-LIFE-05). */
  readonly dimension?: BudgetDimension
  readonly ref?: string
  /** The reason of `integration_aborted` where it is not the code (W-INT-15). */
  readonly aborts?: string
  /** What went wrong with a migration (W-MIG-06). */
  readonly error?: string
  /** The task was cancelled in the same batch and is not touched (W-TASK-13). */
  readonly sparesTask?: boolean
  /** The `failed` signal that is on record already and misses its consequence (W-REC-16). */
  readonly emitted?: Emitted
}

export function byProtocol(trigger: Trigger): Failure {
  return { trigger, reason: trigger, actor: 'protocol', initiator: 'protocol', signaller: 'protocol' }
}

export function byOperation(trigger: Trigger, caller: Workspace): Failure {
  const actor = actorOf(caller)
  return { trigger, reason: trigger, actor, initiator: initiatorOf(caller), signaller: actor }
}

export function byHuman(user: string): Failure {
  const trigger = 'aborted_by_human'
  return { trigger, reason: trigger, actor: user, initiator: 'human', signaller: 'protocol' }
}

/** W-LIFE-10: cause, signal, state change, task, cascade, delivery; then the mail that can no longer arrive. */
export function writeFailure(batch: Batch, workspace: Workspace, failure: Failure): Emitted {
  writeIntegrationAborted(batch, workspace, failure.aborts ?? failure.trigger, failure.actor)
  if (isRoot(workspace)) return writeRootFailure(batch, workspace, failure)
  writeMigrationFailed(batch, workspace, failure)
  const signal = failure.emitted ?? writeFailedSignal(batch, workspace, failure)
  writeFailed(batch, workspace, failure)
  const { failed, orphaned } = writeCascade(batch, workspace)
  writeDelivered(batch, signal)
  for (const orphan of orphaned) writeRerouted(batch, orphan)
  for (const each of [workspace, ...failed]) writeUndeliverable(batch, each, 'failed')
  return signal
}

/** Every other workspace fails with the root, whoever owns it; the root's own entry is the run's last. */
function writeRootFailure(batch: Batch, root: Workspace, failure: Failure): Emitted {
  const signal = failure.emitted ?? writeFailedSignal(batch, root, failure)
  const { failed } = writeCascade(batch, root)
  for (const each of [...failed, root]) writeUndeliverable(batch, each, 'failed')
  writeGatesEnded(batch)
  writeFailed(batch, root, failure)
  return signal
}

function writeFailedSignal(batch: Batch, workspace: Workspace, failure: Failure): Emitted {
  const { reason, signalReason = reason, ref, signaller: actor } = failure
  return writeEmitted(batch, workspace, { type: 'failed', reason: signalReason, ref, actor })
}

/** W-REC-24: the rest of a cascade of which only the beginning is on record. */
export function writeRestOfCascade(batch: Batch, failed: Workspace): void {
  const cascade = writeCascade(batch, failed)
  for (const orphan of cascade.orphaned) writeRerouted(batch, orphan)
  for (const each of cascade.failed) writeUndeliverable(batch, each, 'failed')
}

interface Cascade {
  readonly failed: Workspace[]
  readonly orphaned: Workspace[]
}

/** W-WS-12, A-15: in tree order, within one owner, never along causes, without signals. The root takes everybody. */
function writeCascade(
  batch: Batch,
  parent: Workspace,
  cascade: Cascade = { failed: [], orphaned: [] },
  everybody = isRoot(parent),
): Cascade {
  for (const child of childrenOf(parent)) {
    // A batch abort may have dealt with it just now.
    if (batch.isEnded(child) || batch.parentOf(child) !== parent) continue
    if (!everybody && child.owner !== parent.owner) {
      writeOrphaned(batch, child)
      cascade.orphaned.push(child)
      continue
    }
    writeIntegrationAborted(batch, child, 'parent_failed', 'protocol')
    writeFailed(batch, child, byProtocol('parent_failed'))
    cascade.failed.push(child)
    writeCascade(batch, child, cascade, everybody)
  }
  return cascade
}

/** The state change, and what it means for the task that the workspace serves (W-TASK-11). */
export function writeFailed(batch: Batch, workspace: Workspace, failure: Failure): void {
  const { trigger, actor, initiator, reason, dimension } = failure
  const change = { to: 'failed', trigger, actor, initiator, reason } as const
  writeTransition(batch, workspace, dimension === undefined ? change : { ...change, dimension })
  if (!failure.sparesTask) writeTaskFailed(batch, workspace, reason)
}

/** W-INT-02: an integration that is open ends with its source, and a salvage with its target. */
function writeIntegrationAborted(batch: Batch, source: Workspace, reason: string, actor: string): void {
  writeSalvageEnded(batch, source, reason, actor)
  if (!source.integration) return
  // It goes into the parent, which may be another one since an entry of this batch.
  const target = batch.parentOf(source) ?? source.integration.target
  writeAbortion(batch, { source, target }, 'normal', reason, actor)
}

/** W-LIFE-14, W-REC-26: children before parents, no cascade; the root's entry is the last. */
export function writeForcedStop(batch: Batch, root: Workspace): void {
  const stopped = [...subtree(root)].filter(each => each !== root && !ended(each)).toReversed()
  for (const each of stopped) {
    writeIntegrationAborted(batch, each, 'system_shutdown', 'protocol')
    writeFailed(batch, each, byProtocol('system_shutdown'))
  }
  writeIntegrationAborted(batch, root, 'system_shutdown', 'protocol')
  for (const each of [...stopped, root]) writeUndeliverable(batch, each, 'failed')
  writeGatesEnded(batch)
  batch.add('system_degraded', null, 'protocol', {
    reason: 'forced_shutdown',
    scope: 'systemic',
    affected_workspaces: stopped.map(each => each.id),
    coordinator_action: 'batch_abort',
  })
  writeFailed(batch, root, byProtocol('system_shutdown'))
}

/** W-WS-09. `passed`: its gate was approved, for this reason. */
export function decideAbort(
  batch: Batch,
  caller: Workspace,
  id: unknown,
  passed?: 'aborted_by_coordinator' | 'batch_abort',
): Result<GuardedOutcome> {
  const target = operand(batch, caller, 'abort', id)
  if (!target.ok) return target
  if (isRoot(target.value)) return invalidState('The root cannot be aborted; stop the run instead.')
  if (!STATE_RULES[target.value.status].aborts)
    return invalidState(`${target.value.id} is ${target.value.status} already.`)
  const reason = passed ?? 'aborted_by_coordinator'
  if (passed === undefined) {
    const place = { caller: caller.id, workspace: target.value.id }
    const waits = abortGated(batch, { type: 'workspace_abort', ...place, reason })
    if (waits) return waits
  }
  writeFailure(batch, target.value, byOperation(reason, caller))
  return ok({ outcome: 'applied' })
}
