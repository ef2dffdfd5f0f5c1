// Who is pinned (ALP-PEER): `alp/peers.yaml`, which people edit and this changes on request. The file is looked at for
// every request; a change is made under a lock and replaces it whole.
import { realpathSync } from 'node:fs'
import { ok, ParleyError, type Result, refuse } from '@parley/core'
import { isPublicKey } from '@parley/keys'
import { type Disk, machineDisk, withLock, writeWholeSync } from '@parley/keys/files'
import { type FileOptions, WatchedFile } from '../files/watched.ts'
import { linkDefaults, linkLimits } from '../limits.ts'
import { checkMethods, checkPeer, type NewPeer, oddityOf, type Peer, readPeer } from './peer.ts'
import { PeersText, readEntries } from './peers-yaml.ts'

export interface PeerListOptions extends FileOptions {
  /** The file of the lock. */
  readonly lock: string
}

interface Snapshot {
  readonly peers: readonly Peer[]
  readonly identities: ReadonlySet<string>
  readonly byIdentity: ReadonlyMap<string, Peer>
  /** By id the places of its entries in the file: that of the peer, then others, which count for nothing. */
  readonly places: ReadonlyMap<string, readonly number[]>
  readonly problems: readonly string[]
}

/** Finds the peer that a change is about in the changed list; undefined if that list does not show the change. */
type Confirm = (after: Snapshot) => Peer | undefined
type Change = (now: Snapshot, text: PeersText) => Result<Confirm>

export class PeerList {
  readonly #path: string
  readonly #options: PeerListOptions
  readonly #disk: Disk
  readonly #file: WatchedFile<Snapshot>

  constructor(path: string, options: PeerListOptions) {
    this.#path = path
    this.#options = options
    this.#disk = options.disk ?? machineDisk
    this.#file = new WatchedFile(path, {
      disk: this.#disk,
      most: linkLimits.peersFileBytes,
      parse: snapshotOf,
      failed: cause => options.failed?.(`${path} cannot be read, so nobody is pinned`, cause),
    })
  }

  /** In the order of the file. */
  all(): readonly Peer[] {
    return this.#file.now().peers
  }

  identities(): ReadonlySet<string> {
    return this.#file.now().identities
  }

  /** The peer in the list as `identities` last saw it: a request is judged by the list that admitted it. */
  admitted(identity: string): Peer | undefined {
    return this.#file.last.byIdentity.get(identity)
  }

  named(id: string): Peer | undefined {
    return this.all().find(peer => peer.id === id)
  }

  /** What a person should look at: entries that do not count, or not as they say, and repeated ids and keys. */
  problems(): readonly string[] {
    return this.#file.now().problems
  }

  /** Refusals: `invalid_peer`, `peer_exists` (ALP-PEER-05), `too_many_peers`, `peers_unreadable`, `locked`. */
  async add(peer: NewPeer): Promise<Result<Peer>> {
    const checked = checkPeer(peer)
    if (!checked.ok) return checked
    return this.#change(({ peers }, text) => {
      const same = peers.find(({ id, pubkey }) => id === peer.id || pubkey === peer.pubkey)
      if (same)
        return refuse(
          'peer_exists',
          same.id === peer.id
            ? `A peer is called ${peer.id} already; choose another id, or remove that one first.`
            : `This key is pinned already, as ${same.id}.`,
        )
      if (peers.length >= linkLimits.peers)
        return refuse('too_many_peers', `The list holds ${linkLimits.peers} peers; remove one first.`)
      text.add(peer)
      return ok(after => after.byIdentity.get(peer.pubkey))
    })
  }

  /** From now on the peer gets silence. Refusals: `unknown_peer`, `peers_unreadable`, `locked`. The peer as it was. */
  async remove(id: string): Promise<Result<Peer>> {
    return this.#change(({ peers, places }, text) => {
      const gone = peers.find(peer => peer.id === id)
      if (!gone) return unknown(id)
      // From the last to the first, so that places stay what they are.
      for (const place of places.get(id)!.toReversed()) text.remove(place)
      return ok(after => (after.peers.length === peers.length - 1 ? gone : undefined))
    })
  }

  /** Sets what a peer may call. Refusals: `invalid_peer`, `unknown_peer`, `peers_unreadable`, `locked`. */
  async allow(id: string, methods: readonly string[]): Promise<Result<Peer>> {
    const checked = checkMethods(methods)
    if (!checked.ok) return checked
    return this.#change(({ places }, text) => {
      const [place] = places.get(id) ?? []
      if (place === undefined) return unknown(id)
      text.setAllow(place, [...new Set(methods)])
      return ok(after => after.peers.find(each => each.id === id))
    })
  }

  /** Changes the file under the lock. */
  async #change(change: Change): Promise<Result<Peer>> {
    const { lock, clock } = this.#options
    const { lockMs: waitMs, lockPollMs: pollMs, lockStaleMs: staleMs } = linkDefaults
    const done = await withLock(lock, { clock, waitMs, pollMs, staleMs }, () => this.#changeNow(change))
    return done.ok ? done.value : locked(lock, done.error === 'unnamed')
  }

  #changeNow(change: Change): Result<Peer> {
    const bytes = this.#bytes()
    const text = bytes !== 'unreadable' && PeersText.of(bytes)
    if (!text)
      return refuse(
        'peers_unreadable',
        `${this.#path} is not a YAML list, or is too large, so it was left as it is. Correct it in an editor, then try again.`,
      )
    const changed = change(snapshotOf(bytes), text)
    if (!changed.ok) return changed
    const fresh = written(text)
    // Read again before it is written: a text of ours that says something else never replaces a person's.
    const peer = fresh && changed.value(snapshotOf(fresh))
    if (!peer)
      return refuse(
        'peers_unreadable',
        `${this.#path} uses YAML that cannot be changed safely (aliases, for example); change it in an editor.`,
      )
    this.#replace(fresh)
    return ok(peer)
  }

  /** A file that is too large to read is not ours to change. */
  #bytes(): Buffer | undefined | 'unreadable' {
    try {
      return this.#disk.read(this.#path, linkLimits.peersFileBytes)
    } catch (cause) {
      if (cause instanceof ParleyError) return 'unreadable'
      throw cause
    }
  }

  /** A list that is only linked to stays where it is, and its mode stays what a person made it. */
  #replace(bytes: Buffer): void {
    const stat = this.#disk.stat(this.#path)
    const path = stat ? realpathSync(this.#path) : this.#path
    writeWholeSync(this.#disk, path, bytes, { mode: stat?.mode })
  }
}

