// Bounds on connections and on handshakes that a flood cannot turn against others: whoever holds most gives way first.
// A caller that is known to be pinned is never pushed out by strangers, and loses a connection to another peer only
// while nothing goes on there.

/** One connection, as far as room is concerned. */
export interface Counted {
  /** Who shares a fate: the other side's address without its port. */
  readonly address: string
  /** Whether an answer is on its way. */
  readonly busy: boolean
  destroy(): void
}

/** Guests by what they have in common, in the order of their arrival. */
class Crowds {
  readonly #crowds = new Map<string, Set<Counted>>()
  readonly #of = new Map<Counted, string>()

  add(guest: Counted, crowd: string): void {
    this.#of.set(guest, crowd)
    this.#crowds.set(crowd, (this.#crowds.get(crowd) ?? new Set()).add(guest))
  }

  remove(guest: Counted): boolean {
    const name = this.#of.get(guest)
    if (name === undefined) return false
    this.#of.delete(guest)
    const crowd = this.#crowds.get(name)!
    crowd.delete(guest)
    if (crowd.size === 0) this.#crowds.delete(name)
    return true
  }

  get size(): number {
    return this.#of.size
  }

  /** The oldest of the largest crowd that has one of these. */
  oldest(may: (guest: Counted) => boolean): Counted | undefined {
    let found: Counted | undefined
    let most = 0
    for (const crowd of this.#crowds.values()) {
      if (crowd.size <= most) continue
      const guest = [...crowd].find(may)
      if (!guest) continue
      found = guest
      most = crowd.size
    }
    return found
  }
}

/**
 * Connections at once. When all places are taken, somebody gives way to the new one: a stranger, else an idle
 * connection of a peer.
 */
export class ConnectionLimit {
  readonly #most: number
  readonly #strangers = new Crowds()
  readonly #known = new Crowds()

  constructor(most: number) {
    this.#most = most
  }

  /** False where nobody gives way: the guest is to be turned away. */
  admit(guest: Counted): boolean {
    if (this.#strangers.size + this.#known.size >= this.#most && !this.#giveWay()) return false
    this.#strangers.add(guest, guest.address)
    return true
  }

  /** The guest turned out to be a pinned peer. */
  recognise(guest: Counted, peer: string): void {
    if (this.#strangers.remove(guest)) this.#known.add(guest, peer)
  }

  leave(guest: Counted): void {
    if (!this.#strangers.remove(guest)) this.#known.remove(guest)
  }

  #giveWay(): boolean {
    const guest = this.#strangers.oldest(() => true) ?? this.#known.oldest(({ busy }) => !busy)
    if (!guest) return false
    this.leave(guest)
    guest.destroy()
    return true
  }
}

interface Waiter {
  readonly guest: Counted
  readonly begin: () => void
}

/**
 * ALP-TCP-06: so many handshakes at once, others wait. The next is the one whose address runs fewest, and an address
 * that holds more than half of all places loses its oldest one when another address waits.
 */
export class Slots {
  readonly #most: number
  readonly #running = new Set<Counted>()
  readonly #waiting: Waiter[] = []

  constructor(most: number) {
    this.#most = most
  }

  get running(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#waiting.length
  }

  async run<T>(guest: Counted, work: () => Promise<T>): Promise<T> {
    if (this.#running.size < this.#most) this.#running.add(guest)
    else await this.#turn(guest)
    try {
      return await work()
    } finally {
      this.#running.delete(guest)
      this.#next()
    }
  }

  #turn(guest: Counted): Promise<void> {
    this.#preempt(guest.address)
    return new Promise(resolve => {
      const begin = () => {
        this.#running.add(guest)
        resolve()
      }
      this.#waiting.push({ guest, begin })
    })
  }

  #preempt(address: string): void {
    const counts = this.#counts()
    const crowded = (guest: Counted) => guest.address !== address && counts.get(guest.address)! > this.#most / 2
    // In the order of their beginning: the oldest.
    const oldest = [...this.#running].find(crowded)
    oldest?.destroy()
  }

  #next(): void {
    const counts = this.#counts()
    const load = ({ guest }: Waiter) => counts.get(guest.address) ?? 0
    let best = 0
    for (let index = 1; index < this.#waiting.length; index++)
      if (load(this.#waiting[index]!) < load(this.#waiting[best]!)) best = index
    this.#waiting.splice(best, 1)[0]?.begin()
  }

  #counts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { address } of this.#running) counts.set(address, (counts.get(address) ?? 0) + 1)
    return counts
  }
}
