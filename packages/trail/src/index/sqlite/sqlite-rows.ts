// Rows in SQLite tables: in a file on the worker's thread, or in memory in the caller's. Every call here blocks.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { ObjectId, RunId } from '@parley/core'
import type { SegmentUsage } from '../contract.ts'
import { indexLimits } from '../limits.ts'
import type {
  Applied,
  ArchiveState,
  DamageRow,
  EntryPlace,
  EntryRow,
  HeaderKey,
  ObjectRow,
  Place,
  RunRow,
  Scan,
  Tally,
} from '../rows.ts'
import { Names } from './sqlite-names.ts'
import { readApplied } from './sqlite-open.ts'
import { indexHint, scanCondition } from './sqlite-scan.ts'
import { Statements } from './sqlite-statements.ts'

/** A run of which nothing is known yet. */
const NEW_RUN = {
  head: -1,
  hash: '',
  updated: 0,
  first: -1,
  created: 0,
  rootSeq: -1,
  root: '',
  entries: 0,
  objects: 0,
  ended: false,
  forgotten: 0,
  ordered: true,
  lastFile: 0,
  lastAt: 0,
} satisfies Omit<RunRow, 'run' | 'key'>

/** Columns of `runs` beside its key, named as in RunRow. */
const RUN_FIELDS = ['run', ...Object.keys(NEW_RUN)] as (keyof RunRow)[]
const RUN_COLUMNS = RUN_FIELDS.join(', ')
const RUN_MARKS = RUN_FIELDS.map(() => '?').join(', ')
const ENTRY_PLACES = 'SELECT seq, file, at, length, workspace FROM entries'
const ONE_ENTRY = `${ENTRY_PLACES} WHERE run = ? AND seq = ?`
const OBJECT_COLUMNS = 'seq, ordinal, id, file, at, length, crc'
const OBJECTS = `SELECT ${OBJECT_COLUMNS} FROM objects WHERE run = ?`
const ONE_OBJECT = `${OBJECTS} AND id = ?`
const DAMAGE_COLUMNS = 'run, file, at, message, first, last'
const KEY_COLUMNS: Record<HeaderKey, string> = { workspace: 'workspace', actor: 'actor', event_type: 'type' }

type StoredRun = Omit<RunRow, 'ended' | 'ordered'> & { readonly ended: number; readonly ordered: number }
type ObjectTuple = [number, number, ObjectId, number, number, number, number]
type EntryTuple = [number, number, number, number, number]

/**
 * Changes happen between `begin` and `commit` or `keep`, and a later opening sees all of them or none. A caller may
 * change a run's row, and saves it within the same transaction.
 */
