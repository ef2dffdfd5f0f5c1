// Keeps one link up: dials, registers a worker, and redials after a loss, with exponential backoff and full jitter.
import type { CancelTimer, Clock } from '@parley/core'
import { type CallCode, CallError, connectionClosed } from '../error.ts'
import { callDefaults } from '../limits.ts'
import type { Link } from '../link/link.ts'
import type { LinkOptions } from '../link/link-options.ts'
import type { CallNode } from '../node.ts'
import { TAKEN_OVER, takenOver } from '../routing/registration.ts'
import type { Receiver, Transport } from '../transport/transport.ts'

/** `attempt` counts from the last connection on; `delay` is in milliseconds. `closed` is for ever. */
export type ClientState =
  | { readonly kind: 'connecting'; readonly attempt: number }
  | { readonly kind: 'connected' }
  | { readonly kind: 'waiting'; readonly attempt: number; readonly delay: number; readonly reason: string }
  | { readonly kind: 'closed'; readonly reason: string }

export interface ConnectionOptions {
  /** Opens a new connection. It may reject; it is asked again later. */
  readonly dial: () => Promise<Transport>
  /** Called on every new link before anything else goes out on it. What it rejects with makes the attempt fail. */
  readonly prepare?: (link: Link) => Promise<void>
  /** A number from 0 up to 1; `Math.random` by default. */
  readonly random?: () => number
  readonly profile?: NonNullable<LinkOptions['profile']>
  /** Makes this side a worker: registered at the head before it counts as connected, closed if refused for good. */
  readonly register?: {
    readonly node: string
    /** The head's own alias; `head` by default. */
    readonly head?: string
  }
  /** Attempts in a row that may fail before the client closes; without end by default. */
  readonly maxAttempts?: number
  /** Milliseconds after which an attempt to dial counts as failed. */
  readonly dialTimeout?: number
  /** Milliseconds: the first wait is at most `base`, each further one at most twice the last, up to `most`. */
  readonly backoff?: { readonly base?: number; readonly most?: number }
  readonly onState?: (state: ClientState) => void
  readonly log?: (message: string) => void
}

interface ConnectionHooks {
  readonly clock: Clock
  readonly node: CallNode
  readonly operations: () => readonly string[]
  /** A new link, before anything was sent or received on it. */
  attached(link: Link): void
  up(link: Link): void
  closed(reason: string): void
}

export class Connection {
  readonly #options: ConnectionOptions
  readonly #hooks: ConnectionHooks
  #state: ClientState = { kind: 'connecting', attempt: 1 }
  /** The link in use, or the one that is being prepared. */
  #link: Link | undefined
  #timer: CancelTimer | undefined
  #steady: CancelTimer | undefined
  #attempt = 0
  /** Whether what is offered has changed since the head was told. */
  #stale = false
  /** How often the wait has doubled. A peer that accepts and hangs up at once must not be dialed at full speed. */
  #doubled = 0

