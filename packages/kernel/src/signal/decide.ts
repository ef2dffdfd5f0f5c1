// A signal that an agent emits (W-SIG-05): the checks in their order, then the effect.
import { type CheckpointId, ok, type Result, type SignalId } from '@parley/core'
import { SIGNAL_TYPES, type SignalType, type WorkspaceState } from '@parley/trail/events'
import { actorOf, type Batch, clip, initiatorOf } from '../batch.ts'
import type { Evidence } from '../checkpoint/checkpoint.ts'
import { escalationLimit, writeEscalated } from '../highway/escalation.ts'
import { decideBegin } from '../integration/decide.ts'
import { writeSalvageEnded } from '../integration/integration.ts'
import { writeForgedSignal } from '../integrity/identity.ts'
import { isTransition, STATE_RULES, type Trigger } from '../lifecycle/states.ts'
import { writeTransition, writeUndeliverable } from '../lifecycle/transition.ts'
import { kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import type { DrivingSignal } from '../recovery/plan.ts'
import { invalidArgument, invalidState, notFound, type Refusal, refusal } from '../refusal.ts'
import type { Role } from '../role/resolve.ts'
import { writeTaskCompleted, writeTaskStarted } from '../task/follow.ts'
import type { Vocabulary } from '../taxonomy/taxonomy.ts'
import { writeAuthenticationFailed } from '../user/authorize.ts'
import { writeFailure } from '../workspace/failure.ts'
import { decideMigrate } from '../workspace/migrate.ts'
import { decideSuspend } from '../workspace/suspension.ts'
import { isRoot, type Workspace } from '../workspace/workspace.ts'
import { SIGNAL_RULES, takesSignals, writeDelivered, writeDelivery, writeEmitted, writeReleased } from './signal.ts'

/** What an agent supplies (W-SIG-02). */
export interface SignalDraft {
  readonly type: SignalType
  readonly reason?: string | undefined
  readonly ref?: string | undefined
}

/** `absorbed`: on record, but its transition is not legal now or has happened already (W-SIG-09). */
export interface SignalOutcome {
  readonly signal: SignalId | undefined
  readonly outcome: 'applied' | 'recorded' | 'absorbed'
  /** The checkpoint that `complete` hands over; null: the work can only be revised, rejected or aborted (W-INT-04). */
  readonly integrates?: CheckpointId | null
}

const FIELDS: ReadonlySet<string> = new Set(['type', 'reason', 'ref'])

export function decideEmit(
  batch: Batch,
  caller: Workspace,
  draft: SignalDraft & { readonly from?: string },
  evidence?: Evidence,
): Result<SignalOutcome> {
  const type: unknown = draft.type
  if (!isText(type)) return invalidArgument('A signal needs a type.')
  const deny = (reason: 'permission_denied' | 'frozen', message: string) =>
    batch.deny(caller, { capability: `emit:${clip(type, 128)}`, action: 'emit', reason, message })

  // 1. The caller speaks for its own workspace only.
  if (draft.from !== undefined && draft.from !== caller.id) {
    const message = `The agent of ${caller.id} cannot emit for another workspace.`
    return batch.context.proofs ? foreignOrigin(batch, caller, draft.from, message) : deny('permission_denied', message)
  }
  // 2. One of the eleven.
  if (!isSignalType(type)) return deny('permission_denied', `There is no signal of type '${clip(type, 80)}'.`)
  // 3. Fields.
  const problem = fieldProblem(draft, SIGNAL_RULES[type].reasonRequired)
  if (problem) return invalidArgument(problem)
  // 4. The role, or the operation that the coordinator means by it.
  const operation = isRoot(caller) ? SIGNAL_RULES[type].operation : undefined
  if (operation) return decideOperation(batch, caller, operation, draft, evidence)
  if (!roleOf(batch, caller).emit.has(type))
    return deny('permission_denied', `The role ${caller.role} does not emit '${type}'.`)
  // 5. A paused workspace says nothing; a terminal one is on record only (W-SIG-10).
  if (STATE_RULES[caller.status].signals === 'refused')
    return deny('frozen', `${caller.id} is ${caller.status}; its agent is paused.`)
  if (STATE_RULES[caller.status].signals === 'late') {
    const late = writeEmitted(batch, caller, { ...draft, type, actor: actorOf(caller) })
    return ok({ signal: late.id, outcome: 'absorbed' })
  }
  const full = type === 'escalation' ? escalationLimit(batch.run) : undefined
  return full ?? ok(writeAgentSignal(batch, caller, { ...draft, type }))
}

/** W-SEC-08: from level 2 on this is impersonation, not only a missing permission. */
function foreignOrigin(batch: Batch, caller: Workspace, claimed: unknown, message: string): Refusal {
  const reason = 'invalid_credential'
  const entity = String(claimed)
  const entry = writeAuthenticationFailed(batch, { entity, context: 'signal_emit', reason, source: caller.id })
  writeForgedSignal(batch)
  return refusal('permission_denied', message, { reason, entry })
}

function writeAgentSignal(batch: Batch, from: Workspace, draft: SignalDraft): SignalOutcome {
  const { type, reason, ref } = draft
  const to = transitionOf(batch, from, type)
  if (to === 'failed') {
    const signal = writeFailure(batch, from, {
      trigger: 'agent_failed',
      reason: reason ?? type,
      actor: 'protocol',
      initiator: initiatorOf(from),
      signaller: actorOf(from),
      ...(ref !== undefined && { ref }),
    })
    return { signal: signal.id, outcome: 'applied' }
  }
  const signal = writeEmitted(batch, from, { type, reason, ref, actor: actorOf(from) })
  const applied = writeMove(batch, from, type, to)
  writeDelivered(batch, signal)
  writeAftermath(batch, from, to)
  if (type === 'escalation') writeEscalated(batch, from, signal.id, reason ?? type)
  if (to === 'integrating') return { signal: signal.id, outcome: 'applied', integrates: from.deliverable ?? null }
  if (applied) return { signal: signal.id, outcome: 'applied' }
  return { signal: signal.id, outcome: SIGNAL_RULES[type].trigger ? 'absorbed' : 'recorded' }
}

function writeMove(batch: Batch, from: Workspace, type: SignalType, to: WorkspaceState | undefined): boolean {
  const trigger = SIGNAL_RULES[type].trigger
  if (to === 'integrating') writeSalvageEnded(batch, from, to, 'protocol')
  if (to && trigger) writeTransition(batch, from, { to, trigger, actor: 'protocol', initiator: initiatorOf(from) })
  const state = to ?? from.status
  const started = type === 'started' && state === 'active' && writeTaskStarted(batch, from)
  if (to === 'integrating') writeTaskCompleted(batch, from)
  return to !== undefined || started
}

function writeAftermath(batch: Batch, from: Workspace, to: WorkspaceState | undefined): void {
  if (to === 'integrating') writeUndeliverable(batch, from, 'integrating')
  if (to === 'active') writeReleased(batch, from, 'active')
}

/** W-REC-16: what a signal on record would do if it came just now. Its own entries stay as they are. */
export function writeDriven(batch: Batch, from: Workspace, signal: DrivingSignal): void {
  const { type, reason, actor } = signal
  if (type !== 'failed') {
    const to = transitionOf(batch, from, type)
    writeMove(batch, from, type, to)
    writeAftermath(batch, from, to)
    return
  }
  const failure = drivenFailure(from, signal)
  if (!isTransition(from.status, 'failed', failure.trigger)) return
  const emitted = { id: signal.id, from, to: from.parent ?? undefined }
  writeFailure(batch, from, { ...failure, reason: reason ?? type, signaller: actor, emitted })
}

/** The reason is the code, unless it is the agent's own `failed`, which has the agent's words. */
function drivenFailure(from: Workspace, { reason, actor }: DrivingSignal) {
  const code = reason as Trigger
  if (actor === actorOf(from) || !isTransition(from.status, 'failed', code))
    return { trigger: 'agent_failed', actor: 'protocol', initiator: initiatorOf(from) } as const
  const initiator = actor === 'system' ? 'coordinator' : actor
  return { trigger: code, actor, initiator }
}

function transitionOf(batch: Batch, from: Workspace, type: SignalType): WorkspaceState | undefined {
  const to = SIGNAL_RULES[type].moves[from.status]
  // W-LIFE-06: who can be sent mail leaves `idle` with the first envelope; the root with whichever comes first.
  if (
    from.status === 'idle' &&
    to === 'active' &&
    !isRoot(from) &&
    receivesMail(batch.run.vocabulary, roleOf(batch, from))
  )
    return undefined
  return to
}

function receivesMail(vocabulary: Vocabulary, role: Role): boolean {
  for (const sender of vocabulary.roles.values()) {
    for (const [type, targets] of sender.send) {
      if ((targets.has(role.name) || targets.has(role.base)) && !role.removedReceive.has(type)) return true
    }
  }
  return false
}

function decideOperation(
  batch: Batch,
  caller: Workspace,
  operation: 'integrate' | 'suspend' | 'migrate',
  draft: SignalDraft,
  evidence: Evidence | undefined,
): Result<SignalOutcome> {
  const { ref, reason = 'requested' } = draft
  // A signal cannot name the new agent: the migration says so once the rest holds.
  const result =
    operation === 'suspend'
      ? decideSuspend(batch, caller, ref, reason)
      : operation === 'migrate'
        ? decideMigrate(batch, caller, { workspace: ref, reason })
        : decideBegin(batch, caller, { source: ref, strategy: 'direct', evidence })
  return result.ok ? ok({ signal: undefined, outcome: 'applied' }) : result
}

/** A signal that the transport brings: the first time it is delivered, later ones are on record only (W-SIG-09). */
export function decideSignalArrival(batch: Batch, id: SignalId, receiver: Workspace): Result<void> {
  if (batch.isEnded(receiver)) return ok(undefined)
  const known = receiver.known?.get(id)
  if (known !== undefined) {
    const from = batch.run.workspaces.get(known)
    if (from) writeDelivery(batch, id, from, receiver)
    return ok(undefined)
  }
  for (const from of batch.run.signalling) {
    const queue = from.waiting?.filter(signal => signal.to === receiver.id) ?? []
    if (!queue.some(signal => signal.id === id)) continue
    // W-SIG-06: the receiver may have paused since it was sent on its way, and nothing overtakes an earlier one.
    if (queue[0]?.id !== id || !takesSignals(receiver, receiver.status, receiver === from.parent))
      return invalidState(`${receiver.id} cannot take ${id} now: it is paused, or an earlier one comes first.`)
    writeDelivery(batch, id, from, receiver)
    return ok(undefined)
  }
  return notFound('signal', id)
}

function roleOf(batch: Batch, workspace: Workspace): Role {
  return batch.run.vocabulary.roles.get(workspace.role)!
}

function isSignalType(type: string): type is SignalType {
  return (SIGNAL_TYPES as readonly string[]).includes(type)
}

function fieldProblem(draft: SignalDraft, reasonRequired: boolean): string | undefined {
  for (const field of Object.keys(draft))
    if (!FIELDS.has(field)) return `A signal has no field '${clip(field, 80)}' that an agent could supply.`
  const reason: unknown = draft.reason
  if (reasonRequired && !isText(reason)) return `'${draft.type}' needs a reason.`
  if (reason !== undefined && !isText(reason, kernelLimits.reasonLength))
    return `The reason must be a text of 1 to ${kernelLimits.reasonLength} characters.`
  const ref: unknown = draft.ref
  if (ref !== undefined && !isText(ref, kernelLimits.refLength))
    return `The reference must be a text of 1 to ${kernelLimits.refLength} characters.`
  return undefined
}
