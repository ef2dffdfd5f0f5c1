// The service half of a profile's ALP: the files of peers, invites and threads, and the handler that answers requests.
// `LinkServer`, the wire half, takes `pins` and `handler`.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Ledger, Result } from '@parley/core'
import type { Disk } from '@parley/keys/files'
import { ALP_VERSION } from '../envelope/envelope.ts'
import { dispatchErrors } from '../errors.ts'
import { linkPaths } from '../identity/files.ts'
import { ACCEPTED_METHODS, type NewPeer, type Peer } from '../peers/peer.ts'
import { PeerList } from '../peers/peer-list.ts'
import { type PendingPeer, PendingPeers } from '../peers/pending.ts'
import type { LinkLog, Pins } from '../server/conversation.ts'
import type { LinkHandler } from '../server/request.ts'
import { Asks, type AsksOptions } from './asks.ts'
import { dispatcher, type Method } from './dispatch.ts'
import { RateLimit } from './rate-limit.ts'
import { Threads } from './threads.ts'

export interface LinkServiceOptions extends Omit<AsksOptions, 'threads' | 'isPinned' | 'failed'> {
  /** The profile's folder. */
  readonly home: string
  /** The profile's name, which `link.ping` tells. */
  readonly profile: string
  /** Milliseconds on a clock that never goes back: the machine's if left out. */
  readonly elapsed?: () => number
  readonly disk?: Disk
  readonly log?: LinkLog
}

export class LinkService {
  readonly peers: PeerList
  readonly ledger: Ledger
  /** What a pinned peer may call; workgroups and whatever comes later enter themselves. */
  readonly methods: Map<string, Method>
  /** For `LinkServer`. */
  readonly pins: Pins
  readonly handler: LinkHandler
  readonly #pending: PendingPeers
  readonly #threads: Threads
  readonly #asks: Asks

  constructor(options: LinkServiceOptions) {
    const { home, profile, clock, disk, log, ledger } = options
    const paths = linkPaths(home)
    mkdirSync(dirname(paths.peers), { recursive: true, mode: 0o700 })
    const failed = (what: string, cause: unknown) => log?.failed?.(what, cause)
    const shared = { clock, failed, disk }
    this.peers = new PeerList(paths.peers, { ...shared, lock: paths.peersLock })
    this.ledger = ledger
    this.#pending = new PendingPeers(paths.pending, shared)
    this.#threads = new Threads(paths.mentions, shared)
    const isPinned: AsksOptions['isPinned'] = ({ id, pubkey }) => this.peers.named(id)?.pubkey === pubkey
    this.#asks = new Asks({ ...options, threads: this.#threads, isPinned, failed })
    this.methods = new Map([
      ['link.ping', pingMethod(profile)],
      ['link.ask', this.#asks.ask],
      ['link.cancel', this.#asks.cancel],
    ])
    this.pins = {
      identities: () => this.peers.identities(),
      stranger: (identity, remote) => this.#pending.knock(identity, remote),
    }
    this.handler = dispatcher(this, new RateLimit(options.elapsed))
  }

  /** Pins a peer, also one that never knocked. Refusals as `PeerList.add`. */
  async pin(peer: NewPeer): Promise<Result<Peer>> {
    const pinned = await this.peers.add(peer)
    if (pinned.ok) this.#pending.discard(peer.pubkey)
    return pinned
  }

  /** ALP-PEND-05: pins with a chosen id; it may call `link.ping` and `link.ask` unless the caller says otherwise. */
  accept(peer: Omit<NewPeer, 'allow'> & Partial<NewPeer>): Promise<Result<Peer>> {
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

  /** Strangers that knocked, newest first. */
  pending(): readonly PendingPeer[] {
    const pinned = this.peers.identities()
    return this.#pending.list().filter(({ pubkey }) => !pinned.has(pubkey))
  }

  /** False if nobody with that key had knocked. */
  discard(pubkey: string): boolean {
    return this.#pending.discard(pubkey)
  }

  /** The session of the turn that runs, if one does. */
  get running(): string | undefined {
    return this.#asks.running
  }

  /** Interrupts the turn and writes the last knocks. Called before the server closes: the answer is still sent. */
  async close(): Promise<void> {
    await this.#asks.close()
    this.#pending.close()
  }
}

/** ALP-PING-01: who is there, and which version of the protocol it speaks. Changes nothing. */
function pingMethod(profile: string): Method {
  return ({ params: { nonce = '' } }) =>
    typeof nonce === 'string'
      ? { result: { nonce, version: ALP_VERSION, agent_name: profile } }
      : { error: dispatchErrors.invalidParams('nonce must be a text') }
}
