// Files over a disk whose power goes at a given operation: whatever changes something counts, and from then on
// everything fails. What the machine finds afterwards is told by the disk itself (`FaultyFiles.crash`).
import type { Files, LogFile } from '../log/files.ts'

export class PowerCut {
  /** Operations that are still done. */
  #left: number
  done = 0

  constructor(after: number) {
    this.#left = after
  }

  get over(): boolean {
    return this.#left < 0
  }

  on(files: Files): Files {
    const change = <Args extends unknown[], Out>(work: (...args: Args) => Out) => {
      return (...args: Args): Out => {
        this.#count()
        return work(...args)
      }
    }
    return {
      open: (path, how) => {
        if (how === 'create') this.#count()
        return this.#file(files.open(path, how))
      },
      list: path => files.list(path),
      exists: path => files.exists(path),
      makeFolder: path => files.makeFolder(path),
      rename: change((from: string, to: string) => files.rename(from, to)),
      remove: change((path: string) => files.remove(path)),
      removeFolder: path => files.removeFolder(path),
      syncFolder: change((path: string) => files.syncFolder(path)),
      free: () => files.free(),
    }
  }

  #file(file: LogFile): LogFile {
    return {
      get size() {
        return file.size
      },
      write: (data, at) => {
        this.#count()
        file.write(data, at)
      },
      sync: async () => {
        this.#count()
        await file.sync()
      },
      read: (at, length) => file.read(at, length),
      truncate: size => {
        this.#count()
        file.truncate(size)
      },
      close: () => file.close(),
    }
  }

  #count(): void {
    this.#left--
    if (this.#left < 0) throw Object.assign(new Error('EIO: the power is gone'), { code: 'EIO' })
    this.done++
  }
}
