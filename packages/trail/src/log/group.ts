// One group commit in the making: the batches that arrived while the disk was busy, laid out as one frame.
import { crc32 } from 'node:zlib'
import { type ParleyError, parseTimestamp, type Ticks, type Timestamp } from '@parley/core'
import type { StoredEntry, StoredRecord } from '../entry.ts'
import { trailLimits } from '../limits.ts'
import type { FramedObject } from '../store/recent-objects.ts'
import { FRAME_HEADER, sealFrame } from './frame.ts'
import { recordBound, writeRecord } from './record.ts'
import { SEGMENT_HEADER, type SegmentHeader, writeSegmentHeader } from './segment.ts'
import { viewTimestamp } from './view.ts'

export type Settle = (error?: ParleyError) => void

export class Group {
  /** The segment header's place comes first, so that a new segment and its first frame are one write. */
  #buffer: Buffer
  #length = SEGMENT_HEADER + FRAME_HEADER
  count = 0
  /** Upper bound of the bytes, as the queue counts them. */
  bound = 0
  readonly settles: Settle[] = []
  rolls = false
  readonly entries: StoredEntry[] = []
  readonly objects: FramedObject[] = []
  /** What must be durable before this group may be: blobs that its objects name. */
  readonly before: Promise<unknown>[] = []
  #latest = '' as Timestamp
  /** The greatest timestamp among its entries, once it is sealed. */
  latest = 0 as Ticks

  constructor(buffer: Buffer) {
    this.#buffer = buffer
  }

  get buffer(): Buffer {
    return this.#buffer
  }

  get frameBytes(): number {
    return this.#length - SEGMENT_HEADER
  }

  /** Whether a batch of this many records and bytes still belongs into this group. */
  admits(records: number, bytes: number): boolean {
    if (this.count === 0) return true
    return this.count + records <= trailLimits.groupRecords && this.#length + bytes <= trailLimits.groupBytes
  }

  add(records: readonly StoredRecord[], bytes: number, settle: Settle): void {
    this.#grow(this.#length + bytes)
    for (const record of records) {
      const start = this.#length
      this.#length = writeRecord(this.#buffer, start, record)
      if (record.kind === 'object') {
        const { run, id, seq } = record
        const crc = crc32(this.#buffer.subarray(start, this.#length))
        this.objects.push({ run, id, seq, at: start - SEGMENT_HEADER, length: this.#length - start, crc })
        continue
      }
      this.entries.push(record)
      const timestamp = viewTimestamp(record.view)
      if (timestamp > this.#latest) this.#latest = timestamp
    }
    this.count += records.length
    this.bound += bytes
    this.settles.push(settle)
  }

  seal(number: number): Buffer {
    this.latest = (parseTimestamp(this.#latest) ?? 0) as Ticks
    sealFrame(this.#buffer, SEGMENT_HEADER, this.#length, { number, count: this.count, latest: this.latest })
    return this.#buffer.subarray(SEGMENT_HEADER, this.#length)
  }

  sealWith(header: SegmentHeader): Buffer {
    writeSegmentHeader(this.#buffer, header)
    return this.#buffer.subarray(0, this.#length)
  }

  #grow(length: number): void {
    if (length <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(length, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}

export function batchBound(records: readonly StoredRecord[]): number {
  let bytes = 0
  for (const record of records) bytes += recordBound(record)
  return bytes
}
