// The trail as tests write it: entries as rows, with names in place of ids.
import type { Entry } from '@parley/trail'
import { expect } from 'vitest'

/**
 * One entry as a test writes it: type, workspace (by name, null for none), actor, and those fields of the body that
 * matter or all.
 */
export type Row = readonly [
  type: string,
  workspace: string | null,
  actor: string,
  body?: Readonly<Record<string, unknown>>,
]

/** Names for ids: those that a test gives, and a kind with a number for all others. */
export class Names {
  readonly #names = new Map<string, string>()
  readonly #counted = new Map<string, number>()

  /** Gives an id a name: R, W, E1 … */
  name(id: string, name: string): void {
    this.#names.set(id, name)
  }

  /** An entry with names for ids; a repeated timestamp must equal the header's and is left out. */
  row(entry: Entry): Row {
    const body = this.#named(entry.body) as Record<string, unknown>
    for (const field of ['timestamp', 'delivered_at']) {
      if (!(field in body)) continue
      expect(body[field], `${entry.event_type}.${field}`).toBe(entry.timestamp)
      delete body[field]
    }
    return [entry.event_type, entry.workspace === null ? null : this.nameOf(entry.workspace), entry.actor, body]
  }

  /** The name of an id; one without a name gets its kind and a number. */
  nameOf(id: string): string {
    const known = this.#names.get(id)
    if (known !== undefined) return known
    // The agent that a workspace has by default.
    if (id.startsWith('agent:')) return `agent:${this.nameOf(id.slice(6))}`
    const kind = /^(ws|env|sig|cp|task|graph|right|art|obj|gate|conflict|e|run)_[0-9a-z]{26}$/.exec(id)?.[1]
    if (kind === undefined) return id
    const count = (this.#counted.get(kind) ?? 0) + 1
    this.#counted.set(kind, count)
    this.#names.set(id, `${kind}${count}`)
    return `${kind}${count}`
  }

  #named(value: unknown): unknown {
    if (typeof value === 'string') return this.nameOf(value)
    if (Array.isArray(value)) return value.map(item => this.#named(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#named(item)]))
  }
}

/** What the runtime says of its own outages and recoveries. */
export function aboutOutage({ event_type, body }: Entry): boolean {
  if (event_type === 'recovery_completed') return true
  return event_type === 'system_degraded' && (body as { readonly scope: string }).scope === 'trail_storage'
}

export function contains(body: unknown, wanted: Readonly<Record<string, unknown>> | undefined): boolean {
  return Object.entries(wanted ?? {}).every(
    ([key, value]) => JSON.stringify((body as Record<string, unknown>)[key]) === JSON.stringify(value),
  )
}
