// Rows in a SQLite file. Runs on the worker's thread only: every call here blocks.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { ObjectId, RunId } from '@parley/core'
import type { SegmentUsage } from './contract.ts'
import { indexLimits } from './limits.ts'
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
  type ScanPath,
  type Tally,
} from './rows.ts'
import { Names } from './sqlite-names.ts'
import type { IndexFile } from './sqlite-open.ts'

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
  readonly #statements = new Map<string, StatementSync>()
  readonly #addEntry: StatementSync
  readonly #findRun: StatementSync
  readonly #allRuns: StatementSync
  #applied: Applied
  #committed: Applied
  /** Slices since the last commit. */
  #kept = 0

  constructor({ database, applied }: IndexFile) {
    this.#database = database
    this.#names = new Names(database)
    this.#addEntry = database.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
    this.#findRun = database.prepare(`SELECT key, ${RUN_COLUMNS} FROM runs WHERE run = ?`)
    this.#allRuns = database.prepare(`SELECT key, ${RUN_COLUMNS} FROM runs ORDER BY key`)
    this.#applied = applied
    this.#committed = applied
  }

  begin(): void {
    if (!this.#database.isTransaction) this.#run('BEGIN IMMEDIATE')
  }

  commit(): void {
    if (this.#database.isTransaction) this.#run('COMMIT')
    this.#committed = this.#applied
    this.#kept = 0
  }

  // Where many runs interleave, each slice touches most pages of the indexes: writing them out once for many slices is what keeps
  // the index from falling behind.
  keep(): void {
    if (++this.#kept >= indexLimits.keptSlices) this.commit()
  }

  /** There are changes that were kept and not committed. */
  get uncommitted(): boolean {
    return this.#kept > 0
  }

  rollback(): void {
    this.#names.clear()
    this.#applied = this.#committed
    this.#kept = 0
    if (this.#database.isTransaction) this.#run('ROLLBACK')
  }

  get applied(): Applied {
    return this.#applied
  }

  setApplied(applied: Applied): void {
    this.#run(
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
    const added = this.#run(`INSERT INTO runs (${RUN_COLUMNS}) VALUES (${RUN_MARKS})`, ...runValues(row))
    return { ...row, key: Number(added.lastInsertRowid) }
  }

  saveRun(row: RunRow): void {
    this.#run(`UPDATE runs SET (${RUN_COLUMNS}) = (${RUN_MARKS}) WHERE key = ?`, ...runValues(row), row.key)
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
    this.#run(
      'UPDATE entries SET file = ?, at = ?, length = ? WHERE run = ? AND seq = ?',
      file,
      at,
      length,
      run.key,
      seq,
    )
  }

  removeEntry(run: RunRow, seq: number): void {
    this.#run('DELETE FROM entries WHERE run = ? AND seq = ?', run.key, seq)
  }

  addForgotten(run: RunRow, seq: number): boolean {
    return this.#run('INSERT OR IGNORE INTO forgotten VALUES (?, ?)', run.key, seq).changes > 0
  }

  forgotten(run: RunRow, first: number, last: number): number {
    const sql = 'SELECT count(*) FROM forgotten WHERE run = ? AND seq BETWEEN ? AND ?'
    return this.#get<[number]>(sql, run.key, first, last)![0]
  }

  addObject(run: RunRow, row: ObjectRow): boolean {
    const { seq, ordinal, id, file, at, length, crc } = row
    const added = this.#run(
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
    const tuple = this.#get<ObjectTuple>(
      `SELECT ${OBJECT_COLUMNS} FROM objects WHERE run = ? AND id = ?`,
      run.key,
      id,
    )
    return tuple && toObject(tuple)
  }

  moveObject(run: RunRow, id: ObjectId, { file, at, length }: Place): void {
    this.#run(
      'UPDATE objects SET file = ?, at = ?, length = ? WHERE run = ? AND id = ?',
      file,
      at,
      length,
      run.key,
      id,
    )
  }

  removeObjects(run: RunRow, file: number): void {
    this.#run('DELETE FROM objects WHERE run = ? AND file = ?', run.key, file)
  }

  usage(run: RunRow): SegmentUsage[] {
    const inLog = (table: string) => `SELECT file, length FROM ${table} WHERE run = ? AND file > 0`
    return this.#all<[number, number, number]>(
      `SELECT file, count(*), sum(length) FROM (${inLog('entries')} UNION ALL ${inLog('objects')}) GROUP BY file`,
      run.key,
      run.key,
    ).map(([segment, records, bytes]) => ({ segment, records, bytes }))
  }

  objects(run: RunRow, seq: number, ordinal: number, limit: number): ObjectRow[] {
    return this.#all<ObjectTuple>(
      `SELECT ${OBJECT_COLUMNS} FROM objects WHERE run = ? AND (seq, ordinal) > (?, ?) ORDER BY seq, ordinal LIMIT ?`,
      run.key,
      seq,
      ordinal,
      limit,
    ).map(toObject)
  }

  scan(run: RunRow, scan: Scan, descending: boolean, limit: number): EntryPlace[] {
    const where = this.#where(run, scan)
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
    const where = this.#where(run, scan)
    if (!where) return 0
    const source = `entries ${indexHint(scan.path)} WHERE ${where.sql}`
    return this.#get<[number]>(
      `SELECT count(*) FROM (SELECT 1 FROM ${source} LIMIT ?)`,
      ...where.values,
      most,
    )![0]
  }

  tally(run: RunRow, scan: Scan, key: HeaderKey | undefined): Tally[] {
    const where = this.#where(run, scan)
    if (!where) return []
    const column = key === undefined ? '0' : KEY_COLUMNS[key]
    // Along a run, SQLite finds by itself the index that holds the groups in order.
    const hint = scan.path.by === 'run' ? '' : indexHint(scan.path)
    return this.#all<[number, number]>(
      `SELECT ${column}, count(*) FROM entries ${hint} WHERE ${where.sql} GROUP BY 1`,
      ...where.values,
    ).map(([id, count]) => ({ key: this.#names.name(id), count }))
  }

  next(run: RunRow, seq: number): { seq: number; ticks: number } | undefined {
    const tuple = this.#get<[number, number]>(
      'SELECT seq, ticks FROM entries WHERE run = ? AND seq >= ? ORDER BY seq LIMIT 1',
      run.key,
      seq,
    )
    return tuple && { seq: tuple[0], ticks: tuple[1] }
  }

  archive(file: number): ArchiveState | undefined {
    return this.#get<[ArchiveState]>('SELECT state FROM archives WHERE file = ?', file)?.[0]
  }

  setArchive(file: number, state: ArchiveState): void {
    this.#run('INSERT OR REPLACE INTO archives VALUES (?, ?)', file, state)
  }

  addDamage({ run, file, at, message, first, last }: DamageRow): void {
    this.#run(
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
    this.#run('DELETE FROM damage WHERE file = ?', file)
  }

  damageCount(): number {
    return this.#get<[number]>('SELECT count(*) FROM damage')![0]
  }

  damage(run: RunId): DamageRow[] {
    return this.#all<[RunId | '', number, number, string, number, number]>(
      `SELECT ${DAMAGE_COLUMNS} FROM damage WHERE run IN (?, '') ORDER BY key`,
      run,
    ).map(([owner, file, at, message, first, last]) => ({ run: owner, file, at, message, first, last }))
  }

  close(): void {
    this.#statements.clear()
    this.#database.close()
  }

  /** The condition of a scan; undefined when it names something that no entry has, so that nothing can match. */
  #where(run: RunRow, scan: Scan): { sql: string; values: SQLInputValue[] } | undefined {
    const sql = ['run = ?', 'seq > ?', 'seq < ?']
    const values: SQLInputValue[] = [run.key, scan.after, scan.before]
    const { path } = scan
    if (path.by !== 'run') {
      const id = this.#names.find(path.by === 'workspace' ? path.workspace : path.type)
      if (id === undefined) return undefined
      sql.push(`${path.by} = ?`)
      values.push(id)
    }
    if (scan.from !== undefined) {
      sql.push('ticks >= ?')
      values.push(scan.from)
    }
    if (scan.to !== undefined) {
      sql.push('ticks <= ?')
      values.push(scan.to)
    }
    for (const [column, names] of [
      ['workspace', scan.workspaces],
      ['actor', scan.actors],
      ['type', scan.types],
    ] as const) {
      if (!names) continue
      const ids = names.map(name => this.#names.find(name)).filter(id => id !== undefined)
      if (ids.length === 0) return undefined
      // One value that holds the list, so that lists of every length share a statement.
      sql.push(`${column} IN (SELECT value FROM json_each(?))`)
      values.push(JSON.stringify(ids))
    }
    return { sql: sql.join(' AND '), values }
  }

  #entryPlaces(sql: string, ...values: SQLInputValue[]): EntryPlace[] {
    return this.#all<EntryTuple>(sql, ...values).map(([seq, file, at, length, workspace]) => ({
      seq,
      file,
      at,
      length,
      workspace: this.#names.name(workspace),
    }))
  }

  #run(
    sql: string,
    ...values: SQLInputValue[]
  ): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return this.#prepare(sql).run(...values)
  }

  #get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as unknown as Row | undefined
  }

  #all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as unknown as Row[]
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    for (const oldest of this.#statements.keys()) {
      if (this.#statements.size < indexLimits.statements) break
      this.#statements.delete(oldest)
    }
    const statement = this.#database.prepare(sql)
    statement.setReturnArrays(true)
    this.#statements.set(sql, statement)
    return statement
  }
}

function indexHint(path: ScanPath): string {
  return path.by === 'run' ? 'NOT INDEXED' : `INDEXED BY entries_${path.by}`
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
