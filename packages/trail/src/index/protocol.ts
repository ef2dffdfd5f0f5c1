// The messages between caller and worker. Records cross as bytes of the log in transferred buffers.
import type { ParleyErrorJson } from '@parley/core'
import type { Position } from '../store/store.ts'
import type { Engine, Work } from './answer/engine.ts'
import type { IndexOpening, LogPoint } from './contract.ts'

export interface WorkerOptions {
  readonly folder: string
  /** A copy of the cold tier, which is all there is then. */
  readonly cold?: string
  /** A second copy of the cold tier, for archives that cannot be read here. */
  readonly replica?: string | undefined
  readonly file: string
  /** The identity that the segments carry: 32 hexadecimal digits. */
  readonly trail: string
  readonly end: LogPoint
}

/** What an index is asked: the methods of `Engine`, and two that change the index as a whole. */
type Operations = Pick<Engine, keyof Engine> & { adopt(): void; rebuild(): void }

export type IndexOperation = keyof Operations

/** The arguments of an operation, and what comes back: work is done until it has a result. */
export type IndexQuestion<K extends IndexOperation> = Parameters<Operations[K]>
export type IndexAnswers = {
  [K in IndexOperation]: ReturnType<Operations[K]> extends Work<infer Result> ? Result : ReturnType<Operations[K]>
}
export type IndexRequest = {
  [K in IndexOperation]: { readonly kind: K; readonly args: IndexQuestion<K> }
}[IndexOperation]
export type IndexAnswer = IndexAnswers[IndexOperation]

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
