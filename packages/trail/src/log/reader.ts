// The reading end of the log, on any thread: bytes of segments up to where they count, raw records for verification.
import type { RunId } from '@parley/core'
import type { StoredRecord } from '../entry.ts'
import { indexLimits } from '../index/limits.ts'
import type { RunHead, ScannedRecord } from '../store/store.ts'
import { type Files, type LogFile, writeWhole } from './files.ts'
import { frameRecords, sealFrame } from './frame.ts'
import { blankRecord, KIND_HOLE, type RecordSpan, readRecord, recordRun } from './record.ts'
import { readSegmentHeader, SEGMENT_HEADER, segmentName } from './segment.ts'
import { noteHeads, type WalkedFrame, type WalkedGap, walkFrames } from './walk.ts'

export class SegmentReader {
  readonly #files: Files
  /** Bytes that count, by segment. */
  readonly #ends: Map<number, number>
  /** Files by segment, the latest used last. */
  readonly #open = new Map<number, LogFile>()

  constructor(files: Files, ends: ReadonlyMap<number, number>) {
    this.#files = files
    this.#ends = new Map(ends)
  }

  extend(segment: number, end: number): void {
    this.#ends.set(segment, end)
  }

  has(segment: number): boolean {
    return this.#ends.has(segment)
  }

  segments(): readonly number[] {
    return [...this.#ends.keys()].sort((a, b) => a - b)
  }

  firstSegment(): number {
    return this.segments()[0] ?? 0
  }

  /** Where frames of this segment end for good; undefined for the newest, and where there is no such segment. */
  sealedEnd(segment: number): number | undefined {
    return segment === this.segments().at(-1) ? undefined : this.#ends.get(segment)
  }

  /** Up to `length` bytes; none where the file is gone, so that the reader finds them missing. */
  read(segment: number, at: number, length: number): Buffer {
    const end = this.sizeOf(segment)
    return this.#file(segment)?.read(at, Math.min(length, end - at)) ?? Buffer.alloc(0)
  }

  /** Raw records of one segment, a frame at a time; damaged places as findings. */
  *scan(segment: number, run: RunId | undefined): Generator<readonly ScannedRecord[]> {
    for (const found of this.#walk(segment)) {
      if (found.kind === 'gap') {
        const where = `${segmentName(segment)}, bytes ${found.at} to ${found.end}`
        yield [{ kind: 'damage', where, message: `${where}: not a sound commit` }]
        continue
      }
      const records: StoredRecord[] = []
      for (const span of frameRecords(found.source, found.frame)) {
        if (span.kind === KIND_HOLE) continue
        if (run === undefined || recordRun(found.source, span) === run) records.push(readRecord(found.source, span))
      }
      if (records.length > 0) yield records
    }
  }

  heads(segment: number): Map<RunId, RunHead> {
    const heads = new Map<RunId, RunHead>()
    for (const found of this.#walk(segment)) {
      if (found.kind === 'frame') noteHeads(found, heads)
    }
    return heads
  }

  some(segment: number, wanted: (source: Buffer, span: RecordSpan) => boolean): boolean {
    for (const found of this.#walk(segment)) {
      if (found.kind === 'gap') continue
      for (const span of frameRecords(found.source, found.frame)) {
        if (span.kind !== KIND_HOLE && wanted(found.source, span)) return true
      }
    }
    return false
  }

  #walk(segment: number): Generator<WalkedFrame | WalkedGap> {
    return walkFrames((at, length) => this.read(segment, at, length), SEGMENT_HEADER, this.sizeOf(segment))
  }

  sizeOf(segment: number): number {
    return this.#ends.get(segment) ?? 0
  }

  /**
   * Removes a finished segment. Only its header says where the one before it ends: that one is cut first, so that what
   * stands behind is never taken for part of the log.
   */
  async drop(segment: number): Promise<void> {
    const header = readSegmentHeader(this.read(segment, 0, SEGMENT_HEADER))
    if (header && this.#ends.has(header.previous)) await this.#cut(header.previous, header.previousEnd)
    this.#close(segment)
    this.#files.remove(segmentName(segment))
    this.#ends.delete(segment)
    await this.#files.syncFolder('')
  }

  async #cut(segment: number, end: number): Promise<void> {
    this.#close(segment)
    const file = this.#files.open(segmentName(segment), 'existing')
    try {
      if (file.size <= end) return
      file.truncate(end)
      await file.sync()
    } finally {
      file.close()
    }
  }

  #close(segment: number): void {
    this.#open.get(segment)?.close()
    this.#open.delete(segment)
  }

  /** Wipes records of a finished segment, by a copy that takes the segment's place. Returns the bytes wiped. */
  async wipe(segment: number, gone: (source: Buffer, span: RecordSpan) => boolean): Promise<number> {
    const end = this.sizeOf(segment)
    const copy = this.read(segment, 0, end)
    let wiped = 0
    for (const found of walkFrames((at, length) => copy.subarray(at, at + length), SEGMENT_HEADER, end)) {
      // Damage is evidence: such a segment stays as it is.
      if (found.kind === 'gap') return 0
      const { source, frame } = found
      for (const span of frameRecords(source, frame)) {
        if (span.kind === KIND_HOLE || !gone(source, span)) continue
        blankRecord(source, span)
        wiped += span.end - span.start
      }
      sealFrame(source, frame.start, frame.end, frame)
    }
    if (wiped === 0) return 0
    await writeWhole(this.#files, segmentName(segment), copy)
    this.#close(segment)
    return wiped
  }

  close(): void {
    for (const file of this.#open.values()) file.close()
    this.#open.clear()
  }

  #file(segment: number): LogFile | undefined {
    let file = this.#open.get(segment)
    this.#open.delete(segment)
    // A handle remembers the size that it was opened with; the segment being written grows behind it.
    if (file && file.size < this.sizeOf(segment)) {
      file.close()
      file = undefined
    }
    for (const [oldest, each] of this.#open) {
      if (this.#open.size < indexLimits.openFiles) break
      each.close()
      this.#open.delete(oldest)
    }
    file ??= this.#opened(segment)
    if (file) this.#open.set(segment, file)
    return file
  }

  #opened(segment: number): LogFile | undefined {
    try {
      return this.#files.open(segmentName(segment), 'reading')
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
      throw cause
    }
  }
}
