// The full-text index of Knowledge Blocks: SQLite tables in a file that may be deleted at any time, since all of it
// comes from the library. Runs on a thread of its own, since among 100,000 blocks of 80 words a search for 3 words
// takes 30 ms, one for 16 words 0.3 s, for the most common ones up to 1.5 s (measured on two shared cores).
import { chmodSync, rmSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { enclosingDomains, plainDomain } from './domains.ts'
import type { FedRow, Hit, IndexPoint, Search } from './index-protocol.ts'
import { selectLimits } from './limits.ts'
import { anyOf, quoted } from './words.ts'

/** Any change of the tables, or of what is in them, gets a new one: an index of another version is made again. */
const VERSION = 1
/** "PAKB": a SQLite file that is an index of Knowledge Blocks. */
const APPLICATION_ID = 0x50414b42

const SCHEMA = `
CREATE TABLE point (key INTEGER PRIMARY KEY CHECK (key = 1), at INTEGER NOT NULL, mark TEXT NOT NULL);
CREATE TABLE blocks (
  id INTEGER PRIMARY KEY, kbHash TEXT NOT NULL UNIQUE, type TEXT NOT NULL, domain TEXT NOT NULL,
  isOpen INTEGER NOT NULL, isActive INTEGER NOT NULL
);
CREATE TABLE readers (block INTEGER NOT NULL, user TEXT NOT NULL, PRIMARY KEY (block, user)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = "porter unicode61 remove_diacritics 2");
`

/**
 * Each condition is off while its parameter is null. `inside` finds the domains below one.
 *
 * SQLite 3.53.4 (Node.js 24.21) takes `rowid = ?` beside MATCH for `rowid >= ?`. So words are always read by their
 * match (CROSS JOIN keeps the order, + the index away), and one row is a range.
 */
const SEARCH = `
SELECT b.id AS id, b.kbHash AS kbHash FROM words CROSS JOIN blocks b ON b.id = +words.rowid
WHERE words MATCH :words
  AND (b.isActive = 1 OR :withRetired = 1)
  AND (:domains IS NULL OR b.domain IN (SELECT value FROM json_each(:domains))
    OR substr(b.domain, 1, length(:inside)) = :inside)
  AND (:only IS NULL OR b.type IN (SELECT value FROM json_each(:only)))
  AND (:but IS NULL OR b.type NOT IN (SELECT value FROM json_each(:but)))
  AND (:among IS NULL OR b.kbHash IN (SELECT value FROM json_each(:among)))
  AND (b.isOpen = 1 OR EXISTS (SELECT 1 FROM readers r WHERE r.block = b.id AND r.user = :reader))
ORDER BY bm25(words), b.id LIMIT :limit
`

export class IndexFile {
  readonly #file: string
  #database: DatabaseSync
  #statements: Statements

  /** Opens the file, or makes one where none is of use. */
  constructor(file: string) {
    this.#file = file
    const found = openUsable(file)
    this.#database = found ?? create(file)
    this.#statements = statementsOf(this.#database)
  }

  point(): IndexPoint | undefined {
    const row = this.#database.prepare('SELECT at, mark FROM point').get()
    return row && { at: Number(row.at), mark: String(row.mark) }
  }

  /** All of it and the point behind it, or nothing. A block that is there already stays as it is. */
  feed(rows: readonly FedRow[], { at, mark }: IndexPoint): void {
    this.#database.exec('BEGIN')
    try {
      for (const row of rows) this.#apply(row)
      this.#statements.point.run(at, mark)
      this.#database.exec('COMMIT')
    } catch (thrown) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw thrown
    }
  }

  search({ words, reader, domain, types, among, withRetired = false, limit }: Search): Hit[] {
    if (words.length === 0) return []
    const { search, has } = this.#statements
    const list = (values: readonly string[] | undefined) => (values ? JSON.stringify(values) : null)
    const found = search.all({
      words: anyOf(words),
      withRetired: withRetired ? 1 : 0,
      domains: list(domain === undefined ? undefined : enclosingDomains(domain)),
      inside: domain === undefined ? '' : `${plainDomain(domain)}.`,
      only: list(types && 'only' in types ? types.only : undefined),
      but: list(types && 'but' in types ? types.but : undefined),
      among: list(among),
      reader,
      limit: Math.min(limit, selectLimits.hits),
    })
    return found.map(({ id, kbHash }) => {
      const there = words.filter(word => has.get(quoted(word), Number(id)) !== undefined)
      return { kbHash: String(kbHash), coverage: there.length / words.length }
    })
  }

  clear(): void {
    this.#database.close()
    this.#database = create(this.#file)
    this.#statements = statementsOf(this.#database)
  }

  close(): void {
    this.#database.close()
  }

  #apply(row: FedRow): void {
    const { block, words, reader, open, retire } = this.#statements
    switch (row.kind) {
      case 'block': {
        const { kbHash, type, domain, isOpen, curator } = row
        const { changes, lastInsertRowid } = block.run(kbHash, type, plainDomain(domain), isOpen ? 1 : 0)
        if (changes === 0) return
        words.run(lastInsertRowid, row.words)
        reader.run(curator, kbHash)
        return
      }
      case 'open':
        open.run(row.kbHash)
        return
      case 'retire':
        retire.run(row.kbHash)
        return
      case 'reader':
        reader.run(row.user, row.kbHash)
        return
      default:
        row satisfies never
    }
  }
}

type Statements = Readonly<
  Record<'block' | 'words' | 'reader' | 'open' | 'retire' | 'point' | 'search' | 'has', StatementSync>
>

function statementsOf(database: DatabaseSync): Statements {
  return {
    block: database.prepare(
      'INSERT INTO blocks (kbHash, type, domain, isOpen, isActive) VALUES (?, ?, ?, ?, 1) ON CONFLICT DO NOTHING',
    ),
    words: database.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)'),
    reader: database.prepare('INSERT OR IGNORE INTO readers SELECT id, ? FROM blocks WHERE kbHash = ?'),
    open: database.prepare('UPDATE blocks SET isOpen = 1 WHERE kbHash = ?'),
    retire: database.prepare('UPDATE blocks SET isActive = 0 WHERE kbHash = ?'),
    point: database.prepare('INSERT OR REPLACE INTO point VALUES (1, ?, ?)'),
    search: database.prepare(SEARCH),
    has: database.prepare('SELECT 1 FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?2'),
  }
}

function openUsable(file: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined
  try {
    database = connect(file)
    const is = (pragma: string) => database?.prepare(`PRAGMA ${pragma}`).get()?.[pragma]
    if (is('application_id') === APPLICATION_ID && is('user_version') === VERSION) return database
  } catch {
    // Not a database, or one whose inside is broken: nothing in it is needed.
  }
  database?.close()
  return undefined
}

function create(file: string): DatabaseSync {
  for (const part of ['', '-wal', '-shm']) rmSync(file + part, { force: true })
  const database = connect(file)
  database.exec(`BEGIN; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}; COMMIT`)
  return database
}

function connect(file: string): DatabaseSync {
  const database = new DatabaseSync(file)
  try {
    chmodSync(file, 0o600)
    const cache = -selectLimits.cacheBytes / 1024
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = ${cache};
      PRAGMA wal_autocheckpoint = ${selectLimits.walPages};`)
    return database
  } catch (thrown) {
    database.close()
    throw thrown
  }
}
