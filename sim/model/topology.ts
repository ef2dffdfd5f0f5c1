// What entries about owners, sight, priority, budgets, parents and conflicts mean to the simulator's own model of a
// run.

import type { EventBody } from '@parley/trail/events'
import type { ModelFolds } from './highway.ts'
import type { RunModel } from './model.ts'
import { isOver, type WorkspaceModel } from './records.ts'

export const topologyFolds: ModelFolds = {
  visibility_granted: (run, body) => {
    run.workspace(body.workspace_id).visibility.add(body.target)
  },
  priority_changed: (run, body) => {
    run.workspace(body.workspace_id).priority = body.new_priority
  },
  workspace_ownership_transferred: (run, body) => {
    const workspace = run.workspace(body.workspace_id)
    workspace.owner = body.to_user
    workspace.owners.push(body.to_user)
  },
  workspace_reparented: (run, body) => {
    const workspace = run.workspace(body.workspace_id)
    const old = run.workspace(body.old_parent)
    const parent = run.workspace(body.new_parent)
    workspace.parent = parent.id
    workspace.parents.push(parent.id)
    workspace.orphan = body.reason === 'parent_aborted_cross_ownership'
    old.children.splice(old.children.indexOf(workspace.id), 1)
    parent.children.push(workspace.id)
    parent.children.sort((one, other) => run.workspace(one).created - run.workspace(other).created)
    if (old.merging === workspace.id) old.merging = null
    if (workspace.integration) {
      workspace.integration = { ...workspace.integration, target: parent.id }
      parent.merging ??= workspace.id
    }
    reroute(run, workspace, old, parent)
  },
  batch_abort: (run, body) => {
    run.batchAborts.delete(body.group_id)
  },
  budget_warning: (run, body) => {
    run.workspace(body.workspace_id).warned.add(`${body.budget_dimension} ${body.limit}`)
  },
  budget_modified: (run, body) => {
    const workspace = run.workspace(body.workspace_id)
    workspace.budget = raised(workspace.budget, body.budget_dimension, body.new_limit)
  },
  conflict_detected: (run, body) => {
    conflictsOf(run, body).add(body.conflict_id)
  },
  conflict_resolved: (run, body) => {
    conflictsOf(run, body).delete(body.conflict_id)
  },
}

/** W-INT-20: those of a salvage are in its own record. */
function conflictsOf(
  run: RunModel,
  { workspace_id: id, mode }: EventBody<'conflict_detected' | 'conflict_resolved'>,
): Set<string> {
  return (mode === 'salvage' && run.salvages.get(id)?.conflicts) || run.workspace(id).conflicts
}

/** W-SIG-11: what it said to its parent goes to the new one, in the order in which it was said. */
function reroute(run: RunModel, from: WorkspaceModel, old: WorkspaceModel, parent: WorkspaceModel): void {
  const waiting = run.waiting.get(`${from.id} ${old.id}`)
  if (!waiting) return
  run.waiting.delete(`${from.id} ${old.id}`)
  const moved = waiting.filter(id => run.signals.get(id)?.upward)
  const left = isOver(old.status) ? [] : waiting.filter(id => !run.signals.get(id)?.upward)
  if (left.length > 0) run.waiting.set(`${from.id} ${old.id}`, left)
  for (const id of moved) run.signals.get(id)!.to = parent.id
  const all = [...(run.waiting.get(`${from.id} ${parent.id}`) ?? []), ...moved]
  all.sort((one, other) => run.signals.get(one)!.order - run.signals.get(other)!.order)
  if (all.length > 0) run.waiting.set(`${from.id} ${parent.id}`, all)
}

function raised(
  budget: WorkspaceModel['budget'],
  dimension: string,
  limit: number,
): NonNullable<WorkspaceModel['budget']> {
  const copy = structuredClone(budget ?? {}) as Record<string, unknown>
  if (dimension in copy) return { ...copy, [dimension]: limit }
  for (const part of Object.values(copy) as Record<string, number>[])
    if (typeof part === 'object' && dimension in part) part[dimension] = limit
  return copy
}
