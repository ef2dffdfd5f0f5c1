// Who is pinned in a profile, for whoever has no node at hand: from the list as it stands.
import { SystemClock } from '@parley/core'
import { linkPaths, PeerList } from '@parley/link'

export function pinnedIn(profile: string): (peer: string) => boolean {
  const { peers, peersLock } = linkPaths(profile)
  let list: PeerList | undefined
  return peer => {
    list ??= new PeerList(peers, { clock: new SystemClock(), lock: peersLock })
    return list.named(peer) !== undefined
  }
}
