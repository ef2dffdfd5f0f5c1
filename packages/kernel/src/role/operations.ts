// The protocol operations and who has them: the table of W-ROLE-04. Workers and observers have none. A name here is
// the name in `operation:<name>`, the capability of a refusal (W-ROLE-13).

import type { Capability } from '@parley/trail/events'

/** How far an operation of a delegate reaches; beyond that it is refused with `permission_denied`. */
export const DELEGATE_REACHES = ['no', 'children', 'descendants', 'subtree', 'own_subtasks'] as const
export type DelegateReach = (typeof DELEGATE_REACHES)[number]

export interface Operation {
  readonly root: boolean
  /** What an active delegate has of it; from level 2 on, where delegates begin. */
  readonly delegate: DelegateReach
  /** The capabilities of which a user needs one to ask for it; empty if no request of a user is defined. */
  readonly user: readonly Capability[]
  /** The conformance level that brings it. */
  readonly level: 1 | 2 | 3
}

const table = {
  create_workspace: op(true, 'children', 1, ['create_workspace', 'create_workspace_any']),
  assign_role: op(true, 'children', 1),
  grant_delegation: op(true, 'no', 2, ['grant_delegation']),
  abort: op(true, 'descendants', 1, ['abort_own', 'abort_any']),
  suspend: op(true, 'descendants', 1, ['suspend_own', 'suspend_any']),
  resume: op(true, 'descendants', 1, ['suspend_own', 'suspend_any']),
  migrate: op(true, 'descendants', 3),
  graceful_termination: op(true, 'descendants', 3),
  raise_budget: op(true, 'descendants', 2, ['modify_budget', 'modify_budget_any']),
  change_priority: op(true, 'descendants', 2),
  batch_abort: op(true, 'no', 2),
  batch_priority: op(true, 'no', 2),
  grant_visibility: op(true, 'descendants', 2),
  create_right: op(true, 'subtree', 1),
  revoke_right: op(true, 'no', 1),
  transfer_ownership: op(true, 'no', 2, ['transfer_ownership']),
  task: op(true, 'own_subtasks', 1),
  integrate: op(true, 'children', 1, ['approve_integration', 'approve_integration_any']),
  configure_highway: op(true, 'no', 2),
  // Delegates have the signal `escalation` for that.
  consult: op(true, 'no', 2),
  // Not in the table, but refusals name them: an orphan's one new parent (W-WS-13), and what nobody has (W-WS-16).
  reparent: op(true, 'no', 2),
  revoke_visibility: op(false, 'no', 2),
}

export type OperationName = keyof typeof table
export const OPERATIONS: { readonly [Name in OperationName]: Operation } = table
export const OPERATION_NAMES = Object.keys(table) as readonly OperationName[]

function op(
  root: boolean,
  delegate: DelegateReach,
  level: Operation['level'],
  user: readonly Capability[] = [],
): Operation {
  return { root, delegate, level, user }
}
