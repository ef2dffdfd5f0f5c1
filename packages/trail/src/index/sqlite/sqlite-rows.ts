// Rows in SQLite tables: in a file on the worker's thread, or in memory in the caller's. Every call here blocks.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { ObjectId, RunId } from '@parley/core'
import type { SegmentUsage } from '../contract.ts'
import { indexLimits } from '../limits.ts'
import {
  type Applied,
  type ArchiveState,
  type DamageRow,
  type EntryPlace,
  type EntryRow,
  type HeaderKey,
  newRun,
  type ObjectRow,
  type Place,
  type Rows,
  type RunRow,
  type Scan,
  type Tally,
} from '../rows.ts'
import { Names } from './sqlite-names.ts'
import { type IndexFile, readApplied } from './sqlite-open.ts'
import { indexHint, scanCondition } from './sqlite-scan.ts'
import { Statements } from './sqlite-statements.ts'

/** Columns of `runs` beside its key, named as in RunRow. */
const RUN_FIELDS = [
  'run',
  'head',
  'hash',
  'updated',
  'first',
  'created',
  'rootSeq',
  'root',
  'entries',
  'objects',
  'ended',
  'forgotten',
  'ordered',
  'lastFile',
  'lastAt',
] as const satisfies (keyof RunRow)[]
const RUN_COLUMNS = RUN_FIELDS.join(', ')
const RUN_MARKS = RUN_FIELDS.map(() => '?').join(', ')
const OBJECT_COLUMNS = 'seq, ordinal, id, file, at, length, crc'
const DAMAGE_COLUMNS = 'run, file, at, message, first, last'
const KEY_COLUMNS: Record<HeaderKey, string> = { workspace: 'workspace', actor: 'actor', event_type: 'type' }

type StoredRun = Omit<RunRow, 'ended' | 'ordered'> & { readonly ended: number; readonly ordered: number }
type ObjectTuple = [number, number, ObjectId, number, number, number, number]
type EntryTuple = [number, number, number, number, number]

export class SqliteRows implements Rows {
  readonly #database: DatabaseSync
  readonly #names: Names
  readonly #sql: Statements
  readonly #addEntry: StatementSync
  readonly #findRun: StatementSync
  readonly #allRuns: StatementSync
  /**
   * What the tables say of themselves, and the open transaction with them; undefined where they must be asked again.
   */
  #applied: Applied | undefined
  /** Slices since the last commit. */
  #kept = 0

  constructor({ database }: IndexFile) {
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

  // A transaction that cannot be committed is undone here and now. Were it left open, or taken for committed,
  // everything in it would be missing from the tables for good while `applied` says that it is there.
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

  // Where many runs interleave, each slice touches most pages of the indexes: writing them out once for many slices is
  // what keeps the index from falling behind.
  keep(): void {
    if (++this.#kept >= indexLimits.keptSlices) this.commit()
  }

  /** There are changes that were kept and not committed. */
  get uncommitted(): boolean {
    return this.#kept > 0
  }

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
    this.#sql.run(
      'UPDATE meta SET segment = ?, "end" = ?, frame = ?, lastSegment = ?, lastAt = ?, lastMark = ?',
      applied.segment,
      applied.end,
      applied.frame,
      applied.lastSegment,
      applied.lastAt,
      applied.lastMark,
    )
    this.#applied = applied
  }

  run(run: RunId): RunRow | undefined {
    const row = this.#findRun.get(run) as unknown as StoredRun | undefined
    return row && toRun(row)
  }

  addRun(run: RunId): RunRow {
    const row = newRun(run, 0)
    const added = this.#sql.run(`INSERT INTO runs (${RUN_COLUMNS}) VALUES (${RUN_MARKS})`, ...runValues(row))
    return { ...row, key: Number(added.lastInsertRowid) }
  }

  saveRun(row: RunRow): void {
    this.#sql.run(`UPDATE runs SET (${RUN_COLUMNS}) = (${RUN_MARKS}) WHERE key = ?`, ...runValues(row), row.key)
  }

