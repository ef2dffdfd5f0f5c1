// A frame is one group commit: the unit that is on disk whole or not at all. At most one frame is on its way to disk,
// so a bad frame with nothing but zeros behind it is a torn tail, and any other bad frame is damage.
//
//   u32 magic · u32 checksum · u32 payload length · u32 record count · u64 frame number · f64 greatest timestamp ·
//   payload
//
// The checksum (CRC-32) covers everything behind it.
import { crc32 } from 'node:zlib'
import type { Ticks } from '@parley/core'
import { type RecordSpan, spanRecord } from './record.ts'

export const FRAME_HEADER = 32
const MAGIC = 0x31464c50 // "PLF1"

export interface FrameSpan {
  /** Offset of the frame's first byte in the buffer it was read from. */
  readonly start: number
  readonly payload: number
  readonly end: number
  readonly number: number
  readonly count: number
  /** The greatest timestamp among its entries, 0 without any. */
  readonly latest: Ticks
}

function checksum(source: Buffer, start: number, end: number): number {
  return crc32(source.subarray(start + 8, end))
}

/** Completes the header of the frame in `target[start, end)`; its payload is in place behind FRAME_HEADER bytes. */
export function sealFrame(
  target: Buffer,
  start: number,
  end: number,
  frame: { readonly number: number; readonly count: number; readonly latest: Ticks },
): void {
  target.writeUInt32LE(MAGIC, start)
  target.writeUInt32LE(end - start - FRAME_HEADER, start + 8)
  target.writeUInt32LE(frame.count, start + 12)
  target.writeUInt32LE(frame.number % 2 ** 32, start + 16)
  target.writeUInt32LE(Math.floor(frame.number / 2 ** 32), start + 20)
  target.writeDoubleLE(frame.latest, start + 24)
  target.writeUInt32LE(checksum(target, start, end), start + 4)
}

/** The frame at `at`, or undefined when its bytes below `limit` are not a whole and sound frame. */
export function readFrame(source: Buffer, at: number, limit: number): FrameSpan | undefined {
  if (at + FRAME_HEADER > limit || source.readUInt32LE(at) !== MAGIC) return undefined
  const end = at + FRAME_HEADER + source.readUInt32LE(at + 8)
  if (end > limit || source.readUInt32LE(at + 4) !== checksum(source, at, end)) return undefined
  return {
    start: at,
    payload: at + FRAME_HEADER,
    end,
    number: source.readUInt32LE(at + 16) + source.readUInt32LE(at + 20) * 2 ** 32,
    count: source.readUInt32LE(at + 12),
    latest: source.readDoubleLE(at + 24) as Ticks,
  }
}

/** The bytes that the frame at `at` claims to take, whether it is sound or not; undefined without a frame's mark. */
export function frameLength(source: Buffer, at: number, limit: number): number | undefined {
  if (at + FRAME_HEADER > limit || source.readUInt32LE(at) !== MAGIC) return undefined
  return FRAME_HEADER + source.readUInt32LE(at + 8)
}

/** The records of a sound frame. A sound frame whose records do not add up was made by a defect, not by a crash. */
export function* frameRecords(source: Buffer, frame: FrameSpan): Generator<RecordSpan> {
  let at = frame.payload
  for (let index = 0; index < frame.count; index++) {
    const span = spanRecord(source, at, frame.end)
    if (span === undefined) throw new Error(`frame ${frame.number}: record ${index} of ${frame.count} is malformed`)
    yield span
    at = span.end
  }
  if (at !== frame.end) throw new Error(`frame ${frame.number}: ${frame.end - at} bytes behind the last record`)
}

/** The first offset in `[from, limit)` at which a sound frame starts. */
export function findFrame(source: Buffer, from: number, limit: number): number | undefined {
  for (const at of marks(source, from, limit)) if (readFrame(source, at, limit)) return at
  return undefined
}

/**
 * Whether a frame numbered above `number` was started in `[from, limit)`. Frame numbers hold zeros, text never does.
 */
export function startsFrame(source: Buffer, from: number, limit: number, number: number): boolean {
  for (const at of marks(source, from, limit)) {
    const found = source.readUInt32LE(at + 16) + source.readUInt32LE(at + 20) * 2 ** 32
    if (found > number && found <= number + limit) return true
  }
  return false
}

function* marks(source: Buffer, from: number, limit: number): Generator<number> {
  const mark = Buffer.alloc(4)
  mark.writeUInt32LE(MAGIC)
  for (
    let at = source.indexOf(mark, from);
    at !== -1 && at + FRAME_HEADER <= limit;
    at = source.indexOf(mark, at + 1)
  ) {
    yield at
  }
}
