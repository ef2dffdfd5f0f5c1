// The log on disk as an index reads it, on the worker's thread.
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import {
  readSegmentHeader,
  SEGMENT_HEADER,
  type SegmentHeader,
  segmentName,
  segmentNumber,
} from '../log/segment.ts'
import type { ArchiveRecords, LogReader } from './contract.ts'
import { type ArchiveFolders, DiskArchives } from './disk-archives.ts'
import { indexLimits } from './limits.ts'

export class DiskReader implements LogReader {
  readonly #folder: string
  readonly #trail: string
  readonly #archives: DiskArchives
  /** Descriptors by segment, the latest used last. */
  readonly #open = new Map<number, number>()

  constructor(folder: string, trail: string, archives: ArchiveFolders) {
    this.#folder = folder
    this.#trail = trail
    this.#archives = new DiskArchives(archives)
  }

  archives(): readonly ArchiveRecords[] {
    return this.#archives.list()
  }

  read(file: number, at: number, length: number): Buffer {
    if (file < 0) return this.#archives.unpack(-file).subarray(at, at + length)
    const descriptor = this.#descriptor(file)
    if (descriptor === undefined) return Buffer.alloc(0)
    const bytes = Buffer.allocUnsafeSlow(length)
    let filled = 0
    while (filled < length) {
      const count = readSync(descriptor, bytes, filled, length - filled, at + filled)
      if (count === 0) break
      filled += count
    }
    return bytes.subarray(0, filled)
  }

  firstSegment(): number {
    return this.#segments().find(segment => this.#header(segment) !== undefined) ?? 0
  }

  /**
   * The next segment says where this one ends. Where that one's header is damaged, or says so of another one that was removed in
   * between, the file's own end must do.
   */
  sealedEnd(segment: number): number | undefined {
    const segments = this.#segments()
    const next = segments.find(each => each > segment)
    if (next === undefined || !segments.includes(segment)) return undefined
    const header = this.#header(next)
    if (header?.previous === segment) return header.previousEnd
    const used = header === undefined || this.#header(segment) !== undefined
    return used ? this.#size(segment) : undefined
  }

  /** Lets go of the files, so that segments can be replaced and removed. */
  release(): void {
    for (const descriptor of this.#open.values()) closeSync(descriptor)
    this.#open.clear()
  }

  #segments(): number[] {
    const numbers = readdirSync(this.#folder).map(segmentNumber)
    return numbers.filter(number => number !== undefined).sort((a, b) => a - b)
  }

  #header(segment: number): SegmentHeader | undefined {
    const header = readSegmentHeader(this.read(segment, 0, SEGMENT_HEADER))
    return header?.segment === segment && header.trail === this.#trail ? header : undefined
  }

  #size(segment: number): number {
    const descriptor = this.#descriptor(segment)
    return descriptor === undefined ? 0 : fstatSync(descriptor).size
  }

  /** Undefined when the file is not there: whoever reads it then finds that bytes are missing. */
  #descriptor(segment: number): number | undefined {
    const known = this.#open.get(segment)
    if (known !== undefined) {
      this.#open.delete(segment)
      this.#open.set(segment, known)
      return known
    }
    for (const [oldest, descriptor] of this.#open) {
      if (this.#open.size < indexLimits.openFiles) break
      closeSync(descriptor)
      this.#open.delete(oldest)
    }
    try {
      const descriptor = openSync(join(this.#folder, segmentName(segment)), 'r')
      this.#open.set(segment, descriptor)
      return descriptor
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
      throw cause
    }
  }
}
