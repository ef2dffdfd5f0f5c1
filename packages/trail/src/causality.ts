// What happened before what (W-CLOCK-06): in one workspace the order of the trail, between workspaces only four kinds of link and
// their transitive closure. Everything else is concurrent, whatever the timestamps say.
import type { Entry } from './entry.ts'

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

/** The order among the entries given; what lies outside them is not seen. */
export class CausalOrder {
  readonly #next = new Map<number, number[]>()

  constructor(entries: readonly Entry[]) {
    const lastOf = new Map<string, number>()
    const causes = new Map<string, number>()
    for (const { seq, workspace, event_type, body } of entries.toSorted((a, b) => a.seq - b.seq)) {
      const fields = body as Readonly<Record<string, unknown>>
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
