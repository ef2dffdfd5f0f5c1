// What is known of the workspaces and tasks of a run: the parts of its projection.
import type { CheckpointId, MachineCode, ObjectId, TaskId, Timestamp, TurnResult, WorkspaceId } from '@parley/core'
import type { BudgetDimension, IntegrationStrategy, TaskStatus, WorkspaceState } from '@parley/trail/events'
import type { Verdict } from '../merge/verdict.ts'
import type { WorkspaceFacts } from '../run/facts.ts'

/** Of `capability_denied` entries about files that a turn changed without being allowed to. */
export const FOLDER_CAPABILITY = 'folder:write'

/** What such a turn did: it changed a file, made a link that leads out of the project, or a pipe, socket or device. */
export const FOLDER_ACTIONS = ['write', 'link_outside', 'special_file'] as const
export type FolderAction = (typeof FOLDER_ACTIONS)[number]

export interface TurnRecord {
  readonly epoch: number
  readonly outcome: 'complete' | 'failed' | 'blocked' | 'kept'
  readonly wall_ms: number
  readonly output_bytes: number
  /** The fault of its disk that it did not fail of: what it wrote may be incomplete. */
  readonly machine?: MachineCode
  readonly tokens_in?: number
  readonly tokens_out?: number
  readonly tokens_cached?: number
  readonly usd?: number
  /** The code of what it failed of. */
  readonly error?: string
  /** The conversation of its agent, and whether it went on with one. */
  readonly session?: NonNullable<TurnResult['session']>
}

/** What was run in a folder before its first turn. */
export interface SetupRecord {
  readonly command: readonly string[]
  readonly wall_ms: number
}

/** What the payload of a checkpoint of work has besides what every payload has. */
export interface WorkPayload {
  /** Links of the work that lead out of the project. */
  readonly outside_links?: readonly string[]
  readonly commit?: string
  /** Of a workspace that judges another one's work. */
  readonly verdict?: Verdict
  readonly turn?: TurnRecord
  /** A checkpoint of a setup, which is no work. */
  readonly setup?: SetupRecord
}

export interface ProjectedCheckpoint {
  readonly id: CheckpointId
  readonly at: Timestamp
  /** Who made it: others may take the workspace over later. */
  readonly agent: string
  readonly final: boolean
  readonly text: string
  readonly files: readonly string[]
  readonly outsideLinks: readonly string[]
  readonly commit: string | undefined
  readonly verdict: Verdict | undefined
  readonly turn: TurnRecord | undefined
}

export interface ProjectedConflict {
  readonly id: string
  readonly resources: readonly string[]
  readonly description: string
  /** Who found it: the runtime, by the paths alone (W-INT-07), or the integrator. */
  readonly foundBy: 'runtime' | 'integrator'
  settled?: { readonly strategy: string; readonly resolution: string; readonly outcome: string }
}

/** Another agent in the place of a workspace's own (W-MIG-05). */
interface ProjectedMigration {
  readonly from: string
  readonly to: string
  readonly reason: string
  readonly at: Timestamp
  outcome: 'open' | 'completed' | 'failed'
}

/** A workspace that was asked to wind down (W-TERM-02). */
interface ProjectedTermination {
  readonly since: Timestamp
  /** Milliseconds. */
  readonly period: number
  readonly reason: string
  /** Milliseconds that it was paused meanwhile, which do not count. */
  paused: number
}

/** The newest integration of what a failed workspace left (W-INT-18). */
interface ProjectedSalvage {
  readonly seq: number
  readonly target: WorkspaceId
  readonly checkpoint: CheckpointId
  open: boolean
  result?: ObjectId | undefined
  /** `seq` of its end, if it was merged. */
  merged?: number | undefined
  aborted?: string | undefined
  readonly conflicts: ProjectedConflict[]
}

export interface ProjectedWorkspace {
  readonly id: WorkspaceId
  /** As its context has them, with the agent that it has now. */
  facts: WorkspaceFacts | undefined
  /** Who integrates it; it changes if that one fails and this one belongs to somebody else. */
  parent: WorkspaceId | null
  /** Whom its questions go to. */
  owner: string
  readonly seq: number
  readonly created: Timestamp
  state: WorkspaceState
  /** Since when it is in that state. */
  changed: Timestamp
  ended?: Timestamp | undefined
  /** Why it ended, or waits: the code of the last change, what its agent said, and who decided it. */
  trigger?: string | undefined
  reason?: string | undefined
  decidedBy?: string | undefined
  readonly checkpoints: ProjectedCheckpoint[]
  /** What set up its folder, if anything did. */
  setup?: SetupRecord
  /** A turn was begun since the last checkpoint that says what one came to. */
  turnOpen: boolean
  /** Files that it changed without being allowed to, and what else was not taken over. */
  readonly refused: Record<FolderAction, string[]>
  /** Its integration: open, or how it ended. */
  integration?: { readonly strategy: IntegrationStrategy; readonly open: boolean; readonly result?: ObjectId }
  /** `seq` of the end of its integration: merges are applied in this order. */
  merged?: number | undefined
  readonly conflicts: ProjectedConflict[]
  readonly migrations: ProjectedMigration[]
  /** While it runs. */
  termination?: ProjectedTermination | undefined
  salvage?: ProjectedSalvage | undefined
  exceeded?: { readonly dimension: BudgetDimension; readonly consumed: number; readonly limit: number } | undefined
  /** What the run measured of it; known while the run is at work. */
  metered?: { readonly tokens: number; readonly cost: number }
}

export interface ProjectedTask {
  readonly id: TaskId
  readonly name: string
  /** What a person changed at its gate. */
  changed: { readonly title?: string; readonly priority?: string }
  readonly seq: number
  readonly dependsOn: readonly TaskId[]
  /** The task that it is part of. */
  readonly parent: TaskId | null
  status: TaskStatus
  readonly attempts: WorkspaceId[]
  decidedBy?: string | undefined
}
