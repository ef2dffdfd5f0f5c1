// Replacing an agent (W-MIG-04 to -07): the request freezes the workspace, the runtime prepares the new agent and then
// asks for the swap, so that it is never without an agent.
import { durationMs, invariant, ok, type Result, type WorkspaceId } from '@parley/core'
import { actorOf, type Batch, clip, initiatorOf } from '../batch.ts'
import { atWork, isIdentity, NO_IDENTITY } from '../integrity/identity.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { BY_PROTOCOL, writeTransition } from '../lifecycle/transition.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { writeDelivered, writeEmitted, writeReleased } from '../signal/signal.ts'
import { byProtocol, writeFailure } from './failure.ts'
import { offered, operand } from './operation.ts'
import { agentOf, isRoot, type Workspace } from './workspace.ts'

export interface MigrateRequest {
  readonly workspace: unknown
  readonly newAgent?: unknown
  readonly reason: unknown
}

/** W-REC-24: the preparation was lost with the runtime that had it made. */
const RUNTIME_RESTART = 'runtime_restart'

/** Step 1: from here on the workspace is frozen, and its mail is held. */
export function decideMigrate(batch: Batch, caller: Workspace, request: MigrateRequest): Result<void> {
  const target = operand(batch, caller, 'migrate', request.workspace)
  if (!target.ok) return target
  const workspace = target.value
  if (isRoot(workspace)) return invalidState('The root cannot be migrated.')
  const missing = offered(batch, 'migrate')
  if (missing) return missing
  if (!STATE_RULES[workspace.status].migrates)
    return invalidState(`${workspace.id} is ${workspace.status}: only active or blocked workspaces are migrated.`)
  const { newAgent, reason } = request
  if (!isText(reason)) return invalidArgument('A migration needs a reason.')
  if (!isIdentity(newAgent)) return invalidArgument(`A migration needs the new agent. ${NO_IDENTITY}`)
  if (newAgent === agentOf(workspace))
    return invalidArgument(`${newAgent} is the agent of ${workspace.id} already; name another one.`)
  const taken = atWork(batch, newAgent, 'agent_migration', caller.id)
  if (taken) return taken
  const by = { actor: actorOf(caller), initiator: initiatorOf(caller) }
  const signal = writeEmitted(batch, caller, { type: 'migrate', ref: workspace.id, actor: by.actor })
  batch.add('migration_started', workspace, by.actor, {
    workspace_id: workspace.id,
    old_agent: agentOf(workspace),
    new_agent: newAgent,
    reason: clip(reason, kernelLimits.reasonLength),
  })
  writeTransition(batch, workspace, { to: 'migrating', trigger: 'migration_initiated', ...by })
  writeDelivered(batch, signal)
  return ok(undefined)
}

/** Steps 4 and 5: the new agent is ready. Held mail follows by itself, since its channel is open again (W-ENV-12). */
export function decideCompleteMigration(batch: Batch, id: WorkspaceId, agent: string): Result<void> {
  const workspace = migrating(batch, id, agent)
  if (!workspace.ok) return workspace
  const { pausedAt } = workspace.value
  invariant(pausedAt !== undefined, 'a migrating workspace knows since when it is')
  batch.add('migration_completed', workspace.value, 'protocol', {
    workspace_id: id,
    old_agent: agentOf(workspace.value),
    new_agent: agent,
    duration: Math.max(0, durationMs(pausedAt, batch.context.now)),
  })
  writeReturn(batch, workspace.value)
  return ok(undefined)
}

/** W-MIG-06: the new agent could not be prepared. The old one is not restored. */
export function decideFailMigration(batch: Batch, id: WorkspaceId, agent: string, error: string): Result<void> {
  const workspace = migrating(batch, id, agent)
  if (!workspace.ok) return workspace
  writeError(batch, workspace.value, error)
  return ok(undefined)
}

function migrating(batch: Batch, id: WorkspaceId, agent: string): Result<Workspace> {
  const workspace = batch.run.workspaces.get(id)
  if (workspace?.status === 'migrating' && workspace.migration?.agent === agent) return ok(workspace)
  return invalidState(`${id} does not wait for ${agent} any more.`)
}

/** W-LIFE-11 */
function writeReturn(batch: Batch, workspace: Workspace): void {
  const { remembered } = workspace
  invariant(remembered !== undefined, 'a migrating workspace remembers its state')
  writeTransition(batch, workspace, { to: remembered, trigger: 'migration_succeeded', ...BY_PROTOCOL })
  writeReleased(batch, workspace, remembered)
}

function writeError(batch: Batch, workspace: Workspace, error: string): void {
  writeFailure(batch, workspace, { ...byProtocol('migration_error'), error: error || 'unknown' })
}

/** W-REC-24: fails an unfinished migration, or adds the transition of a finished one; may need a second call. */
export function writeInterrupted(batch: Batch, workspace: Workspace): void {
  const { migration } = workspace
  if (migration && STATE_RULES[workspace.status].migrates)
    writeTransition(batch, workspace, { to: 'migrating', trigger: 'migration_initiated', ...BY_PROTOCOL })
  if (workspace.status !== 'migrating') return
  if (migration?.over === 'completed') writeReturn(batch, workspace)
  else writeError(batch, workspace, RUNTIME_RESTART)
}
