// Opening the index file: is it ours, of this trail and version, and does it agree with the log? If not, it is
// replaced; the chain heads it knew are kept where they may prove that the log lost its end.
import { chmodSync, existsSync, renameSync, unlinkSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { FRAME_HEADER, frameLength } from '../../log/frame.ts'
import type { RunHead } from '../../store/store.ts'
import type { IndexOpening, LogPoint, LogReader } from '../contract.ts'
import { indexLimits } from '../limits.ts'
import { type Applied, frameMark } from '../rows.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './sqlite-schema.ts'

export interface OpenedIndex {
  readonly database: DatabaseSync
  readonly opening: Omit<IndexOpening, 'lostHeads'>
  /** Heads of an index that the log did not bear out: to be compared once the new one has caught up. */
  readonly oldHeads: readonly RunHead[]
}

interface Objection {
  readonly reason: string
  /** `evidence`: the log may have lost what it knew; `foreign`: it may be somebody else's file; `ours`: it can go. */
  readonly file: 'evidence' | 'foreign' | 'ours'
}

export function openIndexFile(file: string, trail: string, end: LogPoint, reader: LogReader): OpenedIndex {
  const evidence = aheadFile(file)
  const oldHeads = existsSync(evidence) ? headsIn(evidence) : []
  const found = inspect(file, trail, end, reader)
  if (found instanceof DatabaseSync) return { database: found, opening: { state: 'current' }, oldHeads }
  if (found.file === 'evidence') {
    oldHeads.push(...headsIn(file))
    // It stays on disk until the caller was told what it proves and closed the index in order.
    if (!existsSync(evidence)) putAside(file, evidence)
  }
  if (found.file === 'foreign') putAside(file, `${file}.old`)
  remove(file)
  return {
    database: createIndexFile(file, trail),
    opening: { state: 'rebuilt', reason: found.reason },
    oldHeads,
  }
}

export function recreateIndexFile(file: string, trail: string): DatabaseSync {
  remove(file)
  return createIndexFile(file, trail)
}

/** The evidence was delivered. */
export function dropOldHeads(file: string): void {
  remove(aheadFile(file))
}

function aheadFile(file: string): string {
  return `${file}.ahead`
}

function inspect(file: string, trail: string, end: LogPoint, reader: LogReader): DatabaseSync | Objection {
  if (!existsSync(file)) return objection('there was none', 'ours')
  let database: DatabaseSync | undefined
  try {
    database = connect(file)
    const wrong = checkTables(database, trail, end, reader)
    if (!wrong) return database
    database.close()
    return wrong
  } catch (cause) {
    database?.close()
    if (!isUnusable(cause)) throw cause
    return objection('it was damaged', 'foreign')
  }
}

export function checkTables(
  database: DatabaseSync,
  trail: string,
  end: LogPoint,
  reader: LogReader,
): Objection | undefined {
  if (database.prepare('PRAGMA application_id').get()?.application_id !== APPLICATION_ID)
    return objection('it was damaged', 'foreign')
  if (database.prepare('PRAGMA user_version').get()?.user_version !== SCHEMA_VERSION)
    return objection('it was of another version', 'ours')
  const meta = database.prepare('SELECT version, trail FROM meta').get()
  if (meta?.version !== SCHEMA_VERSION) return objection('it was of another version', 'ours')
  if (meta.trail !== trail) return objection('it was of another trail', 'ours')
  return compare(readApplied(database), end, reader)
}

/** Whether the log still holds what the index has seen of it: its last frame, where it was. */
function compare(applied: Applied, end: LogPoint, reader: LogReader): Objection | undefined {
  const { segment, lastSegment, lastAt, lastMark } = applied
  const sealed = segment < end.segment ? reader.sealedEnd(segment) : end.end
  if (segment > end.segment || applied.frame > end.frame || applied.end > (sealed ?? applied.end)) {
    return objection('it was ahead of the log', 'evidence')
  }
  // There may be no last frame yet, and a segment that is not there any more, first or not, was emptied into archives.
  if (lastSegment === 0 || lastSegment < reader.firstSegment()) return undefined
  const header = reader.read(lastSegment, lastAt, FRAME_HEADER)
  if (header.length === 0 && reader.sealedEnd(lastSegment) === undefined) return undefined
  const isSame = frameLength(header, 0, header.length) !== undefined && frameMark(header) === lastMark
  return isSame ? undefined : objection('it did not agree with the log', 'evidence')
}

function objection(what: string, file: Objection['file']): Objection {
  return { reason: `The index was made anew because ${what}.`, file }
}

function createIndexFile(file: string, trail: string): DatabaseSync {
  const database = connect(file)
  try {
    return layOutTables(database, trail)
  } catch (cause) {
    database.close()
    throw cause
  }
}

export function layOutTables(database: DatabaseSync, trail: string): DatabaseSync {
  database.exec(`BEGIN; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION};`)
  database.prepare('INSERT INTO meta VALUES (1, ?, ?, 0, 0, 0, 0, 0, 0)').run(SCHEMA_VERSION, trail)
  database.exec('COMMIT')
  return database
}

function connect(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    // Before its write-ahead log exists, which takes over the mode.
    chmodSync(file, 0o600)
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      PRAGMA temp_store = MEMORY;
      PRAGMA cache_size = ${-indexLimits.cacheBytes / 1024};
      PRAGMA wal_autocheckpoint = ${indexLimits.walPages};
    `)
    return database
  } catch (cause) {
    database.close()
    throw cause
  }
}

export function readApplied(database: DatabaseSync): Applied {
  const row = database.prepare('SELECT segment, "end", frame, lastSegment, lastAt, lastMark FROM meta').get()
  return { ...(row as unknown as Applied) }
}

function headsIn(file: string): RunHead[] {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    return readHeads(database)
  } catch (cause) {
    if (!isUnusable(cause)) throw cause
    return []
  } finally {
    database?.close()
  }
}

export function readHeads(database: DatabaseSync): RunHead[] {
  const rows = database.prepare('SELECT run, head AS seq, hash FROM runs WHERE head >= 0').all()
  return rows.map(row => ({ ...row }) as unknown as RunHead)
}

/** SQLite's words for a file that is no database, and for one with a broken inside. */
export function isDamage(cause: unknown): boolean {
  return isSqliteError(cause, SQLITE_CORRUPT, SQLITE_NOTADB)
}

/** The file cannot be read or written as it should be, for other reasons than a lack of space. */
export function isUnsteady(cause: unknown): boolean {
  return isSqliteError(cause, SQLITE_READONLY, SQLITE_IOERR, SQLITE_CANTOPEN)
}

function isUnusable(cause: unknown): boolean {
  return isSqliteError(cause, SQLITE_ERROR, SQLITE_CORRUPT, SQLITE_NOTADB)
}

function isSqliteError(cause: unknown, ...codes: number[]): boolean {
  return cause instanceof Error && 'errcode' in cause && codes.includes(Number(cause.errcode) & 0xff)
}

const SQLITE_ERROR = 1
const SQLITE_READONLY = 8
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_CANTOPEN = 14
const SQLITE_NOTADB = 26

function putAside(file: string, target: string): void {
  remove(target)
  for (const part of PARTS) if (existsSync(file + part)) renameSync(file + part, target + part)
}

function remove(file: string): void {
  for (const part of PARTS) if (existsSync(file + part)) unlinkSync(file + part)
}

/** A SQLite file and what stands beside it while it is in use. */
const PARTS = ['', '-wal', '-shm']
