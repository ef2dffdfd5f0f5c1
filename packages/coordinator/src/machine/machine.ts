// Whether the machine lets the node work. A fault of it holds everything up: no turn starts, nothing that failed counts
// against the work, and probes with growing waits find out when the fault is over.
import {
  type CancelTimer,
  type Clock,
  formatTimestamp,
  type MachineFault,
  machineFaultOf,
  machineFaultText,
  pause,
  type Result,
  type Ticks,
  ticksPerMillisecond,
} from '@parley/core'
import type { MachineView } from '../view/view.ts'
import { machineLimits, machineTimes, unexplainedRetries } from './limits.ts'

export interface MachineOptions {
  readonly clock: Clock
  /** The profile's folder: always looked at, and named where an error names no place. */
  readonly folder: string
  /** Looks whether these folders can be written and, for other faults, files and processes had. Never rejects. */
  readonly probe: (fault: MachineFault | undefined, folders: readonly string[]) => Promise<MachineFault | undefined>
  /** Room that is kept for a full disk. `restore` answers with the fault that prevents it. Neither throws. */
  readonly reserve?: { release(): void; restore(): Promise<MachineFault | undefined> }
  /** Milliseconds, where the usual waits do not fit. */
  readonly times?: Partial<Readonly<Record<keyof typeof machineTimes, number>>>
  readonly log?: (level: 'info' | 'error', message: string, facts?: object) => void
}

export class Machine {
  readonly #options: MachineOptions
  readonly #times: Readonly<Record<keyof typeof machineTimes, number>>
  readonly #listeners = new Set<() => void>()
  #held: { readonly fault: MachineFault; readonly since: Ticks } | undefined
  #newest: MachineFault | undefined
  readonly #places = new Set<string>()
  #reported = 0
  #ended = Number.NEGATIVE_INFINITY
  /** How many probes of faults in short succession have passed. */
  #probes = 0
  #cancel: CancelTimer | undefined
  #closed = false

  constructor(options: MachineOptions) {
    this.#options = options
    this.#times = { ...machineTimes, ...options.times }
  }

