// Who may do what to whom: the table of W-ROLE-04 applied to a caller and a target.
import { ok, type Result } from '@parley/core'
import type { Batch, Denial } from '../batch.ts'
import { notFound, type Refusal, refusal } from '../refusal.ts'
import { OPERATIONS, type OperationName } from '../role/base.ts'
import { workspaceOf } from '../run/run.ts'
import { isAbove, isRoot, type Workspace } from './workspace.ts'

export function authorize(
  batch: Batch,
  caller: Workspace,
  operation: OperationName,
  target?: Workspace,
): Refusal | undefined {
  const rule = OPERATIONS[operation]
  if (isRoot(caller)) return rule.root ? undefined : denied(batch, caller, operation, target)
  if (!caller.delegate || rule.delegate === 'no' || (target && !reaches(rule.delegate, caller, target)))
    return denied(batch, caller, operation, target)
  if (caller.status === 'active') return undefined
  return denied(batch, caller, operation, target, {
    code: 'invalid_state',
    message: `The delegate ${caller.id} is ${caller.status}; it acts only while it is active.`,
  })
}

export function operand(batch: Batch, caller: Workspace, operation: OperationName, id: unknown): Result<Workspace> {
  const target = typeof id === 'string' ? workspaceOf(batch.run, id) : undefined
  return authorize(batch, caller, operation, target) ?? (target ? ok(target) : notFound('workspace', id))
}

export function existing(batch: Batch, id: unknown): Result<Workspace> {
  const workspace = typeof id === 'string' ? workspaceOf(batch.run, id) : undefined
  return workspace ? ok(workspace) : notFound('workspace', id)
}

/** W-MIG-04: undefined where the level that this runtime declares has the operation. */
export function offered(batch: Batch, operation: OperationName): Refusal | undefined {
  const { level } = OPERATIONS[operation]
  if (level <= (batch.context.level ?? 3)) return undefined
  return refusal('unsupported', `The operation ${operation} belongs to conformance level ${level}.`, { level })
}

/** `instead`: the caller has the operation and may not use it now, which is a denial too (§5.1). */
function denied(
  batch: Batch,
  caller: Workspace,
  operation: OperationName,
  target?: Workspace,
  instead?: Pick<Denial, 'code' | 'message'>,
): Refusal {
  return batch.denyOperation(caller, operation, {
    ...(target && { target: target.id }),
    message: `The ${caller.role} in ${caller.id} may not do this: ${operation}${target ? ` on ${target.id}` : ''}.`,
    ...instead,
  })
}

function reaches(reach: string, caller: Workspace, target: Workspace): boolean {
  if (reach === 'children') return target.parent === caller
  return isAbove(caller, target) || (reach === 'subtree' && target === caller)
}
