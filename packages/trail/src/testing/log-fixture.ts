// A log for tests: real frames in real segments, in memory and, where asked, in a folder. Not part of the package.
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { canonicalize, formatTimestamp, type ObjectId, type RunId, type Ticks, type WorkspaceId } from '@parley/core'
import type { StoredEntry, StoredObject, StoredRecord } from '../entry.ts'
import type { ArchiveRecords, LogPoint, LogReader, RecordPlace, TrailIndex } from '../index/contract.ts'
import { sqliteIndex } from '../index/sqlite-index.ts'
import { FRAME_HEADER, sealFrame } from '../log/frame.ts'
import { recordBound, writeRecord } from '../log/record.ts'
import { SEGMENT_HEADER, segmentName, writeSegmentHeader } from '../log/segment.ts'
import { MemoryIndex } from './memory/memory-index.ts'

export const TRAIL = 'ab'.repeat(16)
export const START = (Date.UTC(2026, 0, 1) * 1000) as Ticks
export const RUN = 'run_1' as RunId
export const ROOT = 'ws_root' as WorkspaceId

export interface EntryParts {
  readonly run?: RunId
  readonly seq?: number
  readonly workspace?: string | null
  readonly actor?: string
  readonly type?: string
  readonly ticks?: number
  readonly body?: Record<string, unknown>
}

interface Archive {
  readonly run: RunId
  readonly seqs: readonly number[]
  readonly bytes: Buffer
  deleted: boolean
}

/** A log that grows commit by commit. What was handed to `write` is on disk, too. */
export class TestLog implements LogReader {
  readonly segments = new Map<number, Buffer>()
  readonly cold = new Map<number, Archive>()
  readonly #seqs = new Map<RunId, number>()
  readonly #ends = new Map<number, number>()
  #segment = 0
  #frame = 0
  #ticks: number = START

