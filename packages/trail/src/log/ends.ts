// Which segments of a log count, and where each of them ends: what their headers say of each other.
import { type Files, readingFile } from './files.ts'
import { readSegmentHeader, SEGMENT_HEADER, type SegmentHeader, segmentName, segmentNumber } from './segment.ts'

/**
 * The bytes of each segment that count, ascending. The next segment says where one ends, so that bytes behind a failed
 * sync are never read; where a header is damaged or the next segment was removed, `size` must do.
 */
export function segmentEnds(
  headers: ReadonlyMap<number, SegmentHeader | undefined>,
  size: (segment: number) => number,
): Map<number, number> {
  const ends: [number, number][] = []
  let next: SegmentHeader | undefined
  for (const segment of [...headers.keys()].sort((a, b) => b - a)) {
    // The next one goes on from an earlier one: this one was given up before anything in it was acknowledged.
    if (next && next.previous < segment) continue
    ends.push([segment, next?.previous === segment ? next.previousEnd : size(segment)])
    next = headers.get(segment)
  }
  return new Map(ends.reverse())
}

/**
 * The same for the segments of one trail up to one of them, read from its folder. Its owner may be dropping segments in
 * another thread: the look at one that is gone by now is begun again.
 */
export function readEnds(files: Files, trail: string, last: number): Map<number, number> {
  for (let look = 1; ; look++) {
    try {
      return endsNow(files, trail, last)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT' || look === LOOKS) throw cause
    }
  }
}

const LOOKS = 10

function endsNow(files: Files, trail: string, last: number): Map<number, number> {
  const headers = new Map<number, SegmentHeader | undefined>()
  for (const segment of files.list('').map(segmentNumber)) {
    if (segment === undefined || segment > last) continue
    const start = readingFile(files, segmentName(segment), file => file.read(0, SEGMENT_HEADER))
    const header = readSegmentHeader(start)
    if (header && header.trail !== trail) continue
    // Nothing but zeros: laid out in advance, and never used.
    if (header || start.some(byte => byte !== 0)) headers.set(segment, header?.segment === segment ? header : undefined)
  }
  return segmentEnds(headers, segment => readingFile(files, segmentName(segment), file => file.size))
}
