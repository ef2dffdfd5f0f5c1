// Opening a log: which segments there are, where the last one ends, what a crash left behind. Nothing is replayed here.
import { ParleyError, type RunId, type Ticks } from '@parley/core'
import type { LogPoint } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import type { Damage, RunHead } from '../store/store.ts'
import { segmentEnds } from './ends.ts'
import { type Files, type LogFile, readingFile, readWhole, writeWhole } from './files.ts'
import { FRAME_HEADER, startsFrame } from './frame.ts'
import {
  readSegmentHeader,
  SEGMENT_HEADER,
  SEGMENT_VERSION,
  type SegmentHeader,
  segmentName,
  segmentNumber,
  segmentVersion,
} from './segment.ts'
import { noteHeads, type WalkedGap, walkFrames } from './walk.ts'

const QUARANTINE = 'quarantine'

export interface OpenedLog {
  readonly trail: string | undefined
  /** Segments that hold frames, ascending, and the bytes of each that count. */
  readonly segments: ReadonlyMap<number, number>
  readonly end: LogPoint
  /** The newest entry of each run in the last segment. */
  readonly tailHeads: ReadonlyMap<RunId, RunHead>
  readonly floor: Ticks
  readonly damage: readonly Damage[]
  /** The last segment is sound to its end and may be continued. */
  readonly continues: boolean
  readonly nextSegment: number
}

export async function openLog(files: Files): Promise<OpenedLog> {
  const damage: Damage[] = []
  const headers = new Map<number, SegmentHeader | undefined>()
  let greatest = 0
  for (const number of files.list('').map(segmentNumber)) {
    if (number === undefined) continue
    greatest = Math.max(greatest, number)
    const header = await inspect(files, number, damage)
    if (header !== 'unused') headers.set(number, header)
  }
  const trail = [...headers.values()].find(header => header !== undefined)?.trail
  for (const [number, header] of headers) {
    if (header === undefined || header.trail === trail) continue
    damage.push({
      code: 'segment_foreign',
      message: `${segmentName(number)} belongs to another trail and is left alone; move it out of the folder.`,
      runs: [],
    })
    headers.delete(number)
  }
  const segments = segmentEnds(headers, number => readingFile(files, segmentName(number), file => file.size))
  for (const number of headers.keys()) if (!segments.has(number)) await putAway(files, number)
  const last = [...segments.keys()].at(-1)
  if (last === undefined) {
    const empty = { end: { segment: 0, end: 0, frame: 0 }, tailHeads: new Map(), floor: 0 as Ticks, continues: false }
    return { trail, segments, ...empty, damage, nextSegment: greatest + 1 }
  }
  const tail = await readTail(files, last, headers.get(last), damage)
  segments.set(last, tail.end.end)
  return { trail, segments, ...tail, damage, nextSegment: greatest + 1 }
}

/** A segment's header; undefined when it is lost but frames are there; `unused` when nothing was ever committed. */
async function inspect(files: Files, number: number, damage: Damage[]): Promise<SegmentHeader | undefined | 'unused'> {
  const name = segmentName(number)
  const start = readingFile(files, name, file => file.read(0, SEGMENT_HEADER))
  const version = segmentVersion(start)
  if (version !== undefined && version !== SEGMENT_VERSION) {
    throw new ParleyError(
      'trail_version',
      `${name} has format ${version}; this Parley reads and writes format ${SEGMENT_VERSION}. Use the version that wrote it.`,
      { details: { segment: number, version } },
    )
  }
  const header = readSegmentHeader(start)
  if (header?.segment === number) return header
  const bytes = readWhole(files, name)!
  for (const found of walkFrames((at, length) => bytes.subarray(at, at + length), SEGMENT_HEADER, bytes.length)) {
    if (found.kind === 'gap') continue
    damage.push({
      code: 'segment_header_damaged',
      message: `The header of ${name} is damaged; its frames are still read.`,
      runs: [],
    })
    return undefined
  }
  // Laid out in advance and never used, or the first commit to it was torn: nothing in it was acknowledged.
  if (bytes.some(byte => byte !== 0)) await quarantine(files, number, 0, bytes)
  files.remove(name)
  await files.syncFolder('')
  return 'unused'
}

/** A segment that was given up and is still there: its frame was retried in the next one, or failed. */
async function putAway(files: Files, segment: number): Promise<void> {
  await quarantine(files, segment, 0, readWhole(files, segmentName(segment))!)
  files.remove(segmentName(segment))
  await files.syncFolder('')
}

async function quarantine(files: Files, segment: number, at: number, bytes: Buffer): Promise<void> {
  files.makeFolder(QUARANTINE)
  await writeWhole(files, `${QUARANTINE}/${segmentName(segment)}.${at}.torn`, bytes)
}

async function readTail(
  files: Files,
  segment: number,
  header: SegmentHeader | undefined,
  damage: Damage[],
): Promise<Pick<OpenedLog, 'end' | 'tailHeads' | 'floor' | 'continues'>> {
  const file = files.open(segmentName(segment), 'existing')
  try {
    let floor = header?.floor ?? (0 as Ticks)
    let frame = (header?.firstFrame ?? 1) - 1
    let end = SEGMENT_HEADER
    let continues = header !== undefined
    const tailHeads = new Map<RunId, RunHead>()
    for (const found of walkFrames((at, length) => file.read(at, length), SEGMENT_HEADER, file.size)) {
      if (found.kind === 'gap') {
        if (found.last && isOneFrame(file, found, frame)) {
          await quarantine(files, segment, found.at, file.read(found.at, found.end - found.at))
        } else {
          // It stays where it is as evidence, and counts as part of the segment.
          continues = false
          end = found.end
          damage.push({
            code: 'frame_damaged',
            message: `${segmentName(segment)} is damaged from byte ${found.at} to ${found.end}, and not by a crash alone.`,
            runs: [],
          })
        }
        continue
      }
      noteHeads(found, tailHeads)
      frame = found.frame.number
      end = found.at + (found.frame.end - found.frame.start)
      floor = Math.max(floor, found.frame.latest) as Ticks
    }
    if (continues && file.size > end) {
      // What was torn is in quarantine; cut it, so that it is never met again.
      file.truncate(end)
      await file.sync()
    }
    return { end: { segment, end, frame }, tailHeads, floor, continues }
  } finally {
    file.close()
  }
}

/** At most one frame is on its way to disk: where a second one was started, no crash spoiled the first. */
function isOneFrame(file: LogFile, gap: WalkedGap, lastFrame: number): boolean {
  const length = gap.end - gap.at
  if (length > trailLimits.batchBytes + FRAME_HEADER) return false
  return !startsFrame(file.read(gap.at, length), 1, length, lastFrame + 1)
}