function written(text: PeersText): Buffer | undefined {
  try {
    return text.toBytes()
  } catch {
    return undefined
  }
}

function snapshotOf(bytes: Buffer | undefined): Snapshot {
  const entries = bytes === undefined ? [] : readEntries(bytes)
  const peers: Peer[] = []
  const byIdentity = new Map<string, Peer>()
  const places = new Map<string, number[]>()
  const problems = entries ? [] : ['The file is not a YAML list: nobody is pinned.']
  for (const [place, entry] of (entries ?? []).entries()) {
    const peer = readPeer(entry)
    const problem =
      'problem' in peer ? peer.problem : (problemOf(peer, { peers, byIdentity, places }) ?? oddityOf(entry, peer))
    if (problem !== undefined) problems.push(`Entry ${place + 1} ${problem}.`)
    if ('problem' in peer) continue
    // ALP-PEER-02: an id stands for one key. Fail closed: two keys would share what was said and spent under it.
    const others = places.get(peer.id)
    if (others) {
      others.push(place)
      continue
    }
    if (peers.length >= linkLimits.peers) continue
    places.set(peer.id, [place])
    peers.push(peer)
    // Of one key the first entry counts.
    if (!byIdentity.has(peer.pubkey)) byIdentity.set(peer.pubkey, peer)
  }
  return { peers, identities: new Set(byIdentity.keys()), byIdentity, places, problems }
}

function problemOf(
  { id, pubkey }: Peer,
  { peers, byIdentity, places }: Pick<Snapshot, 'peers' | 'byIdentity' | 'places'>,
): string | undefined {
  if (peers.length >= linkLimits.peers) return `(${id}) is behind the ${linkLimits.peers} that count`
  if (places.has(id)) return `(${id}) has the id of another one and counts for nothing`
  if (byIdentity.has(pubkey)) return `(${id}) has the key of ${byIdentity.get(pubkey)!.id}, which counts`
  // ALP-ID-04: compared as it stands, so that no message can ever come from another spelling.
  return isPublicKey(pubkey) ? undefined : `(${id}) has a pubkey that is not a public key`
}

function locked(lock: string, unnamed: boolean): Result<never> {
  const message = unnamed
    ? `${lock} is empty: another ALP program, alpi for example, keeps it while it changes the list of peers, and may leave it there. Wait until that is done, then try again; where no such program uses this profile, the empty file can be moved away.`
    : `Another program is changing the list of peers (${lock} says which). Wait until it is done, then try again.`
  return refuse('locked', message, { retryable: true })
}

function unknown(id: string): Result<never> {
  return refuse('unknown_peer', `No peer is called ${id}; see the list of peers.`)
}
