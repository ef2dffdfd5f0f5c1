// Which pairs of sender and nonce were seen (ALP-ENV-08), in memory and bounded. Pinned senders are kept apart from
// strangers: a stranger's message has no effect, so a flood of strangers may push out each other's pairs, but never one
// that matters.
import { invariant, type Ticks, ticksPerSecond } from '@parley/core'
import { linkDefaults, linkLimits } from '../limits.ts'

export interface ReplayLimits {
  readonly perSender: number
  readonly pairs: number
}

const WINDOW = linkDefaults.replaySeconds * ticksPerSecond

export interface SeenPair {
  readonly from: string
  readonly nonce: string
  readonly seenAt: number
}

export class ReplayMemory {
  readonly #limits: ReplayLimits
  /** By sender; the nonces of each in the order of their arrival. */
  readonly #senders = new Map<string, Map<string, number>>()
  readonly #strangers = new Map<string, number>()
  #pairs = 0

  constructor(limits: ReplayLimits = { perSender: linkLimits.replayPerSender, pairs: linkLimits.replayPairs }) {
    this.#limits = limits
  }

  /** Pairs of pinned senders. */
  get size(): number {
    return this.#pairs
  }

  /** Whether the pair was seen within the window; one that is strictly older is forgotten. */
  seen(from: string, nonce: string, now: Ticks): boolean {
    if (isLive(this.#senders.get(from)?.get(nonce), now)) return true
    return this.#strangers.size > 0 && isLive(this.#strangers.get(key(from, nonce)), now)
  }

  /** Whether a pinned sender may have one more pair, once what is old is forgotten. */
  hasRoom(from: string, now: Ticks): boolean {
    const nonces = this.#senders.get(from)
    if (nonces) this.#forget(from, nonces, now)
    if (this.#pairs >= this.#limits.pairs) this.sweep(now)
    return (this.#senders.get(from)?.size ?? 0) < this.#limits.perSender && this.#pairs < this.#limits.pairs
  }

  remember({ from, nonce, seenAt }: SeenPair): void {
    let nonces = this.#senders.get(from)
    if (!nonces) {
      nonces = new Map()
      this.#senders.set(from, nonces)
    }
    // Behind all others, also where an old one of the same name was still there.
    if (!nonces.delete(nonce)) this.#pairs++
    nonces.set(nonce, seenAt)
  }

  rememberStranger({ from, nonce, seenAt }: SeenPair): void {
    if (this.#strangers.size >= linkLimits.replayStrangers) {
      const [oldest] = this.#strangers.keys()
      this.#strangers.delete(oldest!)
    }
    this.#strangers.set(key(from, nonce), seenAt)
  }

  sweep(now: Ticks): void {
    for (const [from, nonces] of this.#senders) this.#forget(from, nonces, now)
  }

  *live(): Generator<SeenPair> {
    for (const [from, nonces] of this.#senders) for (const [nonce, seenAt] of nonces) yield { from, nonce, seenAt }
  }

  #forget(from: string, nonces: Map<string, number>, now: Ticks): void {
    for (const [nonce, seenAt] of nonces) {
      if (isLive(seenAt, now)) break
      nonces.delete(nonce)
      this.#pairs--
      invariant(this.#pairs >= 0, 'what is forgotten was counted')
    }
    if (nonces.size === 0) this.#senders.delete(from)
  }
}

function isLive(seenAt: number | undefined, now: Ticks): boolean {
  return seenAt !== undefined && now - seenAt <= WINDOW
}

/** Unique to the pair: an identity that verified has no line feed inside. */
function key(from: string, nonce: string): string {
  return `${from}\n${nonce}`
}
