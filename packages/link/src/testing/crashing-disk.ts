// A disk for tests that stops working after so many steps, as in a crash or a power cut: what was written and not synced is then only half
// there, and names that were not synced may be gone. What is left lies in the real folder for the next process to find.
import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { type Disk, machineDisk } from '../files/disk.ts'

export class Crash extends Error {}

export class CrashingDisk implements Disk {
  /** Steps that were taken. */
  steps = 0
  readonly #most: number
  readonly #open = new Map<number, string>()
  readonly #unsynced = new Set<string>()

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  read(path: string, most: number): Buffer | undefined {
    return machineDisk.read(path, most)
  }

  stat(path: string) {
    return machineDisk.stat(path)
  }

  makeFolder(path: string, mode: number): void {
    this.#step(() => machineDisk.makeFolder(path, mode))
  }

  create(path: string, mode: number): number {
    return this.#step(() => {
      const descriptor = machineDisk.create(path, mode)
      this.#open.set(descriptor, path)
      this.#unsynced.add(path)
      return descriptor
    })
  }

  write(descriptor: number, bytes: Buffer): void {
    this.#step(
      () => machineDisk.write(descriptor, bytes),
      // Cut in the middle.
      () => machineDisk.write(descriptor, bytes.subarray(0, bytes.length / 2)),
    )
  }

  sync(descriptor: number): void {
    this.#step(() => {
      machineDisk.sync(descriptor)
      this.#unsynced.delete(this.#open.get(descriptor)!)
    })
  }

  /** Not a step: a crash closes too. */
  close(descriptor: number): void {
    machineDisk.close(descriptor)
  }

  rename(from: string, to: string): void {
    this.#step(() => {
      machineDisk.rename(from, to)
      if (this.#unsynced.delete(from)) this.#unsynced.add(to)
    })
  }

  remove(path: string): void {
    this.#step(() => machineDisk.remove(path))
  }

  syncFolder(path: string): void {
    this.#step(() => machineDisk.syncFolder(path))
  }

  #step<T>(work: () => T, partly: () => void = () => {}): T {
    if (this.steps >= this.#most) {
      if (this.steps === this.#most) partly()
      this.steps++
      this.#lose()
      throw new Crash('the power is gone')
    }
    this.steps++
    return work()
  }

  #lose(): void {
    for (const path of this.#unsynced)
      if (existsSync(path)) truncateSync(path, Math.floor(readFileSync(path).length / 2))
    this.#unsynced.clear()
  }
}

/** Runs `work` once for each step that it takes, stopped before that step; then says what is left. */
export function afterEachStep(
  work: (disk: Disk) => void,
  look: (stoppedAt: number, done: boolean) => void,
): void {
  for (let at = 0; ; at++) {
    let done = true
    try {
      work(new CrashingDisk(at))
    } catch (thrown) {
      if (!(thrown instanceof Crash)) throw thrown
      done = false
    }
    look(at, done)
    if (done) return
  }
}