  get held(): MachineView | undefined {
    if (!this.#held) return undefined
    const { fault, since } = this.#held
    return {
      code: fault.code,
      where: fault.where ?? this.#options.folder,
      since: formatTimestamp(since),
      message: heldText(fault),
    }
  }

  /** Whether the machine was at fault at any time since then: what failed meanwhile says nothing about the work. */
  wasHeldSince(ticks: Ticks): boolean {
    return this.#held !== undefined || this.#ended >= ticks
  }

  /** The newest fault of then or later. */
  faultSince(ticks: Ticks): MachineFault | undefined {
    return this.wasHeldSince(ticks) ? this.#newest : undefined
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Holds everything up if the error is the machine's. `folder`: where it happened, if the error does not say. */
  report(thrown: unknown, folder?: string): MachineFault | undefined {
    const found = machineFaultOf(thrown)
    if (!found) return undefined
    const fault = found.where === undefined && folder !== undefined ? { ...found, where: folder } : found
    this.#begin(fault)
    return fault
  }

  /** For errors that need not name their reason, such as git's: whether the folders can be written decides. */
  async blame(thrown: unknown, folders: readonly string[]): Promise<MachineFault | undefined> {
    return this.report(thrown, folders[0]) ?? this.#held?.fault ?? this.look(folders)
  }

  async look(folders: readonly string[] = [this.#options.folder]): Promise<MachineFault | undefined> {
    const fault = await this.#options.probe(undefined, folders)
    if (fault) this.#begin(fault)
    return fault
  }

  /** Looks without holding anything up: for a folder that nothing at work needs. */
  inspect(folders: readonly string[]): Promise<MachineFault | undefined> {
    return this.#options.probe(undefined, folders)
  }

  /** Resolves when the machine is sound, to false if the signal fires first. */
  sound(signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false)
    if (!this.#held) return Promise.resolve(true)
    return new Promise(resolve => {
      const done = (sound: boolean) => {
        off()
        signal?.removeEventListener('abort', stop)
        resolve(sound)
      }
      const stop = () => done(false)
      const off = this.onChange(() => {
        if (!this.#held) done(true)
      })
      signal?.addEventListener('abort', stop, { once: true })
    })
  }

  /**
   * Repeats work until the machine lets it succeed or fail by itself. A fault that comes back although each look finds
   * the machine sound is the work's own; what the trail cannot record never is. A fault may be over before a look, and
   * git does not always name it: what failed with the folders of a run is tried again either way.
   */
  async through<T>(
    work: () => Promise<Result<T>>,
    folders: readonly string[],
    signal?: AbortSignal,
  ): Promise<Result<T>> {
    const { clock } = this.#options
    const waits = [...unexplainedRetries]
    for (let tries = 1; ; ) {
      const done = await work()
      if (done.ok) return done
      if (await this.blame(done.error, folders)) {
        if (tries++ >= machineLimits.faultsInARow && !isOfTrail(done.error.code)) return done
        if (!(await this.sound(signal))) return done
        continue
      }
      const wait = isOfFolders(done.error.code) ? waits.shift() : undefined
      if (wait === undefined) return done
      await pause(clock, wait, signal)
      if (signal?.aborted) return done
    }
  }

  /** Nothing is looked at any more; whoever waits is not told. */
  close(): void {
    this.#closed = true
    this.#cancel?.()
  }

  #begin(fault: MachineFault): void {
    const { clock, folder, reserve, log } = this.#options
    const now = clock.now()
    this.#reported = now
    if (this.#places.size < machineLimits.places) this.#places.add(fault.where ?? folder)
    if (this.#held || this.#closed) return
    // One that comes back at once is looked at ever more seldom.
    if (now - this.#ended > this.#times.forgotten * ticksPerMillisecond) this.#probes = 0
    this.#held = { fault, since: now }
    this.#newest = fault
    // Before anything is said: saying so takes room as well.
    if (needsRoom(fault)) reserve?.release()
    log?.('error', heldText(fault), { code: fault.code, where: fault.where ?? folder })
    this.#changed()
    this.#probeLater()
  }

  #probeLater(): void {
    const wait = Math.min(this.#times.firstProbe * 2 ** this.#probes, this.#times.probe)
    this.#probes = Math.min(this.#probes + 1, machineLimits.growth)
    this.#cancel = this.#options.clock.after(wait, () => void this.#probe(), { background: true })
  }

  async #probe(): Promise<void> {
    const { clock, folder, probe, reserve, log } = this.#options
    const { fault, since } = this.#held!
    // Whoever has failed a moment ago fails again: the trail tries every second whether it can be written.
    const quiet = clock.now() - this.#reported >= this.#times.quiet * ticksPerMillisecond
    const still = quiet
      ? ((needsRoom(fault) ? await reserve?.restore() : undefined) ??
        (await probe(fault, [...new Set([folder, ...this.#places])])))
      : fault
    if (this.#closed) return
    if (still) {
      if (needsRoom(still)) reserve?.release()
      this.#probeLater()
      return
    }
    this.#held = undefined
    this.#places.clear()
    this.#ended = clock.now()
    const seconds = (this.#ended - since) / ticksPerMillisecond / 1000
    log?.('info', `The machine is sound again after ${seconds.toFixed(1)} s: the work goes on.`, { code: fault.code })
    this.#changed()
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}

function needsRoom({ code }: MachineFault): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT'
}

/** Refusals of the trail say nothing about what was to be recorded. */
export function isOfTrail(code: string): boolean {
  return code.startsWith('trail_') || code === 'index_failed'
}

/** What the node itself does with the folders of a run: no agent has failed with it. */
export function isOfFolders(code: string): boolean {
  return code === 'git_failed' || code === 'folder_failed' || code === 'repository_locked'
}

function heldText(fault: MachineFault): string {
  return `Held up by the machine: ${machineFaultText(fault)}. No turn is taken and nothing counts as failed until that is over; then the work goes on by itself.`
}
