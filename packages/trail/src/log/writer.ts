// The writing end of the log: group commit across all runs, one frame at a time, into segments that were laid out
// ahead. A caller is answered only after its frame was synced.
import { invariant, ParleyError, type Ticks } from '@parley/core'
import type { StoredRecord } from '../entry.ts'
import { commitError } from '../errors.ts'
import type { LogPoint } from '../index/contract.ts'
import { trailLimits } from '../limits.ts'
import type { FramedObject } from '../store/recent-objects.ts'
import type { RunHead } from '../store/store.ts'
import type { Files, LogFile } from './files.ts'
import { batchBound, Group, type Settle } from './group.ts'
import type { OpenedLog } from './open.ts'
import { pause } from './pause.ts'
import type { RunHeads } from './run-heads.ts'
import { SEGMENT_HEADER, segmentName } from './segment.ts'

interface Segment {
  readonly number: number
  readonly file: LogFile
  /** Bytes that are durable and count. */
  end: number
  readonly capacity: number
}

export interface LogWriterOptions {
  readonly files: Files
  readonly opened: OpenedLog
  readonly trail: string
  /** Called after each commit, before its callers are answered, with the objects of its frame and where that starts. */
  readonly committed: (point: LogPoint, objects: readonly FramedObject[], frameAt: number) => void
  /** The newest entry of each run; what does not follow it is refused. */
  readonly runs: RunHeads
  /** Told of every commit: its entries, and the milliseconds that writing and syncing took. */
  readonly measured?: ((entries: number, milliseconds: number) => void) | undefined
  /** Called when a segment is finished, with the last point in it and the heads of all runs that have entries in it. */
  readonly sealed: (point: LogPoint, heads: readonly RunHead[]) => void
  readonly firstSegmentBytes?: number
  readonly segmentBytes?: number
}

const ZEROS = Buffer.alloc(trailLimits.allocationBytes)

