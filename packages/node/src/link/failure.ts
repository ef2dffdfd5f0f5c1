// What went wrong with a call of a peer, as callers of the node get it: what is wrong here keeps its own code, what the
// peer itself said is `peer_refused` with its words in the details.
import { ParleyError } from '@parley/core'
import { type LinkFailure, wireText } from '@parley/link'
import { nodeLimits } from '../limits.ts'

/** Refusals of a peer after which the same request may succeed. */
const PASSING: readonly string[] = ['target-busy', 'rate-limited']

export function refusalOf(peer: string, failure: LinkFailure): ParleyError {
  if (failure.where === 'local') return failure.error
  const { code, data } = failure.error
  // Numbers as JSON has them; nothing where somebody sends more than an error needs.
  const text = wireText(data)
  const message = failure.error.message.slice(0, nodeLimits.peerMessageLength)
  return new ParleyError('peer_refused', `The peer ${peer} refused: ${message}.`, {
    retryable: PASSING.includes(message),
    details: { code, message, data: text.length <= nodeLimits.peerDataLength ? (JSON.parse(text) as unknown) : null },
  })
}
