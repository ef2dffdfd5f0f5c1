// What entries about migration and graceful termination mean to the simulator's own model.
import type { EventBody, WorkspaceState } from '@parley/trail/events'
import type { ModelFolds } from './highway.ts'
import type { RunModel } from './model.ts'
import type { WorkspaceModel } from './records.ts'

const TICKS = 1000

export const successionFolds: ModelFolds = {
  migration_started: (run, body) => {
    run.workspace(body.workspace_id).successor = body.new_agent
  },
  migration_completed: (run, body) => {
    run.workspace(body.workspace_id).agent = body.new_agent
  },
  graceful_termination_initiated: (run, body) => {
    const period = body.grace_period * TICKS
    run.workspace(body.workspace_id).grace = { period, end: null, envelope: null }
  },
}

/** A workspace changes its state at that moment; it still says in which it is, and since when. */
export function moveSuccession(workspace: WorkspaceModel, to: WorkspaceState, now: number): void {
  const { status, since, grace } = workspace
  if (grace?.end != null && (status === 'suspended' || status === 'migrating')) grace.end += now - since
  if (to === 'integrating' || to === 'failed') workspace.grace = null
  if (to !== 'migrating') workspace.successor = null
}

/** The first feedback behind a request is the request's own. */
export function noteFeedback(run: RunModel, body: EventBody<'envelope_created'>): void {
  const { grace } = run.workspace(body.to)
  if (grace && body.type === 'feedback') grace.envelope ??= body.envelope_id
}

/** The time begins when the agent was told. */
export function noteTold(run: RunModel, body: EventBody<'envelope_delivered'>, now: number): void {
  const { grace } = run.workspace(body.to)
  if (grace?.envelope === body.envelope_id) grace.end ??= now + grace.period
}

/** What can no longer tell it takes the request with it. */
export function noteLost(run: RunModel, body: EventBody<'envelope_undeliverable'>): void {
  const receiver = run.workspace(body.to)
  if (receiver.grace?.envelope === body.envelope_id) receiver.grace = null
}

export function noteRejection(run: RunModel, body: EventBody<'envelope_rejected'>): void {
  const receiver = run.workspaces.get(body.to ?? '')
  const told = receiver?.grace?.envelope
  if (receiver && (told === body.envelope_id || (told === null && body.type === 'feedback'))) receiver.grace = null
}

/** Ticks at which its time is up; undefined while none runs. */
export function graceEnd({ grace, status }: WorkspaceModel): number | undefined {
  return grace?.end != null && (status === 'active' || status === 'blocked') ? grace.end : undefined
}
