// The files of the log: `00000001.seg`, `00000002.seg`, … Each header says where the previous segment ends, so that
// bytes behind that point (a frame whose sync failed) are never read again.
import { crc32 } from 'node:zlib'
import type { Ticks } from '@parley/core'

export const SEGMENT_HEADER = 64
const MAGIC = 0x31534c50 // "PLS1"
export const SEGMENT_VERSION = 1

export interface SegmentHeader {
  readonly segment: number
  /** Number of the first frame that this segment may hold. */
  readonly firstFrame: number
  /** Number of the segment before this one (0 for the first) and how many of its bytes count. */
  readonly previous: number
  readonly previousEnd: number
  /** The greatest timestamp in all segments before this one. */
  readonly floor: Ticks
  /** Which trail this is, so that an index or a segment of another trail is recognised. */
  readonly trail: string
}

export function segmentName(segment: number): string {
  return `${String(segment).padStart(8, '0')}.seg`
}

export function segmentNumber(name: string): number | undefined {
  const match = /^(\d{8})\.seg$/.exec(name)
  return match ? Number(match[1]) : undefined
}

/** `trail` is 32 hexadecimal digits. */
export function writeSegmentHeader(target: Buffer, header: SegmentHeader): void {
  target.fill(0, 0, SEGMENT_HEADER)
  target.writeUInt32LE(MAGIC, 0)
  target.writeUInt32LE(SEGMENT_VERSION, 4)
  target.writeUInt32LE(header.segment, 8)
  target.writeUInt32LE(header.previousEnd, 12)
  target.writeDoubleLE(header.firstFrame, 16)
  target.writeDoubleLE(header.floor, 24)
  target.write(header.trail, 32, 16, 'hex')
  target.writeUInt32LE(header.previous, 48)
  target.writeUInt32LE(crc32(target.subarray(0, SEGMENT_HEADER - 4)), SEGMENT_HEADER - 4)
}

/** The format version of a segment with a sound header; all versions share the header's size and checksum. */
export function segmentVersion(source: Buffer): number | undefined {
  if (source.length < SEGMENT_HEADER || source.readUInt32LE(0) !== MAGIC) return undefined
  const sound = source.readUInt32LE(SEGMENT_HEADER - 4) === crc32(source.subarray(0, SEGMENT_HEADER - 4))
  return sound ? source.readUInt32LE(4) : undefined
}

export function readSegmentHeader(source: Buffer): SegmentHeader | undefined {
  if (segmentVersion(source) !== SEGMENT_VERSION) return undefined
  return {
    segment: source.readUInt32LE(8),
    previous: source.readUInt32LE(48),
    previousEnd: source.readUInt32LE(12),
    firstFrame: source.readDoubleLE(16),
    floor: source.readDoubleLE(24) as Ticks,
    trail: source.toString('hex', 32, 48),
  }
}
