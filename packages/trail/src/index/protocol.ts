// What the caller's thread and the worker's thread say to each other. Records cross as the bytes of the log, in buffers
// that are handed over, not copied; the caller's side decodes them.
import type { ObjectId, ParleyErrorJson, RunId } from '@parley/core'
import type { AggregateRow, Position, RunSummary, StoreAggregate, StoreQuery } from '../store/store.ts'
import type { PackedPage } from './answer/engine.ts'
import type { PackedReplay } from './answer/replay.ts'
import type {
  IndexedHead,
  IndexOpening,
  LogPoint,
  RecordPlace,
  RunUsage,
  TakenRecords,
  TakeRequest,
} from './contract.ts'

export interface WorkerOptions {
  /** The trail's folder, with its segments. */
  readonly folder: string
  /** A copy of the cold tier, which is all there is then. */
  readonly cold?: string
  /** A second copy of the cold tier, for archives that cannot be read here. */
  readonly replica?: string | undefined
  /** The index file. */
  readonly file: string
  /** The identity that the segments carry: 32 hexadecimal digits. */
  readonly trail: string
  readonly end: LogPoint
}

export type IndexRequest =
  | { readonly kind: 'select'; readonly query: StoreQuery }
  | { readonly kind: 'aggregate'; readonly query: StoreAggregate }
  | { readonly kind: 'head'; readonly run: RunId }
  | { readonly kind: 'runs' }
  | { readonly kind: 'object'; readonly run: RunId; readonly id: ObjectId }
  | { readonly kind: 'place'; readonly run: RunId; readonly seq: number }
  | {
      readonly kind: 'replay'
      readonly run: RunId
      readonly after: number
      readonly limit: number
      readonly cursor: string | undefined
    }
  | { readonly kind: 'relocate'; readonly run: RunId; readonly places: readonly RecordPlace[] }
  | {
      readonly kind: 'forget'
      readonly run: RunId
      readonly seqs: readonly number[]
      readonly file: number | undefined
    }
  | { readonly kind: 'take'; readonly request: TakeRequest }
  | { readonly kind: 'usage'; readonly run: RunId | undefined }
  | { readonly kind: 'adopt' }
  | { readonly kind: 'rebuild' }

export interface IndexAnswers {
  select: PackedPage
  aggregate: readonly AggregateRow[]
  head: IndexedHead | undefined
  runs: readonly RunSummary[]
  object: Uint8Array | undefined
  place: RecordPlace | undefined
  replay: PackedReplay
  relocate: undefined
  forget: undefined
  take: TakenRecords
  usage: readonly RunUsage[]
  adopt: undefined
  rebuild: undefined
}

export type IndexAnswer = IndexAnswers[keyof IndexAnswers]

/** A question carries the newest point of the log, so that news of it never arrive behind the question. */
export type ToWorker =
  | { readonly kind: 'start'; readonly options: WorkerOptions }
  | { readonly kind: 'advance'; readonly point: LogPoint }
  | {
      readonly kind: 'ask'
      readonly id: number
      readonly atLeast: Position
      readonly point: LogPoint
      readonly request: IndexRequest
    }
  | { readonly kind: 'close' }

export type FromWorker =
  | { readonly kind: 'opened'; readonly opening: IndexOpening }
  /** The worker cannot go on and ends. */
  | { readonly kind: 'failed'; readonly error: ParleyErrorJson }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: IndexAnswer }
  | { readonly kind: 'refused'; readonly id: number; readonly error: ParleyErrorJson }
