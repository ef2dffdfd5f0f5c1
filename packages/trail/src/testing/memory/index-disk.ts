// The tables of an index in memory, and what can go wrong with them: they run out of space, or a commit fails. They
// outlive whoever uses them, as a file does.
import { DatabaseSync } from 'node:sqlite'
import { layOutTables } from '../../index/sqlite/sqlite-open.ts'

/** `undone`: SQLite has rolled back by itself; `refused`: the transaction is still open. Both happen. */
export type CommitFault = 'undone' | 'refused'

const MOST_PAGES = 4_294_967_294

export class IndexDisk {
  #database: DatabaseSync | undefined
  #faults: CommitFault[] = []
  #full = false
  #user: object | undefined

  /** From now on one user has it, and whoever had it before is a process that died. */
  take(user: object): void {
    this.#user = user
  }

  isUsedBy(user: object): boolean {
    return this.#user === user
  }

  /** The tables as they were committed last; undefined where there were never any. */
  found(): DatabaseSync | undefined {
    if (!this.#database?.isOpen) return undefined
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    return this.#database
  }

  /** Empty tables in place of what was there. */
  renew(trail: string): DatabaseSync {
    if (this.#database?.isOpen) this.#database.close()
    this.#database = undefined
    this.#database = layOutTables(this.#faulty(), trail)
    this.#limit()
    return this.#database
  }

  /** The next commits fail. */
  fail(...faults: readonly CommitFault[]): void {
    this.#faults.push(...faults)
  }

  /** The tables can grow no more: SQLite's own "database or disk is full". */
  fill(): void {
    this.#full = true
    this.#limit()
  }

  mend(): void {
    this.#faults = []
    this.#full = false
    this.#limit()
  }

  #limit(): void {
    if (!this.#database?.isOpen) return
    const pages = this.#full ? Number(this.#database.prepare('PRAGMA page_count').get()!.page_count) : MOST_PAGES
    this.#database.exec(`PRAGMA max_page_count = ${pages}`)
  }

  #faulty(): DatabaseSync {
    const database = new DatabaseSync(':memory:')
    const prepare = database.prepare.bind(database)
    database.prepare = sql => {
      const statement = prepare(sql)
      if (sql !== 'COMMIT') return statement
      const run = statement.run.bind(statement)
      statement.run = () => {
        const fault = this.#faults.shift()
        if (fault === undefined) return run()
        if (fault === 'undone') database.exec('ROLLBACK')
        throw Object.assign(new Error('database or disk is full (injected)'), { errcode: 13 })
      }
      return statement
    }
    return database
  }
}
