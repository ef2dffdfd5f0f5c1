// The dictionary of workspaces, actors and event types: a number in every row instead of a text.
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { indexLimits } from '../limits.ts'

const NONE = 0

export class Names {
  readonly #find: StatementSync
  readonly #read: StatementSync
  readonly #add: StatementSync
  readonly #ids = new Map<string, number>()
  readonly #names = new Map<number, string>()

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('SELECT id FROM names WHERE name = ?')
    this.#read = database.prepare('SELECT name FROM names WHERE id = ?')
    this.#add = database.prepare('INSERT INTO names (name) VALUES (?)')
  }

  /** The number of a name, made if need be. */
  intern(name: string | null): number {
    return this.find(name) ?? this.#keep(name!, Number(this.#add.run(name).lastInsertRowid))
  }

  /** The number of a name that is in use. */
  find(name: string | null): number | undefined {
    if (name === null) return NONE
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const row = this.#find.get(name)
    return row === undefined ? undefined : this.#keep(name, row.id as number)
  }

  name(id: number): string | null {
    if (id === NONE) return null
    const known = this.#names.get(id)
    if (known !== undefined) return known
    const name = this.#read.get(id)!.name as string
    this.#keep(name, id)
    return name
  }

  /** What was made in a transaction that is undone must not be remembered. */
  clear(): void {
    this.#ids.clear()
    this.#names.clear()
  }

  #keep(name: string, id: number): number {
    if (this.#ids.size >= indexLimits.names) this.clear()
    this.#ids.set(name, id)
    this.#names.set(id, name)
    return id
  }
}
