// Those who want to see committed state while a group is on its way to disk: they are served between two groups.
import type { Run } from '../../run/run.ts'

export class Readers {
  readonly #waiting: ((run: Run) => void)[] = []

  wait<T>(reader: (run: Run) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(run => {
        try {
          resolve(reader(run))
        } catch (cause) {
          reject(cause)
        }
      })
    })
  }

  serve(run: Run): void {
    for (const read of this.#waiting.splice(0)) read(run)
  }
}
