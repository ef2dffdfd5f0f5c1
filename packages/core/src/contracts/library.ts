// Library: what outlives single runs and is on record all the same: Knowledge Blocks, feedback, session forks and
// resets, settlements (DESIGN, Runs). Its records are acts and results in the profile's library run.
import type { Result } from '../result.ts'
import type { Timestamp } from '../timestamp.ts'
import type { Principal } from './principal.ts'

export const LIBRARY_RECORDS = [
  'knowledge_block',
  'feedback.rating',
  'session.fork',
  'session.reset',
  'settlement',
  'kb.status',
] as const
export type LibraryRecordType = (typeof LIBRARY_RECORDS)[number]

export interface LibraryRecord {
  /** Position in the library, over all runs that it has filled; strictly increasing. The cursor. */
  readonly at: number
  readonly type: LibraryRecordType
  /** Who did it: the id of a user of the directory, or `system`. */
  readonly by: string
  readonly timestamp: Timestamp
  /** Plain JSON in canonical form; what it means is the business of whoever wrote it. */
  readonly body: Readonly<Record<string, unknown>>
}

export interface Library {
  /**
   * Resolves when the record is durable; records of one caller keep their order. Refusals: `invalid_argument`,
   * `permission_denied`, and retryable `trail_unavailable`, `machine_fault`, `unavailable`. After a refusal nothing was
   * recorded.
   */
  append(record: {
    readonly type: LibraryRecordType
    readonly by: Principal | 'system'
    readonly body: Readonly<Record<string, unknown>>
  }): Promise<Result<LibraryRecord>>

  /**
   * Records behind a position (default: from the first), each once and in order; with `follow` also those that come,
   * until the signal fires. Throws `trail_unavailable` or `unavailable` (retryable: continue from the last `at`).
   */
  read(options?: { readonly after?: number; readonly follow?: AbortSignal }): AsyncIterable<LibraryRecord>
}
