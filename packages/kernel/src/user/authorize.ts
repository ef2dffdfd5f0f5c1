// Who is a user (W-USER-01) and may do what (W-SEC-05, W-USER-13); the first failure is on record.
import { type EntryId, ok, type Result } from '@parley/core'
import { bodyLimits, type Capability, isReservedActor } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { type Refusal, refusal } from '../refusal.ts'
import type { Workspace } from '../workspace/workspace.ts'
import type { FailedClaim } from './user.ts'

interface UserRequest {
  readonly action: string
  /** Of these the user needs one: `own` for what is the user's, `any` for everything. */
  readonly own?: Capability
  readonly any: Capability
  readonly target?: string
  /** Whether the target lies in the user's own tree: the `owner` field decides (W-USER-08). */
  readonly owned: boolean
}

export function authorizeUser(batch: Batch, user: string, request: UserRequest): Refusal | undefined {
  const { action, own, any, target, owned } = request
  const denied = (
    capability: Capability,
    reason: 'user_not_active' | 'missing_capability' | 'wrong_scope',
    message: string,
  ) => batch.denyUser(user, { capability, action, reason, message, ...(target !== undefined && { target }) })
  const inactive = inactiveUser(batch, user)
  if (inactive) return denied(own ?? any, 'user_not_active', inactive)
  const { users } = batch.context
  // A runtime without a registry knows no capabilities: whoever is let in may do everything.
  if (!users || users.holds(user, any)) return undefined
  if (own === undefined || !users.holds(user, own))
    return denied(own ?? any, 'missing_capability', `${user} does not hold '${own ?? any}'.`)
  if (owned) return undefined
  return denied(own, 'wrong_scope', `${user} holds '${own}' for what is their own only.`)
}

/** Undefined if the authentication boundary handed over this user and the name means nothing else here. */
export function identifyUser(batch: Batch, user: string): Refusal | undefined {
  const { users } = batch.context
  if (isUserId(batch, user) && (!users || users.stateOf(user) !== undefined)) return undefined
  return unidentified(batch, { entity: user }, `There is no user ${clip(user, 80)}: authenticate first.`)
}

export function inactiveUser(batch: Batch, user: string): string | undefined {
  const { users } = batch.context
  if (!users) return undefined
  const state = users.stateOf(user)
  return state === 'active' ? undefined : `The user ${user} is ${state ?? 'not known'}.`
}

export function owns(user: string, workspace: Workspace): boolean {
  return workspace.owner === user
}

/** W-USER-01: invisible characters, by which two people could look like one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** W-USER-01, A-01: what stands for somebody else on the trail is nobody's name. */
export function isUserId(batch: Batch, id: string): boolean {
  if (id === '' || id.length > bodyLimits.userIdLength || !id.isWellFormed() || UNSEEN.test(id)) return false
  return !isReservedActor(id, new Set(batch.run.vocabulary.roles.keys()))
}

/** Recorded in whatever run it is submitted to: the house for logins, the run itself for its agents. */
export function decideAuthenticationFailed(batch: Batch, claim: FailedClaim): Result<void> {
  writeAuthenticationFailed(batch, claim)
  return ok(undefined)
}

export function writeAuthenticationFailed(batch: Batch, claim: FailedClaim): EntryId {
  const text = (value: string) => clip(value.toWellFormed(), bodyLimits.nameLength)
  return batch.add('authentication_failed', null, 'protocol', {
    entity: text(claim.entity),
    context: text(claim.context) || 'unknown',
    reason: text(claim.reason) || 'invalid_credential',
    source: text(claim.source),
    timestamp: batch.at,
  })
}

/** Not handed over by the authentication boundary (W-SEC-05). */
export function unidentified(
  batch: Batch,
  { entity, source = '' }: { readonly entity: string; readonly source?: string },
  message: string,
): Refusal {
  const reason = 'unknown_identity'
  const entry = writeAuthenticationFailed(batch, { entity, context: 'highway_access', reason, source })
  return refusal('permission_denied', message, { reason, entry })
}
