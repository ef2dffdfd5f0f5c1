// Conflicts of a salvage (W-INT-20, AMB-34): they live in the integration record, and change no state and no task.
import { ok, type Result } from '@parley/core'
import type { ResolutionStrategy } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { invalidState } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { ConflictVerdict, ResolveRequest } from './conflict.ts'
import {
  type Finding,
  notOpen,
  openConflicts,
  type PausedConflict,
  proposalProblem,
  writeDetected,
  writeResolved,
  writeUnsettled,
} from './conflict-record.ts'
import {
  filesOf,
  openSalvage,
  overlapsOf,
  type Salvage,
  type SalvageOutcome,
  unnamedIn,
  writeAborted,
} from './integration.ts'
import { salvageOf, writeFlagged, writeSalvaged } from './salvage.ts'
import { type Proposal, proposed, storedViolation } from './source.ts'

/** What the integrator found against what it wants to save, and what overlaps besides (W-INT-07). Answers the ids. */
export function writeSalvageConflicts(
  batch: Batch,
  caller: Workspace,
  salvage: Salvage,
  findings: readonly Finding[],
  baseAware: boolean,
): Result<readonly string[]> {
  if (openConflicts(salvage).length > 0)
    return invalidState(`The salvage of ${salvage.source.id} has conflicts already; resolve them first.`)
  const files = unnamedIn(filesOf(batch.run, salvage.checkpoint), findings)
  const found = overlapsOf(files, salvage.source, salvage.target, baseAware)
  return ok([
    ...writeDetected(batch, salvage, findings, actorOf(caller)),
    ...writeDetected(batch, salvage, found, 'protocol'),
  ])
}

interface Case extends Proposal {
  readonly salvage: Salvage
}

export function decideResolveSalvage(batch: Batch, caller: Workspace, request: ResolveRequest): Result<SalvageOutcome> {
  const found = salvageOf(batch, caller, request.source)
  if (!found.ok) return found
  const unfit = proposalProblem(request.strategy, request.resolution)
  if (unfit) return unfit
  const salvage = found.value
  const conflict = openConflicts(salvage).find(each => each.id === request.conflict)
  if (!conflict) return notOpen(salvage.source, request.conflict)
  const strategy = request.strategy as ResolutionStrategy
  const settled: Case = { salvage, conflict, strategy, resolution: request.resolution as string }
  const asked = proposed(batch, caller, salvage, settled, request.result)
  if (!asked.ok) return asked
  if (asked.value.rejected) return reject(batch, settled, 'fallback')
  const by = actorOf(caller)
  return carryOut(batch, settled, strategy === 'escalate' ? 'fallback' : by, { by, ref: asked.value.ref })
}

export function writeSalvageDecided(
  batch: Batch,
  paused: PausedConflict,
  verdict: ConflictVerdict,
  actor: string,
): Result<SalvageOutcome> {
  const salvage = openSalvage(batch.run, paused.source)
  const conflict = salvage && openConflicts(salvage).find(each => each.id === paused.conflict)
  if (!conflict) return notOpen(salvage?.source, paused.conflict)
  const strategy = paused.strategy as ResolutionStrategy
  const settled: Case = { salvage, conflict, strategy, resolution: paused.resolution }
  if (verdict === 'reject') return reject(batch, settled, actor)
  return carryOut(batch, settled, actor, { by: verdict === 'modify' ? actor : actorOf(salvage.target) })
}

function carryOut(
  batch: Batch,
  settled: Case,
  actor: string,
  { by, ref }: { readonly by: string; readonly ref?: Salvage['resultRef'] },
): Result<SalvageOutcome> {
  const { salvage, conflict, strategy, resolution } = settled
  if (strategy === 'agent_rework') return fail(batch, settled, actor, { reason: 'agent_rework', by })
  const last = openConflicts(salvage).every(each => each === conflict)
  // W-SEC-09: hours may lie between the beginning of the merge and its end.
  const violation = last ? storedViolation(batch, salvage.checkpoint) : ok(undefined)
  if (!violation.ok) return violation
  if (violation.value) return writeFlagged(batch, salvage.target, salvage.source, salvage.checkpoint, violation.value)
  writeResolved(batch, salvage, conflict, actor, { strategy, resolution, outcome: 'closed' })
  if (!last) return ok({ salvage: 'open' })
  return writeSalvaged(batch, salvage.target, salvage, 'conflict_resolved', ref ?? salvage.resultRef)
}

/** W-HWY-07: a proposal is dropped and another one is needed; the owner's no to `escalate` ends the salvage. */
function reject(batch: Batch, settled: Case, actor: string): Result<SalvageOutcome> {
  if (settled.strategy !== 'escalate') return ok({ salvage: 'open' })
  const reason = 'gate_rejected_by_human'
  // W-INT-02: what nobody answered was ended by the rules.
  const by = actor === 'fallback' ? 'protocol' : actor
  return fail(batch, { ...settled, resolution: reason }, actor, { reason, by })
}

/** W-INT-13: one that cannot be settled takes the others with it. */
function fail(
  batch: Batch,
  settled: Case,
  actor: string,
  { reason, by }: { readonly reason: string; readonly by: string },
): Result<SalvageOutcome> {
  writeUnsettled(batch, settled.salvage, settled.conflict, actor, settled)
  return writeAborted(batch, settled.salvage, reason, by)
}
