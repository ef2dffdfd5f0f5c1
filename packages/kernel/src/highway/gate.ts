// Gates (W-HWY-03 to -06, -11): a decision of the coordinator or a delegate waits for a human. What waits is stored
// whole, so that it can be carried out later, after a restart too.
import {
  type CheckpointId,
  deadline,
  type EnvelopeId,
  type GateId,
  type GraphId,
  invariant,
  ok,
  type Result,
  type TaskId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type { EventBody, GateAction, GateFallback, GateType } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { AgentCommand } from '../command.ts'
import { kernelLimits } from '../limits.ts'
import { limitReached, type Refusal, refusal } from '../refusal.ts'
import { knownWorkspace, type Run, ticksOf } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { addresseeOf, referenceTo, subjectOf, type TaskSubject } from './subject.ts'

export type Paused =
  | { readonly type: 'task_approval'; readonly task: TaskId }
  | { readonly type: 'workspace_create'; readonly caller: WorkspaceId; readonly draft: unknown }
  | { readonly type: 'envelope_delivery'; readonly envelope: EnvelopeId }
  | {
      readonly type: 'integration'
      readonly caller: WorkspaceId
      readonly source: WorkspaceId
      readonly strategy: string
      readonly accept: boolean
      readonly basis?: string
      readonly mode?: 'salvage'
      readonly checkpoint?: CheckpointId
      readonly result?: unknown
      readonly baseAware?: boolean
    }
  | {
      readonly type: 'conflict_resolution'
      readonly caller: WorkspaceId
      readonly source: WorkspaceId
      readonly mode?: 'salvage'
      readonly conflict: string
      readonly proposal: number
      readonly strategy: string
      readonly resolution: string
    }
  | {
      readonly type: 'workspace_abort'
      readonly caller: WorkspaceId
      readonly workspace: WorkspaceId
      readonly reason: string
      readonly group?: string
      readonly task?: TaskId
      /** It is asked to wind down first (W-TERM-01). */
      readonly grace?: { readonly period: number; readonly reason: string }
    }

export interface Gate {
  readonly id: GateId
  readonly type: GateType
  /** W-HWY-04: pairs a gate with a later one about the same thing. */
  readonly subject: string
  readonly workspace: WorkspaceId | null
  readonly task: TaskId | null
  readonly graph: GraphId | null
  readonly timeout: number | null
  readonly fallback: GateFallback
  readonly addressee: string
  readonly opened: Ticks
  readonly paused: Paused
  /** Since when it waits for the coordinator (W-HWY-10). */
  handedOver: Ticks | undefined
}

export interface GateRecord {
  readonly subject: unknown
  readonly paused: Paused
}

export interface Guard {
  readonly gate: GateId
  readonly fallback: GateFallback
}

export interface GateOutcome {
  readonly gate: GateId
  readonly type: GateType
  readonly action: GateAction
  /** A `user_id`, `system` for the coordinator, `fallback` or `protocol`. */
  readonly actor: string
  readonly reason: string | undefined
  readonly asked: WorkspaceId | undefined
  readonly result: Result<unknown> | undefined
}

/** Whether a transition may go on now. `rejected`: the guard turned it into a rejection (W-HWY-11). */
type GateVerdict = 'proceed' | 'rejected' | { readonly waits: GateId }

/** The answer of an operation that the guard may turn into nothing: what came of it (W-HWY-11). */
export interface GuardedOutcome {
  readonly outcome: 'applied' | 'rejected'
}

interface GateOptions {
  readonly always?: boolean
  readonly task?: TaskSubject
  readonly injectedBy?: string | undefined
}

/** Opens the gate that stands in the way of a transition, if any. `always`: even where its type is off (W-INT-12). */
export function gate(batch: Batch, paused: Paused, options: GateOptions = {}): GateVerdict {
  const { run } = batch
  const setting = run.highway.gates[paused.type]
  if (!setting.on && !options.always) return 'proceed'
  const id = batch.newId<GateId>('gate')
  const about = subjectOf(batch, paused, options.task)
  const { task, graph } = about
  const workspace = about.workspace?.id ?? null
  const subject = about.id ?? id
  const guard = run.guards.get(guardKey(paused.type, subject))
  if (guard) return writeReentry(batch, guard, paused, subject, about.workspace)
  // Asked once more while it waits: it is the same wait.
  const same = isNew(paused) ? undefined : pendingAbout(batch, paused.type, subject)
  if (same) return { waits: same.id }

  const place = { paused, workspace, graph }
  const addressee = addresseeOf(run, batch.context.users, place, options.injectedBy)
  const record: GateRecord = { subject: about.value, paused }
  const opened = ticksOf({ timestamp: batch.at })
  const body: EventBody<'gate_triggered'> = {
    gate_id: id,
    gate_type: paused.type,
    subject: referenceTo(about.kind, subject, about.value),
    workspace,
    task_ref: task,
    graph_ref: graph,
    timeout: setting.timeout,
    fallback: setting.fallback,
    queue_position: enqueue(batch, addressee),
    addressee,
    ...modeOf(paused),
  }
  batch.store('gate', id, record)
  batch.add('gate_triggered', about.workspace, 'protocol', body)
  batch.gatesOpened.push(gateFrom(body, paused, opened))
  return { waits: id }
}

export function gateFrom(body: EventBody<'gate_triggered'>, paused: Paused, opened: Ticks): Gate {
  return {
    id: body.gate_id as GateId,
    type: body.gate_type,
    subject: body.subject.id,
    workspace: body.workspace as WorkspaceId | null,
    task: body.task_ref as TaskId | null,
    graph: body.graph_ref as GraphId | null,
    timeout: body.timeout,
    fallback: body.fallback,
    addressee: body.addressee,
    opened,
    paused,
    handedOver: undefined,
  }
}

/** An abort that waits at its gate, or that the guard rejects: no error, but nothing is aborted (W-HWY-11). */
export function abortGated(
  batch: Batch,
  paused: Extract<Paused, { readonly type: 'workspace_abort' }>,
): Result<GuardedOutcome> | undefined {
  const verdict = gate(batch, paused)
  if (verdict === 'proceed') return undefined
  return verdict === 'rejected' ? ok({ outcome: 'rejected' }) : gated(verdict.waits)
}

/** W-HWY-11: no second gate about what a fallback has decided. The caller sees no error. */
function writeReentry(
  batch: Batch,
  guard: Guard,
  paused: Paused,
  subject: string,
  workspace: Workspace | null,
): GateVerdict {
  const converted: EventBody<'gate_reentry_blocked'>['converted_to'] =
    guard.fallback === 'reject' ? 'reject' : 'approve'
  batch.add('gate_reentry_blocked', workspace, 'protocol', {
    gate_id: guard.gate,
    gate_type: paused.type,
    subject_id: subject,
    converted_to: converted,
    ...modeOf(paused),
  })
  const pending = batch.run.gates.get(guard.gate)
  if (pending && isPending(batch, pending)) writeResolved(batch, pending, { action: 'approve', actor: 'fallback' })
  return converted === 'approve' ? 'proceed' : 'rejected'
}

export type GateModifications = NonNullable<EventBody<'gate_resolved'>['modifications']>

export interface Resolution {
  readonly action: GateAction
  readonly actor: string
  readonly reason?: string | undefined
  readonly modifications?: GateModifications | undefined
}

/** To be called before what the gate held up is carried out or dropped. */
export function writeResolved(batch: Batch, ended: Gate, resolution: Resolution): void {
  const { action, actor, reason, modifications } = resolution
  batch.add('gate_resolved', workspaceOfGate(batch.run, ended), actor, {
    gate_id: ended.id,
    gate_type: ended.type,
    action,
    ...(modifications && { modifications }),
    actor,
    ...(reason !== undefined && { reason }),
    ...modeOf(ended.paused),
  })
  batch.gateQueues = undefined
  batch.gatesEnded.set(ended.id, {
    gate: ended.id,
    type: ended.type,
    action,
    actor,
    reason,
    asked: askedBy(batch.run, ended.paused),
    result: undefined,
  })
}

/** W-INT-19: every entry of a salvage says so, those of its gates too. */
export function modeOf(paused: Paused): { readonly mode?: 'salvage' } {
  return 'mode' in paused && paused.mode === 'salvage' ? { mode: paused.mode } : {}
}

function askedBy(run: Run, paused: Paused): WorkspaceId | undefined {
  if (paused.type === 'envelope_delivery') return run.envelopes.get(paused.envelope)?.from
  return paused.type === 'task_approval' ? undefined : paused.caller
}

export function noteResult(batch: Batch, ended: Gate, result: Result<unknown>): void {
  const outcome = batch.gatesEnded.get(ended.id)
  invariant(outcome, 'a gate ends before its effect')
  batch.gatesEnded.set(ended.id, { ...outcome, result })
}

export function workspaceOfGate(run: Run, { workspace }: Gate): Workspace | null {
  return workspace === null ? null : knownWorkspace(run, workspace)
}

export function* pendingGates(batch: Batch): Generator<Gate> {
  for (const gates of [batch.run.gates.values(), batch.gatesOpened])
    for (const each of gates) if (isPending(batch, each)) yield each
}

function isPending(batch: Batch, each: Gate): boolean {
  return !batch.gatesEnded.has(each.id)
}

function pendingAbout(batch: Batch, type: GateType, subject: string): Gate | undefined {
  for (const each of pendingGates(batch)) if (each.type === type && each.subject === subject) return each
  return undefined
}

/** Nobody can have asked before about what is as new as its gate. */
function isNew({ type }: Paused): boolean {
  return type === 'task_approval' || type === 'envelope_delivery'
}

/** W-HWY-06: how many are ahead in the addressee's queue; gates handed to the coordinator are in none. */
function enqueue(batch: Batch, addressee: string): number {
  batch.gateQueues ??= countQueues(batch)
  const queues = batch.gateQueues
  const ahead = queues.get(addressee) ?? 0
  queues.set(addressee, ahead + 1)
  return ahead
}

function countQueues(batch: Batch): Map<string, number> {
  const queues = new Map<string, number>()
  for (const each of pendingGates(batch))
    if (each.handedOver === undefined) queues.set(each.addressee, (queues.get(each.addressee) ?? 0) + 1)
  return queues
}

/** When its time is over, or the coordinator's (W-HWY-09, -10). */
export function gateDeadline({ timeout, opened, handedOver }: Gate): Ticks | undefined {
  return timeout === null ? undefined : deadline(handedOver ?? opened, timeout)
}

export function guardKey(type: GateType, subject: string): string {
  return `${type} ${subject}`
}

const GATED_BY: { readonly [Type in AgentCommand['type']]?: GateType } = {
  submit_graph: 'task_approval',
  add_tasks: 'task_approval',
  create_workspace: 'workspace_create',
  send: 'envelope_delivery',
  dispatch: 'envelope_delivery',
  begin_integration: 'integration',
  decide_integration: 'integration',
  salvage: 'integration',
  resolve_conflict: 'conflict_resolution',
  abort: 'workspace_abort',
  batch_abort: 'workspace_abort',
  cancel_task: 'workspace_abort',
  terminate: 'workspace_abort',
}

export function gatesFull(run: Run, { type }: AgentCommand): Refusal | undefined {
  if (run.gates.size < kernelLimits.pendingGates) return undefined
  const needed = GATED_BY[type]
  if (!needed || (!run.highway.gates[needed].on && needed !== 'conflict_resolution')) return undefined
  return limitReached('gates that wait', kernelLimits.pendingGates)
}

export function gated(gate: GateId): Refusal {
  return refusal('gated', `This waits for a human: gate ${gate}.`, { gate })
}
