// Feedback on executions (ALX-SOLVE-17), and what it says about the blocks that were executed, as a fold.
import type { LibraryRecord } from '@parley/core'
import type { Fold } from '../kb/library-fold.ts'
import { isoOf } from '../kb/records.ts'
import { settleLimits } from './limits.ts'
import { type RatingBody, ratingBodyOf } from './records.ts'

export interface Rating extends Pick<RatingBody, 'feedbackId' | 'rating' | 'comment' | 'kbHash'> {
  readonly recordedAt: string
}

export interface Votes {
  readonly up: number
  readonly down: number
  /** Users whose ratings are good on the whole. */
  readonly endorsements: number
}

const NO_VOTES: Votes = { up: 0, down: 0, endorsements: 0 }

export class Ratings implements Fold {
  readonly #ratings = new Map<string, Rating>()
  /** Whoever gave it: an execution is its user's, and only they see it. */
  readonly #latest = new Map<string, Rating>()
  /** For each block what each user's ratings of its executions add up to. */
  readonly #sums = new Map<string, Map<string, number>>()
  readonly #onUnreadable: (record: LibraryRecord) => void

  constructor(onUnreadable: (record: LibraryRecord) => void = () => {}) {
    this.#onUnreadable = onUnreadable
  }

  apply(record: LibraryRecord): void {
    if (record.type !== 'feedback.rating') return
    const body = ratingBodyOf(record)
    if (!body) {
      this.#onUnreadable(record)
      return
    }
    const { executionId, ...given } = body
    const key = ratingKey(record.by, executionId)
    const before = this.#ratings.get(key)
    if (before) this.#add(record.by, before.kbHash, -before.rating)
    this.#add(record.by, given.kbHash, given.rating)
    // Whatever a race between processes recorded: the id of the first one stays.
    const feedbackId = before?.feedbackId ?? given.feedbackId
    const rating = { ...given, feedbackId, recordedAt: isoOf(record) }
    this.#ratings.set(key, rating)
    this.#latest.set(executionId, rating)
  }

  /** What this user last said about an execution. */
  of(user: string, executionId: string): Rating | undefined {
    return this.#ratings.get(ratingKey(user, executionId))
  }

  latest(executionId: string): Rating | undefined {
    return this.#latest.get(executionId)
  }

  votesFor(kbHash: string): Votes {
    const sums = this.#sums.get(kbHash)
    if (!sums) return NO_VOTES
    const most = settleLimits.votesOfOne
    const counted = [...sums.values()].map(sum => Math.max(-most, Math.min(most, sum)))
    const of = (sign: number) => counted.reduce((all, sum) => all + Math.max(0, sign * sum), 0)
    return { up: of(1), down: of(-1), endorsements: counted.filter(sum => sum > 0).length }
  }

  #add(user: string, kbHash: string | undefined, rating: number): void {
    if (kbHash === undefined) return
    const sums = this.#sums.get(kbHash) ?? new Map<string, number>()
    this.#sums.set(kbHash, sums.set(user, (sums.get(user) ?? 0) + rating))
  }
}

export function ratingKey(user: string, executionId: string): string {
  return `${executionId}\n${user}`
}
