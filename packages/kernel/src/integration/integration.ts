// The integration record (W-INT-21), what callers say of an integration, and what stays of it at its target.
import { type CheckpointId, type ObjectId, ok, type Result, type Ticks, type WorkspaceId } from '@parley/core'
import type { EventBody, IntegrationStrategy, WorkspaceState } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { CheckpointRecord, Evidence } from '../checkpoint/checkpoint.ts'
import type { Paused } from '../highway/gate.ts'
import { kernelLimits } from '../limits.ts'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import type { Conflict, Finding } from './conflict-record.ts'

export const DECISIONS = ['accept', 'revise', 'reject'] as const
export type IntegrationDecision = (typeof DECISIONS)[number]

export interface IntegrationRequest {
  readonly source: unknown
  readonly strategy?: unknown
  /** Why this one comes now (W-INT-09); recorded with its place in the order. */
  readonly basis?: unknown
  /** What to salvage (W-INT-18); left out: the newest final checkpoint, else the newest. */
  readonly checkpoint?: unknown
  /** The synthesised result of an `evaluated` merge: the target's new merged state (W-INT-06). */
  readonly result?: unknown
  /** Ignores overlap with what was integrated before the source was created (AMB-55). */
  readonly baseAware?: unknown
  /** No person is asked about a deliverable that changes no file: there is nothing to judge before it is merged. */
  readonly ungatedIfEmpty?: unknown
  /** The proof of the checkpoint as it is stored now (W-INT-05). */
  readonly evidence?: Evidence | undefined
}

export interface IntegrationOutcome {
  readonly state: Extract<WorkspaceState, 'closed' | 'conflicted' | 'failed'>
  readonly conflicts: readonly string[]
}

export type PausedIntegration = Extract<Paused, { readonly type: 'integration' }>

export interface Integration {
  readonly target: Workspace
  readonly owner: string
  readonly strategy: IntegrationStrategy
  readonly checkpoint: CheckpointId | null
  readonly orderIndex: number | undefined
  readonly orderBasis: string | undefined
  resultRef: ObjectId | undefined
  result: EventBody<'integration_completed'>['result'] | undefined
  aborted: string | undefined
}

export interface Salvaged {
  readonly target: WorkspaceId
  readonly checkpoint: CheckpointId
  /** What it counts as, and what its agent declared (W-INT-19). */
  readonly confidence: CheckpointRecord['confidence']
  readonly declared: CheckpointRecord['confidence']
  /** Files that earlier integrations changed too; the integrator judges whether they conflict. */
  readonly overlaps: readonly Finding[]
}

export interface SalvageOutcome {
  readonly salvage: 'open' | 'merged' | 'aborted'
}

/** W-INT-18 to -20. Belongs to the target, conflicts included, since the source is frozen. */
export interface Salvage extends Integration {
  readonly source: Workspace
  readonly checkpoint: CheckpointId
  readonly conflicts: Conflict[]
}

export function integrationOf(run: Run, source: Workspace): Integration | undefined {
  return run.salvages.get(source.id) ?? source.integration ?? source.integrated
}

export interface Merge {
  readonly source: WorkspaceId
  readonly checkpoint: CheckpointId | null
  readonly strategy: IntegrationStrategy
  readonly result_ref?: ObjectId
  readonly mode?: 'salvage'
}

export interface FileChange {
  readonly source: WorkspaceId
  readonly at: Ticks
}

/** An object of its own, so that a result survives until the last conflict is settled. */
export interface ResultRecord {
  readonly workspace: WorkspaceId
  readonly value: unknown
}

/** W-INT-19: whatever its agent declared. */
export const SALVAGED_CONFIDENCE: CheckpointRecord['confidence'] = 'low'

/** W-INT-18: into the parent, or into the root where the parent is no more. */
export function salvageTarget(run: Run, source: Workspace): Workspace {
  const { parent } = source
  return parent === null || ended(parent) ? rootOf(run) : parent
}

export function integratorOf(run: Run, source: Workspace, mode: 'salvage' | undefined): Workspace {
  return mode === 'salvage' ? salvageTarget(run, source) : (source.parent ?? rootOf(run))
}

/** W-INT-18: the newest final one; a provisional one only where there is none. */
export function salvageCandidate(run: Run, id: string): CheckpointId | undefined {
  const source = workspaceOf(run, id)
  return source?.deliverable ?? source?.register?.at(-1)
}

