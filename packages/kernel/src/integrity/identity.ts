// The identity of a workspace's agent (W-SEC-03): bound at creation, on record in `workspace_created.agent`, exchanged
// only by migration, and never at work in two workspaces at once.
import { err, ok, ParleyError, type Result, type RunId, type WorkspaceId } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import type { AgentCommand } from '../command.ts'
import { isText } from '../plain.ts'
import { type Refusal, refusal } from '../refusal.ts'
import { writeAuthenticationFailed } from '../user/authorize.ts'
import { agentOf, type Workspace } from '../workspace/workspace.ts'
import { writeViolation } from './proofs.ts'

export interface IdentityRequest {
  readonly run: RunId
  readonly workspace: WorkspaceId
  readonly role: string
  readonly task: string | null
  readonly context: Readonly<Record<string, unknown>>
}

/** Answers at once and changes nothing: a decision that could not be made durable is made again. */
export type Identify = (request: IdentityRequest) => string

/** W-SEC-03: a handle speaks for its workspace while its agent is bound. The runtime's own commands name none. */
export function notBound(batch: Batch, caller: Workspace, command: AgentCommand): Refusal | undefined {
  const { agent } = command
  if (agent === undefined || agent === agentOf(caller)) return undefined
  const emits = command.type === 'emit'
  const reason = 'invalid_credential'
  const claim = { entity: agent, context: emits ? 'signal_emit' : 'agent_operation', reason, source: caller.id }
  const entry = writeAuthenticationFailed(batch, claim)
  if (emits) writeForgedSignal(batch)
  const message = `${agent} is not the agent of ${caller.id}: another one took over, or has not handed over yet.`
  return refusal('permission_denied', message, { reason, entry })
}

/** W-SEC-08: a signal that is refused for its origin has no id, and there is no proof that could be compared. */
export function writeForgedSignal(batch: Batch): void {
  const subject = { subject_type: 'signal', subject_id: '', action_taken: 'rejected' } as const
  writeViolation(batch, subject, { violation: 'signature_invalid', expected: null, actual: null })
}

export function identityFor(batch: Batch, request: Omit<IdentityRequest, 'run'>, source: string): Result<string> {
  const { run, context } = batch
  // An agent of its own for each workspace: nobody else can have that name.
  if (!context.identify) return ok(`agent:${request.workspace}`)
  let identity: unknown
  try {
    identity = context.identify({ ...request, run: run.id })
  } catch (cause) {
    return err(
      new ParleyError('rejected', `No agent could be assigned to the ${request.role}.`, {
        details: { reason: 'identity_invalid' },
        cause,
      }),
    )
  }
  if (!isIdentity(identity)) return refusal('rejected', NO_IDENTITY, { reason: 'identity_invalid' })
  return atWork(batch, identity, 'workspace_creation', source) ?? ok(identity)
}

export function atWork(batch: Batch, identity: string, context: string, source: string): Refusal | undefined {
  const bound = batch.run.agents.get(identity)
  if (bound === undefined) return undefined
  const reason = 'identity_in_use'
  const entry = writeAuthenticationFailed(batch, { entity: identity, context, reason, source })
  const message = `The agent ${identity} is at work in ${bound}; it can serve another workspace once that has ended.`
  return refusal('rejected', message, { reason, workspace: bound, entry })
}

export const NO_IDENTITY = `The identity of an agent is a text of 1 to ${bodyLimits.userIdLength} characters.`

export function isIdentity(identity: unknown): identity is string {
  return isText(identity, bodyLimits.userIdLength) && identity.isWellFormed()
}
