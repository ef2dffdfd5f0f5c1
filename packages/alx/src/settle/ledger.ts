// What settlements add up to, as a fold of the library: which queries are settled, what is owed to whom, how often a
// block was paid for.
import type { LibraryRecord } from '@parley/core'
import type { Fold } from '../kb/library-fold.ts'
import { settlementBodyOf } from './records.ts'

export class Ledger implements Fold {
  /** Positions in the library, by user and query. */
  readonly #settled = new Map<string, number>()
  readonly #balances = new Map<string, bigint>()
  readonly #paidQueries = new Map<string, number>()
  readonly #onUnreadable: (record: LibraryRecord) => void
  #fees = 0n

  constructor(onUnreadable: (record: LibraryRecord) => void = () => {}) {
    this.#onUnreadable = onUnreadable
  }

  apply(record: LibraryRecord): void {
    if (record.type !== 'settlement') return
    const body = settlementBodyOf(record)
    if (!body) {
      this.#onUnreadable(record)
      return
    }
    const key = settlementKey(record.by, body.queryId)
    // The first one counts; a second one can only come from a race between processes.
    if (this.#settled.has(key)) return
    this.#settled.set(key, record.at)
    for (const { recipient, amount } of body.payouts)
      this.#balances.set(recipient, (this.#balances.get(recipient) ?? 0n) + BigInt(amount))
    this.#fees += BigInt(body.protocolFee)
    // ALX-SETTLE-07: what costs nothing says nothing.
    if (body.amount !== '0') this.#paidQueries.set(body.kbHash, (this.#paidQueries.get(body.kbHash) ?? 0) + 1)
  }

  positionOf(user: string, queryId: string): number | undefined {
    return this.#settled.get(settlementKey(user, queryId))
  }

  /** Pending for a recipient, in the smallest unit; it is withdrawn on demand, which is out of scope here. */
  balanceOf(recipient: string): string {
    return String(this.#balances.get(recipient) ?? 0n)
  }

  balances(): readonly { readonly recipient: string; readonly amount: string }[] {
    const all = [...this.#balances].map(([recipient, amount]) => ({ recipient, amount: String(amount) }))
    return all.sort((a, b) => (a.recipient < b.recipient ? -1 : 1))
  }

  get protocolFees(): string {
    return String(this.#fees)
  }

  paidQueriesOf(kbHash: string): number {
    return this.#paidQueries.get(kbHash) ?? 0
  }
}

/** Users cannot take each other's query ids, nor learn of them. */
export function settlementKey(user: string, queryId: string): string {
  return `${queryId}\n${user}`
}