  get end(): LogPoint {
    return { segment: this.#segment, end: this.segments.get(this.#segment)?.length ?? 0, frame: this.#frame }
  }

  /** An entry that continues its run, by default one tick after the one before it. */
  entry(parts: EntryParts = {}): StoredEntry {
    const run = parts.run ?? RUN
    const seq = parts.seq ?? (this.#seqs.get(run) ?? 0) + 1
    this.#seqs.set(run, seq)
    this.#ticks = parts.ticks ?? this.#ticks + 1
    const view = canonicalize({
      actor: parts.actor ?? 'agent',
      body: parts.body ?? {},
      event_type: parts.type ?? 'signal_emitted',
      id: `en_${run}_${seq}`,
      integrity: { algorithm: 'sha-256' },
      prev_hash: null,
      timestamp: formatTimestamp(this.#ticks as Ticks),
      workspace: parts.workspace === undefined ? ROOT : parts.workspace,
    })
    return { kind: 'entry', run, seq, view, hash: hash('sha256', view, 'hex') }
  }

  /** An object that stands before the next entry of its run. */
  object(id: string, data = '{}', run = RUN): StoredObject {
    return {
      kind: 'object',
      run,
      seq: (this.#seqs.get(run) ?? 0) + 1,
      id: id as ObjectId,
      objectKind: 'payload',
      data,
    }
  }

  /** Appends one frame; returns where it starts. */
  commit(...records: StoredRecord[]): { segment: number; at: number } {
    if (this.#segment === 0) this.rotate()
    const bytes = Buffer.alloc(FRAME_HEADER + records.reduce((sum, record) => sum + recordBound(record), 0))
    let end = FRAME_HEADER
    for (const record of records) end = writeRecord(bytes, end, record)
    sealFrame(bytes, 0, end, { number: ++this.#frame, count: records.length, latest: 0 as Ticks })
    const segment = this.#segment
    const before = this.segments.get(segment)!
    this.segments.set(segment, Buffer.concat([before, bytes.subarray(0, end)]))
    return { segment, at: before.length }
  }

  /** Entries in one frame. */
  add(...parts: EntryParts[]): StoredEntry[] {
    const entries = parts.map(each => this.entry(each))
    this.commit(...entries)
    return entries
  }

  /** Starts another segment; `skip` leaves numbers out. */
  rotate(skip = 0): void {
    const previous = this.#segment
    const previousEnd = this.segments.get(previous)?.length ?? 0
    if (previous > 0) this.#ends.set(previous, previousEnd)
    this.#segment += 1 + skip
    const header = Buffer.alloc(SEGMENT_HEADER)
    const firstFrame = this.#frame + 1
    writeSegmentHeader(header, {
      segment: this.#segment,
      previous,
      previousEnd,
      firstFrame,
      floor: START,
      trail: TRAIL,
    })
    this.segments.set(this.#segment, header)
  }

  /** Bytes behind the end of a sealed segment, as a failed sync leaves them. */
  scribble(segment: number, bytes: Buffer): void {
    this.segments.set(segment, Buffer.concat([this.segments.get(segment)!, bytes]))
  }

  /** Changes one byte. */
  flip(segment: number, at: number): void {
    const bytes = Buffer.from(this.segments.get(segment)!)
    bytes[at]! ^= 0xff
    this.segments.set(segment, bytes)
  }

  /** The offset of a text in a segment. */
  find(segment: number, text: string): number {
    const at = this.segments.get(segment)!.indexOf(text)
    if (at < 0) throw new Error(`no ${text} in segment ${segment}`)
    return at
  }

  /** Takes the log back to an earlier state. */
  cutTo(earlier: TestLog): void {
    this.segments.clear()
    this.#ends.clear()
    for (const [segment, bytes] of earlier.segments) this.segments.set(segment, bytes)
    for (const [segment, end] of earlier.#ends) this.#ends.set(segment, end)
    for (const [run, seq] of earlier.#seqs) this.#seqs.set(run, seq)
    this.#segment = earlier.#segment
    this.#frame = earlier.#frame
  }

  copy(): TestLog {
    const copy = new TestLog()
    copy.cutTo(this)
    copy.#ticks = this.#ticks
    return copy
  }

  /** Writes entries into an archive and returns where they lie in it. */
  archive(number: number, entries: readonly StoredEntry[]): RecordPlace[] {
    const bytes = Buffer.alloc(entries.reduce((sum, entry) => sum + recordBound(entry), 0))
    let end = 0
    const places = entries.map(entry => {
      const at = end
      end = writeRecord(bytes, at, entry)
      return { seq: entry.seq, file: -number, at, length: end - at }
    })
    const { run } = entries[0]!
    this.cold.set(number, {
      run,
      seqs: entries.map(each => each.seq),
      bytes: bytes.subarray(0, end),
      deleted: false,
    })
    return places
  }

  deleteArchive(number: number): void {
    this.cold.get(number)!.deleted = true
  }

  // LogReader, over memory

  /** It knows where it ends. */
  follow(): void {}

  read(file: number, at: number, length: number): Buffer {
    if (file > 0) return this.segments.get(file)?.subarray(at, at + length) ?? Buffer.alloc(0)
    const archive = this.cold.get(-file)
    if (!archive || archive.deleted) throw new Error(`archive ${-file} is not there`)
    return archive.bytes.subarray(at, at + length)
  }

  archives(): ArchiveRecords[] {
    return [...this.cold].map(([number, { run, seqs, bytes, deleted }]) =>
      deleted ? { file: -number, length: 0, forgotten: { run, seqs } } : { file: -number, length: bytes.length },
    )
  }

  sealedEnd(segment: number): number | undefined {
    return this.#ends.get(segment)
  }

  firstSegment(): number {
    return Math.min(...this.segments.keys())
  }

  /** Puts the whole log into a folder. */
  write(folder: string): void {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    for (const [segment, bytes] of this.segments) writeFileSync(join(folder, segmentName(segment)), bytes)
    for (const [number, { run, seqs, bytes, deleted }] of this.cold) {
      const cold = join(folder, 'cold', run)
      mkdirSync(cold, { recursive: true })
      const manifest = { run, bytes: bytes.length, deleted, entries: seqs.map(seq => ({ seq })) }
      writeFileSync(join(cold, `${number}.json`), JSON.stringify(manifest))
      if (!deleted) writeFileSync(join(cold, `${number}.zst`), zstdCompressSync(bytes))
    }
  }
}

/** Where a test keeps its log, and the indexes over it that it has opened. */
export class Bench {
  readonly kind: 'memory' | 'sqlite'
  readonly log = new TestLog()
  readonly #folder = mkdtempSync(join(tmpdir(), 'trail-index-'))
  #opened: TrailIndex[] = []

  constructor(kind: 'memory' | 'sqlite') {
    this.kind = kind
  }

  get folder(): string {
    return join(this.#folder, 'trail')
  }

  get file(): string {
    return join(this.#folder, 'trail.index.db')
  }

  /** Makes the log on disk what it is in memory. */
  save(): void {
    if (this.kind === 'sqlite') this.log.write(this.folder)
  }

  open(file = this.file): TrailIndex {
    this.save()
    const { end } = this.log
    const index =
      this.kind === 'memory'
        ? new MemoryIndex({ reader: this.log, trail: TRAIL, end })
        : sqliteIndex({ folder: this.folder, file, trail: TRAIL, end })
    this.#opened.push(index)
    return index
  }

  /** Tells an index what the log has become. */
  advance(index: TrailIndex): void {
    this.save()
    index.advance(this.log.end)
  }

  async closeIndexes(): Promise<void> {
    for (const index of this.#opened) await index.close()
    this.#opened = []
  }

  async remove(): Promise<void> {
    await this.closeIndexes()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export const KINDS = ['memory', 'sqlite'] as const
