// The content store: what entries refer to by id, and the facts without an entry, consumed-markers and working memory
// (wacp-mechanisms 0.4). An object comes before its entry in the same batch.
import { type EnvelopeId, invariant, type ObjectId, unwrap, type WorkspaceId } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import { applyUsage, type UsageRecord } from './budget/charge.ts'
import { onItsWay, removeFromInbox } from './envelope/envelope.ts'
import type { AnswerRecord } from './highway/answer.ts'
import type { Highway } from './highway/config.ts'
import { answerEscalation } from './highway/escalation.ts'
import { openSalvage, type PausedIntegration, type ResultRecord } from './integration/integration.ts'
import { missingDirective } from './integrity/object-proof.ts'
import type { Run } from './run/run.ts'
import { recordedVocabulary } from './taxonomy/taxonomy.ts'
import { foundStanding } from './user/evolve.ts'
import type { BatchAbort } from './workspace/batch-abort.ts'
import type { DirectiveDraft, Workspace } from './workspace/workspace.ts'

export type ObjectKind =
  | 'batch_abort'
  | 'taxonomy'
  | 'highway'
  | 'context'
  | 'directive'
  | 'memory'
  | 'consumed'
  | 'envelope'
  | 'checkpoint'
  | 'graph'
  | 'task'
  | 'gate'
  | 'answer'
  | 'result'
  | 'approved_integration'
  | 'settings'
  | 'usage'

export interface MemoryRecord {
  readonly workspace: WorkspaceId
  readonly key: string
  readonly value?: unknown
}

/** What a run was started with and no entry says; one without it was begun by an older runtime. */
export interface RunSettings {
  /** Percent of a limit at which its warning is written (W-BUDGET-04). */
  readonly budget_warning: number
}

interface ConsumedMarker {
  readonly workspace: WorkspaceId
  readonly envelope: EnvelopeId
}

export interface DirectiveRecord extends DirectiveDraft {
  readonly workspace: WorkspaceId
}

type ObjectFold = (run: Run, object: TrailObject) => void

/** Waits for its entry. */
const stage: ObjectFold = (run, object) => void run.staged.set(object.id, object)

const FOLDS: { readonly [K in ObjectKind]: ObjectFold } = {
  taxonomy(run, { value }) {
    run.vocabulary = unwrap(recordedVocabulary(value))
  },
  settings(run, { value }) {
    run.budgetWarning = (value as RunSettings).budget_warning
    run.metered = true
  },
  usage: (run, { value }) => applyUsage(run, value as UsageRecord),
  highway(run, { value }) {
    run.highway = value as Highway
  },
  answer: (run, { value }) => answerEscalation(run, value as AnswerRecord),
  memory(run, object) {
    const memory = object.value as MemoryRecord
    const workspace = run.workspaces.get(memory.workspace)
    if (workspace) remember(workspace, memory, object.id)
    else stage(run, object)
  },
  consumed: (run, { value }) => consume(run, value as ConsumedMarker),
  batch_abort: (run, { value }) => void run.batchAborts.set((value as BatchAbort).group, value as BatchAbort),
  result(run, object) {
    const { workspace } = object.value as ResultRecord
    const integration = openSalvage(run, workspace) ?? run.workspaces.get(workspace)?.integration
    if (integration) integration.resultRef = object.id
    else run.staged.set(resultKey(workspace), object)
  },
  approved_integration(run, { value }) {
    const approved = value as PausedIntegration
    run.approved.set(approved.source, approved)
  },
  directive: (run, object) => void run.staged.set(directiveKey((object.value as DirectiveRecord).workspace), object),
  context(run, { value }) {
    if (run.root === undefined) foundStanding(run, value)
  },
  envelope: stage,
  checkpoint: stage,
  graph: stage,
  task: stage,
  gate: stage,
}

export function evolveObject(run: Run, object: TrailObject): void {
  // Another version may know other kinds.
  const fold = FOLDS[object.kind as ObjectKind] as ObjectFold | undefined
  fold?.(run, object)
}

export function claim<T>(run: Run, id: string, kind: ObjectKind): T {
  const object = run.staged.get(id)
  invariant(object?.kind === kind, 'an entry that needs an object comes right behind it')
  run.staged.delete(id)
  return object.value as T
}

export function claimInitial(run: Run, workspace: Workspace): void {
  const directive = run.staged.get(directiveKey(workspace.id))
  // Its entry names the directive that was written with it: without that, the work would begin with nothing to do.
  if (!directive && workspace.directive !== null) throw missingDirective(run.id, workspace.directive)
  if (directive) {
    run.staged.delete(directiveKey(workspace.id))
    const { workspace: _owner, ...draft } = directive.value as DirectiveRecord
    workspace.directiveDraft = draft
  }
  for (const [id, object] of run.staged) {
    if (object.kind !== 'memory' || (object.value as MemoryRecord).workspace !== workspace.id) continue
    run.staged.delete(id)
    remember(workspace, object.value as MemoryRecord, object.id)
  }
}

/** The result of a merge that is begun and decided by one command: the object comes before the entry that begins it. */
export function claimResult(run: Run, workspace: WorkspaceId): ObjectId | undefined {
  const object = run.staged.get(resultKey(workspace))
  run.staged.delete(resultKey(workspace))
  return object?.id
}

function resultKey(workspace: WorkspaceId): string {
  return `result ${workspace}`
}

function directiveKey(workspace: WorkspaceId): string {
  return `directive ${workspace}`
}

function remember(workspace: Workspace, memory: MemoryRecord, id: ObjectId): void {
  workspace.memory ??= new Map()
  if (memory.value === undefined) workspace.memory.delete(memory.key)
  else workspace.memory.set(memory.key, id)
}

/** W-WS-21, A-20: what is marked is never handed over again. */
function consume(run: Run, marker: ConsumedMarker): void {
  const workspace = run.workspaces.get(marker.workspace)
  const envelope = run.envelopes.get(marker.envelope)
  // One of the two may have been left out by replay (W-REC-13).
  if (!workspace || !envelope) return
  envelope.consumed = true
  // The delivery may have happened without its entry (W-REC-17): then it is placed once more, and not offered.
  if (onItsWay(envelope)) return
  if (workspace.inbox) removeFromInbox(workspace.inbox, envelope.id)
  envelope.record = undefined
}
