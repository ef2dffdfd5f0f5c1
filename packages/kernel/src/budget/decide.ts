// Commands on budgets: what was used (W-BUDGET-03), and higher limits (W-BUDGET-06).
import { compile, ok, type Result, type WorkspaceId } from '@parley/core'
import { Budget } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { invalidArgument, invalidState, notFound, type Refusal } from '../refusal.ts'
import { workspaceOf } from '../run/run.ts'
import { existing, operand } from '../workspace/operation.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import type { UsageRecord } from './charge.ts'
import { limitOf, limitsOf } from './meter.ts'
import { tooHigh } from './remaining.ts'

export interface Usage {
  readonly workspace: WorkspaceId
  readonly tokens?: number
  readonly cost?: number
  readonly context?: number
}

/** Measured by the runtime, not claimed by an agent; stored, so that meters survive a restart (W-REC-25). */
export function decideMeter(batch: Batch, { workspace: id, tokens, cost, context }: Usage): Result<void> {
  const workspace = workspaceOf(batch.run, id)
  if (!workspace) return notFound('workspace', id)
  for (const amount of [tokens, cost, context])
    if (amount !== undefined && !(Number.isFinite(amount) && amount >= 0))
      return invalidArgument('What was used is a number of at least 0.')
  // W-WS-08: its meter is frozen with it.
  if (ended(workspace)) return invalidState(`${id} is ${workspace.status}; its meter stands still.`)
  const usage: UsageRecord = {
    workspace: id,
    ...(tokens && { tokens }),
    ...(cost && { cost }),
    ...(context !== undefined && context !== (workspace.meter?.context ?? 0) && { context }),
  }
  if (Object.keys(usage).length > 1) batch.store('usage', batch.newId('obj'), usage)
  return ok(undefined)
}

const validator = compile(Budget, { name: 'limits' })

/** Without a `caller`, `actor` is a user who holds the capability. All limits are raised, or none. */
export function decideRaiseBudget(
  batch: Batch,
  caller: Workspace | undefined,
  actor: string,
  id: unknown,
  limits: unknown,
): Result<void> {
  const target = caller ? operand(batch, caller, 'raise_budget', id) : existing(batch, id)
  if (!target.ok) return target
  const workspace = target.value
  const checked = validator.check(limits)
  if (!checked.ok) return invalidArgument(checked.error.message)
  const raised = limitsOf(checked.value)
  if (raised.length === 0) return invalidArgument('Name at least one limit that is to be raised.')
  if (!STATE_RULES[workspace.status].raisesBudget)
    return invalidState(`${workspace.id} is ${workspace.status}; its budget stays as it is.`)
  for (const [dimension, limit] of raised) {
    const old = limitOf(workspace.budget, dimension)
    if (old === undefined)
      return invalidArgument(`${workspace.id} has no ${dimension}; one that is added later would lower it.`)
    if (limit <= old) return invalidArgument(`The ${dimension} of ${workspace.id} is ${old}; it can only be raised.`)
  }
  for (const [dimension, limit] of raised) {
    const increase = limit - limitOf(workspace.budget, dimension)!
    const problem = tooHigh(workspace, dimension, increase, batch.context.now)
    if (problem !== undefined) return denied(batch, caller, actor, workspace, problem)
  }
  for (const [dimension, limit] of raised) {
    batch.add('budget_modified', workspace, actor, {
      workspace_id: workspace.id,
      budget_dimension: dimension,
      old_limit: limitOf(workspace.budget, dimension)!,
      new_limit: limit,
    })
  }
  return ok(undefined)
}

/** W-WS-11: a raise is contained like a creation. */
function denied(
  batch: Batch,
  caller: Workspace | undefined,
  actor: string,
  target: Workspace,
  message: string,
): Refusal {
  const denial = {
    action: 'raise_budget',
    target: target.id,
    reason: 'containment_violation',
    message,
    code: 'containment',
  } as const
  return caller
    ? batch.deny(caller, { ...denial, capability: 'operation:raise_budget' })
    : batch.denyUser(actor, { ...denial, capability: 'modify_budget' })
}
