// Decompressed archives, kept for the next read within a bound. One that cannot be read here is read from the replica.
import { ParleyError } from '@parley/core'
import { trailLimits } from '../limits.ts'
import { type Squeeze, unpackSync } from './squeeze.ts'

export interface PackedArchive {
  readonly file: string
  readonly here: Buffer | undefined
  readonly copy: () => Buffer | undefined
}

export class UnpackedArchives {
  readonly #squeeze: Squeeze
  readonly #find: (archive: number) => PackedArchive
  /** The latest used last. */
  readonly #open = new Map<number, Buffer>()
  /** The one that was loaded last: mostly it is the next one, too. */
  #loaded = 0

  constructor(squeeze: Squeeze, find: (archive: number) => PackedArchive) {
    this.#squeeze = squeeze
    this.#find = find
  }

  read(archive: number, at: number, length: number): Buffer {
    const known = this.#open.get(archive)
    return (known ?? this.#hold(archive, this.#unpack(archive, unpackSync))).subarray(at, at + length)
  }

  /** Loads an archive without holding up the event loop, so that what is read of it next is there. */
  async load(archive: number): Promise<void> {
    if (this.#loaded === archive && this.#open.has(archive)) return
    this.#loaded = archive
    const known = this.#open.get(archive)
    this.#hold(archive, known ?? (await this.#unpack(archive, bytes => this.#squeeze.decompress(bytes))))
  }

  forget(archive: number): void {
    this.#open.delete(archive)
  }

  clear(): void {
    this.#open.clear()
  }

  #hold(archive: number, records: Buffer): Buffer {
    this.#open.delete(archive)
    this.#open.set(archive, records)
    let bytes = 0
    for (const each of this.#open.values()) bytes += each.length
    for (const [oldest, each] of this.#open) {
      if (bytes <= trailLimits.openArchiveBytes || oldest === archive) break
      bytes -= each.length
      this.#open.delete(oldest)
    }
    return records
  }

  #unpack<Out extends Buffer | Promise<Buffer>>(archive: number, unpack: (bytes: Buffer) => Out): Out {
    const { file, here, copy } = this.#find(archive)
    const again = (cause?: unknown): Out => {
      const bytes = copy()
      if (bytes) return unpack(bytes)
      const [code, what] =
        cause === undefined ? ['archive_missing', 'is not there'] : ['archive_unreadable', 'cannot be read']
      const message = `The archive ${file} ${what}; restore it from the replica.`
      throw new ParleyError(code, message, { details: { archive }, cause })
    }
    if (!here) return again()
    try {
      const records = unpack(here)
      return records instanceof Promise ? (records.catch(again) as Out) : records
    } catch (cause) {
      return again(cause)
    }
  }
}
