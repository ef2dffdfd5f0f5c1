// What users may do to workspaces through the highway: abort, suspend, resume, raise a budget, transfer (W-ROLE-04, last column).
import type { Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import type { UserCommand } from '../command.ts'
import { refusal } from '../refusal.ts'

export type UserOperation = Extract<UserCommand, { readonly type: `user_${string}` }>

export function decideUserOperation(_batch: Batch, _command: UserOperation): Result<unknown> {
  return refusal('unsupported', 'Not built yet.')
}
