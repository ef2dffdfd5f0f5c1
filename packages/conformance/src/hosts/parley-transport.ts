// Parley's transport under test: every attempt is asked about, and does what it is told. Signals travel this way too.
import type { Delivery, Transport } from '@parley/kernel'
import type { Fate, Delivery as KitDelivery, TransportFault } from '../faults.ts'

export class FaultyTransport implements Transport, Omit<TransportFault, 'repeat'> {
  #fate: ((delivery: KitDelivery) => Fate) | undefined
  readonly #attempts = new Map<string, number>()
  #delayed: (() => void)[] = []

  readonly signals: boolean

  constructor(signals: boolean) {
    this.signals = signals
  }

  rule(fate: (delivery: KitDelivery) => Fate): void {
    this.#fate = fate
  }

  release(): void {
    for (const go of this.#delayed.splice(0)) go()
  }

  async carry(delivery: Delivery, arrive: (arrived?: unknown) => Promise<void>): Promise<void> {
    const attempt = (this.#attempts.get(delivery.id) ?? 0) + 1
    this.#attempts.set(delivery.id, attempt)
    const { kind, id, from, to } = delivery
    const fate = this.#fate?.({ kind, id, from, to, attempt }) ?? 'pass'
    if (typeof fate === 'object') {
      const envelope = delivery.kind === 'envelope' ? delivery.envelope : undefined
      return arrive(envelope && fate.alter({ ...envelope }))
    }
    switch (fate) {
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
