// What must not outlive the benchmark: servers and temporary folders. They go when they are no longer needed, and at
// the latest when this process ends, by a signal or an uncaught error too. Only SIGKILL leaves them behind.
import { constants } from 'node:os'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const held = new Set<Leftovers>()

function removeAll(): void {
  for (const leftovers of held) leftovers.remove()
}

/** Signals end the process through `exit`, which is where everything is removed. */
function end(signal: (typeof SIGNALS)[number]): void {
  process.exit(128 + constants.signals[signal])
}

export class Leftovers {
  readonly #removals: (() => void)[] = []

  /** Removals are synchronous, since a process that ends waits for nothing, and run in reverse order. */
  add(removal: () => void): void {
    if (held.size === 0) {
      process.on('exit', removeAll)
      for (const signal of SIGNALS) process.on(signal, end)
    }
    held.add(this)
    this.#removals.push(removal)
  }

  remove(): void {
    for (let removal = this.#removals.pop(); removal; removal = this.#removals.pop()) {
      try {
        removal()
      } catch (error) {
        console.error('Could not clean up after a peer:', error)
      }
    }
    if (!held.delete(this) || held.size > 0) return
    process.off('exit', removeAll)
    for (const signal of SIGNALS) process.off(signal, end)
  }
}
