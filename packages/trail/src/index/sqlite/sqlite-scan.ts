// A scan as SQL: which entries of a run it goes over, and along which index of the table.
import type { SQLInputValue } from 'node:sqlite'
import type { RunRow, Scan, ScanPath } from '../rows.ts'
import type { Names } from './sqlite-names.ts'

/** The condition of a scan; undefined when it names something that no entry has, so that nothing can match. */
export function scanCondition(
  names: Names,
  run: RunRow,
  scan: Scan,
): { readonly sql: string; readonly values: SQLInputValue[] } | undefined {
  const sql = ['run = ?', 'seq > ?', 'seq < ?']
  const values: SQLInputValue[] = [run.key, scan.after, scan.before]
  const { path } = scan
  if (path.by !== 'run') {
    const id = names.find(path.by === 'workspace' ? path.workspace : path.type)
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
  for (const [column, wanted] of [
    ['workspace', scan.workspaces],
    ['actor', scan.actors],
    ['type', scan.types],
  ] as const) {
    if (!wanted) continue
    const ids = wanted.map(name => names.find(name)).filter(id => id !== undefined)
    if (ids.length === 0) return undefined
    // One value that holds the list, so that lists of every length share a statement.
    sql.push(`${column} IN (SELECT value FROM json_each(?))`)
    values.push(JSON.stringify(ids))
  }
  return { sql: sql.join(' AND '), values }
}

export function indexHint(path: ScanPath): string {
  return path.by === 'run' ? 'NOT INDEXED' : `INDEXED BY entries_${path.by}`
}
