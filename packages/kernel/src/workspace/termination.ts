// A workspace that was asked to wind down (W-TERM-02), as the state keeps it, and when its time is up (W-TERM-04, -05).
// The clock stands still while the workspace is paused.
import { deadline, type EnvelopeId, type Ticks, type WorkspaceId } from '@parley/core'
import type { EventBody, WorkspaceState } from '@parley/trail/events'
import { wholeMilliseconds } from '../budget/clock.ts'
import type { Folds } from '../fold.ts'
import { knownWorkspace, type Run } from '../run/run.ts'
import type { Workspace } from './workspace.ts'

export interface Termination {
  readonly period: number
  /** When the agent was told; no time runs before. */
  since: Ticks | undefined
  /** Ticks that passed in `suspended` and `migrating` since then. */
  paused: number
  envelope: EnvelopeId | undefined
  /** The end is on record, and the failure that belongs to it is not yet. */
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

/** Milliseconds that are left of it, all of them before the agent was told, and the standing clock's rest included. */
export function graceLeft({ termination, pausedAt }: Workspace, now: Ticks): number | undefined {
  if (termination?.envelope === undefined) return undefined
  if (termination.since === undefined) return termination.period
  const end = deadline(termination.since, termination.period) + termination.paused
  return Math.max(0, wholeMilliseconds(end - (pausedAt ?? now)))
}