export class Rows {
  readonly #database: DatabaseSync
  readonly #names: Names
  readonly #sql: Statements
  readonly #addEntry: StatementSync
  readonly #findRun: StatementSync
  readonly #allRuns: StatementSync
  /** What the tables and the open transaction say; undefined where they must be asked again. */
  #applied: Applied | undefined
  /** Slices since the last commit. */
  #kept = 0

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#names = new Names(database)
    this.#sql = new Statements(database)
    this.#addEntry = database.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#findRun = database.prepare(`SELECT key, ${RUN_COLUMNS} FROM runs WHERE run = ?`)
    this.#allRuns = database.prepare(`SELECT key, ${RUN_COLUMNS} FROM runs ORDER BY key`)
  }

  begin(): void {
    if (this.#database.isTransaction) return
    this.#forgetLost()
    this.#sql.run('BEGIN IMMEDIATE')
  }

  // A transaction that cannot be committed is undone at once. Left open, or taken for committed, everything in it would
  // be missing from the tables for good while `applied` says that it is there.
  commit(): void {
    this.#forgetLost()
    try {
      if (this.#database.isTransaction) this.#sql.run('COMMIT')
    } catch (cause) {
      this.rollback()
      throw cause
    }
    this.#kept = 0
  }

  /** Ends a change like `commit`, but gathers many: what a crash loses is taken from the log again. */
  // Where many runs interleave, each slice touches most index pages: writing them out once for many slices keeps the
  // index from falling behind.
  keep(): void {
    if (++this.#kept >= indexLimits.keptSlices) this.commit()
  }

  get uncommitted(): boolean {
    return this.#kept > 0
  }

  /** Takes back everything since the last commit; `applied` says where that was. */
  rollback(): void {
    this.#names.clear()
    this.#applied = undefined
    this.#kept = 0
    if (this.#database.isTransaction) this.#sql.run('ROLLBACK')
  }

  get applied(): Applied {
    this.#forgetLost()
    this.#applied ??= readApplied(this.#database)
    return this.#applied
  }

  /** SQLite may undo a whole transaction by itself when a statement of it fails, for instance on a full disk. */
  #forgetLost(): void {
    if (this.#kept > 0 && !this.#database.isTransaction) this.rollback()
  }

  setApplied(applied: Applied): void {
    const { segment, end, frame, lastSegment, lastAt, lastMark } = applied
    const sql = 'UPDATE meta SET segment = ?, "end" = ?, frame = ?, lastSegment = ?, lastAt = ?, lastMark = ?'
    this.#sql.run(sql, segment, end, frame, lastSegment, lastAt, lastMark)
    this.#applied = applied
  }

  run(run: RunId): RunRow | undefined {
    const row = this.#findRun.get(run) as unknown as StoredRun | undefined
    return row && toRun(row)
  }

  addRun(run: RunId): RunRow {
    const row = { run, key: 0, ...NEW_RUN }
    const added = this.#sql.run(`INSERT INTO runs (${RUN_COLUMNS}) VALUES (${RUN_MARKS})`, ...runValues(row))
    return { ...row, key: Number(added.lastInsertRowid) }
  }

  saveRun(row: RunRow): void {
    this.#sql.run(`UPDATE runs SET (${RUN_COLUMNS}) = (${RUN_MARKS}) WHERE key = ?`, ...runValues(row), row.key)
  }

  runs(): RunRow[] {
    return (this.#allRuns.all() as unknown as StoredRun[]).map(toRun)
  }

  /** Adds an entry whose `seq` is not there yet. */
  addEntry(run: RunRow, row: EntryRow): void {
    this.#addEntry.run(
      run.key,
      row.seq,
      this.#names.intern(row.workspace),
      this.#names.intern(row.actor),
      this.#names.intern(row.type),
      row.ticks,
      row.file,
      row.at,
      row.length,
    )
  }

  entry(run: RunRow, seq: number): EntryPlace | undefined {
    return this.#entryPlaces(ONE_ENTRY, run.key, seq)[0]
  }

  moveEntry(run: RunRow, seq: number, { file, at, length }: Place): void {
    const sql = 'UPDATE entries SET file = ?, at = ?, length = ? WHERE run = ? AND seq = ?'
    this.#sql.run(sql, file, at, length, run.key, seq)
  }

  removeEntry(run: RunRow, seq: number): void {
    this.#sql.run('DELETE FROM entries WHERE run = ? AND seq = ?', run.key, seq)
  }

  /** Notes that an entry is gone for good; says whether that is new. */
  addForgotten(run: RunRow, seq: number): boolean {
    return this.#sql.run('INSERT OR IGNORE INTO forgotten VALUES (?, ?)', run.key, seq).changes > 0
  }

  /** How many of the entries from `first` to `last` are gone for good. */
  forgotten(run: RunRow, first: number, last: number): number {
    const sql = 'SELECT count(*) FROM forgotten WHERE run = ? AND seq BETWEEN ? AND ?'
    return this.#sql.get<[number]>(sql, run.key, first, last)![0]
  }

  /** Adds an object unless its id is there already; says whether it did. */
  addObject(run: RunRow, { seq, ordinal, id, file, at, length, crc }: ObjectRow): boolean {
    const sql = `INSERT OR IGNORE INTO objects (run, ${OBJECT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
    return this.#sql.run(sql, run.key, seq, ordinal, id, file, at, length, crc).changes > 0
  }

  object(run: RunRow, id: ObjectId): ObjectRow | undefined {
    const tuple = this.#sql.get<ObjectTuple>(ONE_OBJECT, run.key, id)
    return tuple && toObject(tuple)
  }

  moveObject(run: RunRow, id: ObjectId, { file, at, length }: Place): void {
    const sql = 'UPDATE objects SET file = ?, at = ?, length = ? WHERE run = ? AND id = ?'
    this.#sql.run(sql, file, at, length, run.key, id)
  }

  removeObjects(run: RunRow, file: number): void {
    this.#sql.run('DELETE FROM objects WHERE run = ? AND file = ?', run.key, file)
  }

  objects(run: RunRow, seq: number, ordinal: number, limit: number): ObjectRow[] {
    const sql = `${OBJECTS} AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ?`
    return this.#sql.all<ObjectTuple>(sql, run.key, seq, ordinal, limit).map(toObject)
  }

  usage(run: RunRow): SegmentUsage[] {
    const inLog = (table: string) => `SELECT file, length FROM ${table} WHERE run = ? AND file > 0`
    const records = `${inLog('entries')} UNION ALL ${inLog('objects')}`
    return this.#sql
      .all<[number, number, number]>(
        `SELECT file, count(*), sum(length) FROM (${records}) GROUP BY file`,
        run.key,
        run.key,
      )
      .map(([segment, records, bytes]) => ({ segment, records, bytes }))
  }

  scan(run: RunRow, scan: Scan, descending: boolean, limit: number): EntryPlace[] {
    const where = scanCondition(this.#names, run, scan)
    if (!where) return []
    const order = `ORDER BY seq ${descending ? 'DESC' : 'ASC'} LIMIT ?`
    return this.#entryPlaces(
      `${ENTRY_PLACES} ${indexHint(scan.path)} WHERE ${where.sql} ${order}`,
      ...where.values,
      limit,
    )
  }

  /** How many entries a scan finds, counted up to `most`. */
  count(run: RunRow, scan: Scan, most: number): number {
    const where = scanCondition(this.#names, run, scan)
    if (!where) return 0
    const source = `entries ${indexHint(scan.path)} WHERE ${where.sql}`
    return this.#sql.get<[number]>(`SELECT count(*) FROM (SELECT 1 FROM ${source} LIMIT ?)`, ...where.values, most)![0]
  }

  /** How many entries a scan finds of each kind; of all together, under `null`, without a key. */
  tally(run: RunRow, scan: Scan, key: HeaderKey | undefined): Tally[] {
    const where = scanCondition(this.#names, run, scan)
    if (!where) return []
    const column = key === undefined ? '0' : KEY_COLUMNS[key]
    // Along a run, SQLite finds by itself the index that holds the groups in order.
    const hint = scan.path.by === 'run' ? '' : indexHint(scan.path)
    const sql = `SELECT ${column}, count(*) FROM entries ${hint} WHERE ${where.sql} GROUP BY 1`
    const tallies = this.#sql.all<[number, number]>(sql, ...where.values)
    return tallies.map(([id, count]) => ({ key: this.#names.name(id), count }))
  }

  next(run: RunRow, seq: number): { seq: number; ticks: number } | undefined {
    const sql = 'SELECT seq, ticks FROM entries WHERE run = ? AND seq >= ? ORDER BY seq LIMIT 1'
    const tuple = this.#sql.get<[number, number]>(sql, run.key, seq)
    return tuple && { seq: tuple[0], ticks: tuple[1] }
  }

  /** Whether the records of an archive are in, or were and are gone for good; undefined when it was never met. */
  archive(file: number): ArchiveState | undefined {
    return this.#sql.get<[ArchiveState]>('SELECT state FROM archives WHERE file = ?', file)?.[0]
  }

  setArchive(file: number, state: ArchiveState): void {
    this.#sql.run('INSERT OR REPLACE INTO archives VALUES (?, ?)', file, state)
  }

  addDamage({ run, file, at, message, first, last }: DamageRow): void {
    const sql = `INSERT OR IGNORE INTO damage (${DAMAGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`
    this.#sql.run(sql, run, file, at, message, first, last)
  }

  /** A file turned out to be sound after all. */
  clearDamage(file: number): void {
    this.#sql.run('DELETE FROM damage WHERE file = ?', file)
  }

  damageCount(): number {
    return this.#sql.get<[number]>('SELECT count(*) FROM damage')![0]
  }

  /** Damage of this run, and damage of nobody knows which. */
  damage(run: RunId): DamageRow[] {
    const sql = `SELECT ${DAMAGE_COLUMNS} FROM damage WHERE run IN (?, '') ORDER BY key`
    const found = this.#sql.all<[RunId | '', number, number, string, number, number]>(sql, run)
    return found.map(([owner, file, at, message, first, last]) => ({ run: owner, file, at, message, first, last }))
  }

  close(): void {
    this.#sql.clear()
    this.#database.close()
  }

  #entryPlaces(sql: string, ...values: SQLInputValue[]): EntryPlace[] {
    const found = this.#sql.all<EntryTuple>(sql, ...values)
    return found.map(([seq, file, at, length, id]) => ({ seq, file, at, length, workspace: this.#names.name(id) }))
  }
}

function toRun(row: StoredRun): RunRow {
  return { ...row, ended: row.ended === 1, ordered: row.ordered === 1 }
}

function runValues(row: RunRow): (string | number)[] {
  return RUN_FIELDS.map(field => {
    const value = row[field]
    return typeof value === 'boolean' ? Number(value) : value
  })
}

function toObject([seq, ordinal, id, file, at, length, crc]: ObjectTuple): ObjectRow {
  return { seq, ordinal, id, file, at, length, crc }
}
