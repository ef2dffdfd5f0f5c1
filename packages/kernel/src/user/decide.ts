// Changes of users (W-USER-03, -04, -15), recorded in the house run.
import type { Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import { refusal } from '../refusal.ts'
import type { FailedClaim, UserChange } from './user.ts'

export function decideUser(_batch: Batch, _change: UserChange): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}

export function decideAuthenticationFailed(_batch: Batch, _claim: FailedClaim): Result<void> {
  return refusal('unsupported', 'Not built yet.')
}
