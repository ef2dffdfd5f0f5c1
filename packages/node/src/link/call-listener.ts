// The listener for calls of peers (`parley-call/1`): the node's operations over Noise, for pinned keys alone. A peer
// may call just the operations that its entry in the peer list names by their path (`/runs/list`), as the list stands
// at that moment; discovery shows no others.
import { CallNode, type OperationMap, OperationRegistry } from '@parley/call'
import type { Clock, Principal } from '@parley/core'
import { type LinkIdentity, type ListenPlan, listenCall, type PeerList, peerPrincipal } from '@parley/link'
import type { NodeLog } from '../log/log.ts'

export interface CallListenerOptions {
  /** Port 0 is any that is free; the fallback is used where `host` is not the machine's own. */
  readonly at: NonNullable<ListenPlan['tcp']>
  readonly identity: LinkIdentity
  readonly peers: Pick<PeerList, 'identities' | 'admitted'>
  /** What the node offers its owner. */
  readonly operations: OperationMap
  readonly clock: Clock
  readonly log: Pick<NodeLog, 'debug' | 'warn' | 'error'>
}

export interface CallListener {
  /** `host:port`. */
  readonly at: string
  /** Connections of peers. */
  readonly links: number
  /** Takes no more connections and closes those that are open, after what was answered. Safe to repeat. */
  close(): Promise<void>
}

/** Rejects with the system's error where nobody can listen there. */
export async function openCallListener(options: CallListenerOptions): Promise<CallListener> {
  const { peers, operations, clock, log } = options
  const registry = new OperationRegistry(forPeers(operations), {
    from: { proven: true },
    warn: message => log.warn(message),
  })
  // No identity provider: a token that leaked is worth nothing here.
  const calls = new CallNode({ registry, clock, log: message => log.debug(message) })
  const listening = await listenCall({
    ...options.at,
    identity: options.identity,
    clock,
    pins: peers,
    principal: identity => principalOf(identity, peers, operations),
    accept: transport => void calls.attach(transport),
    log: { failed: (what, cause) => log.error(`${what} cannot be used: nobody is pinned`, { cause }) },
  })
  return {
    at: `${listening.host.includes(':') ? `[${listening.host}]` : listening.host}:${listening.port}`,
    get links() {
      return calls.links.length
    },
    close() {
      calls.close()
      return listening.close()
    },
  }
}

const ACTION = 'call'

function resourceOf(path: string): string {
  return `operation:${path}`
}

/** The same operations, each for peers with the right to call this one. */
function forPeers(operations: OperationMap): OperationMap {
  return Object.fromEntries(
    Object.entries(operations).map(([path, { spec, handler }]) => {
      const accessControl = { resourceType: resourceOf(path), resourceAction: ACTION }
      return [path, { spec: { ...spec, accessControl }, handler }]
    }),
  )
}

/**
 * Who a peer is in the list that its request was let in by, and what it may call. Entries that name no operation give
 * no right.
 */
function principalOf(
  identity: string,
  peers: CallListenerOptions['peers'],
  operations: OperationMap,
): Principal | undefined {
  const peer = peers.admitted(identity)
  if (!peer) return undefined
  const allowed = peer.allow.filter(entry => Object.hasOwn(operations, entry))
  return {
    ...peerPrincipal(peer),
    kind: 'peer',
    resources: Object.fromEntries(allowed.map(path => [resourceOf(path), [ACTION]])),
  }
}
