// Objects of the content store: what entries refer to by id, and the two kinds of fact that have no entry at all, consumed-markers
// and working memory (wacp-mechanisms 0.4). An object comes before its entry in the same batch.
import { type EnvelopeId, invariant, type ObjectId, unwrap, type WorkspaceId } from '@parley/core'
import type { TrailObject } from '@parley/trail'
import { removeFromInbox } from './envelope/inbox.ts'
import type { Run } from './run/run.ts'
import { loadTaxonomy } from './taxonomy/taxonomy.ts'
import type { DirectiveDraft, Workspace } from './workspace/workspace.ts'

export const OBJECT_KINDS = [
  'taxonomy',
  'context',
  'directive',
  'memory',
  'consumed',
  'envelope',
  'checkpoint',
  'task',
] as const
export type ObjectKind = (typeof OBJECT_KINDS)[number]

export interface MemoryRecord {
  readonly workspace: WorkspaceId
  readonly key: string
  /** Absent where the key was removed. */
  readonly value?: unknown
}

export interface ConsumedMarker {
  readonly workspace: WorkspaceId
  readonly envelope: EnvelopeId
}

export interface DirectiveRecord extends DirectiveDraft {
  readonly workspace: WorkspaceId
}

export function evolveObject(run: Run, object: TrailObject): void {
  switch (object.kind as ObjectKind) {
    case 'taxonomy':
      run.vocabulary = unwrap(loadTaxonomy(object.value))
      return
    case 'memory': {
      const memory = object.value as MemoryRecord
      const workspace = run.workspaces.get(memory.workspace)
      if (workspace) remember(workspace, memory, object.id)
      else run.staged.set(object.id, object)
      return
    }
    case 'consumed':
      consume(run, object.value as ConsumedMarker)
      return
    case 'directive':
      run.staged.set(directiveKey((object.value as DirectiveRecord).workspace), object)
      return
    case 'envelope':
    case 'checkpoint':
    case 'task':
      run.staged.set(object.id, object)
      return
    case 'context':
      return
  }
}

/** Takes the object that belongs to the entry being folded. */
export function claim<T>(run: Run, id: string): T {
  const object = run.staged.get(id)
  invariant(object, 'an entry that needs an object comes right behind it')
  run.staged.delete(id)
  return object.value as T
}

/** What was stored for a workspace before its own entry: its directive and its first working memory. */
export function claimInitial(run: Run, workspace: Workspace): void {
  const directive = run.staged.get(directiveKey(workspace.id))
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
  invariant(workspace?.inbox && envelope, 'a marker names an envelope that lies in the inbox')
  removeFromInbox(workspace.inbox, envelope.id)
  envelope.consumed = true
  envelope.record = undefined
}
