// The coordinator consults a person (§6.5, §10.1, W-HWY-20): it emits no `escalation`, but opens one about a workspace.
// The owner answers as any other: by mail to the workspace, by ending it, or by leaving it to the coordinator.
import { ok, type Result, type SignalId } from '@parley/core'
import { actorOf, type Batch, clip } from '../batch.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { operand } from '../workspace/operation.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import { escalationLimit, writeReceived } from './escalation.ts'

export interface Consulted {
  /** Names the question, as the id of a signal names an agent's. */
  readonly signal: SignalId
}

export function decideConsult(
  batch: Batch,
  caller: Workspace,
  request: { readonly workspace: unknown; readonly reason: unknown },
): Result<Consulted> {
  const target = operand(batch, caller, 'consult', request.workspace)
  if (!target.ok) return target
  const { reason } = request
  if (typeof reason !== 'string' || reason === '') return invalidArgument('A question to a person needs a reason.')
  if (ended(target.value))
    return invalidState(`${target.value.id} is ${target.value.status}; there is nothing to ask about it.`)
  if (!batch.run.highway.escalation.enabled)
    return invalidState('This run takes no questions to people: its escalations are switched off.')
  const full = escalationLimit(batch.run)
  if (full) return full
  const signal = batch.newId<SignalId>('sig')
  writeReceived(batch, target.value, signal, clip(reason, kernelLimits.reasonLength), actorOf(caller))
  return ok({ signal })
}
