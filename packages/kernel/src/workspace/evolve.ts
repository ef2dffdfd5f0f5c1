// What workspace entries do to the state.
import {
  type CheckpointId,
  type EnvelopeId,
  invariant,
  type ObjectId,
  parseTimestamp,
  type TaskId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import { isTerminal, type ResumableState } from '@parley/trail/events'
import { inboxOrder } from '../envelope/inbox.ts'
import type { Folds } from '../fold.ts'
import { claimInitial } from '../objects.ts'
import { knownWorkspace, type Run } from '../run/run.ts'
import type { Workspace } from './workspace.ts'

export const workspaceFolds: Folds = {
  workspace_created(run, body, entry) {
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
      agent: body.agent,
      created: ticksOf(entry.timestamp),
      parent,
      orphan: false,
      owner: body.owner,
      priority: body.priority,
      budget: body.budget,
      status: 'idle',
      since: ticksOf(entry.timestamp),
      spent: { active: 0, blocked: 0, conflicted: 0 },
      meter: undefined,
      lastActivity: ticksOf(entry.timestamp),
      lastEntry: ticksOf(entry.timestamp),
      remembered: undefined,
      pausedAt: undefined,
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
      merging: undefined,
      merges: undefined,
    }
    run.workspaces.set(own, workspace)
    run.open++
    if (parent === null) run.root = workspace
    else {
      parent.children ??= []
      parent.children.push(workspace)
    }
    claimInitial(run, workspace)
  },

  workspace_state_changed(run, body, entry) {
    const workspace = knownWorkspace(run, body.workspace_id)
    workspace.status = body.to_state
    const paused = body.to_state === 'suspended' || body.to_state === 'migrating'
    workspace.remembered = paused ? (body.from_state as ResumableState) : undefined
    workspace.pausedAt = paused ? ticksOf(entry.timestamp) : undefined
    if (isTerminal(body.to_state)) end(run, workspace)
  },

  integration_started(run, body) {
    const source = knownWorkspace(run, body.source)
    const target = knownWorkspace(run, body.target)
    source.integration = {
      target,
      strategy: body.strategy,
      checkpoint: body.checkpoint_ref as CheckpointId | null,
    }
    target.merging = source
  },
  integration_completed(run, body) {
    const source = knownWorkspace(run, body.source)
    const target = knownWorkspace(run, body.target)
    const checkpoint = source.integration?.checkpoint ?? null
    target.merges ??= []
    target.merges.push({ source: source.id, checkpoint, strategy: body.strategy })
    release(source, target)
  },
  integration_aborted(run, body) {
    release(knownWorkspace(run, body.source), knownWorkspace(run, body.target))
  },
}

const NONE: readonly string[] = []

function ticksOf(timestamp: string): Ticks {
  const ticks = parseTimestamp(timestamp)
  invariant(ticks !== undefined, 'a recorded timestamp is well-formed')
  return ticks
}

function release(source: Workspace, target: Workspace): void {
  source.integration = undefined
  target.merging = undefined
}

/** A terminal workspace is frozen; what memory it alone needed is given back. */
function end(run: Run, workspace: Workspace): void {
  run.open--
  workspace.directiveDraft = undefined
  for (const id of inboxOrder(workspace.inbox)) {
    const envelope = run.envelopes.get(id)
    if (envelope) envelope.record = undefined
  }
  // W-SIG-11: what waited for it is never delivered.
  for (const emitter of run.signalling) {
    emitter.waiting = emitter.waiting?.filter(signal => signal.to !== workspace.id)
    if (!emitter.waiting?.length) {
      emitter.waiting = undefined
      run.signalling.delete(emitter)
    }
  }
}