  constructor(options: ConnectionOptions, hooks: ConnectionHooks) {
    this.#options = options
    this.#hooks = hooks
    const { maxAttempts = 1, dialTimeout = 1, backoff = {} } = options
    for (const given of [maxAttempts, dialTimeout, backoff.base ?? 1, backoff.most ?? 1])
      if (!(given > 0)) throw new RangeError('attempts and times of a client must be above 0')
    // Not before the caller holds the client that its `onState` may speak of.
    queueMicrotask(() => void this.#connect())
  }

  get state(): ClientState {
    return this.#state
  }

  get link(): Link | undefined {
    return this.#state.kind === 'connected' && !this.#link!.closed ? this.#link : undefined
  }

  /** The same, and the link that is being prepared: what its peer has called may call back already. */
  get current(): Link | undefined {
    return this.#link?.closed === false ? this.#link : undefined
  }

  /** CALL-ROUTE-06: what this side offers has changed. The head is told once for all changes of the moment. */
  offersChanged(): void {
    if (this.#stale || !this.#options.register) return
    this.#stale = true
    queueMicrotask(() => void this.#registerAgain())
  }

  close(reason: string): void {
    if (this.#state.kind === 'closed') return
    this.#timer?.()
    this.#steady?.()
    this.#enter({ kind: 'closed', reason }, () => this.#hooks.closed(reason))
    this.#link?.close(reason)
  }

  async #connect(): Promise<void> {
    if (this.#state.kind === 'closed') return
    this.#attempt++
    this.#enter({ kind: 'connecting', attempt: this.#attempt })
    try {
      const transport = await this.#dial()
      if (this.#ended()) {
        discard(transport)
        return
      }
      const { profile } = this.#options
      const link = this.#hooks.node.attach(transport, profile === undefined ? {} : { profile })
      this.#link = link
      this.#hooks.attached(link)
      this.#heedTakeover(link)
      await link.ready()
      await this.#options.prepare?.(link)
      await this.#register(link)
      if (link.closed) throw connectionClosed()
      this.#up(link)
    } catch (thrown) {
      this.#link?.close('the connection could not be prepared')
      if (!this.#ended()) this.#failed(thrown instanceof Error ? thrown.message : String(thrown))
    }
  }

  /** An attempt that hangs must not stop the next one; what it brings later is thrown away. */
  #dial(): Promise<Transport> {
    const { dial, dialTimeout = callDefaults.dial } = this.#options
    return new Promise((resolve, reject) => {
      let late = false
      const giveUp = () => {
        late = true
        reject(new CallError('UNAVAILABLE', `no connection within ${dialTimeout} ms`))
      }
      const cancel = this.#hooks.clock.after(dialTimeout, giveUp, { background: true })
      const brought = (transport: Transport) => (late ? discard(transport) : resolve(transport))
      void Promise.resolve().then(dial).finally(cancel).then(brought, reject)
    })
  }

  /** CALL-ROUTE-06: the whole set, on every new link. */
  async #register(link: Link): Promise<void> {
    const { register } = this.#options
    if (!register) return
    const { node, head = 'head' } = register
    this.#stale = false
    try {
      await link.call(`/${head}/services/register`, { node, operations: this.#hooks.operations() })
    } catch (thrown) {
      if (thrown instanceof CallError && FOR_GOOD.has(thrown.code))
        this.close(`the head does not accept ${node}: ${thrown.message}`)
      throw thrown
    }
  }

  /** CALL-ROUTE-06: two workers that both redialed would take one alias from each other forever. The newer keeps it. */
  #heedTakeover(link: Link): void {
    const { register } = this.#options
    if (!register) return
    link.on(TAKEN_OVER, alias => {
      if (alias === register.node) this.close(takenOver(alias))
    })
  }

  /** A head that cannot be notified must not keep the old registration: the next link starts over. */
  async #registerAgain(): Promise<void> {
    const { link } = this
    if (!this.#stale || !link) return
    try {
      await this.#register(link)
    } catch {
      link.close('the operations could not be registered again')
    }
  }

  #up(link: Link): void {
    this.#attempt = 0
    const startOver = () => {
      this.#doubled = 0
    }
    this.#steady = this.#hooks.clock.after(callDefaults.steady, startOver, { background: true })
    this.#enter({ kind: 'connected' }, () => this.#hooks.up(link))
    link.onClose(reason => {
      this.#steady?.()
      if (!this.#ended()) this.#wait(reason)
    })
    void this.#registerAgain()
  }

  #failed(reason: string): void {
    const { maxAttempts = Number.POSITIVE_INFINITY } = this.#options
    if (this.#attempt >= maxAttempts) this.close(`no connection after ${this.#attempt} attempts: ${reason}`)
    else this.#wait(reason)
  }

  /** Full jitter: clients that lost the same head do not come back at the same moment. */
  #wait(reason: string): void {
    const { random = Math.random, backoff = {} } = this.#options
    const { base = callDefaults.reconnectBase, most = callDefaults.reconnectMost } = backoff
    const delay = Math.floor(random() * Math.min(most, base * 2 ** this.#doubled))
    this.#doubled++
    // A worker is there to be called: its process stays. Others stay for what waits.
    const background = this.#options.register === undefined
    this.#timer = this.#hooks.clock.after(delay, () => void this.#connect(), { background })
    this.#enter({ kind: 'waiting', attempt: this.#attempt + 1, delay, reason })
  }

  #ended(): boolean {
    return this.#state.kind === 'closed'
  }

  /** The client acts on a state before the application hears of it; an application that throws stops nothing. */
  #enter(state: ClientState, first?: () => void): void {
    this.#state = state
    first?.()
    try {
      this.#options.onState?.(state)
    } catch (thrown) {
      this.#options.log?.(`onState has thrown: ${String(thrown)}`)
    }
  }
}

/** Redialing would get the same answer. The holder of an alias (`CONFLICT`) may leave, and a failure may pass. */
const FOR_GOOD: ReadonlySet<string> = new Set(['FORBIDDEN', 'INVALID_INPUT', 'NOT_FOUND'] satisfies CallCode[])

const NOBODY: Receiver = {
  envelope: () => undefined,
  violation: () => undefined,
  drain: () => undefined,
  closed: () => undefined,
}

/** Closes an unwanted transport. It is started first, so that its errors have a receiver. */
function discard(transport: Transport): void {
  transport.start(NOBODY)
  transport.close('not wanted any more')
}
