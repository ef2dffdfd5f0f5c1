// The workspace record (W-WS-01) with its nine components (W-WS-02). What most workspaces never use is absent until it
// is first used.
import type { CheckpointId, EnvelopeId, ObjectId, TaskId, Ticks, WorkspaceId } from '@parley/core'
import {
  type Budget,
  type EventBody,
  isTerminal,
  type WorkspacePriority,
  type WorkspaceState,
} from '@parley/trail/events'
import type { Meter, Spent } from '../budget/meter.ts'
import type { Reported } from '../checkpoint/discrepancy.ts'
import type { Inbox } from '../envelope/envelope.ts'
import type { Conflict } from '../integration/conflict-record.ts'
import type { FileChange, Integration, Merge } from '../integration/integration.ts'
import type { PortRight } from '../port-right/port-right.ts'
import type { KnownSignals, WaitingSignal } from '../signal/signal.ts'
import type { Migration } from './migration.ts'
import type { Termination } from './terminate.ts'

export interface Authority {
  readonly resources: readonly string[]
  readonly actions: readonly string[]
}

/** The directive as the creator handed it in, until it is submitted (W-WS-07, A-13). */
export interface DirectiveDraft {
  readonly format: string
  readonly content: string
  readonly attachments: readonly unknown[]
  readonly dispatch: boolean
}

export interface Workspace {
  readonly id: WorkspaceId
  readonly role: string
  readonly delegate: boolean
  readonly originator: string
  readonly authority: Authority
  readonly mounts: readonly string[]
  readonly task: TaskId | null
  readonly timeout: number | null
  readonly group: string | null
  readonly livenessInterval: number | null
  readonly created: Ticks
  /** The workspace whose agent asked for it: its parent, or the root further above. Null for the root. */
  readonly creator: WorkspaceId | null

  /** Changes by migration only (W-SEC-03). Undefined in runs that began without identities. */
  agent: string | undefined
  /** Null for the root only. It changes when the parent fails and this one belongs to somebody else (W-WS-13). */
  parent: Workspace | null
  orphan: boolean
  /** It was created for a human below what another originator began; reparenting never makes one (W-TOPO-CAUS-04). */
  readonly boundary: boolean
  owner: string
  priority: WorkspacePriority
  /** Limits as they are now (W-BUDGET-06). */
  budget: Budget | undefined
  status: WorkspaceState
  /** Since when it is in that state, and the time that it spent in states before (W-BUDGET-01, -03). */
  since: Ticks
  readonly spent: Spent
  /** 6 Resource meter, beside the clocks; absent until something was measured. */
  meter: Meter | undefined
  /** Where the meter stood at its newest checkpoint (W-CP-10). */
  reported: Reported | undefined
  counts: number
  /** The newest entry filed under it that counts as activity, and the newest of all (W-BUDGET-08). */
  lastActivity: Ticks
  lastEntry: Ticks
  /** Where a suspension or migration returns to (W-LIFE-11), and since when it lasts. */
  remembered: EventBody<'suspension_resumed'>['resumed_to_state'] | undefined
  pausedAt: Ticks | undefined
  /** While another agent is being prepared for it (W-MIG-05). */
  migration: Migration | undefined
  /** It was asked to wind down (W-TERM-02). */
  termination: Termination | undefined
  ready: boolean
  children: Workspace[] | undefined

  // 1 Directive
  readonly directive: EnvelopeId | null
  directiveDraft: DirectiveDraft | undefined
  // 2 Inbox, and what is accepted for it but not delivered yet, by sender: the channels that end here (W-ENV-10)
  inbox: Inbox | undefined
  incoming: Map<WorkspaceId, EnvelopeId[]> | undefined
  // 3 Context
  readonly context: ObjectId | null
  // 4 Working memory: the newest object of each key
  memory: Map<string, ObjectId> | undefined
  // 5 Checkpoint register: the chain in order, and its newest final member (W-CP-07, -08)
  register: CheckpointId[] | undefined
  deliverable: CheckpointId | undefined
  // 8 Visibility set beyond itself
  visibility: Set<WorkspaceId> | undefined

  rights: Map<WorkspaceId, PortRight[]> | undefined
  /** Its signals that wait for their receiver, in order of emission (W-SIG-06). */
  waiting: WaitingSignal[] | undefined
  /** Signals that reached it (W-SIG-09). */
  known: KnownSignals | undefined
  /** Its conflicts, settled ones among them (W-INT-13). */
  conflicts: Conflict[] | undefined
  integration: Integration | undefined
  integrated: Integration | undefined
  /** As a target: the source that holds the integration lock, and what was merged, in order (W-INT-08). */
  merging: Workspace | undefined
  /** How many were begun (W-INT-09). */
  begun: number
  merges: Merge[] | undefined
  /** The files that they changed, with the newest integration that did (W-INT-07). */
  files: Map<string, FileChange> | undefined
}

export function ended(workspace: Workspace): boolean {
  return isTerminal(workspace.status)
}

/** The bound agent, or the default one of a workspace without an identity on record. */
export function agentOf(workspace: Pick<Workspace, 'agent' | 'id'>): string {
  return workspace.agent ?? `agent:${workspace.id}`
}

export function isRoot(workspace: Workspace): boolean {
  return workspace.parent === null
}

export function ancestorsOf(workspace: Workspace): readonly Workspace[] {
  const found: Workspace[] = []
  for (let each = workspace.parent; each !== null; each = each.parent) found.push(each)
  return found
}

export function isAbove(ancestor: Workspace, workspace: Workspace): boolean {
  for (let each = workspace.parent; each !== null; each = each.parent) if (each === ancestor) return true
  return false
}

/** Itself, what lies below, what it was given; the root sees all (W-WS-15, W-TOPO-VIS-01). */
export function sees(reader: Workspace, target: Workspace): boolean {
  return reader === target || isRoot(reader) || isAbove(reader, target) || (reader.visibility?.has(target.id) ?? false)
}

export function childrenOf(workspace: Workspace): readonly Workspace[] {
  return workspace.children ?? []
}

export function openChildren(workspace: Workspace): readonly Workspace[] {
  return childrenOf(workspace).filter(child => !ended(child))
}

/** A workspace and everything below it, parents first, siblings in order of creation. */
export function* subtree(workspace: Workspace): Generator<Workspace> {
  yield workspace
  for (const child of childrenOf(workspace)) yield* subtree(child)
}
