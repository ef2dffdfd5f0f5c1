// The methods of an index as questions to a worker thread or the caller's own. Decodes the records of answers.
import type { StoredEntry, StoredObject } from '../entry.ts'
import type { Position } from '../store/store.ts'
import { unpackRecords } from './answer/fetch.ts'
import type { IndexOpening, LogPoint, TrailIndex } from './contract.ts'
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

  readonly select: TrailIndex['select'] = async (query, atLeast) => {
    const { records, ...page } = await this.ask('select', [query], atLeast)
    return { entries: unpackRecords(records) as StoredEntry[], ...page }
  }

  readonly object: TrailIndex['object'] = async (run, id, atLeast) => {
    const record = await this.ask('object', [run, id], atLeast)
    return record && (unpackRecords(record)[0] as StoredObject)
  }

  readonly replay: TrailIndex['replay'] = async (run, after, limit, cursor, atLeast) => {
    const { records, ...page } = await this.ask('replay', [run, after, limit, cursor], atLeast)
    return { records: unpackRecords(records), ...page }
  }

  readonly starts: TrailIndex['starts'] = async (runs, atLeast) =>
    unpackRecords(await this.ask('starts', [runs], atLeast))

  readonly aggregate: TrailIndex['aggregate'] = (query, atLeast) => this.ask('aggregate', [query], atLeast)
  readonly head: TrailIndex['head'] = (run, atLeast) => this.ask('head', [run], atLeast)
  readonly runs: TrailIndex['runs'] = atLeast => this.ask('runs', [], atLeast)
  readonly place: TrailIndex['place'] = (run, seq, atLeast) => this.ask('place', [run, seq], atLeast)
  readonly take: TrailIndex['take'] = (request, atLeast) => this.ask('take', [request], atLeast)
  readonly usage: TrailIndex['usage'] = (atLeast, run) => this.ask('usage', [run], atLeast)
  readonly relocate: TrailIndex['relocate'] = (run, places) => this.ask('relocate', [run, places], this.newest)
  readonly forget: TrailIndex['forget'] = (run, seqs, file) => this.ask('forget', [run, seqs, file], this.newest)
  readonly adopt: TrailIndex['adopt'] = () => this.ask('adopt', [], this.newest)
  readonly rebuild: TrailIndex['rebuild'] = () => this.ask('rebuild', [], 0)
}
