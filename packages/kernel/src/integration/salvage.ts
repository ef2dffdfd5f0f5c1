// Salvage (W-INT-18 to -20): the parent's integrator judges and merges what a failed workspace left. All entries are
// filed under the target, with `mode: salvage`.
import { type CheckpointId, ok, type Result } from '@parley/core'
import { type EventBody, INTEGRATION_STRATEGIES } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { gate, gated } from '../highway/gate.ts'
import type { Violation } from '../integrity/proofs.ts'
import { invalidArgument, invalidState, notFound, type Refusal, refusal } from '../refusal.ts'
import type { Run } from '../run/run.ts'
import { operand } from '../workspace/operation.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'
import { openConflicts, writeDetected } from './conflict-record.ts'
import {
  filesOf,
  type IntegrationRequest,
  openSalvage,
  overlapsOf,
  type PausedIntegration,
  SALVAGED_CONFIDENCE,
  type Salvage,
  type Salvaged,
  type SalvageOutcome,
  salvageCandidate,
  salvageTarget,
  writeAborted,
  writeCompleted,
} from './integration.ts'
import {
  baseAwareProblem,
  basisProblem,
  deliverableViolation,
  isFree,
  storedViolation,
  storeResult,
  targetLocked,
  writeForged,
  writeStarted,
} from './source.ts'

export function salvageOf(batch: Batch, caller: Workspace, id: unknown): Result<Salvage> {
  const source = failedSource(batch, caller, id)
  if (!source.ok) return source
  const salvage = openSalvage(batch.run, source.value.id)
  return salvage ? ok(salvage) : invalidState(`No salvage of ${source.value.id} is open.`)
}

/** W-INT-01, with the root in the place of a parent that is terminal. */
function failedSource(batch: Batch, caller: Workspace, id: unknown): Result<Workspace> {
  const source = operand(batch, caller, 'integrate', id)
  if (!source.ok) return source
  if (salvageTarget(batch.run, source.value) !== caller)
    return batch.denyOperation(caller, 'integrate', {
      target: source.value.id,
      message: `${source.value.id} is salvaged by its own parent.`,
    })
  const { status } = source.value
  if (isRoot(source.value) || status !== 'failed')
    return invalidState(`${source.value.id} is ${status}; only what has failed is salvaged.`)
  return source
}

/** Opens a salvage (W-INT-20). `passed`: its gate was approved. */
export function decideSalvage(
  batch: Batch,
  caller: Workspace,
  request: IntegrationRequest,
  passed = false,
): Result<Salvaged> {
  if ((batch.context.level ?? 3) < 3)
    return refusal('unsupported', 'Salvage belongs to conformance level 3.', { level: 3 })
  const found = failedSource(batch, caller, request.source)
  if (!found.ok) return found
  const source = found.value
  const unfit = strategyProblem(request.strategy) ?? basisProblem(request.basis)
  if (unfit) return unfit
  const chosen = chosenOf(batch.run, source, request.checkpoint)
  if (!chosen.ok) return chosen
  if (openSalvage(batch.run, source.id)) return invalidState(`The salvage of ${source.id} is open already.`)
  // W-INT-08
  if (!isFree(caller, source)) return targetLocked(caller)
  const start: Start = { checkpoint: chosen.value, basis: request.basis as string | undefined }
  // W-SEC-09. What waited at a gate, or for its target, may have been changed since it was asked for.
  const violation = passed
    ? storedViolation(batch, start.checkpoint)
    : deliverableViolation(batch, start.checkpoint, request.evidence)
  if (!violation.ok) return violation
  if (violation.value) {
    writeStarted(batch, caller, source, { mode: 'salvage', strategy: 'evaluated', ...start })
    return writeFlagged(batch, caller, source, start.checkpoint, violation.value)
  }
  const waits = passed ? undefined : gateProblem(batch, caller, source, start)
  if (waits) return waits
  writeStarted(batch, caller, source, { mode: 'salvage', strategy: 'evaluated', ...start })
  return ok(salvaged(batch.run, caller, source, start.checkpoint))
}

function salvaged(run: Run, target: Workspace, source: Workspace, checkpoint: CheckpointId): Salvaged {
  return {
    target: target.id,
    checkpoint,
    confidence: SALVAGED_CONFIDENCE,
    declared: run.checkpoints.get(checkpoint)!.confidence,
    overlaps: overlapsOf(filesOf(run, checkpoint), source, target, false),
  }
}

