// Who may be a user at all (W-USER-01), and claims to be somebody that did not hold (W-USER-04, W-SEC-06).
import { type EntryId, ok, type Result } from '@parley/core'
import { bodyLimits, isReservedActor } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { type Refusal, refusal } from '../refusal.ts'
import type { FailedClaim } from './user.ts'

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
