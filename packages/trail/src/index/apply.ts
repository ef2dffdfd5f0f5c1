// Bringing the rows up to a point of the log: archives first, then segments frame by frame, damage notwithstanding.
import type { RunId } from '@parley/core'
import { isSystemError } from '../log/files.ts'
import { FRAME_HEADER, type FrameSpan, frameRecords } from '../log/frame.ts'
import { type RecordSpan, recordRun, spanRecord } from '../log/record.ts'
import { readSegmentHeader, SEGMENT_HEADER } from '../log/segment.ts'
import { walkFrames } from '../log/walk.ts'
import type { Position } from '../store/store.ts'
import type { ArchiveRecords, LogPoint, LogReader } from './contract.ts'
import { indexLimits } from './limits.ts'
import { type Applied, frameMark } from './rows.ts'
import { Slice } from './slice.ts'
import type { Rows } from './sqlite/sqlite-rows.ts'

export class Applier {
  readonly #rows: Rows
  readonly #reader: LogReader
  #archives: readonly ArchiveRecords[] | undefined
  #archive = 0
  #archiveAt = 0
  #archivesDone = false
  /** Archives that the disk did not give, and their runs. */
  readonly #unread = new Map<number, RunId | ''>()
  /** Queries are answered while archives that came later are taken in. */
  #opened = false
  /** The last bytes met were damaged, so that the number of the next frame is open. */
  #gap = false

  constructor(rows: Rows, reader: LogReader) {
    this.#rows = rows
    this.#reader = reader
  }

  /** The newest frame that queries see; none before the archives are in. */
  get frame(): Position {
    return this.#opened ? this.#rows.applied.frame : -1
  }

  /** Looks for archives again; they are in when `adopted` says so. */
  adopt(): void {
    this.#archives = undefined
    this.#archive = 0
    this.#archiveAt = 0
    this.#archivesDone = false
  }

  /** The disk did not give an archive of this run; it may by now. */
  hasUnread(run: RunId): boolean {
    return this.#unread.size > 0 && [...this.#unread.values()].some(each => each === run || each === '')
  }

  get adopted(): boolean {
    return this.#archivesDone
  }

