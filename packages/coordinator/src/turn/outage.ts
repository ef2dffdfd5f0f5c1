// Whether a turn failed because its agent cannot work, whatever the task: its program, account, quota, or the way to
// it. Then another agent may take the task at once.
import { outageIn, outageText } from '@parley/agents'
import type { ParleyError } from '@parley/core'

const STARTS = new Set(['not_found', 'not_executable', 'start_failed', 'closed'])

/** Why an agent that is somebody else's, at the other end of a link, does not take the turn. */
const OUT_OF_REACH: ReadonlyMap<string, string> = new Map([
  ['target-offline', 'it cannot be reached'],
  ['link_handshake_failed', 'it did not prove who it is'],
  ['link_handshake_timeout', 'it does not answer us'],
  ['link_bad_identity', 'it did not prove who it is'],
  // What being dropped looks like: it does not know us, or not any more.
  ['link_empty_response', 'it does not answer us'],
  ['unpinned', 'it does not answer us'],
  ['unknown_peer', 'it is not pinned here'],
  ['link_off', 'links to other nodes are off here'],
  ['capability-denied', 'it does not let us ask'],
  ['method-not-found', 'it does not let us ask'],
  ['target-busy', 'it is busy'],
  ['rate-limited', 'it has no quota left for now'],
  ['budget-exceeded', 'it has no quota left for now'],
  // Why is known there: what the peer says of it is no more than that.
  ['peer_failed', 'its turn failed there'],
])

/** The code on record of a turn that failed because nobody is logged in, or with a wrong key. */
export const NOT_LOGGED_IN = 'not_logged_in'

export const isLoggedOut = (error: ParleyError) => error.code !== 'aborted' && outageIn(error)?.reason === 'account'

/** A shell's way of saying that there is no such program, or that it cannot be run. */
const NOT_RUN = [126, 127]

/** What is wrong with the agent, in a few words; undefined if it could work. */
export function outageOf(error: ParleyError): string | undefined {
  const { code, details } = error
  if (STARTS.has(code)) return 'it cannot be started'
  const away = OUT_OF_REACH.get(code)
  if (away !== undefined) return away
  // Whoever took the turn found out what is wrong with the agent, also where it was ended for another reason.
  const outage = outageIn(error)
  if (outage && code !== 'aborted') return outageText(outage)
  if (code !== 'exit_nonzero') return undefined
  if (NOT_RUN.includes(details.exitCode as number)) return 'it cannot be started'
  const silent = typeof details.output !== 'string' || details.output.trim() === ''
  return silent && details.reported === undefined ? 'it broke off without a result' : undefined
}
