// Archives and log read as one, without an index: first what archives hold of each run without a gap, then the log with
// archived entries in their places. Manifests stand in for deleted entries. Every record comes once.
import type { ObjectId, RunId, WorkspaceId } from '@parley/core'
import { pause } from '../log/pause.ts'
import type { ScannedRecord } from '../store/store.ts'
import type { Archives } from './archives.ts'
import { archiveHashOf } from './contents.ts'
import { HeldRun } from './held.ts'
import type { Manifest } from './manifest.ts'

interface Place {
  readonly seq: number
  readonly archive: number
  readonly at: number
  readonly length: number
  /** Of an entry. */
  readonly hash?: string
  /** Of an object. */
  readonly id?: ObjectId
  /** Objects in their order, behind them the entry of the same `seq`. */
  readonly ordinal: number
  /** Of an entry that was deleted. */
  readonly gone?: { readonly workspace: WorkspaceId | null; readonly localHash: string | undefined }
}

interface RestOfRun {
  readonly held: HeldRun
  /** Archived entries behind that point by ascending `seq`; `next` is the first that was not handed out yet. */
  readonly places: readonly Place[]
  next: number
}

/** Records that are handed out at once. */
const PAGE = 512

export class TierMerge {
  readonly #archives: Archives
  readonly #runs = new Map<RunId, RestOfRun>()
  /** What archives held that were deleted since the scan began. */
  readonly #deleted = new Map<number, ReadonlyMap<number | ObjectId, Place>>()

  constructor(archives: Archives) {
    this.#archives = archives
  }

  /**
   * The beginning of a run that archives hold whole, behind `after`; remembers archived entries of the rest for
   * `merge`.
   */
  async *begin(run: RunId, after = 0): AsyncGenerator<readonly ScannedRecord[]> {
    const held = new HeldRun()
    // A record counts where it lies in the archive with the highest number, and that comes last.
    const found = new Map<number | ObjectId, Place>()
    for await (const manifest of this.#archives.catalogue.inspect(run)) {
      const damage = typeof manifest === 'string' ? unreadable(manifest) : forged(manifest)
      if (damage) yield [damage]
      if (typeof manifest === 'string') continue
      held.add(manifest)
      for (const place of placesIn(manifest)) found.set(place.id ?? place.seq, place)
    }
    const isBefore = ({ id, seq }: Place) => (id === undefined ? seq < held.until.seq : held.hasObject(id, seq))
    const places = [...found.values()]
      .filter(({ id, seq }) => id !== undefined || seq > after)
      .sort((a, b) => a.seq - b.seq || a.ordinal - b.ordinal)
    this.#runs.set(run, { held, places: places.filter(place => !isBefore(place)), next: 0 })
    yield* this.#pages(run, places.filter(isBefore))
  }

  async *#pages(run: RunId, places: readonly Place[]): AsyncGenerator<readonly ScannedRecord[]> {
    for (let from = 0; from < places.length; from += PAGE) {
      const page: ScannedRecord[] = []
      for (const place of places.slice(from, from + PAGE)) {
        // The next read reports why it could not be loaded.
        if (!place.gone) await this.#archives.load(place.archive).catch(() => {})
        const record = this.#read(run, place)
        if (record) page.push(record)
      }
      yield page
      await pause()
    }
  }

  /** The records of the log with archived ones inserted; a copy that is still in the log does not count. */
  *merge(records: readonly ScannedRecord[]): Generator<ScannedRecord> {
    for (const record of records) {
      const rest = record.kind === 'entry' || record.kind === 'object' ? this.#runs.get(record.run) : undefined
      if (!rest) {
        yield record
      } else if (record.kind === 'entry') {
        yield* this.#upTo(record.run, rest, record.seq)
        if (!rest.held.hasEntry(record.seq)) yield record
      } else if (record.kind === 'object' && !rest.held.hasObject(record.id, record.seq)) {
        yield record
      }
    }
  }

  /** What is archived behind the last entry that the log holds. */
  *rest(): Generator<ScannedRecord> {
    for (const [run, rest] of this.#runs) yield* this.#upTo(run, rest, Number.POSITIVE_INFINITY)
  }

  *#upTo(run: RunId, rest: RestOfRun, seq: number): Generator<ScannedRecord> {
    for (; rest.next < rest.places.length && rest.places[rest.next]!.seq <= seq; rest.next++) {
      const record = this.#read(run, rest.places[rest.next]!)
      if (record) yield record
    }
  }

  #read(run: RunId, place: Place): ScannedRecord | undefined {
    const { seq, id, archive, hash, gone } = place
    if (gone) return hash === undefined ? undefined : { kind: 'bridge', run, seq, hash, ...gone }
    const where = `archive ${archive}, ${id === undefined ? `entry ${seq}` : `object ${id}`}`
    try {
      const record = this.#archives.record(place)
      if (record.kind === 'object' ? record.id === id : record.hash === hash) return record
      return { kind: 'damage', where, message: `${where} is not what its manifest lists` }
    } catch (cause) {
      const deleted = this.#deletedSince(archive)?.get(id ?? seq)
      if (deleted) return this.#read(run, deleted)
      return { kind: 'damage', where, message: cause instanceof Error ? cause.message : 'unreadable' }
    }
  }

  /** W-TRAIL-28: when an archive is deleted during a read, its manifest bridges the gap, and nothing is damaged. */
  #deletedSince(archive: number): ReadonlyMap<number | ObjectId, Place> | undefined {
    const known = this.#deleted.get(archive)
    if (known) return known
    const manifest = this.#archives.catalogue.deleted(archive)
    if (!manifest) return undefined
    const places = new Map([...placesIn(manifest)].map(place => [place.id ?? place.seq, place]))
    this.#deleted.set(archive, places)
    return places
  }
}

function* placesIn({ archive, deleted, entries, objects }: Manifest): Generator<Place> {
  for (const { seq, id, ordinal, at, length } of objects) {
    yield { seq, archive, at, length, id, ordinal, ...(deleted && { gone: NOTHING }) }
  }
  for (const { seq, at, length, hash, workspace, local_hash } of entries) {
    const gone = deleted && { gone: { workspace, localHash: local_hash ?? undefined } }
    yield { seq, archive, at, length, hash, ordinal: Number.MAX_SAFE_INTEGER, ...gone }
  }
}

const NOTHING = { workspace: null, localHash: undefined }

function unreadable(where: string): ScannedRecord {
  return { kind: 'damage', where, message: `the manifest of ${where} cannot be read` }
}

function forged({ entries, archive, archive_hash }: Manifest): ScannedRecord | undefined {
  if (archiveHashOf(entries) === archive_hash) return undefined
  const where = `the manifest of archive ${archive}`
  return { kind: 'damage', where, message: `${where} does not match its own hash` }
}
