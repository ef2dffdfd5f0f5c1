// What happens to a request that passed the silent checks (ALP-SRV-01, steps 4 to 8), in this order and no other: rate,
// form, capability, method, budget, handler. Each refusal is a signed error.
import { type Ledger, ParleyError } from '@parley/core'
import { dispatchErrors } from '../errors.ts'
import type { WireObject } from '../json/value.ts'
import { isAllowed, type Peer } from '../peers/peer.ts'
import type { PeerList } from '../peers/peer-list.ts'
import type { LinkConnection, LinkHandler, LinkRequest, Reply } from '../server/request.ts'
import type { RateLimit } from './rate-limit.ts'

export interface MethodCall {
  readonly params: WireObject
  /** The caller as the peer list has it. */
  readonly peer: Peer
  readonly request: LinkRequest
  readonly connection: LinkConnection
}

/** Answers one call. What it throws becomes `internal-error`. It runs at once: nothing comes before its first wait. */
export type Method = (call: MethodCall) => Reply | Promise<Reply>

export interface Dispatched {
  readonly peers: PeerList
  readonly ledger: Ledger
  /** What a pinned peer may call, by name. */
  readonly methods: ReadonlyMap<string, Method>
}

export function dispatcher({ peers, ledger, methods }: Dispatched, rate: RateLimit): LinkHandler {
  return (request, connection) => {
    const { from, method, malformed, params } = request
    // From the list that admitted the request.
    const peer = peers.admitted(from)
    if (!peer) throw new ParleyError('unpinned', 'The sender is not pinned.')
    if (!rate.admits(from, peer.perMinute)) return { error: dispatchErrors.rateLimited() }
    // ALP-SRV-04.
    if (malformed !== undefined) return { error: dispatchErrors.invalidRequest(malformed) }
    if (!isAllowed(peer, method)) return { error: dispatchErrors.capabilityDenied(method) }
    const handle = methods.get(method)
    if (!handle) return { error: dispatchErrors.methodNotFound() }
    // ALP-SRV-02: for every method, whether it costs anything or not.
    const exhausted = ledger.exhausted()
    if (exhausted) return { error: dispatchErrors.budgetExceeded(exhausted.cap, exhausted.used) }
    // ALP-SRV-03.
    if (!params) return { error: dispatchErrors.invalidParams('params is not an object') }
    return handle({ params, peer, request, connection })
  }
}
