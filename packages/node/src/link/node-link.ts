// ALP in a node: the files, the listeners, calls of peers, and the way from an inbound ask to a run. Errors in it
// are reported, and never keep the node from starting (ALP-TCP-01).
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  type Clock,
  err,
  type Grant,
  ok,
  ParleyError,
  type Principal,
  type Result,
  type RunPort,
  refuse,
} from '@parley/core'
import {
  type CallTarget,
  fingerprintsOf,
  LinkClient,
  type LinkIdentity,
  type LinkLog,
  LinkServer,
  LinkService,
  type ListenPlan,
  linkLimits,
  linkPaths,
  loadIdentity,
  type Peer,
  ReplayJournal,
  type Target,
  targetOf,
  writeInvitation,
} from '@parley/link'
import type { Config } from '../config/load.ts'
import type { NodeLog } from '../log/log.ts'
import type { ListeningAt } from '../operations/link.ts'
import type { NodeStatus } from '../operations/node.ts'
import type { Environment } from '../profile/paths.ts'
import type { Proof } from '../reach/proof.ts'
import type { Spending } from '../spending/spending.ts'
import { addressText, invitedAddress, proposedName } from './address.ts'
import type { CallListener } from './call-listener.ts'
import type { planHere } from './plan.ts'
import { announced } from './strangers.ts'

export interface NodeLinkOptions {
  readonly config: Config
  readonly env: Environment
  readonly clock: Clock
  readonly spending: Pick<Spending, 'ledger'>
  /** Who answers for what the node does for peers. */
  readonly owner: Principal
  readonly log: NodeLog
  readonly plan: typeof planHere
}

/** What the link needs of the rest of the node, once that is up. */
export interface LinkSurroundings {
  /** What an inbound ask becomes a run with. */
  readonly runs: RunPort
  /** What was set aside by a node that died, to be settled before anybody is answered. */
  readonly settle: (orphans: readonly Grant[]) => Promise<void>
  /** Opens the listener of the call protocol; undefined where there is none. */
  readonly listenForCalls?: (identity: LinkIdentity) => Promise<CallListener>
}

interface Problem {
  readonly about: string
  readonly text: string
}

export class NodeLink {
  /** Peers, pending invites and the daily ledger: there whether the link listens or not. */
  readonly service: LinkService
  readonly #options: NodeLinkOptions
  readonly #log: LinkLog
  readonly #orphans: readonly Grant[]
  #surroundings: LinkSurroundings | undefined
  #identity: LinkIdentity | undefined
  #client: LinkClient | undefined
  #journal: ReplayJournal | undefined
  #server: LinkServer | undefined
  #tcpHost: string | undefined
  #callListener: CallListener | undefined
  #problems: readonly Problem[] = []
  /** Starting, changing the key and closing, one after the other. */
  #last: Promise<void> = Promise.resolve()
  #closed = false

