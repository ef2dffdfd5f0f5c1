// Asking a workspace to wind down (W-TERM-01 to -05): by mail, with a grace whose clock stands still while the
// workspace is paused. Its checkpoints stay.
import { deadline, type EnvelopeId, type Result, type Ticks, type WorkspaceId } from '@parley/core'
import type { EventBody, WorkspaceState } from '@parley/trail/events'
import { actorOf, type Batch, clip } from '../batch.ts'
import { wholeMilliseconds } from '../budget/clock.ts'
import { decideSend, type Sent } from '../envelope/send.ts'
import { gate, gated } from '../highway/gate.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState, refusal } from '../refusal.ts'
import { type Folds, knownWorkspace, type Run } from '../run/run.ts'
import { byProtocol, writeFailure } from './failure.ts'
import { offered, operand } from './operation.ts'
import type { Workspace } from './workspace.ts'

export interface TerminateRequest {
  readonly workspace: unknown
  readonly gracePeriod: unknown
  readonly reason: unknown
}

export function decideTerminate(
  batch: Batch,
  caller: Workspace,
  request: TerminateRequest,
  passed = false,
): Result<Sent> {
  const target = operand(batch, caller, 'graceful_termination', request.workspace)
  if (!target.ok) return target
  const missing = offered(batch, 'graceful_termination')
  if (missing) return missing
  const workspace = target.value
  const problem = unfit(batch, workspace)
  if (problem) return invalidState(problem)
  const { gracePeriod, reason } = request
  if (!Number.isSafeInteger(gracePeriod) || (gracePeriod as number) <= 0)
    return invalidArgument('The period of grace is a whole number of milliseconds above 0.')
  if (!isText(reason)) return invalidArgument('A graceful termination needs a reason.')
  const grace = { period: gracePeriod as number, reason: clip(reason, kernelLimits.reasonLength) }
  // W-TERM-01: its end is the caller's abort, put off. Where that takes consent, so does this.
  if (!passed) {
    const verdict = gate(batch, {
      type: 'workspace_abort',
      caller: caller.id,
      workspace: workspace.id,
      reason: 'graceful_termination_expired',
      grace,
    })
    if (verdict === 'rejected')
      return refusal('rejected', `Nobody consented to the end of ${workspace.id}; it goes on.`, {
        reason: 'gate_rejected_by_human',
      })
    if (verdict !== 'proceed') return gated(verdict.waits)
  }
  const content = JSON.stringify({ intent: 'graceful_termination', grace_period: gracePeriod })
  const draft = { to: workspace.id, type: 'feedback', payload: { format: 'json', content } }
  // W-TERM-02: the mail is the asker's own, however far above it stands. A request whose mail is rejected fails with
  // it, and never began.
  return decideSend(batch, caller, draft, {
    right: 'none',
    accepted: () =>
      batch.add('graceful_termination_initiated', workspace, actorOf(caller), {
        workspace_id: workspace.id,
        grace_period: grace.period,
        reason: grace.reason,
      }),
  })
}

/** W-TERM-01: why this workspace cannot be asked; undefined if it can. */
function unfit(batch: Batch, workspace: Workspace): string | undefined {
  const { id, role, status, termination } = workspace
  if (batch.run.vocabulary.roles.get(role)?.base !== 'worker')
    return `${id} is a ${role}: only workers take the feedback that asks them to wind down.`
  if (!STATE_RULES[status].terminates) return `${id} is ${status}: only active or blocked workspaces wind down.`
  return termination?.envelope === undefined ? undefined : `${id} was asked to wind down already.`
}

/** W-TERM-04 */
export function writeGraceOver(batch: Batch, workspace: Workspace): void {
  const { termination, register } = workspace
  if (!termination) return
  if (!termination.expired)
    batch.add('graceful_termination_expired', workspace, 'protocol', {
      workspace_id: workspace.id,
      grace_period: termination.period,
      partial_checkpoint: register?.at(-1) ?? null,
    })
  writeFailure(batch, workspace, byProtocol('graceful_termination_expired'))
}

export interface Termination {
  readonly period: number
  /** When the agent was told; no time runs before. */
  since: Ticks | undefined
  paused: number
  envelope: EnvelopeId | undefined
  expired: boolean
}

export const terminationFolds: Folds = {
  graceful_termination_initiated(run, body) {
    knownWorkspace(run, body.workspace_id).termination = {
      period: body.grace_period,
      since: undefined,
      paused: 0,
      envelope: undefined,
      expired: false,
    }
  },

  graceful_termination_expired(run, body) {
    const { termination } = knownWorkspace(run, body.workspace_id)
    if (termination) termination.expired = true
  },
}

/** W-TERM-02: the first feedback behind the request is the one that the runtime composed. */
export function tellTermination(receiver: Workspace, type: string, envelope: EnvelopeId): void {
  const { termination } = receiver
  if (termination && type === 'feedback') termination.envelope ??= envelope
}

/** W-TERM-02: it was placed before the agent, and the time begins. */
export function startTermination({ termination }: Workspace, envelope: EnvelopeId, now: Ticks): void {
  if (termination?.envelope === envelope) termination.since ??= now
}

/** It will never arrive: the request has failed, and another may be made. */
export function loseTermination(receiver: Workspace, envelope: EnvelopeId): void {
  if (receiver.termination?.envelope === envelope) receiver.termination = undefined
}

/** The request has failed if its mail was rejected, by a gate or at once. */
export function dropTermination(run: Run, body: EventBody<'envelope_rejected'>): void {
  const receiver = run.workspaces.get(body.to as WorkspaceId)
  const { termination } = receiver ?? {}
  if (!receiver || !termination) return
  const untold = termination.envelope === undefined && body.type === 'feedback'
  if (untold || termination.envelope === body.envelope_id) receiver.termination = undefined
}

/** The workspace changes its state; to be called while it still says since when it is paused. */
export function moveTermination(workspace: Workspace, to: WorkspaceState, now: Ticks): void {
  const { termination, pausedAt } = workspace
  if (!termination) return
  if (pausedAt !== undefined && termination.since !== undefined) termination.paused += now - pausedAt
  // W-TERM-03, -05: `complete` in time, or any failure.
  if (to === 'integrating' || to === 'failed') workspace.termination = undefined
}

export function graceAt({ termination, pausedAt }: Workspace): Ticks | undefined {
  if (termination?.since === undefined || pausedAt !== undefined) return undefined
  return (deadline(termination.since, termination.period) + termination.paused) as Ticks
}

export function graceLeft({ termination, pausedAt }: Workspace, now: Ticks): number | undefined {
  if (termination?.envelope === undefined) return undefined
  if (termination.since === undefined) return termination.period
  const end = deadline(termination.since, termination.period) + termination.paused
  return Math.max(0, wholeMilliseconds(end - (pausedAt ?? now)))
}
