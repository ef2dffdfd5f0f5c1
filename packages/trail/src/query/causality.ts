// What happened before what (W-CLOCK-06): in one workspace the order of the trail, between workspaces four kinds of
// link and their transitive closure. All else is concurrent, whatever the timestamps say.
import type { Entry } from '../entry.ts'
import type { EventType } from '../events/index.ts'

export type Relation = 'before' | 'after' | 'concurrent' | 'same'

/** Causes and effects are matched by these body fields. */
const CAUSES: Readonly<Record<string, string>> = {
  envelope_created: 'envelope_id',
  signal_emitted: 'signal_id',
  checkpoint_created: 'checkpoint_id',
  gate_triggered: 'gate_id',
}
const EFFECTS: Readonly<Record<string, readonly [link: string, field: string]>> = {
  envelope_delivered: ['envelope_id', 'envelope_id'],
  signal_delivered: ['signal_id', 'signal_id'],
  integration_started: ['checkpoint_id', 'checkpoint_ref'],
  gate_resolved: ['gate_id', 'gate_id'],
}

/** The events that are an end of such a link: with them, and those of interest, the order among the latter is whole. */
export const LINKED_EVENTS: readonly EventType[] = [...Object.keys(CAUSES), ...Object.keys(EFFECTS)] as EventType[]

/** The order among the entries given; what lies outside them is not seen. */
export class CausalOrder {
  readonly #next = new Map<number, number[]>()
  /** All of them, ascending. */
  readonly #seqs: number[] = []

  constructor(entries: readonly Entry[]) {
    const lastOf = new Map<string, number>()
    const causes = new Map<string, number>()
    for (const { seq, workspace, event_type, body } of entries.toSorted((a, b) => a.seq - b.seq)) {
      const fields = body as Readonly<Record<string, unknown>>
      this.#seqs.push(seq)
      if (workspace !== null) {
        const last = lastOf.get(workspace)
        if (last !== undefined) this.#link(last, seq)
        lastOf.set(workspace, seq)
      }
      const cause = CAUSES[event_type]
      if (cause !== undefined) causes.set(`${cause} ${fields[cause]}`, seq)
      const effect = EFFECTS[event_type]
      const causedBy = effect && causes.get(`${effect[0]} ${fields[effect[1]]}`)
      if (causedBy !== undefined) this.#link(causedBy, seq)
    }
  }

  relation(a: number, b: number): Relation {
    if (a === b) return 'same'
    if (this.#reaches(a, b)) return 'before'
    return this.#reaches(b, a) ? 'after' : 'concurrent'
  }

  /** For each, those right before it, and perhaps earlier ones. Two without a path between them are concurrent. */
  before(seqs: readonly number[]): ReadonlyMap<number, readonly number[]> {
    const wanted = new Set(seqs)
    const found = new Map<number, readonly number[]>()
    const reached = new Map<number, Set<number>>()
    for (const seq of this.#seqs) {
      const arrived = reached.get(seq) ?? new Set<number>()
      reached.delete(seq)
      if (wanted.has(seq)) found.set(seq, [...arrived])
      const carried = wanted.has(seq) ? new Set([seq]) : arrived
      if (carried.size === 0) continue
      for (const next of this.#next.get(seq) ?? [])
        reached.set(next, new Set([...(reached.get(next) ?? []), ...carried]))
    }
    return found
  }

  #link(from: number, to: number): void {
    const known = this.#next.get(from)
    if (known) known.push(to)
    else this.#next.set(from, [to])
  }

  #reaches(from: number, to: number): boolean {
    // Links only lead to greater `seq`, so nothing behind the target need be visited.
    if (from > to) return false
    const seen = new Set([from])
    for (const each of seen) {
      if (each === to) return true
      for (const next of this.#next.get(each) ?? []) if (next <= to) seen.add(next)
    }
    return false
  }
}
