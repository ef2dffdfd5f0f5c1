// What the files of a profile say about its link, for commands that have no node: who is pinned, who knocked, where a
// node would listen. Nothing is written, and nothing is made.
import { type Ledger, SystemClock } from '@parley/core'
import { type ListenPlan, linkPaths, openLedger, PeerList, PendingPeers } from '@parley/link'
import type { Config } from '../config/load.ts'
import { planHere } from './plan.ts'

/** What keeps the daily ledger from being read, and what to do about it; undefined where nothing does. */
export function ledgerProblem(profile: string): Ledger['damage'] {
  return openLedger(linkPaths(profile).ledger, { clock: new SystemClock(), cap: () => undefined }).damage
}

interface LinkLook {
  /** The profile's private key; there once a node has run. */
  readonly key: string
  readonly peers: number
  /** Of `peers.yaml`, in words. */
  readonly problems: readonly string[]
  readonly pending: number
  readonly plan: ListenPlan
}

export function lookAtLink(config: Pick<Config, 'paths' | 'values'>): LinkLook {
  const files = linkPaths(config.paths.folder)
  const clock = new SystemClock()
  const unreadable: string[] = []
  const failed = (what: string) => unreadable.push(what)
  const list = new PeerList(files.peers, { clock, lock: files.peersLock, failed })
  const pinned = list.all()
  const keys = new Set(pinned.map(({ pubkey }) => pubkey))
  const knocked = new PendingPeers(files.pending, { clock, failed }).list()
  return {
    key: files.privateKey,
    peers: pinned.length,
    problems: [...unreadable, ...list.problems()],
    pending: knocked.filter(({ pubkey }) => !keys.has(pubkey)).length,
    plan: planHere(config, { pinned: pinned.length > 0 }),
  }
}

/** Who is pinned, from the list as it stands. */
export function pinnedIn(profile: string): (peer: string) => boolean {
  const { peers, peersLock } = linkPaths(profile)
  let list: PeerList | undefined
  return peer => {
    list ??= new PeerList(peers, { clock: new SystemClock(), lock: peersLock })
    return list.named(peer) !== undefined
  }
}
