// Prepared statements of a SQLite file by their text, up to a bound; the oldest go first. Rows are tuples.
import type { DatabaseSync, SQLInputValue, StatementResultingChanges, StatementSync } from 'node:sqlite'
import { indexLimits } from '../limits.ts'

export class Statements {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, StatementSync>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  run(sql: string, ...values: SQLInputValue[]): StatementResultingChanges {
    return this.#prepare(sql).run(...values)
  }

  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as unknown as Row | undefined
  }

  all<Row>(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql).all(...values) as unknown as Row[]
  }

  /** To be called before the file is closed. */
  clear(): void {
    this.#prepared.clear()
  }

  #prepare(sql: string): StatementSync {
    const known = this.#prepared.get(sql)
    if (known) return known
    for (const oldest of this.#prepared.keys()) {
      if (this.#prepared.size < indexLimits.statements) break
      this.#prepared.delete(oldest)
    }
    const statement = this.#database.prepare(sql)
    statement.setReturnArrays(true)
    this.#prepared.set(sql, statement)
    return statement
  }
}
