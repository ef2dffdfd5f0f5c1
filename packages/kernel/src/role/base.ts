// The base roles and the base vocabulary (W-ROLE-03, W-ROLE-05), which no taxonomy can alter.

import type { SignalType } from '@parley/trail/events'

export const BASE_ROLES = ['coordinator', 'worker', 'observer'] as const
export type BaseRole = (typeof BASE_ROLES)[number]

/** The bases that a derived role may extend; "worker family" and "observer family" are these and what extends them. */
export const EXTENSIBLE_ROLES = ['worker', 'observer'] as const
export type ExtensibleRole = (typeof EXTENSIBLE_ROLES)[number]

export const BASE_ENVELOPE_TYPES = ['directive', 'feedback', 'query'] as const
export type BaseEnvelopeType = (typeof BASE_ENVELOPE_TYPES)[number]

export const BASE_CHECKPOINT_TYPES = ['artifact', 'observation'] as const
export type BaseCheckpointType = (typeof BASE_CHECKPOINT_TYPES)[number]

export interface BaseCapabilities {
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
