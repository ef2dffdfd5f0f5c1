// Isolated violations (W-REC-12, -13): sound entries that cannot be true are left out and recorded once.
import {
  type CheckpointId,
  type EnvelopeId,
  formatTimestamp,
  type GateId,
  type GraphId,
  ParleyError,
  type TaskId,
} from '@parley/core'
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import { onItsWay } from '../envelope/envelope.ts'
import { conflictAt } from '../integration/conflict-record.ts'
import { openSalvage } from '../integration/integration.ts'
import { kernelLimits } from '../limits.ts'
import type { ObjectKind } from '../objects.ts'
import { type Folds, type Run, ticksOf, workspaceOf } from '../run/run.ts'
import { ended } from '../workspace/workspace.ts'
import type { Trace } from './trace.ts'

export interface Quarantined {
  readonly entry: string
  readonly type: EventType
  /** What the entry should have agreed with, and what it says; null where there is nothing to name. */
  readonly expected: string | null
  readonly actual: string | null
  recorded: boolean
}

type Violation = Pick<Quarantined, 'expected' | 'actual'>

/** Leaves an entry out of the state; too many of them are no isolated violations any more. */
export function quarantine(run: Run, entry: EntryDraft, violation: Violation): void {
  const { id, event_type: type } = entry
  if (run.quarantined.size >= kernelLimits.quarantined)
    throw new ParleyError(
      'trail_damaged',
      `${run.id}: more than ${kernelLimits.quarantined} entries contradict those before them. Verify the run, and restore it from a backup.`,
      { details: { run: run.id } },
    )
  run.quarantined.set(id, { entry: id, type, ...violation, recorded: false })
}

/** W-REC-12: the entry that names lost content is left out; where no entry names it, the run cannot continue. */
export function passOver(run: Run, { id, kind, lost = '' }: TrailObject): void {
  const founds = kind === 'context' && run.root === undefined
  if (!NAMED.has(kind) || founds)
    throw new ParleyError('blob_missing', lost, { details: { run: run.id, object: id, kind } })
  run.objects++
}

const NAMED: ReadonlySet<string> = new Set<ObjectKind>([
  'envelope',
  'checkpoint',
  'task',
  'gate',
  'directive',
  'context',
  'memory',
  'result',
])

export const quarantineFolds: Folds = {
  integrity_violation(run, body) {
    const quarantined = run.quarantined.get(body.subject_id)
    if (quarantined && body.subject_type === 'trail_entry' && body.action_taken === 'quarantined')
      quarantined.recorded = true
    const envelope = run.envelopes.get(body.subject_id as EnvelopeId)
    if (envelope?.consumed && body.subject_type === 'envelope' && body.action_taken === 'rejected')
      envelope.forged = true
  },
}

export function violationOf(
  run: Run,
  entry: EntryDraft & { readonly seq: number },
  trace: Trace,
): Violation | undefined {
  return filingViolation(run, entry, trace) ?? orphan(run, entry) ?? stale(run, entry)
}

function filingViolation(run: Run, entry: EntryDraft, trace: Trace): Violation | undefined {
  if (entry.workspace === null || entry.event_type === 'workspace_created') return undefined
  const workspace = run.workspaces.get(entry.workspace)
  if (!workspace) return missing(entry.workspace)
  // W-TRAIL-08: the local trail of a terminal workspace has ended.
  if (ended(workspace)) return { expected: null, actual: entry.workspace }
  // W-TRAIL-07
  const last = trace.newest.get(entry.workspace)
  if (last === undefined || ticksOf(entry) > last) return undefined
  return { expected: `later than ${formatTimestamp(last)}`, actual: entry.timestamp }
}

/** W-ID-08: the first id that resolves to nothing, among those that the state cannot do without. */
function orphan(run: Run, entry: EntryDraft): Violation | undefined {
  const named = (entry.body as { readonly workspace_id?: unknown }).workspace_id
  if (typeof named === 'string' && entry.event_type !== 'workspace_created') {
    const unknown = workspace(run, named)
    if (unknown) return unknown
  }
  const check = NEEDS[entry.event_type] as Check<EventType> | undefined
  return check?.(run, entry.body)
}

type Check<T extends EventType> = (run: Run, body: EventBody<T>) => Violation | undefined

