// Waiting no longer than so long.
import type { Clock } from '@parley/core'

/** What the promise resolves to, or `late` if it takes longer. Keeps no process alive. */
export async function within<T>(clock: Clock, milliseconds: number, promise: Promise<T>): Promise<T | 'late'> {
  const late = Promise.withResolvers<'late'>()
  const cancel = clock.after(milliseconds, () => late.resolve('late'), { background: true })
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    cancel()
  }
}
