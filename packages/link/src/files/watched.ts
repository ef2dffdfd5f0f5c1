// A file that people edit, read again whenever it changed and only then: its times and size are looked at every time,
// its bytes while the times are too young to tell one edit from the next.
import type { Disk } from '@parley/keys/files'

export interface WatchedOptions<T> {
  readonly disk: Disk
  /** Bytes that are read at most. */
  readonly most: number
  /** What the bytes mean; undefined are a file that is missing or cannot be read (ALP-ERR-05). */
  readonly parse: (bytes: Buffer | undefined) => T
  /** The file is there and cannot be read. Told once for each state of it. */
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

  /** Why it could not be read when it was last looked at, although it is there. */
  get fault(): unknown {
    return this.#fault
  }

  /** What it said when it was last looked at. */
  get last(): T {
    return this.#value
  }
}

function alike(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other)
}
