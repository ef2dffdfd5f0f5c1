// What workspace entries do to the state.
import type { EnvelopeId, ObjectId, TaskId, WorkspaceId } from '@parley/core'
import { isTerminal } from '@parley/trail/events'
import { closeMeter, countsFor, moveCharge } from '../budget/charge.ts'
import { passTime } from '../budget/clock.ts'
import { newSpent } from '../budget/meter.ts'
import { inboxOrder } from '../envelope/envelope.ts'
import { dropEscalations } from '../highway/escalation.ts'
import { claimInitial } from '../objects.ts'
import { type Folds, knownWorkspace, type Run, ticksOf } from '../run/run.ts'
import { dropSignals, rerouteSignals } from '../signal/evolve.ts'
import { endMigration } from './migration.ts'
import { moveTermination } from './terminate.ts'
import type { Workspace } from './workspace.ts'

export const workspaceFolds: Folds = {
  workspace_created(run, body, entry) {
    if (body.content_proof !== undefined) run.contentProven = true
    const parent = body.parent === null ? null : knownWorkspace(run, body.parent)
    const own = body.workspace_id as WorkspaceId
    const others = (body.visibility_set as WorkspaceId[]).filter(id => id !== own)
    const workspace: Workspace = {
      id: own,
      role: body.role,
      delegate: body.delegate,
      originator: body.originator,
      authority: body.authority_set,
      mounts: body.mounts ?? NONE,
      task: (body.task_ref ?? null) as TaskId | null,
      timeout: body.timeout,
      group: body.group ?? null,
      livenessInterval: body.liveness_interval ?? null,
      created: ticksOf(entry),
      // A delegate creates directly beneath itself only (W-WS-05).
      creator: (entry.actor === 'system' ? run.root?.id : parent?.id) ?? null,
      agent: body.agent,
      parent,
      orphan: false,
      boundary: parent !== null && body.originator !== parent.originator,
      owner: body.owner,
      priority: body.priority,
      budget: body.budget,
      status: 'idle',
      since: ticksOf(entry),
      spent: newSpent(),
      meter: undefined,
      reported: undefined,
      counts: 0,
      lastActivity: ticksOf(entry),
      lastEntry: ticksOf(entry),
      remembered: undefined,
      pausedAt: undefined,
      migration: undefined,
      termination: undefined,
      ready: false,
      children: undefined,
      directive: (body.directive ?? null) as EnvelopeId | null,
      directiveDraft: undefined,
      inbox: undefined,
      incoming: undefined,
      context: (body.context ?? null) as ObjectId | null,
      memory: undefined,
      register: undefined,
      deliverable: undefined,
      visibility: others.length === 0 ? undefined : new Set(others),
      rights: undefined,
      waiting: undefined,
      known: undefined,
      conflicts: undefined,
      integration: undefined,
      integrated: undefined,
      merging: undefined,
      begun: 0,
      merges: undefined,
      files: undefined,
    }
    workspace.counts = countsFor(workspace)
    if (workspace.counts !== 0) run.counting = true
    run.workspaces.set(own, workspace)
    run.open++
    if (body.agent !== undefined) run.agents.set(body.agent, own)
    if (parent === null) run.root = workspace
    else {
      parent.children ??= []
      parent.children.push(workspace)
    }
    if (workspace.group !== null) {
      const members = run.groups.get(workspace.group)
      if (members) members.push(workspace)
      else run.groups.set(workspace.group, [workspace])
    }
    claimInitial(run, workspace)
  },

  workspace_state_changed(run, body, entry) {
    const workspace = knownWorkspace(run, body.workspace_id)
    const now = ticksOf(entry)
    passTime(workspace, now)
    moveTermination(workspace, body.to_state, now)
    workspace.status = body.to_state
    const paused = body.to_state === 'suspended' || body.to_state === 'migrating'
    workspace.remembered = paused ? (body.from_state as Workspace['remembered']) : undefined
    workspace.pausedAt = paused ? now : undefined
    if (body.to_state !== 'migrating') endMigration(run, workspace)
    if (isTerminal(body.to_state)) end(run, workspace)
  },
}

const NONE: readonly string[] = []

function end(run: Run, workspace: Workspace): void {
  run.open--
  closeMeter(run, workspace)
  if (workspace.agent !== undefined) run.agents.delete(workspace.agent)
  workspace.directiveDraft = undefined
  workspace.files = undefined
  run.approved.delete(workspace.id)
  for (const id of inboxOrder(workspace.inbox)) {
    const envelope = run.envelopes.get(id)
    if (envelope) envelope.record = undefined
  }
  dropSignals(run, workspace)
  dropEscalations(run, workspace)
}

export const topologyFolds: Folds = {
  visibility_granted(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    workspace.visibility ??= new Set()
    workspace.visibility.add(body.target as WorkspaceId)
  },
  priority_changed(run, body) {
    knownWorkspace(run, body.workspace_id).priority = body.new_priority
  },
  workspace_ownership_transferred(run, body) {
    knownWorkspace(run, body.workspace_id).owner = body.to_user
  },
  workspace_reparented(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    const old = knownWorkspace(run, body.old_parent)
    const parent = knownWorkspace(run, body.new_parent)
    workspace.parent = parent
    workspace.orphan = body.reason === 'parent_aborted_cross_ownership'
    old.children = old.children?.filter(child => child !== workspace)
    adopt(parent, workspace)
    rerouteSignals(run, workspace, old, parent)
    moveIntegration(workspace, old, parent)
    moveCharge(run, workspace, old)
  },
  batch_abort: (run, body) => void run.batchAborts.delete(body.group_id),
}

/** Siblings stand in order of creation, wherever they came from (W-WS-10). */
function adopt(parent: Workspace, child: Workspace): void {
  parent.children ??= []
  const place = parent.children.findIndex(each => each.created > child.created)
  parent.children.splice(place < 0 ? parent.children.length : place, 0, child)
}

/** W-INT-08: an open integration moves to the new parent, and waits there for the lock. */
function moveIntegration(source: Workspace, old: Workspace, parent: Workspace): void {
  if (old.merging === source) old.merging = undefined
  if (!source.integration) return
  source.integration = { ...source.integration, target: parent }
  parent.merging ??= source
}
