// Who the agent of a workspace is (W-SEC-03): an identity of its own beside the workspace's id, bound at creation and on record in
// `workspace_created.agent`. One identity serves several workspaces one after another, never two at once.
import { err, ok, ParleyError, type Result, type RunId, type WorkspaceId } from '@parley/core'
import { bodyLimits } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import { writeAuthenticationFailed } from '../user/identity.ts'

/** What the runtime tells whoever assigns agents. */
export interface IdentityRequest {
  readonly run: RunId
  readonly workspace: WorkspaceId
  readonly role: string
  readonly task: string | null
  /** What the creator gave the workspace to know. */
  readonly context: Readonly<Record<string, unknown>>
}

/** Answers at once and changes nothing: a decision that could not be made durable is made again. */
export type Identify = (request: IdentityRequest) => string

/** The identity that a new workspace's agent will have; refused where that agent sits in another live workspace of this run. */
export function identityFor(
  batch: Batch,
  request: Omit<IdentityRequest, 'run'>,
  source: string,
): Result<string> {
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
  if (!isIdentity(identity)) {
    const message = `The identity of an agent is a text of 1 to ${bodyLimits.userIdLength} characters.`
    return refusal('rejected', message, { reason: 'identity_invalid' })
  }
  const bound = run.agents.get(identity)
  if (bound === undefined) return ok(identity)
  const reason = 'identity_in_use'
  const entry = writeAuthenticationFailed(batch, {
    entity: identity,
    context: 'workspace_creation',
    reason,
    source,
  })
  const message = `The agent ${identity} is at work in ${bound}; it can serve another workspace once that has ended.`
  return refusal('rejected', message, { reason, workspace: bound, entry })
}

function isIdentity(identity: unknown): identity is string {
  return (
    typeof identity === 'string' &&
    identity !== '' &&
    identity.length <= bodyLimits.userIdLength &&
    identity.isWellFormed()
  )
}
