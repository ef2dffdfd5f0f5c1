// A transport as bad as one can be: it drops, delays, repeats and reorders deliveries and loses confirmations, by
// chance. What it holds back arrives when the world says so, or never.
import type { Delivery, Transport } from '@parley/kernel'
import type { Dice } from '../random.ts'

export interface Weather {
  readonly signals: boolean
  /** How often a delivery goes wrong in some way, 0 to 1. */
  readonly trouble: number
}

/** Who is told what the transport does. */
export interface TransportWatch {
  readonly arrived: Map<string, number>
  moved(): void
  /** A delivery sets out. */
  carrying(delivery: Delivery): void
  /** A delivery could not be placed. */
  refused(cause: unknown): void
}

type Fate = 'drop' | 'delay' | 'repeat' | 'unconfirmed' | 'refuse'

const FATES: Readonly<Record<Fate, number>> = { drop: 3, delay: 4, repeat: 2, unconfirmed: 2, refuse: 1 }

export class StormyTransport implements Transport {
  readonly signals: boolean
  trouble: number
  readonly #dice: Dice
  readonly #held: (() => void)[] = []
  readonly #watch: TransportWatch

  constructor(weather: Weather, dice: Dice, watch: TransportWatch) {
    this.signals = weather.signals
    this.trouble = weather.trouble
    this.#dice = dice
    this.#watch = watch
  }

  carry(delivery: Delivery, arrive: () => Promise<void>): Promise<void> {
    const watch = this.#watch
    watch.carrying(delivery)
    const bring = () => {
      watch.moved()
      count(watch.arrived, delivery.id)
      const arrival = arrive()
      void arrival.then(
        () => watch.moved(),
        cause => watch.refused(cause),
      )
      return arrival
    }
    const later = () => {
      this.#held.push(() => void bring().catch(ignored))
    }
    if (!this.#dice.chance(this.trouble)) return bring()
    switch (this.#dice.weighted(FATES)) {
      case 'drop':
        return new Promise(() => {})
      case 'refuse':
        return Promise.reject(new Error('the line is down'))
      case 'delay':
        return new Promise((resolve, reject) => {
          this.#held.push(() => void bring().then(resolve, reject))
        })
      case 'repeat':
        later()
        return bring()
      case 'unconfirmed':
        void bring().catch(ignored)
        return new Promise(() => {})
    }
  }

  get held(): number {
    return this.#held.length
  }

  /** Lets some of what was held back arrive, in any order. */
  release(count: number): void {
    for (let left = Math.min(count, this.#held.length); left > 0; left--) {
      const [arrival] = this.#held.splice(this.#dice.int(this.#held.length), 1)
      arrival!()
    }
  }

  /** The process that sent them is gone; so is what was on its way. */
  forget(): void {
    this.#held.length = 0
  }
}

export function count(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1)
}

function ignored(): void {}
