// One call of an operation at a peer's node, over its second listener (`parley-call/1`): a connection for one call,
// which the peer's list must allow by the operation's path.
import { CONNECTION_CLOSED, connectClient } from '@parley/call'
import { type Clock, ok, type Result, refuse } from '@parley/core'
import { type CallTarget, dialCall, type LinkIdentity } from '@parley/link'

export interface PeerCall {
  /** Its id in the peer list. */
  readonly peer: string
  readonly own: LinkIdentity
  readonly target: CallTarget
  readonly clock: Clock
  /** `/service/operation`. */
  readonly operation: string
  readonly input: unknown
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Refusals: those of `dialCall`, `link_empty_response` from whom we are not pinned, and what the peer says, as
 * `peer_refused`.
 */
export async function callPeer(call: PeerCall): Promise<Result<unknown>> {
  const { peer, own, target, clock, operation, input, timeoutMs, signal } = call
  const dialled = await dialCall(target, { own, clock, timeoutMs, signal })
  if (!dialled.ok) return dialled
  const client = connectClient({ dial: async () => dialled.value, clock, maxAttempts: 1 })
  const [, service = '', ...rest] = operation.split('/')
  try {
    const { result } = await client.invoke(service, rest.join('/'), input, { timeout: timeoutMs, signal })
    if (result.ok) return ok(result.value)
    const { code, message, retryable, details } = result.error
    if (code === 'INTERNAL' && message === CONNECTION_CLOSED)
      return refuse(
        'link_empty_response',
        `empty response: ${peer} closed the connection and said nothing. It must have pinned this profile.`,
      )
    return refuse('peer_refused', `The peer ${peer} refused: ${message}`, {
      retryable,
      details: { code, message, ...(details !== undefined && { data: details }) },
    })
  } finally {
    client.close()
  }
}
