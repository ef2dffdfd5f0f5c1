// Giving up an ask that runs: its turn is cancelled at the peer, which then has a while to say what it cost.
import type { Clock } from '@parley/core'
import { linkDefaults } from '../limits.ts'
import { cancelAsk } from './calls.ts'
import type { LinkClient } from './client.ts'
import type { Target } from './target.ts'

export interface GivenUp {
  readonly client: LinkClient
  readonly clock: Clock
  readonly target: Target
  /** Empty where the peer has not told it: then whichever turn of ours runs there. */
  readonly session: string
  /** Hangs up, which later revisions take for a cancel too (ALP-CANCEL-02). */
  readonly hangUp: AbortController
  /** The ask itself. */
  readonly said: Promise<unknown>
}

/** Resolves when the ask has ended, in whatever way; rejects as it does. */
export async function giveUp({ client, clock, target, session, hangUp, said }: GivenUp): Promise<void> {
  const cancel = clock.after(linkDefaults.cancelMs, () => hangUp.abort())
  const cancelled = await cancelAsk(client, target, session, {
    timeoutMs: linkDefaults.cancelMs,
    signal: hangUp.signal,
  })
  // Not allowed, or nothing runs there: nobody will answer.
  if (!cancelled.ok || !cancelled.value) hangUp.abort()
  try {
    await said
  } finally {
    cancel()
  }
}
