// Places for turns: one of the agent's own, one in the run, and one on this machine.
import { nameOf } from './identities.ts'
import { Semaphore } from './semaphore.ts'

export class TurnSlots {
  readonly #run: Semaphore
  readonly #turns: Semaphore
  readonly #slotsOf: (agent: string) => number | undefined
  readonly #agents = new Map<string, Semaphore>()

  /** `concurrency`: turns at once in this run; `turns`: over all runs; `slotsOf`: of one agent. */
  constructor(concurrency: number, turns: Semaphore, slotsOf: (agent: string) => number | undefined) {
    this.#run = new Semaphore(concurrency)
    this.#turns = turns
    this.#slotsOf = slotsOf
  }

  /** In the same order for all, against deadlock. Resolves to the release, or undefined if the signal fires first. */
  async acquire(identity: string, signal: AbortSignal): Promise<(() => void) | undefined> {
    const releases: (() => void)[] = []
    const release = () => {
      for (const each of releases.toReversed()) each()
    }
    for (const slots of [this.#ofAgent(nameOf(identity)), this.#run, this.#turns]) {
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
    const slots = this.#agents.get(name) ?? new Semaphore(this.#slotsOf(name) ?? Number.POSITIVE_INFINITY)
    this.#agents.set(name, slots)
    return slots
  }
}
