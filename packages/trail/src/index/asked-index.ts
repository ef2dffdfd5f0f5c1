// The methods of an index as questions to a worker thread or the caller's own. Decodes the records of answers.
import type { ObjectId, RunId } from '@parley/core'
import type { StoredEntry, StoredObject, StoredRecord } from '../entry.ts'
import type { AggregateRow, Position, RunSummary, StoreAggregate, StorePage, StoreQuery } from '../store/store.ts'
import { unpackRecords } from './answer/fetch.ts'
import type {
  IndexedHead,
  IndexOpening,
  LogPoint,
  RecordPlace,
  ReplayPage,
  RunUsage,
  TakenRecords,
  TakeRequest,
  TrailIndex,
} from './contract.ts'
import type { IndexAnswers, IndexOperation, IndexQuestion } from './protocol.ts'

export abstract class AskedIndex implements TrailIndex {
  abstract opening(): Promise<IndexOpening>
  abstract advance(point: LogPoint): void
  abstract close(): Promise<void>

  protected abstract readonly newest: Position

  protected abstract ask<K extends IndexOperation>(
    kind: K,
    args: IndexQuestion<K>,
    atLeast: Position,
  ): Promise<IndexAnswers[K]>

  async select(query: StoreQuery, atLeast: Position): Promise<StorePage> {
    const { records, ...page } = await this.ask('select', [query], atLeast)
    return { entries: unpackRecords(records) as StoredEntry[], ...page }
  }

  aggregate(query: StoreAggregate, atLeast: Position): Promise<readonly AggregateRow[]> {
    return this.ask('aggregate', [query], atLeast)
  }

  head(run: RunId, atLeast: Position): Promise<IndexedHead | undefined> {
    return this.ask('head', [run], atLeast)
  }

  runs(atLeast: Position): Promise<readonly RunSummary[]> {
    return this.ask('runs', [], atLeast)
  }

  async object(run: RunId, id: ObjectId, atLeast: Position): Promise<StoredObject | undefined> {
    const record = await this.ask('object', [run, id], atLeast)
    return record && (unpackRecords(record)[0] as StoredObject)
  }

  async starts(runs: readonly RunId[], atLeast: Position): Promise<readonly StoredRecord[]> {
    return unpackRecords(await this.ask('starts', [runs], atLeast))
  }

  place(run: RunId, seq: number, atLeast: Position): Promise<RecordPlace | undefined> {
    return this.ask('place', [run, seq], atLeast)
  }

  async replay(
    run: RunId,
    after: number,
    limit: number,
    cursor: string | undefined,
    atLeast: Position,
  ): Promise<ReplayPage> {
    const { records, ...page } = await this.ask('replay', [run, after, limit, cursor], atLeast)
    return { records: unpackRecords(records), ...page }
  }

  relocate(run: RunId, places: readonly RecordPlace[]): Promise<void> {
    return this.ask('relocate', [run, places], this.newest)
  }

  forget(run: RunId, seqs: readonly number[], file?: number): Promise<void> {
    return this.ask('forget', [run, seqs, file], this.newest)
  }

  take(request: TakeRequest, atLeast: Position): Promise<TakenRecords> {
    return this.ask('take', [request], atLeast)
  }

  usage(atLeast: Position, run?: RunId): Promise<readonly RunUsage[]> {
    return this.ask('usage', [run], atLeast)
  }

  adopt(): Promise<void> {
    return this.ask('adopt', [], this.newest)
  }

  rebuild(): Promise<void> {
    return this.ask('rebuild', [], 0)
  }
}