  /** For a profile whose trail is open: that makes the key. Nothing listens yet, but peers can be called. */
  constructor(options: NodeLinkOptions) {
    const { config, clock, log } = options
    this.#options = options
    this.#log = {
      dropped: (reason, carrier) => log.debug('a message was dropped', { reason, carrier }),
      failed: (what, cause) => this.#failed(what, cause),
      elsewhere: (host, bound, cause) =>
        log.warn(`${host} is not an address of this machine: the node listens on ${bound} instead`, {
          cause,
        }),
    }
    this.service = new LinkService({
      home: config.paths.folder,
      profile: config.paths.profile,
      clock,
      runs: () => this.#surroundings?.runs,
      owner: options.owner,
      ledger: options.spending.ledger,
      // Watchers see that a long turn goes on, and know its session from the beginning.
      events: true,
      log: this.#log,
    })
    // Before anybody sets aside something new.
    this.#orphans = this.service.ledger.orphans()
    this.#useKey()
  }

  get owner(): Principal {
    return this.#options.owner
  }

  get on(): boolean {
    return this.#options.config.values.alp
  }

  /** What a call of a peer is made with now. Refuses with `link_off`, or with what is wrong with the key. */
  client(): Result<LinkClient> {
    if (!this.on) return refuse('link_off', 'ALP is switched off in this profile (service.alp in config.yaml).')
    if (this.#client) return ok(this.#client)
    return err(this.#noKey())
  }

  /** Where a peer is reached. Refuses with `unknown_peer`, `link_bad_address`, `target-offline`. */
  target(id: string): Result<Target> {
    const peer = this.service.peers.named(id)
    if (!peer) {
      const known = this.service.peers.all().map(each => each.id)
      const next = known.length === 0 ? 'Nobody is pinned yet' : `Pinned here: ${known.slice(0, 20).join(', ')}`
      return refuse('unknown_peer', `No peer is called ${id}. ${next}.`)
    }
    return this.#targetOf(peer)
  }

  /**
   * Where operations of a peer are called, and as whom. `port`: of its second listener. Refuses as `target`, and where
   * it has no address.
   */
  caller(id: string, port: number): Result<{ readonly own: LinkIdentity; readonly target: CallTarget }> {
    const usable = this.client()
    if (!usable.ok) return usable
    const target = this.target(id)
    if (!target.ok) return target
    const { identity, at } = target.value
    // A profile of this machine that no address is known of listens on loopback, if anywhere.
    const host = 'path' in at ? '127.0.0.1' : at.host
    return ok({ own: this.#identity!, target: { identity, at: { host, port } } })
  }

  isPinned(id: string): boolean {
    return this.service.peers.named(id) !== undefined
  }

  /** Connections over which peers call operations. */
  get callers(): number {
    return this.#callListener?.links ?? 0
  }

  #targetOf(peer: Peer): Result<Target> {
    const { config, env } = this.#options
    const alpi = join(env.HOME || homedir(), '.alpi')
    const target = targetOf(peer, { parley: config.paths.home, alpi })
    if (!target.ok || !('path' in target.value.at)) return target
    // A profile of ours takes long lines; of another program nobody knows (ALP-UNIX-04).
    const own = target.value.at.path.startsWith(join(config.paths.home, '/'))
    return own ? ok({ ...target.value, lineBytes: linkLimits.lineBytes }) : target
  }

  /** With the line that others paste to pin this profile. Refuses with what is wrong with the key. */
  identity() {
    if (!this.#identity) return err(this.#noKey())
    const { id: pubkey } = this.#identity
    const { profile } = this.#options.config.paths
    const name = proposedName(profile)
    const address = this.#address ?? this.#laterAddress
    const invitation = writeInvitation({
      pubkey,
      ...(address !== undefined && { address }),
      ...(name !== undefined && { name }),
    })
    // A key that signs has both.
    return ok({ pubkey, ...fingerprintsOf(pubkey)!, invitation })
  }

  get #address(): string | undefined {
    const port = this.#server?.port
    return port === undefined || this.#tcpHost === undefined ? undefined : invitedAddress(this.#tcpHost, port)
  }

  /** Where it will listen as soon as somebody is pinned. */
  get #laterAddress(): string | undefined {
    if (this.#plan().tcp) return undefined
    const later = this.#plan(true).tcp
    return later && invitedAddress(later.host, later.port)
  }

  #plan(pinned = this.service.peers.all().length > 0): ListenPlan {
    return this.#options.plan(this.#options.config, { pinned })
  }

  /** The first peer opens the port for peers. */
  peersChanged(): Promise<void> {
    return this.#next(async () => {
      if (!this.#surroundings || !this.#server || this.#tcpHost !== undefined || !this.#plan().tcp) return
      await this.#shut()
      await this.#listen()
    })
  }

  /** Signs with the profile's key, whether ALP is on or not. Refuses with what is wrong with the key. */
  sign(message: Buffer): Result<Proof> {
    // What failed once, for want of a file handle for instance, need not fail for ever.
    if (!this.#identity) this.#useKey()
    if (!this.#identity) return err(this.#noKey())
    const { id: key, sign } = this.#identity
    return ok({ key, signature: sign(message).toString('base64') })
  }

  get listening(): readonly ListeningAt[] {
    const { carriers = [], port } = this.#server ?? {}
    const calls: ListeningAt[] = this.#callListener ? [{ carrier: 'call', at: this.#callListener.at }] : []
    const own = carriers.map(carrier => ({
      carrier,
      at:
        carrier === 'unix' || port === undefined || this.#tcpHost === undefined
          ? linkPaths(this.#options.config.paths.folder).socket
          : addressText(this.#tcpHost, port),
    }))
    return [...own, ...calls]
  }

  /** As `/node/status` tells it; null where ALP is switched off. */
  status(): NodeStatus['link'] {
    if (!this.on) return null
    return {
      listening: [...this.listening],
      peers: this.service.peers.all().length,
      pending: this.service.pending().length,
      problems: this.problems.length,
    }
  }

  /** What a person should look at: what could not be started, and entries of the list that count for nothing. */
  get problems(): readonly string[] {
    return [...this.#problems.map(({ text }) => text), ...this.service.peers.problems()]
  }

  /** Settles what a dead node left, then listens. Never rejects. */
  start(surroundings: LinkSurroundings): Promise<void> {
    return this.#next(async () => {
      this.#surroundings = surroundings
      await this.#tried('settling what was set aside', () => surroundings.settle(this.#orphans))
      await this.#listen()
    })
  }

  /**
   * Goes on with the key that the profile has now: connections of peers end, and those who have not pinned the new one
   * get silence.
   */
  rekey(): Promise<void> {
    return this.#next(async () => {
      const before = this.#identity?.id
      this.#useKey()
      if (this.#identity?.id === before || !this.#surroundings) return
      const port = this.#server?.port
      await this.#shut()
      await this.#listen(port)
      this.#options.log.info('the link goes on with a new key', { listening: this.listening })
    })
  }

  /**
   * Takes no more connections, interrupts asks at work and lets them have their answer. Never rejects; safe to repeat.
   */
  close(): Promise<void> {
    this.#closed = true
    return this.#next(async () => {
      const shut = this.#shut()
      await this.#tried('closing', () => this.service.close())
      await shut
      this.#journal?.close()
      this.#journal = undefined
    })
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(() => this.#tried('the link', work))
    return this.#last
  }

  #useKey(): void {
    this.#forget('key')
    const { config, clock } = this.#options
    try {
      const identity = loadIdentity(config.paths.folder)
      this.#identity = identity
      this.#client = new LinkClient({ identity, clock })
    } catch (cause) {
      this.#identity = undefined
      this.#client = undefined
      this.#note('key', cause instanceof Error ? cause.message : String(cause))
      if (this.on) this.#options.log.error('the profile has no key to link with', { cause })
    }
  }

  /** `port`: one that was given to it before, and that peers know. */
  async #listen(port?: number): Promise<void> {
    const identity = this.#identity
    if (!this.on || !identity || this.#closed) return
    const { config, clock, log } = this.#options
    const paths = linkPaths(config.paths.folder)
    this.#forget('listening')
    await this.#tried('listening', async () => {
      this.#journal ??= ReplayJournal.open(paths.replay, { clock })
      const plan = this.#plan()
      const tcp = plan.tcp && { ...plan.tcp, ...(port !== undefined && { port }) }
      this.#tcpHost = tcp?.host
      this.#server = await LinkServer.start({
        identity,
        clock,
        journal: this.#journal,
        pins: announced(this.service.pins, clock, log),
        handler: this.service.handler,
        log: this.#log,
        ...(plan.unix && { socket: paths.socket }),
        ...(tcp && { tcp }),
      })
    })
    const open = this.#surroundings?.listenForCalls
    if (open)
      await this.#tried('listening (call)', async () => {
        this.#callListener = await open(identity)
      })
  }

  async #shut(): Promise<void> {
    const [server, listener] = [this.#server, this.#callListener]
    this.#server = undefined
    this.#callListener = undefined
    await Promise.all([
      server && this.#tried('closing', () => server.close()),
      listener && this.#tried('closing', () => listener.close()),
    ])
  }

  async #tried(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (cause) {
      this.#failed(what, cause)
    }
  }

  #failed(what: string, cause: unknown): void {
    this.#options.log.error(`link: ${what}`, { cause })
    if (!what.startsWith('listening')) return
    const why = cause instanceof Error ? cause.message : String(cause)
    this.#note('listening', `The node is not ${what} for peers: ${why}`)
  }

  #note(about: string, text: string): void {
    this.#problems = [...this.#problems, { about, text }]
  }

  #forget(about: string): void {
    this.#problems = this.#problems.filter(each => each.about !== about)
  }

  #noKey(): ParleyError {
    const why = this.#problems.find(({ about }) => about === 'key')?.text ?? 'The profile has no key.'
    return new ParleyError('key_unusable', why)
  }
}
