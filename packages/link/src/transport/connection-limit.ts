// Bounds on connections and on handshakes that a flood cannot turn against others: the address that holds most gives
// way first. A known peer is never pushed out by strangers, and loses an idle connection only to another peer.
export interface Counted {
  /** The other side's address without its port: those who share it share their fate. */
  readonly address: string
  /** Whether an answer is on its way. */
  readonly busy: boolean
  destroy(): void
}

/** Guests in the order of their arrival, each with its crowd: an address, or a peer. */
type Guests = Map<Counted, string>

/** The oldest of the largest crowd that has one of these. */
function oldest(guests: Guests, may: (guest: Counted) => boolean): Counted | undefined {
  const sizes = counted(guests.values())
  let found: Counted | undefined
  let most = 0
  for (const [guest, crowd] of guests)
    if (sizes.get(crowd)! > most && may(guest)) {
      found = guest
      most = sizes.get(crowd)!
    }
  return found
}

function counted(names: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Connections at once. When all places are taken, a stranger gives way to the new one, or an idle peer. */
export class ConnectionLimit {
  readonly #most: number
  readonly #strangers: Guests = new Map()
  readonly #known: Guests = new Map()

  constructor(most: number) {
    this.#most = most
  }

  /** False if nobody gives way: the guest is to be turned away. */
  admit(guest: Counted): boolean {
    if (this.#strangers.size + this.#known.size >= this.#most && !this.#giveWay()) return false
    this.#strangers.set(guest, guest.address)
    return true
  }

  /** The guest turned out to be a pinned peer. */
  recognise(guest: Counted, peer: string): void {
    if (this.#strangers.delete(guest)) this.#known.set(guest, peer)
  }

  leave(guest: Counted): void {
    if (!this.#strangers.delete(guest)) this.#known.delete(guest)
  }

  #giveWay(): boolean {
    const guest = oldest(this.#strangers, () => true) ?? oldest(this.#known, ({ busy }) => !busy)
    if (!guest) return false
    this.leave(guest)
    guest.destroy()
    return true
  }
}

/**
 * ALP-TCP-06: so many handshakes at once, others wait. The next is the one whose address runs fewest, and an address
 * that holds more than half of all places loses its oldest one when another address waits.
 */
export class Slots {
  readonly #most: number
  readonly #running = new Set<Counted>()
  /** What begins the work of each, in the order of their arrival. */
  readonly #waiting = new Map<Counted, () => void>()

  constructor(most: number) {
    this.#most = most
  }

  get running(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  async run<T>(guest: Counted, work: () => Promise<T>): Promise<T> {
    if (this.#running.size < this.#most) this.#running.add(guest)
    else {
      this.#preempt(guest.address)
      await new Promise<void>(resolve => this.#waiting.set(guest, resolve))
    }
    try {
      return await work()
    } finally {
      this.#running.delete(guest)
      this.#next()
    }
  }

  #preempt(address: string): void {
    const counts = this.#counts()
    const crowded = (guest: Counted) => guest.address !== address && counts.get(guest.address)! > this.#most / 2
    // The oldest: they are in the order in which they began.
    ;[...this.#running].find(crowded)?.destroy()
  }

  #next(): void {
    if (this.#waiting.size === 0) return
    const counts = this.#counts()
    const load = ({ address }: Counted) => counts.get(address) ?? 0
    const [next] = [...this.#waiting.keys()].sort((one, other) => load(one) - load(other))
    this.#running.add(next!)
    this.#waiting.get(next!)!()
    this.#waiting.delete(next!)
  }

  /** How many each address runs. */
  #counts(): Map<string, number> {
    return counted([...this.#running].map(({ address }) => address))
  }
}
