// Human injection (W-ENV-06, W-HWY-17 to -19): mail from a person, which no matrix and no right holds up.
import type { Result } from '@parley/core'
import type { Batch } from '../batch.ts'
import type { Sent } from '../envelope/send.ts'
import { refusal } from '../refusal.ts'

export function decideInject(_batch: Batch, _user: string, _draft: unknown): Result<Sent> {
  return refusal('unsupported', 'Not built yet.')
}
