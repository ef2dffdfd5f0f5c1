// What is known of salvages (W-INT-18 to -21): which one is open, where it goes, and how it ends before its time. The
// decisions are in salvage.ts.
import { type CheckpointId, ok, type Result } from '@parley/core'
import type { Confidence } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'
import type { PausedIntegration, Salvage, SalvageOutcome } from './integration.ts'

/** W-INT-19: whatever its agent declared. */
export const SALVAGED_CONFIDENCE: Confidence = 'low'

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
  return salvage && isOpen(salvage) ? salvage : undefined
}

function isOpen({ result, aborted }: Salvage): boolean {
  return result === undefined && aborted === undefined
}

/** The end of a salvage that came to nothing; conflicts that are still open end with it. */
export function writeAborted(
  batch: Batch,
  { source, target }: Pick<Salvage, 'source' | 'target'>,
  reason: string,
  actor: string,
): Result<SalvageOutcome> {
  batch.add('integration_aborted', target, actor, {
    source: source.id,
    target: target.id,
    mode: 'salvage',
    reason,
    timestamp: batch.at,
  })
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

/** What its gate is about, as far as it still exists. */
export function salvageAt(run: Run, paused: PausedIntegration): Workspace | undefined {
  const source = workspaceOf(run, paused.source)
  return source?.status === 'failed' ? source : undefined
}
