// One index at work: tables that follow a log, and what they answer, on whatever thread.
import type { DatabaseSync } from 'node:sqlite'
import type { RunId } from '@parley/core'
import { recordHash } from '../log/record.ts'
import type { Position, RunHead } from '../store/store.ts'
import { Engine, type Work } from './answer/engine.ts'
import { fetchRecords } from './answer/fetch.ts'
import { Applier } from './apply.ts'
import type { LogPoint, LogReader } from './contract.ts'
import type { IndexAnswer, IndexRequest } from './protocol.ts'
import type { EntryPlace } from './rows.ts'
import { Rows } from './sqlite/sqlite-rows.ts'

export class LiveIndex {
  readonly #reader: LogReader
  readonly #renew: () => DatabaseSync
  #rows: Rows
  #applier: Applier
  #engine: Engine

  /** `renew` puts away the tables, whatever is in them, and makes empty ones. */
  constructor(index: DatabaseSync, reader: LogReader, renew: () => DatabaseSync) {
    this.#reader = reader
    this.#renew = renew
    this.#rows = new Rows(index)
    this.#applier = new Applier(this.#rows, reader)
    this.#engine = new Engine(this.#rows, reader)
  }

  get frame(): Position {
    return this.#applier.frame
  }

  step(target: LogPoint): boolean {
    return this.#applier.step(target)
  }

  *start(request: IndexRequest): Work<IndexAnswer> {
    const run = runOf(request)
    if (run !== undefined && this.#applier.hasUnread(run)) yield* this.#adopt()
    if (request.kind === 'adopt') return yield* this.#adopt()
    if (request.kind === 'rebuild') return this.rebuild()
    const method = this.#engine[request.kind] as (...args: readonly unknown[]) => IndexAnswer | Work<IndexAnswer>
    const answer = method.apply(this.#engine, request.args)
    return isWork(answer) ? yield* answer : answer
  }

  *#adopt(): Work<void> {
    this.#applier.adopt()
    while (!this.#applier.adopted) yield
  }

  /** There is something that only the open transaction holds. */
  get uncommitted(): boolean {
    return this.#rows.uncommitted
  }

  /** Where this fails, what was not committed is taken from the log again. */
  commit(): void {
    this.#rows.commit()
  }

  /** Begins anew with empty tables. Where this throws, the index can only be closed. */
  rebuild(): void {
    this.#rows.close()
    this.#rows = new Rows(this.#renew())
    this.#applier = new Applier(this.#rows, this.#reader)
    this.#engine = new Engine(this.#rows, this.#reader)
  }

  /** Which of these heads the log does not reach, or contradicts; all of it was taken in. */
  lostHeads(heads: readonly RunHead[]): readonly RunHead[] {
    return heads.filter(head => {
      const run = this.#rows.run(head.run)
      if (!run || run.head < head.seq) return true
      if (run.head === head.seq) return run.hash !== head.hash
      const entry = this.#rows.entry(run, head.seq)
      return entry !== undefined && !hasHash(this.#reader, head, entry)
    })
  }

  close(): void {
    this.#rows.close()
  }
}

function isWork(answer: IndexAnswer | Work<IndexAnswer>): answer is Work<IndexAnswer> {
  return typeof answer === 'object' && 'next' in answer
}

function runOf({ kind, args }: IndexRequest): RunId | undefined {
  switch (kind) {
    case 'select':
      return args[0].run
    case 'aggregate':
      return args[0].filter.run
    case 'runs':
    case 'starts':
    case 'take':
    case 'adopt':
    case 'rebuild':
      return undefined
    default:
      return args[0]
  }
}

/** An entry whose archive cannot be read contradicts nobody; a damaged one bears nobody out. */
function hasHash(reader: LogReader, { run, hash }: RunHead, entry: EntryPlace): boolean {
  try {
    const { bytes, spans } = fetchRecords(reader, run, [entry])
    return spans[0] === undefined || recordHash(bytes, spans[0]) === hash
  } catch {
    return false
  }
}
