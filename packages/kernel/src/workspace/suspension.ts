// Suspension and resumption (W-MIG-01 to -03).
import { durationMs, invariant, ok, type Result } from '@parley/core'
import { actorOf, type Batch, clip, initiatorOf } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { writeTransition } from '../lifecycle/transition.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { rootOf } from '../run/run.ts'
import { writeDelivered, writeEmitted, writeReleased } from '../signal/signal.ts'
import type { Failure } from './failure.ts'
import { operand } from './operation.ts'
import { isRoot, type Workspace } from './workspace.ts'

type Decider = Pick<Failure, 'signaller' | 'actor' | 'initiator'> & { readonly from: Workspace }

/** A user's decision is emitted by the root and signed by the runtime (W-LIFE-10). */
export function byUser(batch: Batch, user: string): Decider {
  return { from: rootOf(batch.run), signaller: 'protocol', actor: user, initiator: 'human' }
}

function byAgent(caller: Workspace): Decider {
  const actor = actorOf(caller)
  return { from: caller, signaller: actor, actor, initiator: initiatorOf(caller) }
}

export function decideSuspend(batch: Batch, caller: Workspace, id: unknown, reason: unknown): Result<void> {
  const target = operand(batch, caller, 'suspend', id)
  return target.ok ? suspend(batch, target.value, reason, byAgent(caller)) : target
}

export function suspend(batch: Batch, workspace: Workspace, reason: unknown, by: Decider): Result<void> {
  if (!isText(reason)) return invalidArgument('A suspension needs a reason.')
  if (isRoot(workspace) || !STATE_RULES[workspace.status].suspends)
    return invalidState(
      `${workspace.id} is ${workspace.status}${isRoot(workspace) ? ' and the root' : ''}: only active or blocked workspaces are suspended.`,
    )
  const { from, signaller, actor, initiator } = by
  const signal = writeEmitted(batch, from, { type: 'suspend', ref: workspace.id, actor: signaller })
  batch.add('suspension_started', workspace, actor, {
    workspace_id: workspace.id,
    pre_suspension_state: workspace.status as 'active' | 'blocked',
    reason: clip(reason, kernelLimits.reasonLength),
  })
  writeTransition(batch, workspace, { to: 'suspended', trigger: 'suspended_by_coordinator', actor, initiator })
  writeDelivered(batch, signal)
  return ok(undefined)
}

export function decideResume(batch: Batch, caller: Workspace, id: unknown): Result<void> {
  const target = operand(batch, caller, 'resume', id)
  return target.ok ? resume(batch, target.value, byAgent(caller)) : target
}

/** W-LIFE-11; held mail follows by itself, since its channel is open again (W-ENV-12). */
export function resume(batch: Batch, workspace: Workspace, by: Decider): Result<void> {
  if (workspace.status !== 'suspended') return invalidState(`${workspace.id} is ${workspace.status}, not suspended.`)
  const { remembered, pausedAt } = workspace
  invariant(remembered !== undefined && pausedAt !== undefined, 'a suspended workspace remembers its state')
  const { actor, initiator } = by
  batch.add('suspension_resumed', workspace, actor, {
    workspace_id: workspace.id,
    resumed_to_state: remembered,
    duration: Math.max(0, durationMs(pausedAt, batch.context.now)),
  })
  writeTransition(batch, workspace, { to: remembered, trigger: 'resumed_by_coordinator', actor, initiator })
  writeReleased(batch, workspace, remembered)
  return ok(undefined)
}
