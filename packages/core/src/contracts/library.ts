// Library: what outlives single runs and is on record all the same: Knowledge Blocks, feedback, session forks and
// resets, settlements. Its records are acts and results in the profile's library run (docs/decisions/0031).
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
  /**
   * Position in the library, over all runs that it has filled; strictly increasing, with gaps, and the same after a
   * restart. The cursor.
   */
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
   * Resolves when the record is durable. Records are in the order in which they are handed in, whoever does it, also
   * while others are under way. `by` becomes known if it is not yet; what it may do is checked and recorded.
   *
   * `invalid_argument`: no type of the library, a body that is no object of plain JSON, or one of more than 1.25 MiB in
   * canonical form. `permission_denied`: the person is not active, or was denied `inject_directive`; on record.
   * `trail_damaged`: the library's record is not as it was written; nothing helps but restoring it. Retryable are
   * `trail_unavailable`, `machine_fault` and `unavailable` (the node stops, or too much waits). After a refusal nothing
   * was recorded.
   */
  append(record: {
    readonly type: LibraryRecordType
    readonly by: Principal | 'system'
    readonly body: Readonly<Record<string, unknown>>
  }): Promise<Result<LibraryRecord>>

  /**
   * Records behind a position (default: from the first), each once and in order; with `follow` also those that come,
   * until the signal fires. A body belongs to whoever reads it. Throws `trail_unavailable` or `unavailable` (retryable:
   * continue from the last `at`), `unavailable` also when the node stops, and `trail_damaged` where a record cannot be
   * read; what comes before it was handed out.
   */
  read(options?: { readonly after?: number; readonly follow?: AbortSignal }): AsyncIterable<LibraryRecord>
}
