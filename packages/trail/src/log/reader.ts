// The reading end of the log, beside the writer: bytes of any segment up to where they count, and the raw records for
// verification.
import type { RunId } from '@parley/core'
import type { Archives } from '../archive/archives.ts'
import type { StoredRecord } from '../entry.ts'
import type { ArchiveRecords, LogReader } from '../index/contract.ts'
import type { ScannedRecord } from '../store/store.ts'
import { type Files, type LogFile, writeWhole } from './files.ts'
import { frameRecords, sealFrame } from './frame.ts'
import { blankRecord, KIND_ENTRY, KIND_HOLE, readRecord, recordRun } from './record.ts'
import { SEGMENT_HEADER, segmentName } from './segment.ts'
import { walkFrames } from './walk.ts'

export class SegmentReader implements LogReader {
  readonly #files: Files
  readonly #archives: Archives
  /** Bytes that count, by segment. */
  readonly #ends: Map<number, number>
  readonly #open = new Map<number, LogFile>()

  constructor(files: Files, ends: ReadonlyMap<number, number>, archives: Archives) {
    this.#files = files
    this.#archives = archives
    this.#ends = new Map(ends)
  }

  /** A segment now counts up to here. */
  extend(segment: number, end: number): void {
    this.#ends.set(segment, end)
  }

  segments(): readonly number[] {
    return [...this.#ends.keys()].sort((a, b) => a - b)
  }

  firstSegment(): number {
    return this.segments()[0] ?? 0
  }

  sealedEnd(segment: number): number | undefined {
    return segment === this.segments().at(-1) ? undefined : this.#ends.get(segment)
  }

  archives(): readonly ArchiveRecords[] {
    return this.#archives.records()
  }

  read(segment: number, at: number, length: number): Buffer {
    if (segment < 0) return this.#archives.read(-segment, at, length)
    const end = this.#ends.get(segment) ?? 0
    return this.#file(segment).read(at, Math.min(length, end - at))
  }

  /** Raw records of one segment, a frame at a time; damaged places as findings. */
  *scan(segment: number, run: RunId | undefined): Generator<readonly ScannedRecord[]> {
    const end = this.#ends.get(segment) ?? 0
    for (const found of walkFrames((at, length) => this.read(segment, at, length), SEGMENT_HEADER, end)) {
      if (found.kind === 'gap') {
        const where = `${segmentName(segment)}, bytes ${found.at} to ${found.end}`
        yield [{ kind: 'damage', where, message: `${where}: not a sound commit` }]
        continue
      }
      const records: StoredRecord[] = []
      for (const span of frameRecords(found.source, found.frame)) {
        if (span.kind === KIND_HOLE) continue
        if (run === undefined || recordRun(found.source, span) === run)
          records.push(readRecord(found.source, span))
      }
      if (records.length > 0) yield records
    }
  }

  /**
   * Wipes entries of a finished segment, by a copy that takes the segment's place. Returns the bytes wiped. A segment that holds
   * nothing any more is removed.
   */
  async wipe(segment: number, gone: (run: RunId, seq: number) => boolean): Promise<number> {
    const end = this.#ends.get(segment) ?? 0
    const copy = this.read(segment, 0, end)
    let wiped = 0
    let left = 0
    for (const found of walkFrames((at, length) => copy.subarray(at, at + length), SEGMENT_HEADER, end)) {
      // Damage is evidence: such a segment stays as it is.
      if (found.kind === 'gap') return 0
      const { source, frame } = found
      for (const span of frameRecords(source, frame)) {
        if (span.kind === KIND_HOLE) continue
        if (span.kind === KIND_ENTRY && gone(recordRun(source, span), span.seq)) {
          blankRecord(source, span)
          wiped += span.end - span.start
        } else {
          left++
        }
      }
      sealFrame(source, frame.start, frame.end, frame)
    }
    if (wiped === 0) return 0
    if (left > 0) {
      await writeWhole(this.#files, segmentName(segment), copy)
    } else {
      this.#files.remove(segmentName(segment))
      await this.#files.syncFolder('')
      this.#ends.delete(segment)
    }
    this.#open.get(segment)?.close()
    this.#open.delete(segment)
    return wiped
  }

  close(): void {
    for (const file of this.#open.values()) file.close()
    this.#open.clear()
  }

  #file(segment: number): LogFile {
    let file = this.#open.get(segment)
    // A handle remembers the size that it was opened with; the segment being written grows behind it.
    if (file && file.size < (this.#ends.get(segment) ?? 0)) {
      file.close()
      file = undefined
    }
    if (!file) {
      file = this.#files.open(segmentName(segment), 'existing')
      this.#open.set(segment, file)
    }
    return file
  }
}
