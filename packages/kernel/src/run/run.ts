// The state of one run, folded from its records. `evolve` alone changes it; `decide` only reads.
import {
  type CheckpointId,
  type EnvelopeId,
  type GateId,
  type GraphId,
  invariant,
  parseTimestamp,
  type RightId,
  type RunId,
  type SignalId,
  type TaskId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import type { Envelope } from '../envelope/envelope.ts'
import { HIGHWAY_OFF, type Highway } from '../highway/config.ts'
import type { Escalation } from '../highway/escalation.ts'
import type { Gate, Guard } from '../highway/gate.ts'
import type { PausedIntegration, Salvage } from '../integration/integration.ts'
import { kernelDefaults } from '../limits.ts'
import type { PortRight } from '../port-right/port-right.ts'
import type { Quarantined } from '../recovery/quarantine.ts'
import type { Graph, Task } from '../task/task.ts'
import { baseVocabulary, type Vocabulary } from '../taxonomy/taxonomy.ts'
import type { User } from '../user/user.ts'
import type { BatchAbort } from '../workspace/batch-abort.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'

export interface Run {
  readonly id: RunId
  seq: number
  objects: number
  root: Workspace | undefined
  vocabulary: Vocabulary
  readonly workspaces: Map<WorkspaceId, Workspace>
  open: number
  /** Where each agent is at work now (W-SEC-03). */
  readonly agents: Map<string, WorkspaceId>
  readonly envelopes: Map<EnvelopeId, Envelope>
  undelivered: number
  readonly rights: Map<RightId, PortRight>
  readonly checkpoints: Map<CheckpointId, Checkpoint>
  /** Which checkpoint an artifact belongs to (W-CP-11). */
  readonly artifacts: Map<string, CheckpointId>
  readonly graphs: Map<GraphId, Graph>
  readonly tasks: Map<TaskId, Task>
  /** What humans may see, stop and say in this run (W-HWY-01). */
  highway: Highway
  /** Gates that wait, in order of their opening (W-HWY-06). */
  readonly gates: Map<GateId, Gate>
  /** Gates that a fallback ended or handed to the coordinator, by type and subject (W-HWY-11). */
  readonly guards: Map<string, Guard>
  /** Integrations that were approved while another one held their target, by source, in order of approval. */
  readonly approved: Map<WorkspaceId, PausedIntegration>
  /** The newest salvage of each failed workspace that one was begun of, open or ended (W-INT-18). */
  readonly salvages: Map<WorkspaceId, Salvage>
  readonly escalations: Map<SignalId, Escalation>
  /** Whether this is the house run; set before its root exists. */
  house: boolean
  readonly users: Map<string, User>
  /** Workspaces that crossed a mark of their budget and were not dealt with yet (W-BUDGET-04, -05). */
  readonly marked: Set<Workspace>
  /** Percent of a limit at which its warning is written (W-BUDGET-04). */
  budgetWarning: number
  /** Whether use is on record as the runtime measured it; an older run has only what its agents reported (W-REC-15). */
  metered: boolean
  /** Every object from here on carries a proof (W-SEC-16), though the run began without. */
  contentProven: boolean
  /** Amounts that the host has ever reported: it measures them (W-CP-10). */
  readonly measures: { tokens: boolean; cost: boolean }
  counting: boolean
  /** Members of each group, in order of creation (W-WS-19). */
  readonly groups: Map<string, Workspace[]>
  readonly batchAborts: Map<string, BatchAbort>
  /** Entries that replay left out (W-REC-13), by id. */
  readonly quarantined: Map<string, Quarantined>
  readonly signalling: Set<Workspace>
  readonly staged: Map<string, TrailObject>
}

export function newRun(id: RunId): Run {
  return {
    id,
    seq: 0,
    objects: 0,
    root: undefined,
    vocabulary: baseVocabulary,
    workspaces: new Map(),
    open: 0,
    agents: new Map(),
    envelopes: new Map(),
    undelivered: 0,
    rights: new Map(),
    checkpoints: new Map(),
    artifacts: new Map(),
    graphs: new Map(),
    tasks: new Map(),
    highway: HIGHWAY_OFF,
    gates: new Map(),
    guards: new Map(),
    approved: new Map(),
    salvages: new Map(),
    escalations: new Map(),
    house: false,
    users: new Map(),
    marked: new Set(),
    budgetWarning: kernelDefaults.budgetWarning,
    metered: false,
    contentProven: false,
    measures: { tokens: false, cost: false },
    counting: false,
    groups: new Map(),
    batchAborts: new Map(),
    quarantined: new Map(),
    signalling: new Set(),
    staged: new Map(),
  }
}

export function rootOf(run: Run): Workspace {
  invariant(run.root, 'a run begins with its root')
  return run.root
}

export function workspaceOf(run: Run, id: string): Workspace | undefined {
  return run.workspaces.get(id as WorkspaceId)
}

export function knownWorkspace(run: Run, id: string): Workspace {
  const workspace = run.workspaces.get(id as WorkspaceId)
  invariant(workspace, 'entries name workspaces that exist')
  return workspace
}

export function ticksOf(entry: Pick<EntryDraft, 'timestamp'>): Ticks {
  const ticks = parseTimestamp(entry.timestamp)
  invariant(ticks !== undefined, 'a recorded timestamp is well-formed')
  return ticks
}

export function runEnded(run: Run): boolean {
  return run.root !== undefined && ended(run.root)
}

export type Fold<T extends EventType> = (run: Run, body: EventBody<T>, entry: EntryDraft) => void

export type Folds = { readonly [T in EventType]?: Fold<T> }
