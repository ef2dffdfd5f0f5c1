// What a gate is about (W-HWY-04): the whole subject for the human who decides, the id that pairs gates about the same
// thing, and whom the gate is addressed to (W-HWY-23).
import { createHash } from 'node:crypto'
import { assertNever, canonicalize, type GraphId, invariant, type TaskId, type WorkspaceId } from '@parley/core'
import type { EventBody } from '@parley/trail/events'
import type { Batch, UserDirectory } from '../batch.ts'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { conflictAt } from '../integration/conflict-record.ts'
import { openSalvage, SALVAGED_CONFIDENCE, salvageTarget } from '../integration/integration.ts'
import { knownWorkspace, type Run, rootOf, workspaceOf } from '../run/run.ts'
import type { TaskText } from '../task/task.ts'
import type { WorkspaceDraft } from '../workspace/create.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { Gate, Paused } from './gate.ts'

interface Subject {
  readonly kind: string
  /** Undefined: nothing outside the gate names it, so the gate's own id does. */
  readonly id: string | undefined
  readonly value: unknown
  readonly workspace: Workspace | null
  readonly task: TaskId | null
  readonly graph: GraphId | null
}

/** A task as its gate shows it; the texts are in the gate's object only (W-TASK-20). */
export interface TaskSubject extends TaskText {
  readonly id: TaskId
  readonly graph_ref: GraphId
  readonly name: string
  readonly priority: string
  readonly depends_on: readonly TaskId[]
  readonly parent_task: TaskId | null
  readonly status: 'draft'
}

export function subjectOf(batch: Batch, paused: Paused, task?: TaskSubject): Subject {
  const { run } = batch
  switch (paused.type) {
    case 'task_approval': {
      invariant(task, 'a task comes with its gate')
      return {
        kind: 'task',
        id: task.id,
        value: task,
        workspace: null,
        task: task.id,
        graph: task.graph_ref,
      }
    }
    case 'workspace_create':
      return creation(run, paused.caller, paused.draft as WorkspaceDraft)
    case 'envelope_delivery': {
      const stored = batch.objects.findLast(object => object.id === (paused.envelope as string))
      const record = (stored?.value ?? run.envelopes.get(paused.envelope)?.record) as EnvelopeRecord
      const workspace = knownWorkspace(run, record.to)
      return { kind: 'envelope', id: record.id, value: record, workspace, ...bound(run, workspace) }
    }
    case 'integration': {
      const { source: id, type: _type, caller, mode = 'normal', checkpoint, ...request } = paused
      const source = knownWorkspace(run, id)
      const salvage = mode === 'salvage'
      const target = salvage ? salvageTarget(run, source) : batch.parentOf(source)
      // W-INT-21, before it is opened.
      const value = {
        source: id,
        target: target?.id ?? null,
        owner: source.owner,
        mode,
        checkpoint_ref: checkpoint ?? source.deliverable ?? null,
        ...(salvage && { confidence: SALVAGED_CONFIDENCE }),
        conflicts: [],
        requested_by: caller,
        ...request,
      }
      return {
        kind: 'integration',
        id: `${id}:${mode}`,
        value,
        // W-INT-19: a source that has failed gets no entries.
        workspace: salvage ? target : source,
        ...bound(run, source),
      }
    }
    case 'conflict_resolution': {
      const source = knownWorkspace(run, paused.source)
      const conflict = conflictAt(run, paused)
      invariant(conflict, 'a resolution is proposed for a conflict that was found')
      const { strategy, resolution, caller } = paused
      const { id: found, type, resources, description } = conflict
      const value = {
        source: source.id,
        conflict: { id: found, type, resources: [...resources], description },
        proposal: { strategy, resolution, number: paused.proposal, requested_by: caller },
      }
      const id = `${paused.conflict}:${paused.proposal}`
      const workspace = openSalvage(run, source.id)?.target ?? source
      return { kind: 'conflict', id, value, workspace, ...bound(run, source) }
    }
    case 'workspace_abort': {
      const workspace = knownWorkspace(run, paused.workspace)
      const { id, role, status, owner, originator, priority, group } = workspace
      const { reason, caller, task, grace } = paused
      const value = {
        workspace: { id, role, status, owner, originator, priority, group, task: workspace.task },
        reason,
        requested_by: caller,
        ...(task !== undefined && { cancels: task }),
        ...(grace && { grace }),
      }
      return { kind: 'workspace', id: `${id}:${reason}`, value, workspace, ...bound(run, workspace) }
    }
    default:
      return assertNever(paused)
  }
}

function creation(run: Run, caller: WorkspaceId, draft: WorkspaceDraft): Subject {
  const named = draft.parent === undefined ? undefined : workspaceOf(run, draft.parent)
  const parent = named ?? knownWorkspace(run, caller)
  const task = draft.task == null ? undefined : run.tasks.get(draft.task as TaskId)
  return {
    kind: 'creation',
    id: task && `${task.id}#${task.history.length + 1}`,
    value: { ...draft, parent: parent.id, owner: draft.owner ?? parent.owner, requested_by: caller },
    workspace: parent,
    task: task?.id ?? null,
    graph: task?.graph ?? null,
  }
}

function bound(run: Run, { task }: Workspace): { readonly task: TaskId | null; readonly graph: GraphId | null } {
  return { task, graph: task === null ? null : (run.tasks.get(task)?.graph ?? null) }
}

/** W-HWY-23: whom a gate is addressed to now; the root's owner takes the place of a deactivated user. */
export function addresseeOf(
  run: Run,
  users: UserDirectory | undefined,
  { paused, workspace, graph }: Pick<Gate, 'paused' | 'workspace' | 'graph'>,
  injectedBy?: string,
): string {
  const root = rootOf(run)
  const owner = workspace === null ? root.owner : knownWorkspace(run, workspace).owner
  const concerned =
    paused.type === 'task_approval'
      ? (approving(users, injectedBy ?? run.graphs.get(graph as GraphId)?.originator) ?? root.owner)
      : paused.type === 'workspace_create'
        ? ((paused.draft as WorkspaceDraft).owner ?? owner)
        : 'mode' in paused
          ? knownWorkspace(run, paused.source).owner
          : owner
  return users?.stateOf(concerned) === 'deactivated' ? root.owner : concerned
}

/** Somebody who caused work need not be the one who is asked about it: a peer, for instance (§4.8). */
function approving(users: UserDirectory | undefined, user: string | undefined): string | undefined {
  if (!users || user === undefined) return user
  return users.holds(user, 'create_workspace') || users.holds(user, 'create_workspace_any') ? user : undefined
}

/** What an entry says of an object that stays outside the trail (AMB-19). */
export function referenceTo(kind: string, id: string, value: unknown): EventBody<'gate_triggered'>['subject'] {
  return { kind, id, digest: createHash('sha256').update(canonicalize(value)).digest('hex') }
}
