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

export type Run = ReturnType<typeof newRun>

export function newRun(id: RunId) {
  return {
    id,
    seq: 0,
    objects: 0,
    root: undefined as Workspace | undefined,
    vocabulary: baseVocabulary as Vocabulary,
    workspaces: new Map<WorkspaceId, Workspace>(),
    open: 0,
    /** Where each agent is at work now (W-SEC-03). */
    agents: new Map<string, WorkspaceId>(),
    envelopes: new Map<EnvelopeId, Envelope>(),
    undelivered: 0,
    rights: new Map<RightId, PortRight>(),
    checkpoints: new Map<CheckpointId, Checkpoint>(),
    /** Which checkpoint an artifact belongs to (W-CP-11). */
    artifacts: new Map<string, CheckpointId>(),
    graphs: new Map<GraphId, Graph>(),
    tasks: new Map<TaskId, Task>(),
    /** What humans may see, stop and say in this run (W-HWY-01). */
    highway: HIGHWAY_OFF as Highway,
    /** Gates that wait, in order of their opening (W-HWY-06). */
    gates: new Map<GateId, Gate>(),
    /** Gates that a fallback ended or handed to the coordinator, by type and subject (W-HWY-11). */
    guards: new Map<string, Guard>(),
    /** Integrations that were approved while another one held their target, by source, in order of approval. */
    approved: new Map<WorkspaceId, PausedIntegration>(),
    /** The newest salvage of each failed workspace that one was begun of, open or ended (W-INT-18). */
    salvages: new Map<WorkspaceId, Salvage>(),
    escalations: new Map<SignalId, Escalation>(),
    /** Whether this is the house run; set before its root exists. */
    house: false,
    /** Whether this is the library run: it takes records, and nothing else from people. */
    library: false,
    users: new Map<string, User>(),
    /** Workspaces that crossed a mark of their budget and were not dealt with yet (W-BUDGET-04, -05). */
    marked: new Set<Workspace>(),
    /** Percent of a limit at which its warning is written (W-BUDGET-04). */
    budgetWarning: kernelDefaults.budgetWarning as number,
    /** Whether use is on record as the runtime measured it; older runs have only what agents reported (W-REC-15). */
    metered: false,
    /** Every object from here on carries a proof (W-SEC-16), though the run began without. */
    contentProven: false,
    /** Amounts that the host has ever reported: it measures them (W-CP-10). */
    measures: { tokens: false, cost: false },
    counting: false,
    /** Members of each group, in order of creation (W-WS-19). */
    groups: new Map<string, Workspace[]>(),
    batchAborts: new Map<string, BatchAbort>(),
    /** Entries that replay left out (W-REC-13), by id. */
    quarantined: new Map<string, Quarantined>(),
    signalling: new Set<Workspace>(),
    staged: new Map<string, TrailObject>(),
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