export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #files: Files
  #segment: Segment | undefined
  /** After a failed write or sync nothing more goes into the current segment. */
  #suspect = false
  #prepared: Promise<Segment> | undefined
  readonly #left = new Set<number>()
  #nextNumber: number
  #nextCapacity: number
  #frame: number
  #floor: Ticks
  readonly #runs: RunHeads
  #queue: Group[] = []
  #queuedBytes = 0
  #spare: Buffer[] = []
  #running: Promise<void> | undefined
  #closed = false

  constructor(options: LogWriterOptions) {
    const { opened } = options
    this.#options = options
    this.#files = options.files
    this.#nextNumber = opened.nextSegment
    this.#nextCapacity = this.#firstCapacity
    for (let count = opened.segments.size; count > 0; count--) this.#growCapacity()
    this.#frame = opened.end.frame
    this.#floor = opened.floor
    this.#runs = options.runs
    if (opened.end.segment > 0) {
      const file = options.files.open(segmentName(opened.end.segment), 'existing')
      this.#segment = { number: opened.end.segment, file, end: opened.end.end, capacity: this.#nextCapacity }
      this.#suspect = !opened.continues
      this.#runs.placed(opened.tailHeads.keys(), opened.end.segment)
    }
  }

  get point(): LogPoint {
    return { segment: this.#segment?.number ?? 0, end: this.#segment?.end ?? 0, frame: this.#frame }
  }

  get floor(): Ticks {
    return this.#floor
  }

  /** Takes a batch, or says why not; see `TrailStore.append`. `before` must succeed before the batch is written. */
  append(records: readonly StoredRecord[], settle: Settle, before?: Promise<unknown>): ParleyError | undefined {
    if (this.#closed) return new ParleyError('trail_closed', 'The trail is closed.')
    const bytes = batchBound(records)
    if (bytes > trailLimits.batchBytes) {
      return new ParleyError(
        'batch_too_large',
        `A batch of up to ${bytes} bytes passes the limit of ${trailLimits.batchBytes}; split it.`,
      )
    }
    if (this.#queuedBytes + bytes > trailLimits.queuedBytes) {
      return new ParleyError('trail_busy', 'Too much is waiting for the disk; try again in a moment.', {
        retryable: true,
      })
    }
    const conflict = this.#runs.take(records)
    if (conflict) return conflict
    let group = this.#queue.at(-1)
    if (group === undefined || !group.admits(records.length, bytes)) {
      group = new Group(this.#spare.pop() ?? Buffer.allocUnsafe(64 * 1024))
      this.#queue.push(group)
    }
    this.#queuedBytes += bytes
    group.add(records, bytes, settle)
    if (before) group.before.push(before)
    // Callers that were answered together go on one after the other before this runs, and so commit together again.
    this.#running ??= Promise.resolve().then(() => this.#run())
    return undefined
  }

  /**
   * Finishes the current segment, so that it can be removed: an empty commit begins the next. Fails as a batch does.
   */
  async roll(): Promise<void> {
    if (this.#closed) throw new ParleyError('trail_closed', 'The trail is closed.')
    if (!this.#segment) return
    const group = new Group(Buffer.allocUnsafe(4096))
    group.rolls = true
    this.#queue.push(group)
    await new Promise<void>((resolve, reject) => {
      group.settles.push(error => (error ? reject(error) : resolve()))
      this.#running ??= Promise.resolve().then(() => this.#run())
    })
  }

  /** Waits for what was taken, then gives back what was laid out in advance. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
    const prepared = await this.#prepared?.catch(() => undefined)
    if (prepared) this.#discard(prepared)
    const segment = this.#segment
    if (!segment) return
    try {
      if (!this.#suspect) segment.file.truncate(segment.end)
      await segment.file.sync()
    } catch {
      // Everything that counts is durable already; only zeros are left over.
    }
    segment.file.close()
    this.#options.sealed(this.point, this.#runs.headsIn(segment.number))
  }

  async #run(): Promise<void> {
    let done: Group | undefined
    for (;;) {
      const group = this.#queue.shift()
      const pending = group && this.#commit(group)
      // The next frame is on its way to disk while the callers of the last one are answered.
      if (done) this.#settle(done)
      if (!group) break
      const error = await pending
      done = error ? undefined : group
      if (error) this.#failAll(group, error)
    }
    this.#running = undefined
    if (this.#queue.length > 0) this.#running = this.#run()
  }

  #settle(group: Group, error?: ParleyError): void {
    this.#queuedBytes -= group.bound
    invariant(this.#queuedBytes >= 0, 'what waits for the disk was counted when it was taken')
    for (const settle of group.settles) settle(error)
    if (this.#spare.length < trailLimits.spareBuffers && group.buffer.length <= 2 * trailLimits.groupBytes) {
      this.#spare.push(group.buffer)
    }
  }

  /** What stands behind a failed batch builds on it: it fails too, before anything new can be taken. */
  #failAll(group: Group, error: ParleyError): void {
    const failed = [group, ...this.#queue]
    this.#queue = []
    this.#runs.failed()
    for (const each of failed) this.#settle(each, error)
  }

  async #commit(group: Group): Promise<ParleyError | undefined> {
    const frame = this.#frame + 1
    const { measured } = this.#options
    const began = measured && performance.now()
    try {
      if (group.before.length > 0) await Promise.all(group.before)
      try {
        await this.#write(group, frame)
      } catch {
        // A failed sync is never trusted later: the frame goes into a new segment, which records where this one ends.
        this.#suspect = true
        await this.#write(group, frame)
      }
    } catch (cause) {
      this.#forsake()
      return commitError(cause)
    }
    this.#frame = frame
    this.#floor = Math.max(this.#floor, group.latest) as Ticks
    const { point } = this
    this.#runs.committed(group.entries, point.segment)
    this.#options.committed(point, group.objects, point.end - group.frameBytes)
    if (began !== undefined) measured!(group.entries.length, performance.now() - began)
    return undefined
  }

  /** The callers hear that nothing was recorded: make that so even if the process dies before the next commit. */
  #forsake(): void {
    try {
      if (this.#suspect) this.#segment?.file.truncate(this.#segment.end)
    } catch {
      // The next segment's header excludes those bytes as well.
    }
  }

  async #write(group: Group, frame: number): Promise<void> {
    const bytes = group.seal(frame)
    const segment = this.#segment
    if (!segment || this.#suspect || group.rolls || segment.end + bytes.length > segment.capacity) {
      await this.#rotate(group, frame)
      return
    }
    this.#layOut(segment, bytes.length)
    segment.file.write(bytes, segment.end)
    await segment.file.sync()
    segment.end += bytes.length
    if (segment.end > segment.capacity / 2) this.#prepare()
  }

  /** A segment continued after a restart lost its zeros at closing; without them each sync carries metadata. */
  #layOut(segment: Segment, bytes: number): void {
    if (segment.end + bytes <= segment.file.size) return
    const room = Math.min(segment.capacity - segment.file.size, ZEROS.length)
    if (room > bytes) segment.file.write(ZEROS.subarray(0, room), segment.file.size)
  }

  /** Starts a new segment with this frame; the old one ends where it was last durable. */
  async #rotate(group: Group, frame: number): Promise<void> {
    const bytes = SEGMENT_HEADER + group.frameBytes
    // Rolling makes room, so it must not lay out a large segment. A prepared one has the lower number and comes first.
    const fresh = group.rolls && !this.#prepared
    const next = fresh ? await this.#create(this.#firstCapacity) : await this.#take(bytes)
    const old = this.#segment
    try {
      const bytes = group.sealWith({
        segment: next.number,
        previous: old?.number ?? 0,
        previousEnd: old?.end ?? 0,
        firstFrame: frame,
        floor: this.#floor,
        trail: this.#options.trail,
      })
      next.file.write(bytes, 0)
      await next.file.sync()
      next.end = bytes.length
    } catch (cause) {
      this.#discard(next)
      throw cause
    }
    this.#segment = next
    this.#suspect = false
    if (!fresh) this.#growCapacity()
    if (old) this.#retire(old)
  }

  /** The segment laid out ahead, or one of just the size needed where that failed, for instance for lack of space. */
  async #take(bytes: number): Promise<Segment> {
    this.#prepare()
    const prepared = await this.#prepared?.catch(() => undefined)
    this.#prepared = undefined
    if (prepared && prepared.capacity >= bytes) return prepared
    if (prepared) this.#discard(prepared)
    return this.#create(bytes)
  }

  #retire(old: Segment): void {
    try {
      old.file.truncate(old.end)
    } catch {
      // Only space is lost: the new segment's header says where the old one ends.
    }
    old.file.close()
    this.#options.sealed({ segment: old.number, end: old.end, frame: this.#frame }, this.#runs.headsIn(old.number))
  }

  #prepare(): void {
    if (this.#prepared) return
    this.#prepared = this.#create(this.#affordable(this.#nextCapacity))
    // The commit that needs the segment sees the failure.
    this.#prepared.catch(() => {})
  }

  /** Laying out a segment must not be what fills a disk: it takes a small part of what is free. */
  #affordable(capacity: number): number {
    return Math.min(capacity, Math.floor(this.#files.free() / trailLimits.layoutPart))
  }

  async #create(capacity: number): Promise<Segment> {
    this.#removeLeft()
    const number = this.#nextNumber++
    const file = this.#files.open(segmentName(number), 'create')
    const segment = { number, file, end: 0, capacity }
    try {
      for (let at = 0; at < capacity; at += ZEROS.length) {
        file.write(ZEROS.subarray(0, Math.min(ZEROS.length, capacity - at)), at)
        await pause()
      }
      await file.sync()
      await this.#files.syncFolder('')
    } catch (cause) {
      this.#discard(segment)
      throw cause
    }
    return segment
  }

  #discard(segment: Segment): void {
    segment.file.close()
    this.#left.add(segment.number)
    this.#removeLeft()
  }

  /** What cannot be removed now is tried again with the next segment, and by the next opening. */
  #removeLeft(): void {
    for (const number of this.#left) {
      try {
        this.#files.remove(segmentName(number))
        this.#left.delete(number)
      } catch {
        // A later segment's header leaves it out.
      }
    }
  }

  get #firstCapacity(): number {
    return this.#options.firstSegmentBytes ?? trailLimits.firstSegmentBytes
  }

  #growCapacity(): void {
    this.#nextCapacity = Math.min(this.#nextCapacity * 2, this.#options.segmentBytes ?? trailLimits.segmentBytes)
  }
}
