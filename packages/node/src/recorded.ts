// What a start has to record before anybody is answered. Where the machine does not let it, the start is refused: a
// node that neither answers nor ends would tell nobody what is wrong.
import type { Machine } from '@parley/coordinator'
import { type Clock, ParleyError } from '@parley/core'
import { nodeTimes } from './limits.ts'

/**
 * Rejects with `trail_unavailable` when it takes long and the machine is what holds it up; `work` may still come to its
 * end.
 */
export async function recorded<T>(work: Promise<T>, machine: Pick<Machine, 'held'>, clock: Clock): Promise<T> {
  const late = Promise.withResolvers<never>()
  const look = () => {
    if (machine.held) late.reject(new ParleyError('trail_unavailable', 'The start cannot be recorded.'))
    else cancel = clock.after(nodeTimes.recorded, look)
  }
  let cancel = clock.after(nodeTimes.recorded, look)
  work.catch(() => undefined)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    cancel()
  }
}
