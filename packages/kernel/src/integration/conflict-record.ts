// Conflicts as kept and recorded (W-INT-11 to -13): with the source, or in salvage with the integration.
import type { Result } from '@parley/core'
import { bodyLimits, type ConflictType, type EventBody, RESOLUTION_STRATEGIES } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { Paused } from '../highway/gate.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { type Run, workspaceOf } from '../run/run.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { openSalvage, type Salvage } from './integration.ts'

export interface Finding {
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
}

export interface Conflict extends Finding {
  readonly id: string
  proposals: number
  strategy: EventBody<'conflict_resolved'>['resolution_strategy'] | undefined
  resolution: string | undefined
  outcome: EventBody<'conflict_resolved'>['outcome'] | undefined
}

/** Whose conflicts they are: a source's in normal mode, those of the integration itself in salvage. */
export type Bearer = Workspace | Salvage

export function placeOf(bearer: Bearer) {
  return 'source' in bearer
    ? ({ source: bearer.source, filed: bearer.target, mode: 'salvage' } as const)
    : ({ source: bearer, filed: bearer, mode: 'normal' } as const)
}

export function openConflicts({ conflicts }: Bearer): readonly Conflict[] {
  return (conflicts ?? []).filter(conflict => conflict.outcome === undefined)
}

export type PausedConflict = Extract<Paused, { readonly type: 'conflict_resolution' }>

export function proposalProblem(strategy: unknown, resolution: unknown): Result<never> | undefined {
  if (!RESOLUTION_STRATEGIES.some(each => each === strategy))
    return invalidArgument(`A conflict is resolved by one of ${RESOLUTION_STRATEGIES.join(', ')}.`, 'invalid_strategy')
  if (!isText(resolution, bodyLimits.textLength))
    return invalidArgument(`A resolution is a text of 1 to ${bodyLimits.textLength} characters.`)
  return undefined
}

export function countProposal(run: Run, paused: PausedConflict): void {
  const conflict = conflictAt(run, paused)
  if (conflict) conflict.proposals = paused.proposal + 1
}

export function conflictAt(
  run: Run,
  { source, mode, conflict }: { readonly source: string; readonly mode?: string; readonly conflict: string },
): Conflict | undefined {
  const bearer = mode === 'salvage' ? openSalvage(run, source) : workspaceOf(run, source)
  return bearer?.conflicts?.find(each => each.id === conflict)
}

/** How many came before: one that still waits is the same one again, so that the guard recognises it (W-HWY-10). */
export function proposalOf(run: Run, conflict: Conflict): number {
  const waiting = [...run.gates.values()].some(
    ({ paused }) => paused.type === 'conflict_resolution' && paused.conflict === conflict.id,
  )
  return waiting ? conflict.proposals - 1 : conflict.proposals
}

export function writeDetected(
  batch: Batch,
  bearer: Bearer,
  findings: readonly Finding[],
  finder: string,
): readonly string[] {
  const { source, filed, mode } = placeOf(bearer)
  return findings.map(({ type, resources, description }) => {
    const id = batch.newId<string>('conflict')
    batch.add('conflict_detected', filed, finder, {
      workspace_id: source.id,
      conflict_type: type,
      resources: [...resources],
      description,
      conflict_id: id,
      mode,
    })
    return id
  })
}

export interface Verdict {
  readonly strategy: EventBody<'conflict_resolved'>['resolution_strategy']
  readonly resolution: string
  readonly outcome: EventBody<'conflict_resolved'>['outcome']
}

export function writeResolved(
  batch: Batch,
  bearer: Bearer,
  { id, type }: Conflict,
  actor: string,
  { strategy, resolution, outcome }: Verdict,
): void {
  const { source, filed, mode } = placeOf(bearer)
  batch.add('conflict_resolved', filed, actor, {
    workspace_id: source.id,
    conflict_type: type,
    resolution_strategy: strategy,
    resolution,
    outcome,
    conflict_id: id,
    mode,
  })
}

/** W-INT-13: one that cannot be settled takes the others with it. */
export function writeUnsettled(
  batch: Batch,
  bearer: Bearer,
  conflict: Conflict,
  actor: string,
  { strategy, resolution }: Omit<Verdict, 'outcome'>,
): void {
  writeResolved(batch, bearer, conflict, actor, { strategy, resolution, outcome: 'failed' })
  const others = { strategy, resolution: 'conflict_unresolvable', outcome: 'failed' } as const
  for (const other of openConflicts(bearer)) if (other !== conflict) writeResolved(batch, bearer, other, actor, others)
}

export function notOpen(source: Workspace | undefined, conflict: unknown): Result<never> {
  const id = typeof conflict === 'string' ? conflict.slice(0, 80) : ''
  return invalidState(`${source?.id ?? 'Nothing'} has no open conflict ${id}.`, 'conflict_not_open')
}