export function openSalvage(run: Run, source: unknown): Salvage | undefined {
  const salvage = typeof source === 'string' ? run.salvages.get(source as Salvage['source']['id']) : undefined
  return salvage?.result === undefined && salvage?.aborted === undefined ? salvage : undefined
}

/** The end of a merge: filed under the source, in salvage under the target. */
export function writeCompleted(
  batch: Batch,
  { source, target }: Pick<Salvage, 'source' | 'target'>,
  actor: string,
  end: Pick<EventBody<'integration_completed'>, 'mode' | 'strategy' | 'result'>,
  ref: ObjectId | undefined,
): void {
  const body = { source: source.id, target: target.id, ...end, timestamp: batch.at }
  const filed = end.mode === 'normal' ? source : target
  batch.add('integration_completed', filed, actor, { ...body, ...(ref !== undefined && { result_ref: ref }) })
}

/** The same for an integration that came to nothing. */
export function writeAbortion(
  batch: Batch,
  { source, target }: Pick<Salvage, 'source' | 'target'>,
  mode: 'normal' | 'salvage',
  reason: string,
  actor: string,
): void {
  const body = { source: source.id, target: target.id, mode, reason, timestamp: batch.at }
  batch.add('integration_aborted', mode === 'normal' ? source : target, actor, body)
}

/** Conflicts that are still open end with the salvage. */
export function writeAborted(
  batch: Batch,
  salvage: Pick<Salvage, 'source' | 'target'>,
  reason: string,
  actor: string,
): Result<SalvageOutcome> {
  writeAbortion(batch, salvage, 'salvage', reason, actor)
  return ok({ salvage: 'aborted' })
}

/** Nothing is merged into a sealed or terminal workspace: an open salvage ends before the state changes. */
export function writeSalvageEnded(batch: Batch, target: Workspace, reason: string, actor: string): void {
  const open = openInto(batch.run, target)
  if (open) writeAborted(batch, open, reason, actor)
}

export function openInto(run: Run, target: Workspace): Salvage | undefined {
  const salvage = target.merging && openSalvage(run, target.merging.id)
  return salvage?.target === target ? salvage : undefined
}

export function salvageAt(run: Run, paused: PausedIntegration): Workspace | undefined {
  const source = workspaceOf(run, paused.source)
  return source?.status === 'failed' ? source : undefined
}

/** The files that merging a checkpoint changes; an observation is an empty merge (W-INT-06). */
export function filesOf(run: Run, id: CheckpointId | null): readonly string[] {
  const checkpoint = id === null ? undefined : run.checkpoints.get(id)
  return !checkpoint || checkpoint.type === 'observation' ? [] : checkpoint.filesChanged
}

export function overlapsOf(
  files: readonly string[],
  source: Workspace,
  target: Workspace,
  baseAware: boolean,
): readonly Finding[] {
  const shared = new Map<WorkspaceId, string[]>()
  for (const path of new Set(files)) {
    const change = target.files?.get(path)
    if (!change || (baseAware && change.at < source.created)) continue
    const paths = shared.get(change.source) ?? []
    paths.push(path)
    shared.set(change.source, paths)
  }
  return bounded([...shared]).map(([earlier, paths]) => findingOf(earlier, paths))
}

export function unnamedIn(files: readonly string[], reported: readonly Finding[]): readonly string[] {
  const named = new Set(reported.flatMap(({ type, resources }) => (type === 'content_overlap' ? resources : [])))
  return files.filter(path => !named.has(path))
}

type Shared = readonly (readonly [WorkspaceId, readonly string[]])[]

/** All of them fit into one batch: where too many sources are concerned, the last finding stands for the rest. */
function bounded(shared: Shared): Shared {
  const rest = shared.slice(kernelLimits.conflicts - 1)
  const [first] = rest
  if (!first || rest.length === 1) return shared
  return [...shared.slice(0, kernelLimits.conflicts - 1), [first[0], rest.flatMap(([, paths]) => paths)]]
}

function findingOf(earlier: WorkspaceId, paths: readonly string[]): Finding {
  let length = 0
  const resources = paths.filter(path => {
    length += path.length
    return length <= kernelLimits.conflictResourceLength
  })
  const more = paths.length - resources.length
  const unnamed = more > 0 ? ` ${more} more are not named here.` : ''
  return {
    type: 'content_overlap',
    resources,
    description: `Integrated earlier, ${earlier} changed ${paths.length} of the same files.${unnamed}`,
  }
}
