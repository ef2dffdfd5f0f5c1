// One bounded piece of the log on its way into the rows: what a record changes, what is remembered of damage.
import { crc32 } from 'node:zlib'
import type { ObjectId, RunId } from '@parley/core'
import { TERMINAL_STATES } from '../events/names.ts'
import { KIND_ENTRY, KIND_HOLE, type RecordSpan, readObject, recordHash, recordRun } from '../log/record.ts'
import { fetchRecords } from './answer/fetch.ts'
import { readView, ticksOf, type View } from './answer/view.ts'
import type { Forgotten, LogReader } from './contract.ts'
import { IndexFault } from './fault.ts'
import { indexLimits } from './limits.ts'
import { counts, forgetEntries } from './moves.ts'
import type { Place, RunRow } from './rows.ts'
import type { Rows } from './sqlite/sqlite-rows.ts'

interface TouchedRun {
  readonly row: RunRow
  /** The oldest entry turned out to be another one, so that what was seen before may have been the root's end. */
  rootChanged: boolean
}

type DamagedPlace = Pick<Place, 'file' | 'at'>
const NOTHING_MISSING = { first: 0, last: -1 }
/** Taken of ended runs (W-TRAIL-30). Retention deletes the end only behind a snapshot that stays (W-TRAIL-28). */
const SNAPSHOT = 'trail_snapshot_created'
/** Behind every place that there is. */
const EVERYWHERE = Number.MAX_SAFE_INTEGER

export class Slice {
  readonly #rows: Rows
  readonly #reader: LogReader
  readonly #runs = new Map<RunId, TouchedRun>()
  #records = 0

  constructor(rows: Rows, reader: LogReader) {
    this.#rows = rows
    this.#reader = reader
  }

  get full(): boolean {
    return this.#records >= indexLimits.sliceRecords
  }

  /**
   * Takes in the record at `span` in `source` and at `at` in its file; `ordinals` are those of an archive's objects.
   */
  add(source: Buffer, span: RecordSpan, file: number, at: number, ordinals?: ReadonlyMap<ObjectId, number>): void {
    this.#records++
    // Something stood here that is now in an archive.
    if (span.kind === KIND_HOLE) return
    const touched = this.#touch(recordRun(source, span))
    if (span.kind === KIND_ENTRY) this.#addEntry(touched, source, span, file, at)
    else this.#addObject(touched, source, span, { file, at, length: span.end - span.start }, ordinals)
  }

  forget(file: number, { run, seqs, filed }: Forgotten): void {
    this.#records += seqs.length
    const touched = this.#touch(run)
    forgetEntries(this.#rows, touched.row, seqs)
    this.#rows.removeObjects(touched.row, file)
    if (filed) this.#noteRoot(touched, filed.workspace, filed.seq)
  }

  /** Remembers a damaged place; `owner` is empty when nobody can say whose records stood there. */
  damage(owner: RunId | '', { file, at }: DamagedPlace, message: string, missing = NOTHING_MISSING): void {
    const known = this.#rows.damageCount()
    const where = `${file > 0 ? `segment ${file}` : `archive ${-file}`}, byte ${at}`
    if (known < indexLimits.damagePlaces) {
      this.#rows.addDamage({ run: owner, file, at, message: `${where}: ${message}`, ...missing })
    } else if (known === indexLimits.damagePlaces) {
      const rest = `${where}: more damage follows than is remembered`
      this.#rows.addDamage({ run: '', file: EVERYWHERE, at, message: rest, ...NOTHING_MISSING })
    }
  }

  save(): void {
    for (const { row, rootChanged } of this.#runs.values()) {
      if (rootChanged) row.ended = this.#rootEnded(row)
      this.#rows.saveRun(row)
    }
    this.#runs.clear()
  }

  #touch(run: RunId): TouchedRun {
    let touched = this.#runs.get(run)
    if (!touched) {
      touched = {
        row: this.#rows.run(run) ?? this.#rows.addRun(run),
        rootChanged: false,
      }
      this.#runs.set(run, touched)
    }
    return touched
  }

