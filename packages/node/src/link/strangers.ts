// Telling the owner that somebody knocked (ALP-PEND): once for each key, and no more often than the list of pending
// peers can hold, so that a flood of strangers does not become a flood of lines.
import type { Clock } from '@parley/core'
import { fingerprintsOf, linkLimits, type Pins } from '@parley/link'
import { nodeTimes } from '../limits.ts'
import type { NodeLog } from '../log/log.ts'

export function announced(pins: Pins, clock: Clock, log: Pick<NodeLog, 'info'>): Pins {
  const told = new Set<string>()
  let since = clock.now()
  return {
    identities: () => pins.identities(),
    stranger(identity, remote) {
      pins.stranger(identity, remote)
      const now = clock.now()
      if (now - since > nodeTimes.strangersAgain * 1000) {
        told.clear()
        since = now
      }
      if (told.has(identity) || told.size >= linkLimits.pending) return
      told.add(identity)
      log.info('somebody who is not pinned has called, and got silence: parley peers pending', {
        fingerprint: fingerprintsOf(identity)?.fingerprint,
        ...(remote !== undefined && { remote }),
      })
    },
  }
}
