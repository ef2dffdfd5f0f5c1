// A file that people edit, read again whenever it changed and only then: its times and size are looked at every time,
// its bytes while the times are too young to tell one edit from the next.
import type { Clock } from '@parley/core'
import type { Disk } from '@parley/keys/files'

/** What the parts that keep their state in a file are given. */
export interface FileOptions {
  readonly clock: Clock
  /** The machine's own if left out. */
  readonly disk?: Disk | undefined
  /** Told what could not be read or written. */
  readonly failed?: (what: string, cause: unknown) => void
}

export interface WatchedOptions<T> {
  readonly disk: Disk
  /** The most bytes that are read. */
  readonly most: number
  /** What the bytes mean; undefined stands for a file that is missing or cannot be read (ALP-ERR-05). */
  readonly parse: (bytes: Buffer | undefined) => T
  /** Told once for each state of a file that is there and cannot be read. */
  readonly failed?: (cause: unknown) => void
}

export class WatchedFile<T> {
  readonly #path: string
  readonly #options: WatchedOptions<T>
  #stamp: string | undefined
  #settled = false
  #bytes: Buffer | undefined
  #value: T
  #read = false
  #fault: unknown

  constructor(path: string, options: WatchedOptions<T>) {
    this.#path = path
    this.#options = options
    this.#value = options.parse(undefined)
  }

  /** What the file says now. */
  now(): T {
    const { disk, most, parse, failed } = this.#options
    const found = disk.stat(this.#path)
    const same = this.#read && found?.stamp === this.#stamp
    // A disk that failed once may give the file now, and nothing of the file tells.
    if (same && this.#fault === undefined && (!found || this.#settled)) return this.#value
    // Before the bytes: an edit between the two is seen the next time.
    this.#read = true
    this.#stamp = found?.stamp
    this.#settled = found?.settled ?? false
    this.#fault = undefined
    let bytes: Buffer | undefined
    try {
      bytes = disk.read(this.#path, most)
    } catch (cause) {
      this.#fault = cause
      if (!same) failed?.(cause)
    }
    if (alike(bytes, this.#bytes)) return this.#value
    this.#bytes = bytes
    this.#value = parse(bytes)
    return this.#value
  }

  /** Why the last look could not read a file that is there. */
  get fault(): unknown {
    return this.#fault
  }

  /** What the file said at the last look. */
  get last(): T {
    return this.#value
  }
}

function alike(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other)
}
