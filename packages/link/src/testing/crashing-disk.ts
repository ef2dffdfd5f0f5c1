// A disk for tests that stops working after so many steps, as in a crash or a power cut: what was written and not
// synced is then only half there, and names that were not synced may be gone. What is left lies in the real folder for
// the next process to find.
import { existsSync, readFileSync, truncateSync } from 'node:fs'
import { type Disk, machineDisk } from '@parley/keys/files'

export class Crash extends Error {}

export class CrashingDisk implements Disk {
  /** Steps that were taken. */
  steps = 0
  readonly #most: number
  readonly #unsynced = new Set<string>()

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most
  }

  read(path: string, most: number): Buffer | undefined {
    return machineDisk.read(path, most)
  }

  stat(path: string): ReturnType<Disk['stat']> {
    return machineDisk.stat(path)
  }

  makeFolder(path: string, mode: number): void {
    this.#step(() => machineDisk.makeFolder(path, mode))
  }

  exists(path: string): boolean {
    return machineDisk.exists(path)
  }

  open(path: string, how: 'create', mode: number): ReturnType<Disk['open']> {
    return this.#step(() => {
      const file = machineDisk.open(path, how, mode)
      this.#unsynced.add(path)
      return {
        write: (bytes, at) =>
          this.#step(
            () => file.write(bytes, at),
            // Cut in the middle.
            () => file.write(bytes.subarray(0, bytes.length / 2), at),
          ),
        sync: () =>
          this.#step(() => {
            file.sync()
            this.#unsynced.delete(path)
          }),
        // Not a step: a crash closes too.
        close: () => file.close(),
      }
    })
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
export function afterEachStep(work: (disk: Disk) => void, look: (stoppedAt: number, done: boolean) => void): void {
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
