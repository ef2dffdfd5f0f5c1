// The alternative that was turned down: SQLite as the record itself, with the same two indexes and group commit, in WAL
// mode with a sync per transaction. It stands behind the same validation, canonical form and chains as the segment log.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { DatabaseSync as Database } from 'node:sqlite'
import type { ParleyError, Ticks } from '@parley/core'
import type { StoredRecord, TrailStore } from '@parley/trail'

type Settle = (error?: ParleyError) => void

const unused = () => {
  throw new Error('not part of this comparison')
}

export class SqliteRecord implements TrailStore {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  #waiting: { records: readonly StoredRecord[]; settle: Settle }[] = []
  #scheduled = false
  readonly position = 0
  readonly floor = 0 as Ticks
  readonly readOnly = false
  readonly damage = []
  readonly imports = new Map()

  constructor(file: string) {
    this.#database = new Database(file)
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      CREATE TABLE entries (run TEXT, seq INTEGER, workspace TEXT, event_type TEXT, hash TEXT, view TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID;
      CREATE INDEX by_workspace ON entries (run, workspace, seq);
      CREATE INDEX by_type ON entries (run, event_type, seq);
    `)
    this.#insert = this.#database.prepare('INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)')
  }

  append(records: readonly StoredRecord[], settle: Settle): undefined {
    this.#waiting.push({ records, settle })
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#commit())
  }

  #commit(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#scheduled = false
    this.#database.exec('BEGIN')
    for (const { records } of waiting) {
      for (const record of records) {
        if (record.kind !== 'entry') continue
        const { workspace, event_type } = JSON.parse(record.view) as {
          workspace: string | null
          event_type: string
        }
        this.#insert.run(record.run, record.seq, workspace, event_type, record.hash, record.view)
      }
    }
    this.#database.exec('COMMIT')
    for (const { settle } of waiting) settle()
  }

  async logHead() {
    return undefined
  }
  async *replay() {}
  async *scan() {}
  async close(): Promise<void> {
    this.#database.close()
  }

  head = unused
  knownHeads = unused
  lostArchives = unused
  runs = unused
  starts = unused
  select = unused
  aggregate = unused
  object = unused
  get tiers(): never {
    return unused()
  }
  checkBlobs = unused
  beginImport = unused
}
