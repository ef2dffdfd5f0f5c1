// Who a pinned peer is to this node: the user `alp:<fingerprint>`, who may do nothing but what the peer list allows.
import type { Principal } from '@parley/core'
import { fingerprintsOf } from '../identity/identity.ts'
import type { Peer } from './peer.ts'

/** The origin of runs that answer peers. */
export const ALP_ORIGIN = 'alp'

const PREFIX = 'alp:'

/** Whether the user is a peer. */
export function isPeer(user: string): boolean {
  return user.startsWith(PREFIX)
}

/** `pubkey` is a key that has signed, or proved itself on the link: it has a fingerprint. */
export function peerPrincipal({ id, pubkey }: Pick<Peer, 'id' | 'pubkey'>): Principal {
  return { id: `${PREFIX}${fingerprintsOf(pubkey)!.fingerprint}`, kind: 'user', name: id, scopes: [] }
}
