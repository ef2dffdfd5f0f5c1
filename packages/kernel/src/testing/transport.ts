// A transport for tests: it says of each attempt what becomes of it, and remembers when each was made.
import { type Clock, durationMs, type Ticks } from '@parley/core'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import type { Delivery, Transport } from '../runtime/actor/transport.ts'
import { type Fixture, type FixtureOptions, fixture } from './fixture.ts'

/**
 * `drop`: never arrives. `unconfirmed`: arrives, and the confirmation is lost. `delay`: arrives when `release` is
 * called. `duplicate`: arrives twice.
 */
export type Fate = 'pass' | 'drop' | 'unconfirmed' | 'delay' | 'duplicate'

export interface CarriedAttempt {
  readonly id: string
  /** The first attempt of a delivery is 1. */
  readonly nth: number
  /** Milliseconds since `begin`. */
  readonly at: number
}

export class TestTransport implements Transport {
  readonly signals: boolean
  attempts: CarriedAttempt[] = []
  fate: (attempt: CarriedAttempt, delivery: Delivery) => Fate = () => 'pass'
  /** What is handed in of the envelope that was carried; nothing where it is undefined. */
  alter: ((envelope: EnvelopeRecord) => unknown) | undefined
  #clock: Clock | undefined
  #start = 0 as Ticks
  readonly #counts = new Map<string, number>()
  #delayed: (() => void)[] = []

  constructor(signals = false) {
    this.signals = signals
  }

  /** From here on attempts are remembered, with times that count from now. */
  begin(clock: Clock, fate?: TestTransport['fate']): void {
    this.#clock = clock
    this.#start = clock.now()
    this.attempts = []
    if (fate) this.fate = fate
  }

  /** When the attempts of one envelope were made. */
  times(id: string): number[] {
    return this.attempts.filter(attempt => attempt.id === id).map(attempt => attempt.at)
  }

  /** Lets everything arrive that was delayed, in the order in which it was sent. */
  release(): void {
    for (const go of this.#delayed.splice(0)) go()
  }

  async carry(delivery: Delivery, arrival: (arrived?: unknown) => Promise<void>): Promise<void> {
    const arrive = () =>
      delivery.kind === 'envelope' && delivery.envelope && this.alter
        ? arrival(this.alter(delivery.envelope))
        : arrival()
    const nth = (this.#counts.get(delivery.id) ?? 0) + 1
    this.#counts.set(delivery.id, nth)
    const at = this.#clock ? durationMs(this.#start, this.#clock.now()) : 0
    const attempt = { id: delivery.id, nth, at }
    this.attempts.push(attempt)
    switch (this.fate(attempt, delivery)) {
      case 'pass':
        return arrive()
      case 'drop':
        return new Promise(() => undefined)
      case 'unconfirmed':
        await arrive()
        return new Promise(() => undefined)
      case 'delay':
        await new Promise<void>(resolve => this.#delayed.push(resolve))
        return arrive()
      case 'duplicate':
        await Promise.all([arrive(), arrive()])
    }
  }
}

/** A run whose mail, and signals where they are carried, travel by a transport that the test controls. */
export async function carriedFixture(
  options: FixtureOptions = {},
  signals = false,
): Promise<{ f: Fixture; transport: TestTransport }> {
  const transport = new TestTransport(signals)
  const f = await fixture({ ...options, transport })
  transport.begin(f.clock)
  return { f, transport }
}

/** The same with a worker W at work; what comes next is new. */
export async function carriedWorker(options: FixtureOptions = {}): Promise<{ f: Fixture; transport: TestTransport }> {
  const made = await carriedFixture(options)
  await made.f.worker('W')
  await made.f.mark()
  return made
}
