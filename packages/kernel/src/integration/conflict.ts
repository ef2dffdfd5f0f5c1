// Conflicts and how they are settled (W-INT-12 to -14): by the integrator, by asking the owner, by sending the work back, or by time.
import { type ObjectId, ok, type Result } from '@parley/core'
import {
  bodyLimits,
  type ConflictOutcome,
  type ConflictType,
  RESOLUTION_STRATEGIES,
  type RecordedResolutionStrategy,
  type ResolutionStrategy,
  type WorkspaceState,
} from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { gate, gated, type Paused } from '../highway/gate.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { type Run, workspaceOf } from '../run/run.ts'
import { byOperation, byProtocol, type Failure, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { storeResult, writeMerged } from './merge.ts'
import { closingProblem, integrable, parentOf, sourceIn } from './source.ts'

/** What was found, by the runtime or by the integrator. */
export interface Finding {
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
}

export interface Conflict extends Finding {
  readonly id: string
  /** How many resolutions were proposed at a gate. */
  proposals: number
  /** Set once it is settled. */
  strategy: RecordedResolutionStrategy | undefined
  resolution: string | undefined
  outcome: ConflictOutcome | undefined
}

export function openConflicts(source: Workspace): readonly Conflict[] {
  return (source.conflicts ?? []).filter(conflict => conflict.outcome === undefined)
}

export interface ResolveRequest {
  readonly source: unknown
  readonly conflict: unknown
  readonly strategy: unknown
  readonly resolution: unknown
  /** The synthesised result of an `evaluated` merge; the newest one counts when the last conflict is settled. */
  readonly result?: unknown
}

/** What became of the workspace: it waits for its other conflicts, or this was the last. */
export interface ResolutionOutcome {
  readonly state: Extract<WorkspaceState, 'conflicted' | 'closed' | 'failed'>
}

type PausedConflict = Extract<Paused, { readonly type: 'conflict_resolution' }>

/** One conflict with everything around it that its resolution touches. */
interface Case {
  readonly integrator: Workspace
  readonly source: Workspace
  readonly conflict: Conflict
  readonly strategy: ResolutionStrategy
  readonly resolution: string
}

export function decideResolveConflict(
  batch: Batch,
  caller: Workspace,
  request: ResolveRequest,
): Result<ResolutionOutcome> {
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
  const paused: PausedConflict = {
    type: 'conflict_resolution',
    caller: caller.id,
    source: source.id,
    conflict: conflict.id,
    proposal: proposalOf(batch.run, conflict),
    strategy,
    resolution,
  }
  const verdict = gate(batch, paused, { always: strategy === 'escalate' })
  const resultRef = request.result === undefined ? undefined : storeResult(batch, source, request.result)
  if (typeof verdict === 'object') return gated(verdict.waits)
  // The guard answers in place of the human who did not (W-HWY-11).
  if (verdict === 'rejected') return reject(batch, settled, 'fallback')
  return carryOut(batch, settled, strategy === 'escalate' ? 'fallback' : actorOf(caller), resultRef)
}

/** What is wrong with a proposal as such. */
function proposalProblem(strategy: unknown, resolution: unknown): Result<never> | undefined {
  if (!RESOLUTION_STRATEGIES.some(each => each === strategy))
    return invalidArgument(
      `A conflict is resolved by one of ${RESOLUTION_STRATEGIES.join(', ')}.`,
      'invalid_strategy',
    )
  if (typeof resolution !== 'string' || resolution === '' || resolution.length > bodyLimits.textLength)
    return invalidArgument(`A resolution is a text of 1 to ${bodyLimits.textLength} characters.`)
  return undefined
}

/** A `conflict_resolution` gate has ended: the resolution is carried out or dropped. `actor` is a user or `fallback`. */
export function writeConflictDecided(
  batch: Batch,
  paused: PausedConflict,
  verdict: 'approve' | 'reject',
  actor: string,
): Result<void> {
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
  // Time has passed: what was checked before the gate is checked again (W-HWY-07).
  const blocked = closes(settled) ? closingProblem(source) : undefined
  if (blocked) return blocked
  carryOut(batch, settled, actor, undefined)
  return ok(undefined)
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

/** A gate about a conflict has opened; to be called when that is folded in. */
export function countProposal(run: Run, paused: PausedConflict): void {
  const conflict = workspaceOf(run, paused.source)?.conflicts?.find(each => each.id === paused.conflict)
  if (conflict) conflict.proposals = paused.proposal + 1
}

/** How many came before: one that still waits is the same one again, so that the guard recognises it (W-HWY-10). */
function proposalOf(run: Run, conflict: Conflict): number {
  const waiting = [...run.gates.values()].some(
    ({ paused }) => paused.type === 'conflict_resolution' && paused.conflict === conflict.id,
  )
  return waiting ? conflict.proposals - 1 : conflict.proposals
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
    return fail(batch, settled, actor, {
      ...byOperation('conflict_unresolvable', integrator),
      aborts: 'agent_rework',
    })
  writeResolved(batch, source, conflict, actor, { strategy, resolution, outcome: 'closed' })
  if (!closes(settled)) return ok({ state: 'conflicted' })
  const { integration } = source
  const used = integration?.strategy ?? 'direct'
  writeMerged(batch, integrator, source, 'conflict_resolved', used, resultRef ?? integration?.resultRef)
  return ok({ state: 'closed' })
}

/** W-HWY-07: a proposal of the integrator is dropped and another is needed; the owner's no to `escalate` ends the work. */
function reject(batch: Batch, settled: Case, actor: string): Result<ResolutionOutcome> {
  if (settled.strategy !== 'escalate') return ok({ state: 'conflicted' })
  const rejected = { ...settled, resolution: 'gate_rejected_by_human' }
  return fail(batch, rejected, actor, {
    ...rejectedBy('conflict_unresolvable', actor),
    aborts: 'gate_rejected_by_human',
  })
}

/** W-INT-13: one that cannot be settled takes the others with it. */
function fail(batch: Batch, settled: Case, actor: string, failure: Failure): Result<ResolutionOutcome> {
  const { source, conflict, strategy, resolution } = settled
  writeResolved(batch, source, conflict, actor, { strategy, resolution, outcome: 'failed' })
  for (const other of openConflicts(source).filter(each => each !== conflict))
    writeResolved(batch, source, other, actor, {
      strategy,
      resolution: 'conflict_unresolvable',
      outcome: 'failed',
    })
  writeFailure(batch, source, failure)
  return ok({ state: 'failed' })
}

/** A failure that a human decided at a gate, or the gate's fallback. */
export function rejectedBy(trigger: Failure['trigger'], actor: string): Failure {
  if (actor === 'fallback') return byProtocol(trigger)
  return { ...byProtocol(trigger), actor, initiator: 'human' }
}

interface Verdict {
  readonly strategy: RecordedResolutionStrategy
  readonly resolution: string
  readonly outcome: ConflictOutcome
}

function writeResolved(
  batch: Batch,
  source: Workspace,
  { id, type }: Conflict,
  actor: string,
  { strategy, resolution, outcome }: Verdict,
): void {
  batch.add('conflict_resolved', source, actor, {
    workspace_id: source.id,
    conflict_type: type,
    resolution_strategy: strategy,
    resolution,
    outcome,
    conflict_id: id,
    mode: 'normal',
  })
}

function notOpen(source: Workspace | undefined, conflict: unknown): Result<never> {
  const id = typeof conflict === 'string' ? conflict.slice(0, 80) : ''
  return invalidState(`${source?.id ?? 'Nothing'} has no open conflict ${id}.`, 'conflict_not_open')
}
