// How a workspace fails, whatever the cause: the record of the failure (W-LIFE-10), the cascade (W-WS-12), the end of a run by its
// root (W-TOPO-TREE-06), and abort (W-WS-09).
import { ok, type Result } from '@parley/core'
import type { Trigger } from '@parley/trail/events'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { writeTransition, writeUndeliverable } from '../lifecycle/transition.ts'
import { invalidState } from '../refusal.ts'
import { type Emitted, writeDelivered, writeEmitted } from '../signal/emit.ts'
import { writeTaskFailed } from '../task/follow.ts'
import { operand } from './operation.ts'
import { ended, isRoot, openChildren, subtree, type Workspace } from './workspace.ts'

export interface Failure {
  readonly trigger: Trigger
  /** The code again, or the agent's own text. */
  readonly reason: string
  /** Header actor of the state change, and who is behind it. */
  readonly actor: string
  readonly initiator: string
  /** Header actor of the `failed` signal. */
  readonly signaller: string
  /** What the agent referred to in its own `failed`. */
  readonly ref?: string
  /** The task was cancelled in the same batch and is not touched (W-TASK-13). */
  readonly sparesTask?: boolean
}

/** A failure that the runtime decides by its own rules. */
export function byProtocol(trigger: Trigger): Failure {
  return { trigger, reason: trigger, actor: 'protocol', initiator: 'protocol', signaller: 'protocol' }
}

/** A failure that an agent decides by an operation. */
export function byOperation(trigger: Trigger, caller: Workspace): Failure {
  const actor = actorOf(caller)
  return { trigger, reason: trigger, actor, initiator: initiatorOf(caller), signaller: actor }
}

/** W-LIFE-10: cause, signal, state change, task, cascade, delivery; then the mail that can no longer arrive. */
export function writeFailure(batch: Batch, workspace: Workspace, failure: Failure): Emitted {
  if (isRoot(workspace)) return writeRootFailure(batch, workspace, failure)
  writeIntegrationAborted(batch, workspace, failure.trigger, failure.actor)
  const signal = writeEmitted(batch, workspace, {
    type: 'failed',
    reason: failure.reason,
    ref: failure.ref,
    actor: failure.signaller,
  })
  writeFailed(batch, workspace, failure)
  const cascaded = [...writeCascade(batch, workspace)]
  writeDelivered(batch, signal)
  for (const each of [workspace, ...cascaded]) writeUndeliverable(batch, each, 'failed')
  return signal
}

/** Every other workspace fails with the root, whoever owns it; the root's own entry is the run's last. */
function writeRootFailure(batch: Batch, root: Workspace, failure: Failure): Emitted {
  const signal = writeEmitted(batch, root, {
    type: 'failed',
    reason: failure.reason,
    ref: failure.ref,
    actor: failure.signaller,
  })
  const cascaded = [...writeCascade(batch, root)]
  for (const each of [...cascaded, root]) writeUndeliverable(batch, each, 'failed')
  writeFailed(batch, root, failure)
  return signal
}

/** W-WS-12, in tree order. No signal is emitted for a workspace that falls with its parent. */
function* writeCascade(batch: Batch, parent: Workspace): Generator<Workspace> {
  for (const child of openChildren(parent)) {
    writeIntegrationAborted(batch, child, 'parent_failed', 'protocol')
    writeFailed(batch, child, byProtocol('parent_failed'))
    yield child
    yield* writeCascade(batch, child)
  }
}

/** The state change, and what it means for the task that the workspace serves (W-TASK-11). */
export function writeFailed(batch: Batch, workspace: Workspace, failure: Failure): void {
  const { trigger, actor, initiator, reason } = failure
  writeTransition(batch, workspace, { to: 'failed', trigger, actor, initiator, reason })
  if (!failure.sparesTask) writeTaskFailed(batch, workspace, reason)
}

/** W-INT-02: an integration that is open ends with its source. */
export function writeIntegrationAborted(
  batch: Batch,
  source: Workspace,
  reason: string,
  actor: string,
): void {
  if (!source.integration) return
  batch.add('integration_aborted', source, actor, {
    source: source.id,
    target: source.integration.target.id,
    mode: 'normal',
    reason,
    timestamp: batch.at,
  })
}

/** W-LIFE-14, W-REC-26: children before parents, no cascade; the root's entry is the last. */
export function writeForcedStop(batch: Batch, root: Workspace): void {
  const stopped = [...subtree(root)].filter(each => each !== root && !ended(each)).toReversed()
  for (const each of stopped) {
    writeIntegrationAborted(batch, each, 'system_shutdown', 'protocol')
    writeFailed(batch, each, byProtocol('system_shutdown'))
  }
  for (const each of [...stopped, root]) writeUndeliverable(batch, each, 'failed')
  batch.add('system_degraded', null, 'protocol', {
    reason: 'forced_shutdown',
    scope: 'systemic',
    affected_workspaces: stopped.map(each => each.id),
    coordinator_action: 'batch_abort',
  })
  writeFailed(batch, root, byProtocol('system_shutdown'))
}

/** W-WS-09. */
export function decideAbort(batch: Batch, caller: Workspace, id: unknown): Result<void> {
  const target = operand(batch, caller, 'abort', id)
  if (!target.ok) return target
  if (isRoot(target.value)) return invalidState('The root cannot be aborted; stop the run instead.')
  if (!STATE_RULES[target.value.status].aborts)
    return invalidState(`${target.value.id} is ${target.value.status} already.`)
  writeFailure(batch, target.value, byOperation('aborted_by_coordinator', caller))
  return ok(undefined)
}
