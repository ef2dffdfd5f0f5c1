// The newest entry of each run, as the log itself has it. A batch that does not follow it is refused here, whatever anybody above believes:
// neither an index that lost something nor a state that was kept can put a second entry into a place that is taken.
import { ParleyError, type RunId } from '@parley/core'
import type { StoredEntry, StoredRecord } from '../entry.ts'
import type { RunHead } from '../store/store.ts'
import { viewFollows } from './view.ts'

export class RunHeads {
  readonly #durable: Map<RunId, RunHead>
  /** Of batches that were taken and are on their way. */
  readonly #taken = new Map<RunId, RunHead>()

  constructor(durable: Map<RunId, RunHead>) {
    this.#durable = durable
  }

  /** What is durable; undefined of a run that has nothing in the segments and was not asked for (`learn`). */
  of(run: RunId): RunHead | undefined {
    return this.#durable.get(run)
  }

  values(): Iterable<RunHead> {
    return this.#durable.values()
  }

  /** The head of a run whose newest entries have left the segments. */
  learn(head: RunHead): void {
    if (head.seq > (this.#durable.get(head.run)?.seq ?? 0)) this.#durable.set(head.run, head)
  }

  /** Takes a batch if each of its entries follows the one before it in its run; says otherwise which one does not. */
  take(records: readonly StoredRecord[]): ParleyError | undefined {
    let last: RunHead | undefined
    // Made only for a batch of several runs; almost every batch is of one.
    let others: Map<RunId, RunHead> | undefined
    for (const record of records) {
      if (record.kind === 'object') continue
      const { run } = record
      if (last?.run !== run) {
        others ??= last && new Map()
        if (last) others?.set(last.run, last)
        last = others?.get(run) ?? this.#taken.get(run) ?? this.#durable.get(run)
      }
      if (record.seq !== (last?.seq ?? 0) + 1 || !viewFollows(record.view, last?.hash ?? null))
        return conflict(record, last)
      last = record
    }
    if (others) for (const [run, head] of others) this.#taken.set(run, head)
    if (last) this.#taken.set(last.run, last)
    return undefined
  }

  /** What was taken up to these heads is durable. */
  committed(heads: Iterable<RunHead>): void {
    for (const head of heads) {
      this.#durable.set(head.run, { run: head.run, seq: head.seq, hash: head.hash })
      if (this.#taken.get(head.run)?.seq === head.seq) this.#taken.delete(head.run)
    }
  }

  /** Nothing that was taken and is not durable will be. */
  failed(): void {
    this.#taken.clear()
  }
}

function conflict({ run, seq }: StoredEntry, last: RunHead | undefined): ParleyError {
  const newest = last ? `its entry ${last.seq}` : 'nothing of it'
  return new ParleyError(
    'trail_conflict',
    `Entry ${seq} of ${run} does not follow what the log holds, which is ${newest}; nothing was written. Read the run again.`,
    { details: { run, seq, last: last?.seq ?? 0 } },
  )
}