  /** Takes in one slice of what lies before `target`. True when nothing is left. */
  step(target: LogPoint): boolean {
    const { applied } = this.#rows
    if (this.#archivesDone && isAt(applied, target)) return true
    const slice = new Slice(this.#rows, this.#reader)
    const before = { archive: this.#archive, archiveAt: this.#archiveAt }
    this.#rows.begin()
    try {
      // At first the archives: they say what need not be in the log. Those that come later wait for it.
      const early = this.#opened ? this.#applySegments(applied, target, slice) : undefined
      const archives = this.#archivesDone || this.#applyArchives(slice)
      const reached = early ?? (archives ? this.#applySegments(applied, target, slice) : applied)
      slice.save()
      this.#rows.setApplied(reached)
      // Where the walk through the archives stands is not in the rows, so those slices stand alone.
      if (this.#archivesDone) this.#rows.keep()
      else this.#rows.commit()
      this.#archivesDone = archives
      this.#opened ||= archives
      return archives && isAt(reached, target)
    } catch (cause) {
      this.#rows.rollback()
      this.#archive = before.archive
      this.#archiveAt = before.archiveAt
      throw cause
    }
  }

  #applySegments(from: Applied, target: LogPoint, slice: Slice): Applied {
    let applied = from
    while (!slice.full && !isAt(applied, target)) {
      const end = applied.segment === target.segment ? target.end : this.#reader.sealedEnd(applied.segment)
      if (applied.segment > 0 && end !== undefined && applied.end < end) {
        applied = this.#applyFrames(applied, end, slice)
      } else {
        applied = this.#enterNext(applied, target, slice)
      }
    }
    // The writer reported the end of the log: damage at the very end must not keep anyone waiting.
    return isAt(applied, target) ? { ...applied, frame: Math.max(applied.frame, target.frame) } : applied
  }

  /** Continues with the next segment. Numbers may be missing: an unused segment that was laid out ahead is removed. */
  #enterNext(applied: Applied, target: LogPoint, slice: Slice): Applied {
    let segment = applied.segment === 0 ? this.#reader.firstSegment() : applied.segment + 1
    while (segment < target.segment && this.#reader.sealedEnd(segment) === undefined) segment++
    const header = readSegmentHeader(this.#reader.read(segment, 0, SEGMENT_HEADER))
    // A segment of which everything moved to archives is removed; its frames are not missing.
    if (header?.previous === applied.segment) this.#expectFrame(header.firstFrame, applied.frame, segment, 0, slice)
    const frame = Math.max(applied.frame, (header?.firstFrame ?? 0) - 1)
    return { ...applied, segment, end: SEGMENT_HEADER, frame }
  }

  #applyFrames(from: Applied, end: number, slice: Slice): Applied {
    const { segment } = from
    const read = (at: number, length: number) => this.#reader.read(segment, at, length)
    let applied = from
    for (const found of walkFrames(read, from.end, end)) {
      if (found.kind === 'gap') {
        this.#noteGap(found, segment, slice)
        continue
      }
      const { source, frame, at } = found
      this.#expectFrame(frame.number, applied.frame, segment, at, slice)
      this.#gap = false
      for (const span of soundRecords(source, frame)) slice.add(source, span, segment, at + span.start - frame.start)
      applied = {
        ...applied,
        end: at + frame.end - frame.start,
        frame: Math.max(applied.frame, frame.number),
        lastSegment: segment,
        lastAt: at,
        lastMark: frameMark(source.subarray(frame.start, frame.start + FRAME_HEADER)),
      }
      if (slice.full) return applied
    }
    if (applied.end < end && !this.#gap) this.#noteGap({ at: applied.end, end }, segment, slice)
    return { ...applied, end }
  }

  /** Frames are numbered without a gap, so one that was cut out is missed, even where the rest fits together. */
  #expectFrame(number: number, last: number, segment: number, at: number, slice: Slice): void {
    if (number <= last + 1 || this.#gap) return
    const missing = number - last === 2 ? `commit ${last + 1}` : `commits ${last + 1} to ${number - 1}`
    slice.damage('', { file: segment, at }, `${missing} should stand before this place`)
  }

  /** Bytes that are no sound frame, and the runs whose records stand in them as far as they can still be read. */
  #noteGap({ at, end }: { at: number; end: number }, segment: number, slice: Slice): void {
    this.#gap = true
    const bytes = this.#reader.read(segment, at, Math.min(end - at, indexLimits.readBytes))
    const named = new Set<RunId>()
    let next = FRAME_HEADER
    for (;;) {
      const span = spanRecord(bytes, next, bytes.length)
      if (!span) break
      named.add(recordRun(bytes, span))
      next = span.end
    }
    // A name that nobody knows may itself be damaged.
    const known = [...named].filter(run => this.#rows.run(run) !== undefined)
    const certain = next === end - at && known.length > 0 && known.length === named.size
    for (const owner of certain ? known : [...known, '' as const]) {
      slice.damage(owner, { file: segment, at }, `${end - at} bytes are damaged; entries may be missing`)
    }
  }

  /** Takes in archives, and deletions of archives, that the rows do not know. True when none is left. */
  #applyArchives(slice: Slice): boolean {
    this.#archives ??= [...this.#reader.archives()].sort((a, b) => b.file - a.file)
    for (; this.#archive < this.#archives.length; this.#archive++) {
      if (slice.full) return false
      const archive = this.#archives[this.#archive]!
      try {
        if (!this.#takeArchive(archive, slice)) return false
        this.#unread.delete(archive.file)
      } catch (cause) {
        // A disk that fails says nothing about the archive, and everybody else's entries are there.
        if (!isSystemError(cause)) throw cause
        this.#unread.set(archive.file, archive.run ?? '')
        this.#breakOff(archive, this.#archiveAt, slice)
      }
    }
    return true
  }

  #takeArchive(archive: ArchiveRecords, slice: Slice): boolean {
    const known = this.#rows.archive(archive.file)
    if (known === 'gone' || (known === 'held' && !archive.forgotten)) return true
    if (!archive.forgotten) return this.#applyArchive(archive, slice)
    slice.forget(archive.file, archive.forgotten)
    this.#rows.setArchive(archive.file, 'gone')
    return true
  }

  #breakOff({ file, run }: ArchiveRecords, at: number, slice: Slice): void {
    slice.damage(run ?? '', { file, at }, 'the archive cannot be read any further')
    this.#archiveAt = 0
  }

  /** True when the archive is finished. An unreadable rest is retried when the index is opened again. */
  #applyArchive(archive: ArchiveRecords, slice: Slice): boolean {
    const { file, length, ordinals } = archive
    while (this.#archiveAt < length) {
      if (slice.full) return false
      const base = this.#archiveAt
      const bytes = this.#readArchive(file, base, Math.min(indexLimits.readBytes, length - base))
      let at = 0
      for (;;) {
        const span = spanRecord(bytes, at, bytes.length)
        if (!span) break
        slice.add(bytes, span, file, base + at, ordinals)
        at = span.end
      }
      if (at === 0) {
        this.#breakOff(archive, base, slice)
        return true
      }
      this.#archiveAt = base + at
    }
    this.#archiveAt = 0
    this.#rows.clearDamage(file)
    this.#rows.setArchive(file, 'held')
    return true
  }

  #readArchive(file: number, at: number, length: number): Buffer {
    try {
      return this.#reader.read(file, at, length)
    } catch (cause) {
      if (isSystemError(cause)) throw cause
      return Buffer.alloc(0)
    }
  }
}

/** The records of a frame up to the first that is malformed, which only a defect can bring into a sound frame. */
function soundRecords(source: Buffer, frame: FrameSpan): readonly RecordSpan[] {
  const spans: RecordSpan[] = []
  try {
    for (const span of frameRecords(source, frame)) spans.push(span)
  } catch {
    // What is missing shows as a gap in the numbers of its run.
  }
  return spans
}

function isAt(applied: Applied, target: LogPoint): boolean {
  return applied.segment > target.segment || (applied.segment === target.segment && applied.end >= target.end)
}
