// The log as an index reads it: segments and archives, over any files.
import { readEnds } from '../log/ends.ts'
import type { Files } from '../log/files.ts'
import { SegmentReader } from '../log/reader.ts'
import { ArchiveReader } from './archive-reader.ts'
import type { ArchiveRecords, LogPoint, LogReader } from './contract.ts'

export class IndexLog implements LogReader {
  readonly #files: Files
  readonly #trail: string
  readonly #archives: ArchiveReader
  #segments: SegmentReader
  #point: LogPoint

  /** `files`: the trail's folder. The log ends at `end`, until `follow` tells more. */
  constructor(files: Files, trail: string, end: LogPoint, replica?: () => Files) {
    this.#files = files
    this.#trail = trail
    this.#archives = new ArchiveReader(files, replica)
    this.#point = end
    this.#segments = this.#find()
  }

  follow(point: LogPoint): void {
    this.#point = point
    if (point.segment > 0 && !this.#segments.has(point.segment)) this.refresh()
    else this.#segments.extend(point.segment, point.end)
  }

  refresh(): void {
    this.release()
    this.#segments = this.#find()
  }

  archives(): readonly ArchiveRecords[] {
    return this.#archives.list()
  }

  read(file: number, at: number, length: number): Buffer {
    return file < 0 ? this.#archives.read(-file, at, length) : this.#segments.read(file, at, length)
  }

  firstSegment(): number {
    return this.#segments.firstSegment()
  }

  sealedEnd(segment: number): number | undefined {
    return this.#segments.sealedEnd(segment)
  }

  /** Lets go of the files, so that segments can be replaced and removed. */
  release(): void {
    this.#segments.close()
  }

  #find(): SegmentReader {
    const { segment, end } = this.#point
    const ends = readEnds(this.#files, this.#trail, segment)
    if (segment > 0) ends.set(segment, end)
    return new SegmentReader(this.#files, ends)
  }
}
