// Waiting for a while, or until somebody has no more use for it.
import type { Clock } from '@parley/core'

export function pause(clock: Clock, milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(milliseconds, done, { background: true })
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })
}
