// Who a pinned peer is to this node: the user `alp:<fingerprint>`, who may do nothing but what the peer list allows. Whoever is not in the
// list as it stands is nobody.
import type { IdentityProvider, Principal } from '@parley/core'
import { fingerprintOf, type PeerList } from '@parley/link'

/** The origin of runs that answer peers. */
export const ALP_ORIGIN = 'alp'

export function pinnedIdentities(peers: Pick<PeerList, 'all'>): IdentityProvider {
  return {
    async byFingerprint(fingerprint) {
      const peer = peers.all().find(({ pubkey }) => fingerprintOf(pubkey) === fingerprint)
      return peer && userOf(fingerprint, peer.id)
    },
    /** ALP has no tokens. */
    async byToken() {
      return undefined
    },
  }
}

function userOf(fingerprint: string, name: string): Principal {
  return { id: `alp:${fingerprint}`, kind: 'user', name, scopes: [] }
}
