// Whether a turn failed because its agent cannot work, whatever the task is: its program, its account or its quota. Then another agent may
// do the same task at once; a failure of the work itself is for the next attempt.
import type { ParleyError } from '@parley/core'
import { coordinatorLimits } from './limits.ts'

const STARTS = new Set(['not_found', 'not_executable', 'start_failed', 'closed'])

const QUOTA =
  /rate.?limit|too many requests|\b429\b|quota|usage limit|overloaded|insufficient (credit|balance)|out of credits/i
const ACCOUNT =
  /unauthori[sz]ed|\b401\b|authentication|not (authenticated|logged in)|(invalid|missing|no|expired) (api.?key|credentials|token)|please (log ?in|run \S+ login)/i

/** A shell's way of saying that there is no such program, or that it cannot be run. */
const NOT_RUN = [126, 127]

/** What is wrong with the agent, in a few words; undefined if it could work. */
export function outageOf({ code, message, details }: ParleyError): string | undefined {
  if (STARTS.has(code)) return 'it cannot be started'
  if (code !== 'exit_nonzero' && code !== 'agent_error') return undefined
  // What an agent prints on the way is about its task; how it ends is about itself.
  const ending = [message, details.reported, details.stderr]
    .filter(each => typeof each === 'string')
    .map(each => each.slice(-coordinatorLimits.reasonLength))
    .join('\n')
  if (QUOTA.test(ending)) return 'it has no quota left for now'
  if (ACCOUNT.test(ending)) return 'it is not logged in'
  if (code !== 'exit_nonzero') return undefined
  if (NOT_RUN.includes(details.exitCode as number)) return 'it cannot be started'
  const silent = typeof details.output !== 'string' || details.output.trim() === ''
  return silent && details.reported === undefined ? 'it broke off without a result' : undefined
}
