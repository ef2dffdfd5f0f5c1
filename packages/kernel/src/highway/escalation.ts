// Escalations (W-HWY-20 to -22, W-SIG-12): an agent, or the coordinator (§6.5, §10.1), asks the present owner of a
// workspace, who may be there, away or gone.
import {
  deadline,
  durationMs,
  type EnvelopeId,
  ok,
  type Result,
  type SignalId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type { EventBody, WorkspaceState } from '@parley/trail/events'
import { actorOf, type Batch, clip, type UserDirectory } from '../batch.ts'
import { decideSend } from '../envelope/send.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import { isText } from '../plain.ts'
import { invalidArgument, invalidState, limitReached, type Refusal } from '../refusal.ts'
import { knownWorkspace, type Run, rootOf } from '../run/run.ts'
import { byProtocol, writeFailure } from '../workspace/failure.ts'
import { operand } from '../workspace/operation.ts'
import { ended, isRoot, type Workspace } from '../workspace/workspace.ts'
import type { AnswerRecord } from './answer.ts'

export interface Escalation {
  readonly signal: SignalId
  readonly workspace: WorkspaceId
  readonly reason: string
  readonly received: Ticks
  readonly queued: boolean
  answer: EscalationReply | undefined
}

export interface EscalationReply {
  readonly user: string
  readonly envelope: EnvelopeId
}

/** How an addressee stands: takes it now, takes it later, or will never take it (W-USER-02). */
type Availability = 'present' | 'away' | 'gone'

export function availability(users: UserDirectory | undefined, addressee: string): Availability {
  // The owner of a root that no person answers for.
  if (!users || addressee === 'system') return 'present'
  const state = users.stateOf(addressee)
  if (state === 'active') return 'present'
  // A user who was never seen may still come.
  return state === 'deactivated' ? 'gone' : 'away'
}

export function escalationDeadline(run: Run, escalation: Escalation): Ticks | undefined {
  const { timeout } = run.highway.escalation
  if (timeout === null || escalation.answer) return undefined
  return deadline(escalation.received, timeout)
}

/** Of all that wait, the one that came first ends first: they have one timeout. */
export function firstEscalationDeadline(run: Run): Ticks | undefined {
  for (const escalation of run.escalations.values()) {
    const at = escalationDeadline(run, escalation)
    if (at !== undefined) return at
  }
  return undefined
}

export function escalationLimit(run: Run): Refusal | undefined {
  const full = run.highway.escalation.enabled && run.escalations.size >= kernelLimits.openEscalations
  return full ? limitReached('escalations that wait', kernelLimits.openEscalations) : undefined
}

export function writeEscalated(batch: Batch, from: Workspace, signal: SignalId, reason: string): void {
  const { highway } = batch.run
  // W-LIFE-04: what comes from a sealed workspace is on record only.
  if (!highway.escalation.enabled || STATE_RULES[from.status].signals !== 'recorded') return
  writeReceived(batch, from, signal, reason, 'protocol')
}

function writeReceived(batch: Batch, from: Workspace, signal: SignalId, reason: string, actor: string): void {
  const { highway } = batch.run
  const addressee = from.owner
  const standing = availability(batch.context.users, addressee)
  batch.add('escalation_received', from, actor, {
    signal_id: signal,
    workspace: from.id,
    reason,
    addressee,
    queued: standing === 'away',
  })
  if (standing === 'gone') writeUnreceived(batch, addressee, signal, 'user_not_active')
  if (standing === 'away' && highway.escalation.timeout !== null) writeOverflow(batch, addressee)
}

/** W-HWY-21: with the newest one, the oldest beyond the user's bound run their fallback at once. */
function writeOverflow(batch: Batch, addressee: string): void {
  const bound = batch.context.escalationQueue ?? kernelDefaults.escalationQueue
  const queue = waitingFor(batch.run, addressee).filter(({ queued }) => queued)
  for (const oldest of queue.slice(0, Math.max(0, queue.length + 1 - bound))) {
    // An earlier one's fallback may have taken its workspace along.
    if (batch.isEnded(knownWorkspace(batch.run, oldest.workspace))) continue
    writeUnreceived(batch, addressee, oldest.signal, 'escalation_queue_overflow')
    writeFallback(batch, oldest)
  }
}

export function waitingFor(run: Run, addressee: string): readonly Escalation[] {
  return [...run.escalations.values()].filter(
    ({ workspace, answer }) => !answer && knownWorkspace(run, workspace).owner === addressee,
  )
}

/** After a workspace got another owner: what it asked is the new owner's now (W-HWY-21). */
export function writeEscalationsRouted(batch: Batch, workspace: Workspace, owner: string): void {
  if (availability(batch.context.users, owner) !== 'gone') return
  for (const { signal, workspace: from, answer } of batch.run.escalations.values())
    if (from === workspace.id && !answer) writeUnreceived(batch, owner, signal, 'user_not_active')
}

/** AMB-50: the pseudo-capability that every active user has. */
export const RECEIVE_ESCALATION = 'receive_escalation'

function writeUnreceived(
  batch: Batch,
  user: string,
  signal: SignalId,
  reason: 'user_not_active' | 'escalation_queue_overflow',
): void {
  // The user did nothing: the runtime could not deliver (§9.1).
  batch.add('capability_denied', null, 'protocol', {
    user_id: user,
    capability: RECEIVE_ESCALATION,
    action: 'escalation_delivery',
    target: signal,
    reason,
    timestamp: batch.at,
  })
}

/** Its time is over (W-HWY-22), whatever state its addressee is in. */
export function writeEscalationDue(batch: Batch, escalation: Escalation): void {
  const { signal, workspace, received } = escalation
  batch.add('escalation_timeout', knownWorkspace(batch.run, workspace), 'fallback', {
    signal_id: signal,
    workspace,
    fallback_action: batch.run.highway.escalation.fallback,
    elapsed: Math.max(0, durationMs(received, batch.context.now)),
  })
  writeFallback(batch, escalation)
}

const AT_WORK: readonly WorkspaceState[] = ['active', 'blocked']

function writeFallback(batch: Batch, escalation: Escalation): void {
  const { fallback } = batch.run.highway.escalation
  const workspace = knownWorkspace(batch.run, escalation.workspace)
  if (fallback === 'approve') {
    // AMB-26: where the ordinary checks refuse the envelope, the coordinator handles it. No agent said this: the root
    // lends its name, as it does to people, and the record names the fallback (§9.1). It holds no right to what lies
    // below its delegates.
    const root = rootOf(batch.run)
    const further = workspace.parent !== root
    const composed = { actor: 'fallback', ...(further && { right: 'none' as const }) }
    const sent = workspace.parent ? decideSend(batch, root, goAhead(workspace), composed) : undefined
    if (sent?.ok) writeResolved(batch, escalation, 'fallback', 'envelope', sent.value.envelope)
    else writeResolved(batch, escalation, 'fallback', 'delegation')
    return
  }
  // §6.3: an old question fails nobody who has completed or is paused, and the coordinator's own no run.
  const aborts = fallback === 'reject' && AT_WORK.includes(workspace.status) && !isRoot(workspace)
  writeResolved(batch, escalation, 'fallback', aborts ? 'abort' : 'delegation')
  if (aborts) writeFailure(batch, workspace, byProtocol('escalation_timeout'))
}

function goAhead(workspace: Workspace): object {
  const content = 'Nobody answered your escalation in time. Proceed at your own judgement.'
  return { to: workspace.id, type: 'feedback', payload: { format: 'markdown', content } }
}

export function writeResolved(
  batch: Batch,
  { signal, workspace }: Escalation,
  actor: string,
  response: EventBody<'escalation_resolved'>['response_type'],
  ref?: EnvelopeId,
): void {
  batch.add('escalation_resolved', knownWorkspace(batch.run, workspace), actor, {
    signal_id: signal,
    workspace,
    actor,
    response_type: response,
    ...(ref !== undefined && { response_ref: ref }),
  })
}

export interface Consulted {
  readonly signal: SignalId
}

export function decideConsult(
  batch: Batch,
  caller: Workspace,
  request: { readonly workspace: unknown; readonly reason: unknown },
): Result<Consulted> {
  const target = operand(batch, caller, 'consult', request.workspace)
  if (!target.ok) return target
  const { reason } = request
  if (!isText(reason)) return invalidArgument('A question to a person needs a reason.')
  if (ended(target.value))
    return invalidState(`${target.value.id} is ${target.value.status}; there is nothing to ask about it.`)
  if (!batch.run.highway.escalation.enabled)
    return invalidState('This run takes no questions to people: its escalations are switched off.')
  const full = escalationLimit(batch.run)
  if (full) return full
  const signal = batch.newId<SignalId>('sig')
  writeReceived(batch, target.value, signal, clip(reason, kernelLimits.reasonLength), actorOf(caller))
  return ok({ signal })
}

export function answerEscalation(run: Run, { signal, user, envelope }: AnswerRecord): void {
  const escalation = run.escalations.get(signal)
  if (escalation) escalation.answer = { user, envelope }
}

export function answerLost(run: Run, envelope: string): void {
  for (const escalation of run.escalations.values())
    if (escalation.answer?.envelope === envelope) escalation.answer = undefined
}

export function dropEscalations(run: Run, workspace: Workspace): void {
  for (const { signal, workspace: from } of run.escalations.values())
    if (from === workspace.id) run.escalations.delete(signal)
}
