// Trail entries as scenarios write them, and how they are compared with what is on the trail.
import { isDeepStrictEqual } from 'node:util'
import type { Entry } from './host.ts'
import type { Names } from './names.ts'

/**
 * What a field of a body must be: a value, with names for ids; a function that accepts it; `undefined` for a field that
 * must be absent; or a variable such as `'?s'`, which takes any id the first time, gives it the name `s`, and must be
 * the same id from then on.
 */
export type Expected = unknown

/**
 * One entry: type, workspace (by name, null for none), actor (`*` for any), and those fields of the body that matter.
 */
export type Row = readonly [
  type: string,
  workspace: string | null,
  actor: string,
  body?: Readonly<Record<string, Expected>>,
]

/** Any value that is there. */
export const ANY = (value: unknown): boolean => value !== undefined

const REPEATED = ['timestamp', 'delivered_at'] as const

/**
 * Why an entry is not what a row says; undefined where it is. Variables are bound only by an entry that fits
 * altogether.
 */
export function mismatch(entry: Entry, row: Row, names: Names): string | undefined {
  const [type, workspace, actor, body = {}] = row
  if (entry.event_type !== type) return `is ${entry.event_type}`
  const filed = entry.workspace === null ? null : names.of(entry.workspace)
  if (filed !== workspace) return `is filed under ${filed}`
  if (actor !== '*' && entry.actor !== actor) return `has the actor ${entry.actor}`
  for (const field of REPEATED)
    if (field in entry.body && entry.body[field] !== entry.timestamp)
      return `has ${field} ${JSON.stringify(entry.body[field])} and not the header's`
  const bound: [id: string, name: string][] = []
  for (const [field, wanted] of Object.entries(body)) {
    const wrong = difference(entry.body[field], wanted, names, bound)
    if (wrong !== undefined) return `has ${field} ${wrong}`
  }
  for (const [id, name] of bound) names.set(id, name)
  return undefined
}

function difference(
  actual: unknown,
  wanted: unknown,
  names: Names,
  bound: [id: string, name: string][],
): string | undefined {
  const shown = () => JSON.stringify(names.named(actual)) ?? 'absent'
  if (typeof wanted === 'function') return wanted(names.named(actual)) ? undefined : shown()
  if (typeof wanted === 'string' && /^\?\w+$/.test(wanted)) {
    const name = wanted.slice(1)
    if (typeof actual !== 'string') return shown()
    const known = bound.find(([, each]) => each === name)?.[0] ?? (names.has(name) ? names.id(name) : undefined)
    if (known === undefined) bound.push([actual, name])
    return known === undefined || known === actual ? undefined : `${shown()}, another id than ${wanted}`
  }
  return isDeepStrictEqual(names.named(actual), wanted) ? undefined : shown()
}

/** An entry on one line, with names for ids. */
export function shownEntry(entry: Entry, names: Names): string {
  const { timestamp: _timestamp, delivered_at: _delivered, ...body } = entry.body
  const filed = entry.workspace === null ? 'null' : names.of(entry.workspace)
  return `${entry.event_type} under ${filed} by ${entry.actor} ${JSON.stringify(names.named(body))}`
}

function shownRow([type, workspace, actor, body = {}]: Row): string {
  const fields = Object.entries(body).map(([key, value]) => [key, typeof value === 'function' ? '(checked)' : value])
  return `${type} under ${workspace} by ${actor} ${JSON.stringify(Object.fromEntries(fields))}`
}

/** Says how a list of entries differs from the rows that it must equal; undefined where it does not. */
export function listMismatch(entries: readonly Entry[], rows: readonly Row[], names: Names): string | undefined {
  const lines: string[] = []
  let wrong = false
  for (let at = 0; at < Math.max(entries.length, rows.length); at++) {
    const [entry, row] = [entries[at], rows[at]]
    if (entry && row) {
      const why = mismatch(entry, row, names)
      wrong ||= why !== undefined
      lines.push(
        why === undefined
          ? `  ${shownEntry(entry, names)}`
          : `! expected ${shownRow(row)}\n    it ${why}: ${shownEntry(entry, names)}`,
      )
    } else {
      wrong = true
      lines.push(entry ? `+ unexpected ${shownEntry(entry, names)}` : `- missing ${shownRow(row!)}`)
    }
  }
  return wrong ? `The trail is not as expected:\n${lines.join('\n')}` : undefined
}

/** The same for rows that must be there in this order, whatever stands between them. */
export function amongMismatch(entries: readonly Entry[], rows: readonly Row[], names: Names): string | undefined {
  let from = 0
  for (const row of rows) {
    const at = entries.findIndex((entry, index) => index >= from && mismatch(entry, row, names) === undefined)
    if (at < 0) {
      const seen = entries.map((entry, index) => `${index === from ? '>' : ' '} ${shownEntry(entry, names)}`)
      return `Not on the trail from > on: ${shownRow(row)}\n${seen.join('\n')}`
    }
    from = at + 1
  }
  return undefined
}
