// The service half of a profile's ALP: the files of peers, invites, spending and threads, and the handler that answers
// requests. The wire half (`LinkServer`) takes `pins` and `handler`; who wires both also hands in what starts runs.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock, Ledger, Principal, Result, RunPort } from '@parley/core'
import type { Disk } from '@parley/keys/files'
import { linkPaths } from '../identity/files.ts'
import { ACCEPTED_METHODS, type NewPeer, type Peer } from '../peers/peer.ts'
import { PeerList } from '../peers/peer-list.ts'
import { type PendingPeer, PendingPeers } from '../peers/pending.ts'
import type { LinkLog, Pins } from '../server/conversation.ts'
import type { LinkHandler } from '../server/request.ts'
import { Asks } from './asks.ts'
import { dispatcher } from './dispatch.ts'
import { MethodTable } from './methods.ts'
import { pingMethod } from './ping.ts'
import { RateLimit } from './rate-limit.ts'
import { Threads } from './threads.ts'

export interface LinkServiceOptions {
  /** The profile's folder. */
  readonly home: string
  /** The profile's name, which `link.ping` tells. */
  readonly profile: string
  readonly clock: Clock
  /** What an ask becomes a run with; undefined while the node is not ready for that. */
  readonly runs: () => RunPort | undefined
  /** Who pins and unpins peers here: a turn that this ends is ended in their name. */
  readonly owner: Principal
  /** That of the profile, which its own turns draw from as well. */
  readonly ledger: Ledger
  /** ALP-ASK-06: whether watchers are told that a turn began and goes on. */
  readonly events?: boolean
  /** Milliseconds on a clock that never goes back; the machine's unless a test says otherwise. */
  readonly elapsed?: () => number
  readonly disk?: Disk
  readonly log?: LinkLog
}

export class LinkService {
  readonly peers: PeerList
  readonly ledger: Ledger
  /** Where further methods register themselves. */
  readonly methods: MethodTable
  /** For `LinkServer`. */
  readonly pins: Pins
  readonly handler: LinkHandler
  readonly #pending: PendingPeers
  readonly #threads: Threads
  readonly #asks: Asks

  constructor(options: LinkServiceOptions) {
    const { home, clock, disk, log } = options
    const paths = linkPaths(home)
    mkdirSync(dirname(paths.peers), { recursive: true, mode: 0o700 })
    const failed = (what: string, cause: unknown) => log?.failed?.(what, cause)
    const shared = { clock, failed, ...(disk && { disk }) }
    const { ledger, events } = options
    this.peers = new PeerList(paths.peers, { ...shared, lock: paths.peersLock })
    this.ledger = ledger
    this.#pending = new PendingPeers(paths.pending, shared)
    this.#threads = new Threads(paths.mentions, shared)
    this.#asks = new Asks({
      ...shared,
      runs: options.runs,
      owner: options.owner,
      threads: this.#threads,
      isPinned: ({ id, pubkey }) => this.peers.named(id)?.pubkey === pubkey,
      ledger,
      ...(events !== undefined && { events }),
    })
    this.methods = new MethodTable()
      .register('link.ping', pingMethod(options.profile))
      .register('link.ask', this.#asks.ask)
      .register('link.cancel', this.#asks.cancel)
    this.pins = {
      identities: () => this.peers.identities(),
      stranger: (identity, remote) => this.#pending.knock(identity, remote),
    }
    const rate = new RateLimit(options.elapsed)
    this.handler = dispatcher({ peers: this.peers, ledger, rate, methods: this.methods })
  }

  /** Pins a peer, also one that never knocked. Refusals as `PeerList.add`. */
  async pin(peer: NewPeer): Promise<Result<Peer>> {
    const pinned = await this.peers.add(peer)
    if (pinned.ok) this.#pending.discard(peer.pubkey)
    return pinned
  }

  /**
   * ALP-PEND-05: pins with a chosen id; what it may call is `link.ping` and `link.ask` unless the caller says
   * otherwise.
   */
  accept(peer: Omit<NewPeer, 'allow'> & { readonly allow?: readonly string[] }): Promise<Result<Peer>> {
    return this.pin({ ...peer, allow: peer.allow ?? ACCEPTED_METHODS })
  }

  /** Unpins a peer: its turn is interrupted, and what was said with it is forgotten. */
  async unpin(id: string): Promise<Result<Peer>> {
    const gone = await this.peers.remove(id)
    if (!gone.ok) return gone
    this.#asks.unpinned(gone.value.pubkey)
    this.#threads.forget(id)
    return gone
  }

  /** Who knocked and is not pinned, newest first. */
  pending(): readonly PendingPeer[] {
    const pinned = this.peers.identities()
    return this.#pending.list().filter(({ pubkey }) => !pinned.has(pubkey))
  }

  /** False where nobody with that key had knocked. */
  discard(pubkey: string): boolean {
    return this.#pending.discard(pubkey)
  }

  /** The session of the turn that runs, if one does. */
  get running(): string | undefined {
    return this.#asks.running
  }

  /**
   * Interrupts what runs and writes what is not written yet. Before the server closes, so that the last answer can
   * still be sent.
   */
  async close(): Promise<void> {
    await this.#asks.close()
    this.#pending.close()
  }
}
