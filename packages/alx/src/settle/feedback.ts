// Recording feedback on an execution (ALX-SOLVE-17).
import type { FeedbackInput, FeedbackRecord, Result } from '@alx/protocol'
import type { IdSource, Principal } from '@parley/core'
import { KeyedQueue } from '../kb/keyed-queue.ts'
import type { LibraryFold } from '../kb/library-fold.ts'
import { isoOf } from '../kb/records.ts'
import { unavailable } from '../kb/refusals.ts'
import type { Body } from '../ports.ts'
import { settleLimits } from './limits.ts'
import { type Ratings, ratingKey } from './ratings.ts'
import type { RatingBody } from './records.ts'

export class Feedback {
  readonly #fold: LibraryFold
  readonly #ratings: Ratings
  readonly #ids: IdSource
  readonly #queue = new KeyedQueue(settleLimits.waitingForOne)

  constructor(options: { readonly fold: LibraryFold; readonly ratings: Ratings; readonly ids: IdSource }) {
    this.#fold = options.fold
    this.#ratings = options.ratings
    this.#ids = options.ids
  }

  /** A later call replaces the first one and keeps its id. Saying the same again records nothing. */
  record(
    by: Principal,
    { executionId, rating, comment }: FeedbackInput,
    kbHash: string | undefined,
  ): Promise<Result<Body<FeedbackRecord>>> {
    const recording = this.#queue.run(ratingKey(by.id, executionId), async () => {
      const before = this.#ratings.of(by.id, executionId)
      if (before && before.rating === rating && before.comment === comment)
        return {
          ok: true as const,
          value: { executionId, feedbackId: before.feedbackId, recordedAt: before.recordedAt },
        }
      const feedbackId = before?.feedbackId ?? this.#ids.next('fb')
      const body: RatingBody = {
        ...{ executionId, feedbackId, rating },
        ...(comment !== undefined && { comment }),
        ...(kbHash !== undefined && { kbHash }),
      }
      const appended = await this.#fold.append({ type: 'feedback.rating', by, body })
      if (!appended.ok) return appended
      return { ok: true as const, value: { executionId, feedbackId, recordedAt: isoOf(appended.value) } }
    })
    return recording ?? Promise.resolve(unavailable())
  }
}
