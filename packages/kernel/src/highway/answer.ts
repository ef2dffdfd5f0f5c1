// Answers to escalations (W-HWY-22): mail to the agent, the end of its work, or delegation to the coordinator.
import { compile, ok, type Result, type SignalId, type Static, Type } from '@parley/core'
import type { Batch } from '../batch.ts'
import { type Envelope, PayloadSchema } from '../envelope/envelope.ts'
import { invalidArgument, invalidState, type Refusal } from '../refusal.ts'
import { knownWorkspace } from '../run/run.ts'
import { authorizeUser, inactiveUser, owns } from '../user/authorize.ts'
import { byHuman, writeFailure } from '../workspace/failure.ts'
import type { Workspace } from '../workspace/workspace.ts'
import { type EscalationReply, RECEIVE_ESCALATION, writeResolved } from './escalation.ts'
import { writeInjected } from './inject.ts'

const EscalationAnswerSchema = Type.Union([
  Type.Object({ type: Type.Literal('envelope'), payload: PayloadSchema }, { additionalProperties: false }),
  Type.Object({ type: Type.Enum(['abort', 'delegation']) }, { additionalProperties: false }),
])
export type EscalationAnswer = Static<typeof EscalationAnswerSchema>

const validator = compile(EscalationAnswerSchema, { name: 'answer' })

/** Stored, so that the envelope's arrival ends the escalation after a restart too. */
export interface AnswerRecord extends EscalationReply {
  readonly signal: SignalId
}

export function decideResolveEscalation(
  batch: Batch,
  user: string,
  signal: unknown,
  submitted: unknown,
): Result<unknown> {
  const answer = validator.check(submitted)
  if (!answer.ok) return invalidArgument(answer.error.message, 'invalid_decision')
  const escalation = batch.run.escalations.get(signal as SignalId)
  const workspace = escalation && knownWorkspace(batch.run, escalation.workspace)
  const denied = authorize(batch, user, answer.value.type, workspace)
  if (denied) return denied
  if (!escalation || !workspace || escalation.answer)
    return invalidState('This escalation does not wait for an answer.', 'escalation_not_pending')
  switch (answer.value.type) {
    case 'envelope':
      return decideReply(batch, user, escalation.signal, workspace, answer.value.payload)
    case 'abort':
      writeResolved(batch, escalation, user, 'abort')
      writeFailure(batch, workspace, byHuman(user))
      return ok(undefined)
    case 'delegation':
      writeResolved(batch, escalation, user, 'delegation')
      return ok(undefined)
  }
}

/** W-HWY-23. An escalation that is settled has no scope any more; that it does not wait is said afterwards. */
function authorize(
  batch: Batch,
  user: string,
  type: EscalationAnswer['type'],
  workspace: Workspace | undefined,
): Refusal | undefined {
  const owned = !workspace || owns(user, workspace)
  const about = { action: 'resolve_escalation', owned, ...(workspace && { target: workspace.id }) }
  if (type === 'envelope')
    return authorizeUser(batch, user, { ...about, own: 'inject_directive', any: 'inject_directive_any' })
  if (type === 'abort') return authorizeUser(batch, user, { ...about, own: 'abort_own', any: 'abort_any' })
  if (!owned) return authorizeUser(batch, user, { ...about, any: 'abort_any' })
  const inactive = inactiveUser(batch, user)
  if (!inactive) return undefined
  const { action, target } = about
  const denial = { capability: RECEIVE_ESCALATION, action, reason: 'user_not_active', message: inactive } as const
  return batch.denyUser(user, { ...denial, ...(target !== undefined && { target }) })
}

/** The answer is mail like any other a person sends; whether free injection is switched off does not matter to it. */
function decideReply(
  batch: Batch,
  user: string,
  signal: SignalId,
  workspace: Workspace,
  payload: object,
): Result<unknown> {
  const sent = writeInjected(batch, user, { to: workspace.id, type: 'feedback', payload })
  if (!sent.ok) return sent
  const record: AnswerRecord = { signal, user, envelope: sent.value.envelope }
  batch.store('answer', batch.newId('obj'), record)
  return sent
}

export function writeAnswered(batch: Batch, envelope: Envelope): void {
  if (envelope.origin !== 'human') return
  for (const escalation of batch.run.escalations.values())
    if (escalation.answer?.envelope === envelope.id)
      writeResolved(batch, escalation, escalation.answer.user, 'envelope', envelope.id)
}