  #addEntry(touched: TouchedRun, source: Buffer, span: RecordSpan, file: number, at: number): void {
    const { row } = touched
    const { seq } = span
    const view = readView(source, span)
    const ticks = view && ticksOf(view.timestamp)
    if (!view || ticks === undefined) {
      this.damage(row.run, { file, at }, `entry ${seq} cannot be read`)
      return
    }
    const place = { file, at, length: span.end - span.start }
    if (seq <= row.head && this.#isThere(touched, seq, place)) return
    if (file > 0 && row.forgotten > 0 && this.#rows.forgotten(row, seq, seq) > 0) return
    if (file > 0) this.#expectEntry(row, seq, place)
    this.#rows.addEntry(row, {
      seq,
      workspace: view.workspace,
      actor: view.actor,
      type: view.event_type,
      ticks,
      ...place,
    })
    this.#follow(touched, view, seq, ticks)
    if (seq > row.head) {
      row.head = seq
      row.hash = recordHash(source, span)
      row.updated = ticks
      if (file > 0) {
        row.lastFile = file
        row.lastAt = at
      }
    }
  }

  #follow(touched: TouchedRun, { workspace, event_type, body }: View, seq: number, ticks: number): void {
    const { row } = touched
    row.ordered &&= seq > row.head && ticks >= row.updated
    if (row.entries === 0 || seq < row.first) {
      row.first = seq
      row.created = ticks
    }
    if (workspace !== null) this.#noteRoot(touched, workspace, seq)
    row.entries++
    if (workspace === row.root && event_type === 'workspace_state_changed' && isTerminal(body.to_state))
      row.ended = true
    if (event_type === SNAPSHOT) row.ended = true
  }

  /** The oldest entry that is filed under a workspace is the root's, whether it is still there or not. */
  #noteRoot(touched: TouchedRun, workspace: string, seq: number): void {
    const { row } = touched
    if (row.rootSeq >= 0 && seq >= row.rootSeq) return
    touched.rootChanged ||= row.entries > 0
    row.rootSeq = seq
    row.root = workspace
  }

  /** The entries of a run stand in the log without a gap, except for those that are gone for good. */
  #expectEntry(row: RunRow, seq: number, place: Place): void {
    const first = row.head < 0 ? 1 : row.head + 1
    const missing = seq - first
    if (missing < 1 || (row.forgotten > 0 && this.#rows.forgotten(row, first, seq - 1) === missing)) return
    const which = missing === 1 ? `entry ${first}` : `entries ${first} to ${seq - 1}`
    this.damage(row.run, place, `${which} should stand before this place`, { first, last: seq - 1 })
  }

  /** Whether an entry is known. An archive's copy counts (moves.ts); of two in segments the second is damage. */
  #isThere(touched: TouchedRun, seq: number, place: Place): boolean {
    const { row } = touched
    const known = this.#rows.entry(row, seq)
    if (!known) return false
    if (counts(place, known)) {
      this.#rows.moveEntry(row, seq, place)
    } else if (place.file > 0 && known.file > 0 && (known.file !== place.file || known.at !== place.at)) {
      this.damage(row.run, place, `entry ${seq} stands here a second time`)
    }
    return true
  }

  #addObject(
    touched: TouchedRun,
    source: Buffer,
    span: RecordSpan,
    place: Place,
    ordinals: ReadonlyMap<ObjectId, number> | undefined,
  ): void {
    const { row } = touched
    const { id } = readObject(source, span)
    const ordinal = ordinals?.get(id) ?? row.objects
    const crc = crc32(source.subarray(span.start, span.end))
    if (this.#rows.addObject(row, { id, seq: span.seq, ordinal, ...place, crc })) {
      row.objects = Math.max(row.objects, ordinal + 1)
    } else {
      const known = this.#rows.object(row, id)
      if (known && known.crc === crc && counts(place, known)) this.#rows.moveObject(row, id, place)
    }
  }

  /** Whether the run was frozen, or the newest state of the root is terminal, read again from the log. */
  #rootEnded(row: RunRow): boolean {
    const frozen = { path: { by: 'type', type: SNAPSHOT }, after: -1, before: row.head + 1 } as const
    if (this.#rows.count(row, frozen, 1) > 0) return true
    const scan = {
      path: { by: 'workspace', workspace: row.root },
      types: ['workspace_state_changed'],
      after: -1,
      before: row.head + 1,
    } as const
    try {
      const { bytes, spans } = fetchRecords(this.#reader, row.run, this.#rows.scan(row, scan, true, 1))
      const [newest] = spans
      return newest !== undefined && isTerminal(readView(bytes, newest)?.body.to_state)
    } catch (cause) {
      // Reading that entry reports the damage; here it only means that the end is not known.
      if (cause instanceof IndexFault) return false
      throw cause
    }
  }
}

function isTerminal(state: unknown): boolean {
  return (TERMINAL_STATES as readonly unknown[]).includes(state)
}
