// The base roles and the base vocabulary (W-ROLE-03, W-ROLE-05), which no taxonomy can alter.
import type { SignalType } from '@parley/trail/events'

export const BASE_ROLES = ['coordinator', 'worker', 'observer'] as const
export type BaseRole = (typeof BASE_ROLES)[number]

/** The bases that a derived role may extend; "worker family" and "observer family" are these and what extends them. */
export const EXTENSIBLE_ROLES = ['worker', 'observer'] as const

export const BASE_ENVELOPE_TYPES = ['directive', 'feedback', 'query'] as const
type BaseEnvelopeType = (typeof BASE_ENVELOPE_TYPES)[number]

export const BASE_CHECKPOINT_TYPES = ['artifact', 'observation'] as const
type BaseCheckpointType = (typeof BASE_CHECKPOINT_TYPES)[number]

interface BaseCapabilities {
  /** The other side of every Receive entry: the coordinator's `query` from a worker is the worker's `query` to it. */
  readonly send: readonly { readonly type: BaseEnvelopeType; readonly to: BaseRole }[]
  readonly emit: readonly SignalType[]
  readonly create: readonly BaseCheckpointType[]
  readonly read: readonly string[]
  /** Access.modify is "own files" (W-WS-22). */
  readonly writesMemory: boolean
}

/** W-ROLE-03 */
export const BASE_CAPABILITIES: { readonly [Role in BaseRole]: BaseCapabilities } = {
  coordinator: {
    send: [
      { type: 'directive', to: 'worker' },
      { type: 'feedback', to: 'worker' },
    ],
    emit: ['ready', 'started', 'failed', 'integrate', 'acknowledged', 'suspend', 'migrate'],
    create: [],
    read: ['all_workspaces', 'global_trail'],
    writesMemory: false,
  },
  worker: {
    send: [{ type: 'query', to: 'coordinator' }],
    emit: ['ready', 'started', 'blocked', 'checkpoint', 'complete', 'failed', 'escalation'],
    create: ['artifact'],
    read: ['own_workspace', 'own_directive', 'own_local_trail', 'granted_workspaces'],
    writesMemory: true,
  },
  observer: {
    send: [],
    emit: ['ready', 'started', 'complete', 'failed', 'escalation'],
    create: ['observation'],
    read: ['designated_workspaces', 'configured_trail'],
    writesMemory: false,
  },
}

/** How far an operation of a delegate reaches; beyond that it is refused with `permission_denied`. */
export type DelegateReach = 'no' | 'children' | 'descendants' | 'subtree' | 'own_subtasks'

export interface Operation {
  readonly root: boolean
  /** What an active delegate has of it; from level 2 on, where delegates begin. */
  readonly delegate: DelegateReach
  readonly level: 1 | 2 | 3
}

const table = {
  create_workspace: op(true, 'children', 1),
  assign_role: op(true, 'children', 1),
  grant_delegation: op(true, 'no', 2),
  abort: op(true, 'descendants', 1),
  suspend: op(true, 'descendants', 1),
  resume: op(true, 'descendants', 1),
  migrate: op(true, 'descendants', 3),
  graceful_termination: op(true, 'descendants', 3),
  raise_budget: op(true, 'descendants', 2),
  change_priority: op(true, 'descendants', 2),
  batch_abort: op(true, 'no', 2),
  batch_priority: op(true, 'no', 2),
  grant_visibility: op(true, 'descendants', 2),
  create_right: op(true, 'subtree', 1),
  revoke_right: op(true, 'no', 1),
  transfer_ownership: op(true, 'no', 2),
  task: op(true, 'own_subtasks', 1),
  integrate: op(true, 'children', 1),
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

function op(root: boolean, delegate: DelegateReach, level: Operation['level']): Operation {
  return { root, delegate, level }
}
