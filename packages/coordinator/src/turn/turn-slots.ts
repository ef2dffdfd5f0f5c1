// Places for turns: one of the agent's own, one in the run, and one on this machine.
import { nameOf } from './identities.ts'
import { Semaphore } from './semaphore.ts'

export interface TurnSlotsOptions {
  /** Turns at once in this run. */
  readonly concurrency: number
  /** Turns at once over all runs. */
  readonly turns: Semaphore
  /** Turns at once of one agent; undefined without such a limit. */
  readonly slotsOf: (agent: string) => number | undefined
}

export class TurnSlots {
  readonly #options: TurnSlotsOptions
  readonly #run: Semaphore
  readonly #agents = new Map<string, Semaphore>()

  constructor(options: TurnSlotsOptions) {
    this.#options = options
    this.#run = new Semaphore(options.concurrency)
  }

  /**
   * In the same order for all: nobody waits in a circle. Resolves to the release, or to undefined if the signal fires
   * first.
   */
  async acquire(identity: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    const releases: (() => void)[] = []
    const release = () => {
      for (const each of releases.toReversed()) each()
    }
    for (const slots of [this.#ofAgent(nameOf(identity)), this.#run, this.#options.turns]) {
      const one = await slots.acquire(signal)
      if (!one) {
        release()
        return undefined
      }
      releases.push(one)
    }
    return release
  }

  #ofAgent(name: string): Semaphore {
    const known = this.#agents.get(name)
    if (known) return known
    const slots = new Semaphore(this.#options.slotsOf(name) ?? Number.POSITIVE_INFINITY)
    this.#agents.set(name, slots)
    return slots
  }
}
