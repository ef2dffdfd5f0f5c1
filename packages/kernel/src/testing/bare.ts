// A run for property tests that is decided and folded without a runtime, like one that never stops.
import { type RunId, SeededIds, type Ticks, unwrap } from '@parley/core'
import type { EntryDraft, TrailObject } from '@parley/trail'
import type { Context } from '../batch.ts'
import type { Command } from '../command.ts'
import { type Decision, decide } from '../decide.ts'
import { evolve } from '../evolve.ts'
import { newRun, type Run } from '../run/run.ts'
import { prologue, randomTaxonomy } from './random-commands.ts'

export type BareRecord = EntryDraft | TrailObject

export class Bare {
  readonly run: Run = newRun('run_1' as RunId)
  readonly records: BareRecord[] = []
  #count = 0

  context(carriesSignals = false): Context {
    const now = (1_772_355_900_000_000 + this.#count * 1000) as Ticks
    return { now, ids: new SeededIds(this.#count), carriesSignals }
  }

  take({ objects, entries }: Decision): void {
    this.#count++
    for (const record of [...objects, ...entries]) {
      this.records.push(record)
      evolve(this.run, record)
    }
  }

  ask(command: Command, carriesSignals = false): Decision {
    const decision = decide(this.run, command, this.context(carriesSignals))
    this.take(decision)
    return decision
  }
}

/** Where teams usually are, with a type of mail between workers. */
export function begunBare(): Bare {
  const bare = new Bare()
  unwrap(bare.ask({ type: 'start', draft: { owner: 'ux', taxonomy: randomTaxonomy, highway: 'off' } }).result)
  for (const command of prologue(bare.run)) unwrap(bare.ask(command).result)
  return bare
}
