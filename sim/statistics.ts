// What happened in a seed, counted: commands by kind and outcome, entries by type, crashes, restarts.
import type { Result } from '@parley/core'
import type { EntryDraft } from '@parley/trail'

export class Statistics {
  steps = 0
  entries = 0
  crashes = 0
  restarts = 0
  readonly actions: Record<string, number> = {}
  /** Faults of storage that were injected; each is one history. */
  readonly faults: Record<string, number> = {}
  readonly types: Record<string, number> = {}
  /** Kind of command to outcome to count. */
  readonly commands: Record<string, Record<string, number>> = {}

  count(entries: readonly EntryDraft[]): void {
    this.entries += entries.length
    for (const { event_type: type } of entries) this.types[type] = (this.types[type] ?? 0) + 1
  }

  answer(command: string, result: Result<unknown>): void {
    const outcome = result.ok ? 'ok' : outcomeOf(result.error.code, result.error.details.reason)
    merge(this.#outcomes(command), { [outcome]: 1 })
  }

  fault(kind: string): void {
    merge(this.faults, { [kind]: 1 })
  }

  add(other: Statistics): void {
    this.steps += other.steps
    this.entries += other.entries
    this.crashes += other.crashes
    this.restarts += other.restarts
    merge(this.actions, other.actions)
    merge(this.faults, other.faults)
    merge(this.types, other.types)
    for (const [command, outcomes] of Object.entries(other.commands)) merge(this.#outcomes(command), outcomes)
  }

  #outcomes(command: string): Record<string, number> {
    this.commands[command] ??= {}
    return this.commands[command]
  }
}

function outcomeOf(code: string, reason: unknown): string {
  return typeof reason === 'string' && reason !== code ? `${code}(${reason})` : code
}

function merge(into: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [key, count] of Object.entries(from)) into[key] = (into[key] ?? 0) + count
}
