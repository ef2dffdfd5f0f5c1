// Whose integration it is (W-INT-01): the integrator, the source and its state, the target and its lock.
import { type CheckpointId, type ObjectId, ok, type Result } from '@parley/core'
import {
  bodyLimits,
  type EventBody,
  type IntegrationStrategy,
  type ResolutionStrategy,
  type WorkspaceState,
} from '@parley/trail/events'
import { actorOf, type Batch, initiatorOf } from '../batch.ts'
import { EVIDENCE_MISSING, type Evidence } from '../checkpoint/checkpoint.ts'
import { gate, gated } from '../highway/gate.ts'
import { type Violation, violationOf, writeViolation } from '../integrity/proofs.ts'
import { writeTransition } from '../lifecycle/transition.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState, type Refusal, refusal } from '../refusal.ts'
import { rootOf, workspaceOf } from '../run/run.ts'
import { writeDelivered, writeEmitted } from '../signal/signal.ts'
import { writeTaskIntegrated } from '../task/follow.ts'
import { byProtocol, writeFailure } from '../workspace/failure.ts'
import { authorize, operand } from '../workspace/operation.ts'
import { isRoot, openChildren, type Workspace } from '../workspace/workspace.ts'
import { type Bearer, type Conflict, placeOf, proposalOf } from './conflict-record.ts'
import { type ResultRecord, writeAbortion, writeCompleted } from './integration.ts'

export function integrable(batch: Batch, caller: Workspace, id: unknown): Result<Workspace> {
  const source = operand(batch, caller, 'integrate', id)
  if (!source.ok) return source
  if (isRoot(caller) && source.value.parent !== caller && !isRoot(source.value)) {
    return batch.denyOperation(caller, 'integrate', {
      target: source.value.id,
      message: `${source.value.id} is integrated by its own parent.`,
    })
  }
  return source
}

/** The nearest ancestor that still acts may send work back, so that no child is left without a judge (W-INT-01). */
export function judgeable(batch: Batch, caller: Workspace, id: unknown): Result<Workspace> {
  const source = typeof id === 'string' ? workspaceOf(batch.run, id) : undefined
  if (source?.status !== 'integrating' || source.parent === caller || judgeOf(source) !== caller)
    return integrable(batch, caller, id)
  return authorize(batch, caller, 'integrate') ?? ok(source)
}

function judgeOf(source: Workspace): Workspace | null {
  let judge = source.parent
  while (judge && (judge.status === 'integrating' || judge.status === 'conflicted')) judge = judge.parent
  return judge
}

export function sourceIn(
  batch: Batch,
  caller: Workspace,
  id: unknown,
  state: Extract<WorkspaceState, 'integrating' | 'conflicted'>,
  allowed: typeof integrable = integrable,
): Result<Workspace> {
  const source = allowed(batch, caller, id)
  if (!source.ok) return source
  const { status } = source.value
  if (isRoot(source.value) || status !== state) {
    const hint = status === 'conflicted' ? ' Its conflicts are to be resolved first.' : ''
    return invalidState(`${source.value.id} is ${status}, not ${state}.${hint}`)
  }
  const target = parentOf(batch, source.value)
  return isFree(target, source.value) ? source : targetLocked(target)
}

export function parentOf(batch: Batch, source: Workspace): Workspace {
  return source.parent ?? rootOf(batch.run)
}

/** W-INT-08: whether no other integration into the target is open. */
export function isFree(target: Workspace, source: Workspace): boolean {
  return target.merging === undefined || target.merging === source
}

export function targetLocked(target: Workspace): Result<never> {
  return refusal('target_locked', `An integration into ${target.id} is open.`, { target: target.id })
}

export function targetOf(batch: Batch, source: Workspace): Workspace {
  return source.integration?.target ?? parentOf(batch, source)
}

/** W-WS-14: nothing closes above a child that is still at work. */
export function closingProblem(source: Workspace): Result<never> | undefined {
  const [child] = openChildren(source)
  return child && invalidState(`${source.id} has a child at work, ${child.id}; finish or abort it first.`)
}

export function basisProblem(basis: unknown): Refusal | undefined {
  if (basis === undefined || isText(basis, bodyLimits.nameLength)) return undefined
  return invalidArgument(`The basis of an order is a text of 1 to ${bodyLimits.nameLength} characters.`)
}

export function baseAwareProblem(baseAware: unknown): Refusal | undefined {
  if (baseAware === undefined || typeof baseAware === 'boolean') return undefined
  return invalidArgument('Whether overlap with older integrations is ignored is true or false.')
}

interface Start {
  readonly mode: EventBody<'integration_started'>['mode']
  readonly strategy: IntegrationStrategy
  readonly checkpoint: CheckpointId | undefined
  readonly basis?: string | undefined
}

