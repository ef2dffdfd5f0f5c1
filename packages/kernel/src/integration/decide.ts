// Integration in normal mode with `direct` (W-INT-01 to -04, -06, -08, -15): begin, the three decisions, and a merge that failed.

import type { CheckpointId } from '@parley/core'
import { ok, type Result } from '@parley/core'
import { INTEGRATION_STRATEGIES, type IntegrationStrategy } from '@parley/trail/events'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { writeTransition } from '../lifecycle/transition.ts'
import { invalidArgument, invalidState, refusal } from '../refusal.ts'
import { rootOf } from '../run/run.ts'
import { writeDelivered, writeEmitted } from '../signal/emit.ts'
import { writeTaskIntegrated } from '../task/follow.ts'
import { byOperation, writeFailure } from '../workspace/failure.ts'
import { operand } from '../workspace/operation.ts'
import { isRoot, openChildren, type Workspace } from '../workspace/workspace.ts'
import { AVAILABLE_STRATEGIES, DECISIONS, type IntegrationDecision } from './integration.ts'

/** Opens the integration of a source: the signal, then the record (W-INT-02 steps 2 to 5). */
export function decideBegin(batch: Batch, caller: Workspace, id: unknown, strategy: unknown): Result<void> {
  const source = sourceOf(batch, caller, id)
  if (!source.ok) return source
  const chosen = strategyOf(strategy)
  if (!chosen.ok) return chosen
  const blocked = closingProblem(source.value)
  if (blocked) return blocked
  if (source.value.integration) return invalidState(`The integration of ${source.value.id} is open already.`)
  if (!source.value.deliverable)
    return invalidState(`${source.value.id} has no final checkpoint.`, 'no_final_checkpoint')
  writeStarted(batch, caller, source.value, chosen.value, source.value.deliverable)
  return ok(undefined)
}

/** Accept merges and closes; revise and reject fail the source (W-INT-03). Each opens the integration first if it is not open yet. */
export function decideIntegration(
  batch: Batch,
  caller: Workspace,
  id: unknown,
  decision: IntegrationDecision,
  strategy: unknown = 'direct',
): Result<void> {
  const source = sourceOf(batch, caller, id)
  if (!source.ok) return source
  if (!DECISIONS.includes(decision))
    return invalidArgument(`A decision is one of ${DECISIONS.join(', ')}.`, 'invalid_decision')
  if (decision === 'accept') return decideAccept(batch, caller, source.value, strategy)
  const workspace = source.value
  if (!workspace.integration) writeStarted(batch, caller, workspace, 'direct', workspace.deliverable ?? null)
  return writeEnded(batch, caller, workspace, decision === 'revise' ? 'revision_required' : 'rejected')
}

/** The merge itself could not be made (W-INT-15, merge error). */
export function decideMergeError(batch: Batch, caller: Workspace, id: unknown): Result<void> {
  const source = sourceOf(batch, caller, id)
  if (!source.ok) return source
  if (!source.value.integration) return invalidState(`No integration of ${source.value.id} is open.`)
  return writeEnded(batch, caller, source.value, 'integration_error')
}

function decideAccept(batch: Batch, caller: Workspace, source: Workspace, strategy: unknown): Result<void> {
  if (!source.integration) {
    const begun = decideBegin(batch, caller, source.id, strategy)
    if (!begun.ok) return begun
  } else {
    const blocked = closingProblem(source)
    if (blocked) return blocked
  }
  const target = parentOf(batch, source)
  const used = source.integration?.strategy ?? (strategy as IntegrationStrategy)
  batch.add('integration_completed', source, actorOf(caller), {
    source: source.id,
    target: target.id,
    mode: 'normal',
    strategy: used,
    result: 'success',
    timestamp: batch.at,
  })
  writeTransition(batch, source, {
    to: 'closed',
    trigger: 'integration_succeeded',
    actor: actorOf(caller),
    initiator: initiatorOf(caller),
  })
  writeTaskIntegrated(batch, source)
  return ok(undefined)
}

/** W-INT-10: one `integrate` signal for each integration, then `integration_started`. */
function writeStarted(
  batch: Batch,
  caller: Workspace,
  source: Workspace,
  strategy: IntegrationStrategy,
  checkpoint: CheckpointId | null,
): void {
  const target = parentOf(batch, source)
  // The signal comes from the integrator's own workspace, whoever called: a root that integrates acts in the parent.
  const signal = writeEmitted(batch, caller, { type: 'integrate', ref: source.id, actor: actorOf(caller) })
  batch.add('integration_started', source, actorOf(caller), {
    source: source.id,
    target: target.id,
    owner: source.owner,
    mode: 'normal',
    strategy,
    checkpoint_ref: checkpoint,
    timestamp: batch.at,
  })
  writeDelivered(batch, signal)
}

/** `integration_aborted` where it was open before this batch comes from the failure itself; where it was opened just now, from here. */
function writeEnded(
  batch: Batch,
  caller: Workspace,
  source: Workspace,
  code: 'revision_required' | 'rejected' | 'integration_error',
): Result<void> {
  if (!source.integration) {
    batch.add('integration_aborted', source, actorOf(caller), {
      source: source.id,
      target: parentOf(batch, source).id,
      mode: 'normal',
      reason: code,
      timestamp: batch.at,
    })
  }
  writeFailure(batch, source, byOperation(code, caller))
  return ok(undefined)
}

/** W-INT-01: the integrator of the parent, and a source that is `integrating`. */
function sourceOf(batch: Batch, caller: Workspace, id: unknown): Result<Workspace> {
  const source = operand(batch, caller, 'integrate', id)
  if (!source.ok) return source
  if (isRoot(caller) && source.value.parent !== caller && !isRoot(source.value)) {
    return batch.deny(caller, {
      capability: 'operation:integrate',
      action: 'integrate',
      target: source.value.id,
      reason: 'permission_denied',
      message: `${source.value.id} is integrated by its own parent.`,
    })
  }
  if (isRoot(source.value) || source.value.status !== 'integrating')
    return invalidState(`${source.value.id} is ${source.value.status}, not integrating.`)
  const target = parentOf(batch, source.value)
  if (target.merging && target.merging !== source.value) return targetLocked(target)
  return source
}

function parentOf(batch: Batch, source: Workspace): Workspace {
  return source.parent ?? rootOf(batch.run)
}

/** W-INT-08: another integration holds the target. The runtime asks again when that has ended. */
function targetLocked(target: Workspace): Result<never> {
  return refusal('target_locked', `An integration into ${target.id} is open.`, { target: target.id })
}

/** W-WS-14: nothing closes above a child that is still at work. */
function closingProblem(source: Workspace): Result<never> | undefined {
  const [child] = openChildren(source)
  return child && invalidState(`${source.id} has a child at work, ${child.id}; finish or abort it first.`)
}

function strategyOf(strategy: unknown): Result<IntegrationStrategy> {
  const known = INTEGRATION_STRATEGIES.find(each => each === strategy)
  if (!known)
    return invalidArgument(`A strategy is one of ${INTEGRATION_STRATEGIES.join(', ')}.`, 'invalid_strategy')
  if (AVAILABLE_STRATEGIES.includes(known)) return ok(known)
  return refusal('unsupported', `The strategy ${known} belongs to conformance level 2.`, { level: 2 })
}