export function decideMergeSalvage(
  batch: Batch,
  caller: Workspace,
  request: IntegrationRequest,
): Result<SalvageOutcome> {
  const found = salvageOf(batch, caller, request.source)
  if (!found.ok) return found
  const salvage = found.value
  if (openConflicts(salvage).length > 0)
    return invalidState(`The salvage of ${salvage.source.id} has conflicts; resolve them first.`)
  const violation = deliverableViolation(batch, salvage.checkpoint, request.evidence)
  if (!violation.ok) return violation
  if (violation.value) return writeFlagged(batch, caller, salvage.source, salvage.checkpoint, violation.value)
  const unfit = baseAwareProblem(request.baseAware)
  if (unfit) return unfit
  const { result } = request
  const ref = result === undefined ? undefined : storeResult(batch, salvage.source, salvage.target, result)
  const files = filesOf(batch.run, salvage.checkpoint)
  const overlaps = overlapsOf(files, salvage.source, salvage.target, request.baseAware === true)
  // W-INT-07, W-INT-20: what is detected is recorded and settled first; what the integrator made of both sides is kept
  // for that.
  if (overlaps.length > 0) {
    writeDetected(batch, salvage, overlaps, 'protocol')
    return ok({ salvage: 'open' })
  }
  return writeSalvaged(batch, caller, salvage, 'success', ref)
}

export function decideDiscardSalvage(batch: Batch, caller: Workspace, id: unknown): Result<SalvageOutcome> {
  const salvage = salvageOf(batch, caller, id)
  return salvage.ok ? writeAborted(batch, salvage.value, 'not_usable', actorOf(caller)) : salvage
}

export function writeSalvaged(
  batch: Batch,
  integrator: Workspace,
  salvage: Salvage,
  result: EventBody<'integration_completed'>['result'],
  ref: Salvage['resultRef'],
): Result<SalvageOutcome> {
  const end = { mode: 'salvage', strategy: 'evaluated', result } as const
  writeCompleted(batch, salvage, actorOf(integrator), end, ref)
  return ok({ salvage: 'merged' })
}

export function initiateSalvage(batch: Batch, source: Workspace, paused: PausedIntegration): Result<void> {
  const begun = decideSalvage(batch, salvageTarget(batch.run, source), paused, true)
  return begun.ok ? ok(undefined) : begun
}

interface Start {
  readonly checkpoint: CheckpointId
  readonly basis: string | undefined
}

function strategyProblem(strategy: unknown = 'evaluated'): Refusal | undefined {
  if (strategy === 'evaluated') return undefined
  if (!INTEGRATION_STRATEGIES.some(each => each === strategy))
    return invalidArgument(`A strategy is one of ${INTEGRATION_STRATEGIES.join(', ')}.`, 'invalid_strategy')
  return invalidState(
    `What a failed workspace left is judged before it is merged: '${String(strategy)}' is not for salvage, 'evaluated' is.`,
    'strategy_not_available',
  )
}

function chosenOf(run: Run, source: Workspace, named: unknown): Result<CheckpointId> {
  const usual = salvageCandidate(run, source.id)
  if (usual === undefined) return invalidState(`${source.id} left no checkpoint.`, 'nothing_to_salvage')
  if (named === undefined) return ok(usual)
  const chosen = source.register?.find(each => each === named)
  return chosen === undefined ? notFound(`checkpoint of ${source.id}`, named) : ok(chosen)
}

/** The ordinary integration gate; a rejection leaves everything as it is, since the source has failed already. */
function gateProblem(
  batch: Batch,
  caller: Workspace,
  source: Workspace,
  { checkpoint, basis }: Start,
): Refusal | undefined {
  if (batch.run.approved.get(source.id)?.mode === 'salvage') return undefined
  const verdict = gate(batch, {
    type: 'integration',
    caller: caller.id,
    source: source.id,
    strategy: 'evaluated',
    accept: false,
    mode: 'salvage',
    checkpoint,
    ...(basis !== undefined && { basis }),
  })
  if (verdict === 'proceed') return undefined
  // W-HWY-11: nothing was done, and the answer says so.
  if (verdict === 'rejected')
    return refusal('rejected', `The salvage of ${source.id} was rejected.`, { reason: 'gate_rejected_by_human' })
  return gated(verdict.waits)
}

/** W-INT-05: what is stored is not what its agent handed in, so that it is not shown and not merged. */
export function writeFlagged(
  batch: Batch,
  target: Workspace,
  source: Workspace,
  checkpoint: CheckpointId,
  violation: Violation,
): Refusal {
  const reason = 'integrity_violation'
  writeForged(batch, checkpoint, violation, { mode: 'salvage' })
  writeAborted(batch, { source, target }, reason, 'protocol')
  const message = `What the store holds of ${checkpoint} does not match its proof; nothing was merged.`
  return refusal('rejected', message, { reason, checkpoint })
}