  runs(): RunRow[] {
    return (this.#allRuns.all() as unknown as StoredRun[]).map(toRun)
  }

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
    return this.#entryPlaces(
      'SELECT seq, file, at, length, workspace FROM entries WHERE run = ? AND seq = ?',
      run.key,
      seq,
    )[0]
  }

  moveEntry(run: RunRow, seq: number, { file, at, length }: Place): void {
    this.#sql.run(
      'UPDATE entries SET file = ?, at = ?, length = ? WHERE run = ? AND seq = ?',
      file,
      at,
      length,
      run.key,
      seq,
    )
  }

  removeEntry(run: RunRow, seq: number): void {
    this.#sql.run('DELETE FROM entries WHERE run = ? AND seq = ?', run.key, seq)
  }

  addForgotten(run: RunRow, seq: number): boolean {
    return this.#sql.run('INSERT OR IGNORE INTO forgotten VALUES (?, ?)', run.key, seq).changes > 0
  }

  forgotten(run: RunRow, first: number, last: number): number {
    const sql = 'SELECT count(*) FROM forgotten WHERE run = ? AND seq BETWEEN ? AND ?'
    return this.#sql.get<[number]>(sql, run.key, first, last)![0]
  }

  addObject(run: RunRow, row: ObjectRow): boolean {
    const { seq, ordinal, id, file, at, length, crc } = row
    const added = this.#sql.run(
      `INSERT OR IGNORE INTO objects (run, ${OBJECT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      run.key,
      seq,
      ordinal,
      id,
      file,
      at,
      length,
      crc,
    )
    return added.changes > 0
  }

  object(run: RunRow, id: ObjectId): ObjectRow | undefined {
    const tuple = this.#sql.get<ObjectTuple>(
      `SELECT ${OBJECT_COLUMNS} FROM objects WHERE run = ? AND id = ?`,
      run.key,
      id,
    )
    return tuple && toObject(tuple)
  }

  moveObject(run: RunRow, id: ObjectId, { file, at, length }: Place): void {
    this.#sql.run(
      'UPDATE objects SET file = ?, at = ?, length = ? WHERE run = ? AND id = ?',
      file,
      at,
      length,
      run.key,
      id,
    )
  }

  removeObjects(run: RunRow, file: number): void {
    this.#sql.run('DELETE FROM objects WHERE run = ? AND file = ?', run.key, file)
  }

  usage(run: RunRow): SegmentUsage[] {
    const inLog = (table: string) => `SELECT file, length FROM ${table} WHERE run = ? AND file > 0`
    return this.#sql
      .all<[number, number, number]>(
        `SELECT file, count(*), sum(length) FROM (${inLog('entries')} UNION ALL ${inLog('objects')}) GROUP BY file`,
        run.key,
        run.key,
      )
      .map(([segment, records, bytes]) => ({ segment, records, bytes }))
  }

  objects(run: RunRow, seq: number, ordinal: number, limit: number): ObjectRow[] {
    return this.#sql
      .all<ObjectTuple>(
        `SELECT ${OBJECT_COLUMNS} FROM objects WHERE run = ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ?`,
        run.key,
        seq,
        ordinal,
        limit,
      )
      .map(toObject)
  }

  scan(run: RunRow, scan: Scan, descending: boolean, limit: number): EntryPlace[] {
    const where = scanCondition(this.#names, run, scan)
    if (!where) return []
    const source = `entries ${indexHint(scan.path)} WHERE ${where.sql}`
    const order = descending ? 'DESC' : 'ASC'
    return this.#entryPlaces(
      `SELECT seq, file, at, length, workspace FROM ${source} ORDER BY seq ${order} LIMIT ?`,
      ...where.values,
      limit,
    )
  }

  count(run: RunRow, scan: Scan, most: number): number {
    const where = scanCondition(this.#names, run, scan)
    if (!where) return 0
    const source = `entries ${indexHint(scan.path)} WHERE ${where.sql}`
    return this.#sql.get<[number]>(`SELECT count(*) FROM (SELECT 1 FROM ${source} LIMIT ?)`, ...where.values, most)![0]
  }

  tally(run: RunRow, scan: Scan, key: HeaderKey | undefined): Tally[] {
    const where = scanCondition(this.#names, run, scan)
    if (!where) return []
    const column = key === undefined ? '0' : KEY_COLUMNS[key]
    // Along a run, SQLite finds by itself the index that holds the groups in order.
    const hint = scan.path.by === 'run' ? '' : indexHint(scan.path)
    return this.#sql
      .all<[number, number]>(
        `SELECT ${column}, count(*) FROM entries ${hint} WHERE ${where.sql} GROUP BY 1`,
        ...where.values,
      )
      .map(([id, count]) => ({ key: this.#names.name(id), count }))
  }

  next(run: RunRow, seq: number): { seq: number; ticks: number } | undefined {
    const tuple = this.#sql.get<[number, number]>(
      'SELECT seq, ticks FROM entries WHERE run = ? AND seq >= ? ORDER BY seq LIMIT 1',
      run.key,
      seq,
    )
    return tuple && { seq: tuple[0], ticks: tuple[1] }
  }

  archive(file: number): ArchiveState | undefined {
    return this.#sql.get<[ArchiveState]>('SELECT state FROM archives WHERE file = ?', file)?.[0]
  }

  setArchive(file: number, state: ArchiveState): void {
    this.#sql.run('INSERT OR REPLACE INTO archives VALUES (?, ?)', file, state)
  }

  addDamage({ run, file, at, message, first, last }: DamageRow): void {
    this.#sql.run(
      `INSERT OR IGNORE INTO damage (${DAMAGE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`,
      run,
      file,
      at,
      message,
      first,
      last,
    )
  }

  clearDamage(file: number): void {
    this.#sql.run('DELETE FROM damage WHERE file = ?', file)
  }

  damageCount(): number {
    return this.#sql.get<[number]>('SELECT count(*) FROM damage')![0]
  }

  damage(run: RunId): DamageRow[] {
    return this.#sql
      .all<[RunId | '', number, number, string, number, number]>(
        `SELECT ${DAMAGE_COLUMNS} FROM damage WHERE run IN (?, '') ORDER BY key`,
        run,
      )
      .map(([owner, file, at, message, first, last]) => ({ run: owner, file, at, message, first, last }))
  }

  close(): void {
    this.#sql.clear()
    this.#database.close()
  }

  #entryPlaces(sql: string, ...values: SQLInputValue[]): EntryPlace[] {
    return this.#sql.all<EntryTuple>(sql, ...values).map(([seq, file, at, length, workspace]) => ({
      seq,
      file,
      at,
      length,
      workspace: this.#names.name(workspace),
    }))
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
