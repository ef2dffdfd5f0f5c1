// How conflicts are settled (W-INT-12 to -14): by the integrator, the owner, rework, or time.
import { type ObjectId, ok, type Result } from '@parley/core'
import type { ResolutionStrategy, WorkspaceState } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { invalidArgument } from '../refusal.ts'
import { rootOf, workspaceOf } from '../run/run.ts'
import { byOperation, byProtocol, type Failure, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import {
  notOpen,
  openConflicts,
  type PausedConflict,
  proposalProblem,
  writeResolved,
  writeUnsettled,
} from './conflict-record.ts'
import { openSalvage, type SalvageOutcome } from './integration.ts'
import { decideResolveSalvage, writeSalvageDecided } from './salvage-conflict.ts'
import {
  closingProblem,
  integrable,
  notMerged,
  type Proposal,
  parentOf,
  proposed,
  sourceIn,
  storedViolation,
  writeForged,
  writeMerged,
} from './source.ts'

export interface ResolveRequest {
  readonly source: unknown
  readonly conflict: unknown
  readonly strategy: unknown
  readonly resolution: unknown
  readonly result?: unknown
}

export interface ResolutionOutcome {
  readonly state: Extract<WorkspaceState, 'conflicted' | 'closed' | 'failed'>
}

interface Case extends Proposal {
  readonly integrator: Workspace
  readonly source: Workspace
}

export function decideResolveConflict(
  batch: Batch,
  caller: Workspace,
  request: ResolveRequest,
): Result<ResolutionOutcome | SalvageOutcome> {
  if (openSalvage(batch.run, request.source)) return decideResolveSalvage(batch, caller, request)
  const named = integrable(batch, caller, request.source)
  if (!named.ok) return named
  const unfit = proposalProblem(request.strategy, request.resolution)
  if (unfit) return unfit
  const strategy = request.strategy as ResolutionStrategy
  const resolution = request.resolution as string
  const conflict = openConflicts(named.value).find(each => each.id === request.conflict)
  if (named.value.status !== 'conflicted' || !conflict) return notOpen(named.value, request.conflict)
  const ready = sourceIn(batch, caller, named.value.id, 'conflicted')
  if (!ready.ok) return ready
  const source = ready.value
  if (request.result !== undefined && source.integration?.strategy !== 'evaluated')
    return invalidArgument("A result of one's own belongs to the strategy 'evaluated'.")
  const settled: Case = { integrator: caller, source, conflict, strategy, resolution }
  const blocked = closes(settled) ? closingProblem(source) : undefined
  if (blocked) return blocked
  const asked = proposed(batch, caller, source, settled, request.result)
  if (!asked.ok) return asked
  if (asked.value.rejected) return reject(batch, settled, 'fallback')
  return carryOut(batch, settled, strategy === 'escalate' ? 'fallback' : actorOf(caller), asked.value.ref)
}

/** `modify`: the strategy is the human's own, and not what the integrator proposed. */
export type ConflictVerdict = 'approve' | 'modify' | 'reject'

export function writeConflictDecided(
  batch: Batch,
  paused: PausedConflict,
  verdict: ConflictVerdict,
  actor: string,
): Result<void> {
  if (paused.mode === 'salvage') {
    const decided = writeSalvageDecided(batch, paused, verdict, actor)
    return decided.ok ? ok(undefined) : decided
  }
  const source = workspaceOf(batch.run, paused.source)
  const conflict = source && openConflicts(source).find(each => each.id === paused.conflict)
  if (source?.status !== 'conflicted' || !conflict) return notOpen(source, paused.conflict)
  const settled: Case = {
    integrator: parentOf(batch, source),
    source,
    conflict,
    strategy: paused.strategy as ResolutionStrategy,
    resolution: paused.resolution,
  }
  if (verdict === 'reject') {
    reject(batch, settled, actor)
    return ok(undefined)
  }
  if (verdict === 'modify' && settled.strategy === 'agent_rework') {
    rework(batch, settled, actor, rejectedBy(batch, 'conflict_unresolvable', actor))
    return ok(undefined)
  }
  // Time has passed: what was checked before the gate is checked again (W-HWY-07).
  const blocked = closes(settled) ? closingProblem(source) : undefined
  if (blocked) return blocked
  const carried = carryOut(batch, settled, actor, undefined)
  return carried.ok ? ok(undefined) : carried
}

/** The workspace's time ran out while it was `conflicted` (W-INT-14). */
export function writeConflictTimeout(batch: Batch, source: Workspace): void {
  for (const conflict of openConflicts(source))
    writeResolved(batch, source, conflict, 'protocol', {
      strategy: 'timeout',
      resolution: 'conflict_timeout',
      outcome: 'failed',
    })
  writeFailure(batch, source, byProtocol('conflict_timeout'))
}

/** Whether settling this one closes the workspace (W-INT-13: all must be resolved). */
function closes({ source, conflict, strategy }: Case): boolean {
  return strategy !== 'agent_rework' && openConflicts(source).every(each => each === conflict)
}

function carryOut(
  batch: Batch,
  settled: Case,
  actor: string,
  resultRef: ObjectId | undefined,
): Result<ResolutionOutcome> {
  const { integrator, source, conflict, strategy, resolution } = settled
  if (strategy === 'agent_rework')
    return rework(batch, settled, actor, byOperation('conflict_unresolvable', integrator))
  const { integration } = source
  const last = closes(settled)
  // W-INT-05: hours may lie between the beginning of the merge and its end.
  const checkpoint = (last && integration?.checkpoint) || undefined
  const violation = checkpoint === undefined ? ok(undefined) : storedViolation(batch, checkpoint)
  if (!violation.ok) return violation
  if (checkpoint !== undefined && violation.value) {
    const reason = 'integrity_violation'
    writeForged(batch, checkpoint, violation.value)
    const failure: Failure = { ...byProtocol('conflict_unresolvable'), aborts: reason }
    fail(batch, { ...settled, resolution: reason }, 'protocol', failure)
    return notMerged(source, checkpoint)
  }
  writeResolved(batch, source, conflict, actor, { strategy, resolution, outcome: 'closed' })
  if (!last) return ok({ state: 'conflicted' })
  const used = integration?.strategy ?? 'direct'
  writeMerged(batch, integrator, source, 'conflict_resolved', used, resultRef ?? integration?.resultRef)
  return ok({ state: 'closed' })
}

function rework(batch: Batch, settled: Case, actor: string, failure: Failure): Result<ResolutionOutcome> {
  return fail(batch, settled, actor, { ...failure, aborts: 'agent_rework' })
}

/** W-HWY-07: a rejected proposal needs another one; a rejected `escalate` ends the work. */
function reject(batch: Batch, settled: Case, actor: string): Result<ResolutionOutcome> {
  if (settled.strategy !== 'escalate') return ok({ state: 'conflicted' })
  const rejected = { ...settled, resolution: 'gate_rejected_by_human' }
  return fail(batch, rejected, actor, {
    ...rejectedBy(batch, 'conflict_unresolvable', actor),
    aborts: 'gate_rejected_by_human',
  })
}

/** W-INT-13: one that cannot be settled takes the others with it. */
function fail(batch: Batch, settled: Case, actor: string, failure: Failure): Result<ResolutionOutcome> {
  const { source, conflict } = settled
  writeUnsettled(batch, source, conflict, actor, settled)
  writeFailure(batch, source, failure)
  return ok({ state: 'failed' })
}

export function rejectedBy(batch: Batch, trigger: Failure['trigger'], actor: string): Failure {
  if (actor === 'fallback') return byProtocol(trigger)
  if (actor === 'system') return byOperation(trigger, rootOf(batch.run))
  return { ...byProtocol(trigger), actor, initiator: 'human' }
}
