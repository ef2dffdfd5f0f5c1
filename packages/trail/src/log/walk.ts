// Walking over the frames of one segment in windows, so that memory stays bounded whatever a segment holds.
import type { RunId } from '@parley/core'
import { trailLimits } from '../limits.ts'
import type { RunHead } from '../store/store.ts'
import { FRAME_HEADER, type FrameSpan, findFrame, frameLength, frameRecords, readFrame } from './frame.ts'
import { KIND_ENTRY, recordHash, recordRun } from './record.ts'

export interface WalkedFrame {
  readonly kind: 'frame'
  readonly source: Buffer
  readonly frame: FrameSpan
  readonly at: number
}

/** Bytes that are not a sound frame. `last`: nothing sound stands behind them in this segment. */
export interface WalkedGap {
  readonly kind: 'gap'
  readonly at: number
  readonly end: number
  readonly last: boolean
}

type ReadBytes = (at: number, length: number) => Buffer

/** Sound frames and the gaps between them in `[from, end)`. Zeros behind the last frame are no gap. */
export function* walkFrames(read: ReadBytes, from: number, end: number): Generator<WalkedFrame | WalkedGap> {
  let base = from
  let window: Buffer = Buffer.alloc(0)
  let at = from
  while (at < end) {
    if (at - base + FRAME_HEADER > window.length) {
      window = read(at, Math.min(trailLimits.windowBytes, end - at))
      base = at
    }
    const claimed = frameLength(window, at - base, window.length)
    if (claimed !== undefined && at - base + claimed > window.length && at + claimed <= end) {
      window = read(at, Math.max(claimed, Math.min(trailLimits.windowBytes, end - at)))
      base = at
    }
    const frame = readFrame(window, at - base, window.length)
    if (frame !== undefined) {
      yield { kind: 'frame', source: window, frame, at }
      at = base + frame.end
      continue
    }
    const rest = read(at, end - at)
    const next = findFrame(rest, 1, rest.length)
    const used = next ?? lastUsed(rest)
    if (used > 0) yield { kind: 'gap', at, end: at + used, last: next === undefined }
    if (next === undefined) return
    at += next
  }
}

/** Length of the bytes without the zeros at their end. */
function lastUsed(bytes: Buffer): number {
  let length = bytes.length
  while (length >= 8 && bytes.readUInt32LE(length - 4) === 0 && bytes.readUInt32LE(length - 8) === 0) length -= 8
  while (length > 0 && bytes[length - 1] === 0) length--
  return length
}

/** The newest entry of each run in a frame. Of two entries in the same place the first counts, as in the index. */
export function noteHeads({ source, frame }: WalkedFrame, heads: Map<RunId, RunHead>): void {
  try {
    for (const span of frameRecords(source, frame)) {
      if (span.kind !== KIND_ENTRY) continue
      const run = recordRun(source, span)
      if (span.seq > (heads.get(run)?.seq ?? 0)) heads.set(run, { run, seq: span.seq, hash: recordHash(source, span) })
    }
  } catch {
    // A malformed record in a sound frame: what is missing shows as a gap in the numbers of its run.
  }
}
