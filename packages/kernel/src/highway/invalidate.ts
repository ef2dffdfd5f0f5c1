// Gates whose subject can no longer proceed (W-HWY-12): the runtime closes them behind the entry that took the subject
// away. The end of a run takes all subjects.
import type { TaskId, WorkspaceId } from '@parley/core'
import { type EventBody, isTerminal, type WorkspaceState } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { knownWorkspace, rootOf } from '../run/run.ts'
import { writeMemberDecided } from '../workspace/batch-abort.ts'
import { type Gate, pendingGates, writeResolved } from './gate.ts'

/** To be called after the entries of every command. While no gate waits it costs nothing. */
export function writeInvalidated(batch: Batch): void {
  if (batch.run.gates.size + batch.gatesOpened.length === 0) return
  const changes = changesOf(batch)
  // Nothing follows the root's terminal entry; what ended the run ended its gates first.
  if (!changes || batch.isEnded(rootOf(batch.run))) return
  for (const gate of [...pendingGates(batch)]) if (isInvalid(batch, gate, changes)) writeEnded(batch, gate)
}

export function writeGatesEnded(batch: Batch): void {
  for (const gate of [...pendingGates(batch)]) writeEnded(batch, gate)
}

function writeEnded(batch: Batch, gate: Gate): void {
  writeResolved(batch, gate, { action: 'reject', actor: 'protocol', reason: 'subject_invalidated' })
  const { paused } = gate
  if (paused.type === 'workspace_abort' && paused.group !== undefined)
    writeMemberDecided(batch, paused.group, paused.workspace, false)
}

interface Changes {
  readonly states: ReadonlyMap<string, WorkspaceState>
  readonly tasks: ReadonlySet<string>
  readonly conflicts: ReadonlySet<string>
  readonly salvages: ReadonlySet<string>
}

function changesOf({ entries }: Batch): Changes | undefined {
  const states = new Map<string, WorkspaceState>()
  const tasks = new Set<string>()
  const conflicts = new Set<string>()
  const salvages = new Set<string>()
  for (const { event_type, body } of entries) {
    if (event_type === 'workspace_state_changed') {
      const change = body as EventBody<'workspace_state_changed'>
      states.set(change.workspace_id, change.to_state)
    } else if (event_type === 'task_status_changed') {
      const change = body as EventBody<'task_status_changed'>
      if (change.to_status === 'cancelled') tasks.add(change.task_id)
    } else if (event_type === 'conflict_resolved') conflicts.add((body as EventBody<'conflict_resolved'>).conflict_id)
    else if (event_type === 'integration_completed' || event_type === 'integration_aborted') {
      const end = body as EventBody<'integration_aborted'>
      if (end.mode === 'salvage') salvages.add(end.source)
    }
  }
  const changed = states.size + tasks.size + conflicts.size + salvages.size > 0
  return changed ? { states, tasks, conflicts, salvages } : undefined
}

function isInvalid(batch: Batch, { paused, workspace, task }: Gate, changes: Changes): boolean {
  const cancelled = (id: TaskId | null) => id !== null && changes.tasks.has(id)
  if (workspace === null) return cancelled(task)
  const state = changes.states.get(workspace) ?? knownWorkspace(batch.run, workspace as WorkspaceId).status
  switch (paused.type) {
    case 'task_approval':
      return cancelled(task)
    case 'workspace_create':
      return isTerminal(state) || cancelled(task)
    case 'envelope_delivery':
      return STATE_RULES[state].mail === 'refused'
    case 'integration':
      // A salvage waits to go into the gate's workspace; its source has failed and stays so.
      return paused.mode === 'salvage' ? STATE_RULES[state].mail === 'refused' : state !== 'integrating'
    case 'conflict_resolution':
      if (paused.mode === 'salvage')
        return changes.salvages.has(paused.source) || changes.conflicts.has(paused.conflict)
      return state !== 'conflicted' || changes.conflicts.has(paused.conflict)
    case 'workspace_abort':
      // Whoever has completed winds down no more.
      return paused.grace ? STATE_RULES[state].mail === 'refused' : isTerminal(state)
  }
}
