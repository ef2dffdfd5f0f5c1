// Writing a transition (W-LIFE-05), and what follows from every one: mail that no longer arrives, signals that now do.
import { invariant } from '@parley/core'
import { type BudgetDimension, type EventBody, isTerminal, type WorkspaceState } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { Envelope } from '../envelope/envelope.ts'
import { knownWorkspace } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { isTransition, STATE_RULES, type Trigger } from './states.ts'

interface Transition {
  readonly to: WorkspaceState
  readonly trigger: Trigger
  readonly actor: string
  readonly initiator: string
  readonly reason?: string
  readonly dimension?: BudgetDimension
}

export const BY_PROTOCOL = { actor: 'protocol', initiator: 'protocol' } as const

export function writeTransition(batch: Batch, workspace: Workspace, change: Transition, from = workspace.status): void {
  invariant(isTransition(from, change.to, change.trigger), 'only the pairs of W-LIFE-02 exist')
  batch.add('workspace_state_changed', workspace, change.actor, {
    workspace_id: workspace.id,
    from_state: from,
    to_state: change.to,
    trigger: change.trigger,
    initiator: change.initiator,
    ...(change.reason !== undefined && { reason: change.reason }),
    ...(change.dimension !== undefined && { budget_dimension: change.dimension }),
  })
  if (isTerminal(change.to)) batch.markEnded(workspace)
}

/** W-ENV-18: what is on its way to a workspace that takes no more mail. */
export function writeUndeliverable(batch: Batch, receiver: Workspace, state: WorkspaceState): void {
  invariant(STATE_RULES[state].mail === 'refused', 'mail is given up only where it can never arrive')
  for (const channel of receiver.incoming?.values() ?? []) {
    for (const id of channel) {
      const envelope = batch.run.envelopes.get(id)
      if (envelope) writeUndelivered(batch, envelope, state as EventBody<'envelope_undeliverable'>['reason'])
    }
  }
}

export function writeUndelivered(
  batch: Batch,
  { id, from, to }: Envelope,
  reason: EventBody<'envelope_undeliverable'>['reason'],
): void {
  const body = { envelope_id: id, from, to, reason, timestamp: batch.at }
  batch.add('envelope_undeliverable', knownWorkspace(batch.run, from), 'protocol', body)
}

/** W-ENV-04: rejected after validation, by a gate or a proof. It never moves again, and its channel goes on. */
export function writeTurnedBack(
  batch: Batch,
  { id, from, to, type }: Envelope,
  reason: 'gate_rejected_by_human' | 'integrity_violation',
): void {
  const body = { envelope_id: id, from, to, type, reason, timestamp: batch.at }
  batch.add('envelope_rejected', knownWorkspace(batch.run, from), 'protocol', body)
}