/** W-INT-10: one `integrate` signal for each integration, from the integrator's own workspace, then its record. */
export function writeStarted(
  batch: Batch,
  integrator: Workspace,
  source: Workspace,
  { mode, strategy, checkpoint, basis }: Start,
): void {
  const salvage = mode === 'salvage'
  const target = salvage ? integrator : parentOf(batch, source)
  const actor = actorOf(integrator)
  const emission = { type: 'integrate', ref: source.id, actor, ...(salvage && { mode }) } as const
  const signal = writeEmitted(batch, integrator, emission)
  batch.add('integration_started', salvage ? integrator : source, actor, {
    source: source.id,
    target: target.id,
    owner: source.owner,
    mode,
    strategy,
    checkpoint_ref: checkpoint ?? null,
    timestamp: batch.at,
    // W-INT-09
    ...(basis !== undefined && { order_index: target.begun + 1, order_basis: basis }),
  })
  writeDelivered(batch, signal)
}

export function writeMerged(
  batch: Batch,
  integrator: Workspace,
  source: Workspace,
  after: 'success' | 'conflict_resolved',
  strategy: IntegrationStrategy,
  resultRef: ObjectId | undefined,
): void {
  const actor = actorOf(integrator)
  const end = { mode: 'normal', strategy, result: after } as const
  writeCompleted(batch, { source, target: targetOf(batch, source) }, actor, end, resultRef)
  writeTransition(batch, source, {
    to: 'closed',
    trigger: after === 'success' ? 'integration_succeeded' : 'conflict_resolved',
    actor,
    initiator: initiatorOf(integrator),
  })
  writeTaskIntegrated(batch, source)
}

/** AMB-28: what an integrator made of both sides; it is no checkpoint, and content of the target. */
export function storeResult(batch: Batch, source: Workspace, target: Workspace, value: unknown): ObjectId {
  const id = batch.newId<ObjectId>('obj')
  const record: ResultRecord = { workspace: source.id, value }
  batch.store('result', id, record, { of: 'workspace', workspace: target.id })
  return id
}

export interface Proposal {
  readonly conflict: Conflict
  readonly strategy: ResolutionStrategy
  readonly resolution: string
}

/** Asks at the gate for a proposal, and keeps the integrator's result meanwhile; refused while a human is asked. */
export function proposed(
  batch: Batch,
  caller: Workspace,
  bearer: Bearer,
  { conflict, strategy, resolution }: Proposal,
  result: unknown,
): Result<{ readonly rejected: boolean; readonly ref: ObjectId | undefined }> {
  const { source, mode } = placeOf(bearer)
  const verdict = gate(
    batch,
    {
      type: 'conflict_resolution',
      caller: caller.id,
      source: source.id,
      ...(mode === 'salvage' && { mode }),
      conflict: conflict.id,
      proposal: proposalOf(batch.run, conflict),
      strategy,
      resolution,
    },
    { always: strategy === 'escalate' },
  )
  const target = 'source' in bearer ? bearer.target : (source.integration?.target ?? caller)
  const ref = result === undefined ? undefined : storeResult(batch, source, target, result)
  // W-HWY-11: where the guard rejects, it answers in place of the human who did not.
  return typeof verdict === 'object' ? gated(verdict.waits) : ok({ rejected: verdict === 'rejected', ref })
}

export function deliverableViolation(
  batch: Batch,
  checkpoint: CheckpointId,
  evidence: Evidence | undefined,
): Result<Violation | undefined> {
  if (!batch.context.proofs) return ok(undefined)
  if (evidence?.checkpoint !== checkpoint) {
    const message = `The proof of ${checkpoint} as it is stored now is needed; the agent's handle brings it.`
    return invalidArgument(message, EVIDENCE_MISSING)
  }
  return ok(violationOf(batch.run.checkpoints.get(checkpoint)?.integrity, evidence.proof))
}

/** The same for a merge that continues later: the runtime brings the proof, since the caller may be gone. */
export function storedViolation(batch: Batch, checkpoint: CheckpointId): Result<Violation | undefined> {
  const { proofs, evidence } = batch.context
  if (proofs && evidence?.checkpoint !== checkpoint) batch.lacks = checkpoint
  return deliverableViolation(batch, checkpoint, evidence)
}

export function writeForged(
  batch: Batch,
  checkpoint: CheckpointId,
  violation: Violation,
  mode?: { readonly mode: 'salvage' },
): void {
  const subject = { subject_type: 'checkpoint', subject_id: checkpoint, action_taken: 'flagged' } as const
  writeViolation(batch, { ...subject, ...mode }, violation)
}

export function writeFlagged(batch: Batch, source: Workspace, checkpoint: CheckpointId, violation: Violation): Refusal {
  const reason = 'integrity_violation'
  writeForged(batch, checkpoint, violation)
  // Where it was open before this batch, the failure itself ends it.
  if (!source.integration)
    writeAbortion(batch, { source, target: targetOf(batch, source) }, 'normal', reason, 'protocol')
  writeFailure(batch, source, { ...byProtocol('integration_error'), aborts: reason })
  return notMerged(source, checkpoint)
}

export function notMerged(source: Workspace, checkpoint: CheckpointId): Refusal {
  const message = `What the store holds of ${checkpoint} does not match its proof; ${source.id} has failed and nothing was merged.`
  return refusal('rejected', message, { reason: 'integrity_violation', checkpoint })
}
