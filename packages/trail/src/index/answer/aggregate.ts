// Counts and sums over entries (W-TRAIL-18), group by group. What is counted comes from engine.ts.
import type { AggregateKey, AggregateRow, Scalar, StoreAggregate } from '../../store/store.ts'
import { invalidQuery } from '../fault.ts'
import { indexLimits } from '../limits.ts'
import { isScalar, type View, valueAt } from './view.ts'

export class Aggregation {
  readonly #key: AggregateKey | undefined
  readonly #sum: readonly string[] | undefined
  readonly #groups = new Map<Scalar, { count: number; sum: number }>()
  #present = false
  #numeric = false

  constructor(query: StoreAggregate) {
    this.#key = query.groupBy
    this.#sum = query.sum
    if (this.#key === undefined) this.#groups.set(null, { count: 0, sum: 0 })
  }

  /** Takes in one entry. With a sum, one without the path is left out, and so is one where it is null. */
  add(view: View): void {
    let amount = 0
    if (this.#sum) {
      const value = valueAt(view.body, this.#sum)
      if (value === undefined) return
      this.#present = true
      if (value === null) return
      if (typeof value !== 'number') throw notNumeric(this.#sum)
      this.#numeric = true
      amount = value
    }
    this.tally(keyOf(view, this.#key), 1, amount)
  }

  tally(key: Scalar, count: number, sum: number): void {
    const group = this.#groups.get(key)
    if (group) {
      group.count += count
      group.sum += sum
      return
    }
    if (this.#groups.size >= indexLimits.groups) throw invalidQuery(`falls into more than ${indexLimits.groups} groups`)
    this.#groups.set(key, { count, sum })
  }

  /** The groups in a fixed order: null, then false and true, then numbers, then texts. */
  rows(): readonly AggregateRow[] {
    if (this.#sum && this.#present && !this.#numeric) throw notNumeric(this.#sum)
    return [...this.#groups].map(([key, { count, sum }]) => ({ key, count, sum })).sort((a, b) => compare(a.key, b.key))
  }
}

function notNumeric(path: readonly string[]): Error {
  return invalidQuery(`sums the body path '${path.join('.')}', which does not hold numbers`)
}

function keyOf(view: View, key: AggregateKey | undefined): Scalar {
  if (key === undefined) return null
  if (typeof key === 'string') return view[key]
  const value = valueAt(view.body, key.body) ?? null
  if (!isScalar(value))
    throw invalidQuery(`groups by the body path '${key.body.join('.')}', which does not hold single values`)
  return value
}

const KINDS = ['object', 'boolean', 'number', 'string']

function compare(a: Scalar, b: Scalar): number {
  const kinds = KINDS.indexOf(typeof a) - KINDS.indexOf(typeof b)
  if (kinds !== 0) return kinds
  return a! < b! ? -1 : a! > b! ? 1 : 0
}
