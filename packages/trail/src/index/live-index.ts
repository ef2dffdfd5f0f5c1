// One index at work: tables that follow a log, and what they answer. The same on the worker's thread (index-server.ts)
// and in the caller's (memory-index.ts).
import type { RunId } from '@parley/core'
import type { Position, RunHead } from '../store/store.ts'
import { Engine, type Work } from './answer/engine.ts'
import { Applier } from './apply.ts'
import type { LogPoint, LogReader } from './contract.ts'
import type { IndexAnswer, IndexRequest } from './protocol.ts'
import { lostHeads } from './sqlite/lost-heads.ts'
import type { IndexFile } from './sqlite/sqlite-open.ts'
import { SqliteRows } from './sqlite/sqlite-rows.ts'

export class LiveIndex {
  readonly #reader: LogReader
  readonly #renew: () => IndexFile
  #rows: SqliteRows
  #applier: Applier
  #engine: Engine

  /** `renew` puts away the tables, whatever is in them, and makes empty ones. */
  constructor(index: IndexFile, reader: LogReader, renew: () => IndexFile) {
    this.#reader = reader
    this.#renew = renew
    this.#rows = new SqliteRows(index)
    this.#applier = new Applier(this.#rows, reader)
    this.#engine = new Engine(this.#rows, reader)
  }

  /** The newest frame that answers take into account. */
  get frame(): Position {
    return this.#applier.frame
  }

  /** Takes in one slice of what lies before `target`. True when nothing is left. */
  step(target: LogPoint): boolean {
    return this.#applier.step(target)
  }

  *start(request: IndexRequest): Work<IndexAnswer> {
    const run = runOf(request)
    if (run !== undefined && this.#applier.hasUnread(run)) yield* this.#adopt()
    const engine = this.#engine
    switch (request.kind) {
      case 'select':
        return yield* engine.select(request.query)
      case 'aggregate':
        return yield* engine.aggregate(request.query)
      case 'head':
        return engine.head(request.run)
      case 'runs':
        return engine.runs()
      case 'object':
        return engine.object(request.run, request.id)
      case 'place':
        return engine.place(request.run, request.seq)
      case 'replay':
        return engine.replay(request.run, request.after, request.limit, request.cursor)
      case 'relocate':
        engine.relocate(request.run, request.places)
        return undefined
      case 'forget':
        engine.forget(request.run, request.seqs, request.file)
        return undefined
      case 'take':
        return yield* engine.take(request.request)
      case 'usage':
        return yield* engine.usage(request.run)
      case 'adopt':
        yield* this.#adopt()
        return undefined
      case 'rebuild':
        this.rebuild()
        return undefined
      default:
        return request satisfies never
    }
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
    this.#rows = new SqliteRows(this.#renew())
    this.#applier = new Applier(this.#rows, this.#reader)
    this.#engine = new Engine(this.#rows, this.#reader)
  }

  /** Which of these heads the log does not bear out; all of the log was taken in. */
  lostHeads(heads: readonly RunHead[]): readonly RunHead[] {
    return lostHeads(this.#rows, this.#reader, heads)
  }

  close(): void {
    this.#rows.close()
  }
}

/** The run whose records a request reads. */
function runOf(request: IndexRequest): RunId | undefined {
  switch (request.kind) {
    case 'select':
      return request.query.run
    case 'aggregate':
      return request.query.filter.run
    default:
      return 'run' in request ? request.run : undefined
  }
}
