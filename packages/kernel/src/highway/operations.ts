// What users may do to workspaces through the highway: abort, suspend, resume, raise a budget, transfer (W-ROLE-04,
// last column). Nothing of it is gated (W-HWY-03).
import { assertNever, ok, type Result } from '@parley/core'
import type { Capability } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { decideRaiseBudget } from '../budget/decide.ts'
import type { UserCommand } from '../command.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { invalidState, notFound } from '../refusal.ts'
import { workspaceOf } from '../run/run.ts'
import { authorizeUser, owns } from '../user/authorize.ts'
import { byHuman, writeFailure } from '../workspace/failure.ts'
import { byUser, resume, suspend } from '../workspace/suspension.ts'
import { decideTransferOwnership } from '../workspace/topology.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'

type UserOperation = Extract<UserCommand, { readonly type: `user_${string}` }>

interface Rule {
  readonly action: string
  readonly own?: Capability
  readonly any: Capability
}

const RULES: { readonly [T in UserOperation['type']]: Rule } = {
  user_abort: { action: 'abort', own: 'abort_own', any: 'abort_any' },
  user_suspend: { action: 'suspend', own: 'suspend_own', any: 'suspend_any' },
  user_resume: { action: 'resume', own: 'suspend_own', any: 'suspend_any' },
  user_raise_budget: { action: 'raise_budget', own: 'modify_budget', any: 'modify_budget_any' },
  user_transfer_ownership: { action: 'transfer_ownership', any: 'transfer_ownership' },
}

export function decideUserOperation(batch: Batch, command: UserOperation): Result<unknown> {
  const { user } = command
  const target = operand(batch, user, RULES[command.type], command.workspace)
  if (!target.ok) return target
  switch (command.type) {
    case 'user_abort':
      return abort(batch, user, target.value)
    case 'user_suspend':
      return suspend(batch, target.value, command.reason, byUser(batch, user))
    case 'user_resume':
      return resume(batch, target.value, byUser(batch, user))
    case 'user_raise_budget':
      return decideRaiseBudget(batch, undefined, user, target.value.id, command.limits)
    case 'user_transfer_ownership':
      return decideTransferOwnership(batch, undefined, user, command)
    default:
      return assertNever(command)
  }
}

function operand(batch: Batch, user: string, rule: Rule, id: unknown): Result<Workspace> {
  const target = typeof id === 'string' ? workspaceOf(batch.run, id) : undefined
  const request = { ...rule, owned: !target || owns(user, target), ...(target && { target: target.id }) }
  const denied = authorizeUser(batch, user, request)
  if (denied) return denied
  return target ? ok(target) : notFound('workspace', id)
}

/** W-LIFE-10: the state change is the person's, the `failed` signal the runtime's. */
function abort(batch: Batch, user: string, workspace: Workspace): Result<void> {
  if (isRoot(workspace)) return invalidState('The root cannot be aborted; stop the run instead.')
  if (!STATE_RULES[workspace.status].aborts) return invalidState(`${workspace.id} is ${workspace.status} already.`)
  writeFailure(batch, workspace, byHuman(user))
  return ok(undefined)
}
