// Integration in normal mode (W-INT-01 to -04, -06, -08, -09, -15): begin, the three decisions, merge errors.
import { type ObjectId, ok, type Result } from '@parley/core'
import { INTEGRATION_STRATEGIES, type IntegrationStrategy } from '@parley/trail/events'
import { actorOf, type Batch } from '../batch.ts'
import { gate, gated } from '../highway/gate.ts'
import { invalidArgument, invalidState } from '../refusal.ts'
import { byOperation, byProtocol, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import {
  DECISIONS,
  filesOf,
  type Integration,
  type IntegrationDecision,
  type IntegrationOutcome,
  type IntegrationRequest,
  openSalvage,
  overlapsOf,
  type PausedIntegration,
  type SalvageOutcome,
  writeAborted,
  writeAbortion,
} from './integration.ts'
import { writeConflicts } from './report.ts'
import { salvageOf } from './salvage.ts'
import {
  baseAwareProblem,
  basisProblem,
  closingProblem,
  deliverableViolation,
  integrable,
  judgeable,
  parentOf,
  sourceIn,
  storedViolation,
  storeResult,
  targetOf,
  writeFlagged,
  writeMerged,
  writeStarted,
} from './source.ts'

/** W-INT-02 steps 2 to 5. `passed`: its gate was approved, or none stands in the way. */
export function decideBegin(
  batch: Batch,
  caller: Workspace,
  request: IntegrationRequest,
  passed = false,
): Result<void> {
  const source = sourceIn(batch, caller, request.source, 'integrating')
  if (!source.ok) return source
  const begun = begin(batch, caller, source.value, request, { passed, accept: false })
  return begun.ok ? ok(undefined) : begun
}

/** W-INT-03. Opens the integration first where it is not open yet. */
export function decideIntegration(
  batch: Batch,
  caller: Workspace,
  request: IntegrationRequest & { readonly decision: IntegrationDecision },
  passed = false,
): Result<IntegrationOutcome> {
  const { decision } = request
  const allowed = decision === 'revise' || decision === 'reject' ? judgeable : integrable
  const source = sourceIn(batch, caller, request.source, 'integrating', allowed)
  if (!source.ok) return source
  if (!DECISIONS.includes(decision))
    return invalidArgument(`A decision is one of ${DECISIONS.join(', ')}.`, 'invalid_decision')
  const { strategy = 'direct' } = request
  if (decision === 'accept') return accept(batch, caller, source.value, { ...request, strategy }, passed)
  // AMB-18: neither is gated.
  if (!source.value.integration)
    writeStarted(batch, caller, source.value, {
      mode: 'normal',
      strategy: 'direct',
      checkpoint: source.value.deliverable,
    })
  return writeEnded(batch, caller, source.value, decision === 'revise' ? 'revision_required' : 'rejected')
}

/** The merge itself could not be made (W-INT-15, merge error). */
export function decideMergeError(
  batch: Batch,
  caller: Workspace,
  id: unknown,
): Result<IntegrationOutcome | SalvageOutcome> {
  if (openSalvage(batch.run, id)) {
    const salvage = salvageOf(batch, caller, id)
    return salvage.ok ? writeAborted(batch, salvage.value, 'integration_error', actorOf(caller)) : salvage
  }
  const source = sourceIn(batch, caller, id, 'integrating')
  if (!source.ok) return source
  if (!source.value.integration) return invalidState(`No integration of ${source.value.id} is open.`)
  return writeEnded(batch, caller, source.value, 'integration_error')
}

function begin(
  batch: Batch,
  caller: Workspace,
  source: Workspace,
  request: IntegrationRequest,
  { passed, accept }: { readonly passed: boolean; readonly accept: boolean },
): Result<Pick<Integration, 'strategy' | 'checkpoint'>> {
  const strategy = INTEGRATION_STRATEGIES.find(each => each === request.strategy)
  if (!strategy)
    return invalidArgument(`A strategy is one of ${INTEGRATION_STRATEGIES.join(', ')}.`, 'invalid_strategy')
  const unfit = requestProblem(request, strategy)
  if (unfit) return unfit
  const blocked = closingProblem(source)
  if (blocked) return blocked
  if (source.integration) return invalidState(`The integration of ${source.id} is open already.`)
  // W-INT-04
  const checkpoint = source.deliverable
  if (!checkpoint) return invalidState(`${source.id} has no final checkpoint.`, 'no_final_checkpoint')
  const basis = request.basis as string | undefined
  // W-INT-05. What waited at a gate, or for its target, may have been changed since it was asked for.
  const violation = passed
    ? storedViolation(batch, checkpoint)
    : deliverableViolation(batch, checkpoint, request.evidence)
  if (!violation.ok) return violation
  if (violation.value) {
    writeStarted(batch, caller, source, { mode: 'normal', strategy, checkpoint, basis })
    return writeFlagged(batch, source, checkpoint, violation.value)
  }
  // The integrator of `evaluated` brings files of its own.
  const empty =
    request.ungatedIfEmpty === true && strategy !== 'evaluated' && filesOf(batch.run, checkpoint).length === 0
  if (!passed && !empty && !batch.run.approved.has(source.id)) {
    const paused: PausedIntegration = {
      type: 'integration',
      caller: caller.id,
      source: source.id,
      strategy,
      accept,
      ...(basis !== undefined && { basis }),
      ...(request.result !== undefined && { result: request.result }),
      ...(request.baseAware === true && { baseAware: true }),
    }
    const verdict = gate(batch, paused)
    if (verdict === 'rejected') {
      writeFailure(batch, source, byProtocol('gate_rejected_by_human'))
      return invalidState(`The integration of ${source.id} was rejected.`, 'gate_rejected_by_human')
    }
    if (verdict !== 'proceed') return gated(verdict.waits)
  }
  writeStarted(batch, caller, source, { mode: 'normal', strategy, checkpoint, basis })
  return ok({ strategy, checkpoint })
}

function accept(
  batch: Batch,
  caller: Workspace,
  source: Workspace,
  request: IntegrationRequest,
  passed: boolean,
): Result<IntegrationOutcome> {
  const open = source.integration
  const unfit = open && (requestProblem(request, open.strategy) ?? closingProblem(source))
  if (unfit) return unfit
  if (open?.checkpoint) {
    const violation = deliverableViolation(batch, open.checkpoint, request.evidence)
    if (!violation.ok) return violation
    if (violation.value) return writeFlagged(batch, source, open.checkpoint, violation.value)
  }
  const begun = open ? ok(open) : begin(batch, caller, source, request, { passed, accept: true })
  if (!begun.ok) return begun
  const { strategy, checkpoint } = begun.value
  let resultRef: ObjectId | undefined
  if (request.result !== undefined) resultRef = storeResult(batch, source, parentOf(batch, source), request.result)
  if (strategy !== 'direct') {
    const files = filesOf(batch.run, checkpoint)
    const found = overlapsOf(files, source, parentOf(batch, source), request.baseAware === true)
    // AMB-30: what is detected is not settled silently. A result of the integrator is kept for the resolution.
    if (found.length > 0)
      return ok({ state: 'conflicted', conflicts: writeConflicts(batch, caller, source, { found }) })
  }
  writeMerged(batch, caller, source, 'success', strategy, resultRef)
  return ok({ state: 'closed', conflicts: [] })
}

function requestProblem(request: IntegrationRequest, strategy: IntegrationStrategy): Result<never> | undefined {
  const { basis, result, baseAware, ungatedIfEmpty } = request
  const unfit = basisProblem(basis)
  if (unfit) return unfit
  if (result !== undefined && strategy !== 'evaluated')
    return invalidArgument(`A result of one's own belongs to the strategy 'evaluated', not to '${strategy}'.`)
  if (ungatedIfEmpty !== undefined && typeof ungatedIfEmpty !== 'boolean')
    return invalidArgument('Whether a person is asked about a deliverable without files is true or false.')
  return baseAwareProblem(baseAware)
}

/** An integration that was open before this batch is aborted by the failure itself. */
function writeEnded(
  batch: Batch,
  caller: Workspace,
  source: Workspace,
  code: 'revision_required' | 'rejected' | 'integration_error',
): Result<IntegrationOutcome> {
  if (!source.integration)
    writeAbortion(batch, { source, target: targetOf(batch, source) }, 'normal', code, actorOf(caller))
  writeFailure(batch, source, byOperation(code, caller))
  return ok({ state: 'failed', conflicts: [] })
}
