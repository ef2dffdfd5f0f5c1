// What the storage life cycle could not do: the newest reason for each run and for the storage as a whole, and when it
// is tried again. The waits double, so that a disk that stays full is not asked every minute.
import { type Clock, deadline, formatTimestamp, type ParleyError, type RunId, type Ticks } from '@parley/core'
import { earlier } from '../due/due.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import type { StorageFault } from './storage-schedule.ts'

interface Noted {
  readonly code: string
  readonly message: string
  readonly since: Ticks
  readonly attempts: number
  readonly retry: Ticks
}

export class StorageFaults {
  readonly #clock: Clock
  readonly #onFault: (fault: StorageFault) => void
  readonly #noted = new Map<RunId | null, Noted>()
  readonly #known = new Set<string>()

  constructor(clock: Clock, onFault: (fault: StorageFault) => void) {
    this.#clock = clock
    this.#onFault = onFault
  }

  note(run: RunId | null, { code, message }: ParleyError): void {
    const now = this.#clock.now()
    const before = this.#noted.get(run)
    const attempts = (before?.attempts ?? 0) + 1
    const wait = Math.min(kernelDefaults.storageRetry * 2 ** (attempts - 1), kernelLimits.storageRetry)
    const noted = { code, message, since: before?.since ?? now, attempts, retry: deadline(now, wait) }
    this.#noted.delete(run)
    this.#noted.set(run, noted)
    const [oldest] = this.#noted.keys()
    if (this.#noted.size > kernelLimits.storageFaults && oldest !== undefined) this.#noted.delete(oldest)
    // The same again is no news.
    if (before?.code !== code) this.#onFault(view(run, noted))
  }

  clear(run: RunId | null): void {
    this.#noted.delete(run)
  }

  /** Before that moment a run is left alone. */
  retry(run: RunId): Ticks | undefined {
    return this.#noted.get(run)?.retry
  }

  next(): Ticks | undefined {
    return [...this.#noted.values()].reduce<Ticks | undefined>((at, { retry }) => earlier(at, retry), undefined)
  }

  list(): readonly StorageFault[] {
    return [...this.#noted].map(([run, noted]) => view(run, noted))
  }

  isNew(content: string): boolean {
    if (this.#known.has(content) || this.#known.size >= kernelLimits.knownViolations) return false
    this.#known.add(content)
    return true
  }
}

function view(run: RunId | null, { code, message, since, attempts, retry }: Noted): StorageFault {
  return { run, code, message, since: formatTimestamp(since), attempts, retry: formatTimestamp(retry) }
}