const NEEDS: { readonly [T in EventType]?: Check<T> } = {
  workspace_created: (run, body) => {
    if (body.parent !== null) return workspace(run, body.parent)
    return run.root && { expected: run.root.id, actual: body.workspace_id }
  },
  visibility_granted: (run, body) => workspace(run, body.target),
  workspace_reparented: (run, body) => workspace(run, body.new_parent),
  signal_emitted: (run, body) => workspace(run, body.from),
  signal_delivered: (run, body) => workspace(run, body.from) ?? workspace(run, body.delivered_to),
  envelope_created: (run, body) => workspace(run, body.to) ?? object(run, body.envelope_id, 'envelope'),
  envelope_delivered: (run, body) => travelling(run, body.envelope_id),
  envelope_undeliverable: (run, body) => travelling(run, body.envelope_id),
  envelope_rejected: (run, body) =>
    run.envelopes.has(body.envelope_id as EnvelopeId) ? travelling(run, body.envelope_id) : undefined,
  port_right_created: (run, body) => workspace(run, body.holder) ?? workspace(run, body.target),
  port_right_transferred: (run, body) => known(run.rights, body.right_id) ?? workspace(run, body.to_holder),
  port_right_revoked: (run, body) => known(run.rights, body.right_id),
  port_right_consumed: (run, body) => known(run.rights, body.right_id),
  checkpoint_created: (run, body) => object(run, body.checkpoint_id, 'checkpoint'),
  task_created: (run, body) =>
    run.graphs.has(body.graph_id as GraphId) ? object(run, body.task_id, 'task') : missing(body.graph_id),
  task_approved: (run, body) => known(run.tasks, body.task_id),
  task_assigned: (run, body) => known(run.tasks, body.task_id),
  task_status_changed: (run, body) => known(run.tasks, body.task_id),
  task_completed: (run, body) => known(run.tasks, body.task_id),
  task_failed: (run, body) => known(run.tasks, body.task_id),
  gate_triggered: (run, body) => object(run, body.gate_id, 'gate'),
  gate_resolved: (run, body) => {
    if (!run.gates.has(body.gate_id as GateId)) return undefined
    const { description, payload } = body.modifications ?? {}
    return (description && object(run, description.id, 'task')) ?? (payload && object(run, payload.id, 'envelope'))
  },
  integration_started: (run, body) => workspace(run, body.source) ?? workspace(run, body.target),
  integration_completed: (run, body) => openIntegration(run, body),
  integration_aborted: (run, body) => openIntegration(run, body),
  conflict_detected: (run, body) =>
    body.mode === 'salvage' && !openSalvage(run, body.workspace_id)
      ? missing(`salvage of ${body.workspace_id}`)
      : undefined,
  conflict_resolved: (run, { workspace_id: source, mode, conflict_id: conflict }) =>
    conflictAt(run, { source, mode, conflict }) ? undefined : missing(conflict),
}

/** W-CONC-08: the entry of a second writer that knew nothing of the first. Undecidable after deletions. */
function stale(run: Run, entry: EntryDraft & { readonly seq: number }): Violation | undefined {
  if (entry.seq !== run.seq + 1) return undefined
  const state = STANDING[entry.event_type] as Standing<EventType> | undefined
  const [found, said] = state?.(run, entry.body) ?? []
  return found === said ? undefined : { expected: found ?? null, actual: said ?? null }
}

type Standing<T extends EventType> = (
  run: Run,
  body: EventBody<T>,
) => readonly [found: string | null | undefined, said: string | null] | undefined

const STANDING: { readonly [T in EventType]?: Standing<T> } = {
  workspace_state_changed: (run, body) => [workspaceOf(run, body.workspace_id)?.status, body.from_state],
  task_status_changed: (run, body) => [run.tasks.get(body.task_id as TaskId)?.status, body.from_status],
  checkpoint_created: (run, { workspace: id, parent }) => {
    // What builds on one that was left out is no second branch of the chain.
    if (parent !== null && !run.checkpoints.has(parent as CheckpointId)) return undefined
    return [workspaceOf(run, id)?.register?.at(-1) ?? null, parent]
  },
}

function openIntegration(
  run: Run,
  { source, target, mode }: EventBody<'integration_completed' | 'integration_aborted'>,
): Violation | undefined {
  const unknown = workspace(run, source) ?? workspace(run, target)
  if (unknown) return unknown
  const open = mode === 'salvage' ? openSalvage(run, source) : workspaceOf(run, source)?.integration
  return open ? undefined : { expected: 'an open integration', actual: source }
}

function missing(id: string): Violation {
  return { expected: id, actual: null }
}

function known(ids: { has(id: string): boolean }, id: string): Violation | undefined {
  return ids.has(id) ? undefined : missing(id)
}

function workspace(run: Run, id: string): Violation | undefined {
  return known(run.workspaces, id)
}

/** What an entry refers to stands right before it in the content store. Another kind of object proves nothing here. */
function object(run: Run, id: string, kind: ObjectKind): Violation | undefined {
  return run.staged.get(id)?.kind === kind ? undefined : missing(id)
}

function travelling(run: Run, id: string): Violation | undefined {
  const envelope = run.envelopes.get(id as EnvelopeId)
  if (!envelope) return missing(id)
  return onItsWay(envelope) ? undefined : { expected: 'an envelope on its way', actual: id }
}
