// Both kinds of rows against the plainest reading of the contract: a list of entries and a filter.
import type { RunId, WorkspaceId } from '@parley/core'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StoredEntry } from '../entry.ts'
import type { AggregateKey, Scalar, StoreFilter, StoreQuery } from '../store/store.ts'
import { Bench, type EntryParts, KINDS, RUN, START } from '../testing/log-fixture.ts'
import type { TrailIndex } from './contract.ts'

const WORKSPACES = [null, 'ws_a', 'ws_b', 'ws_c'] as (WorkspaceId | null)[]
const ACTORS = ['ann', 'bob', 'system']
const TYPES = ['one', 'two', 'three', 'four']
const COUNT = 120

/** A fixed log; what varies is the question. */
const PARTS: EntryParts[] = fc.sample(
  fc.record({
    workspace: fc.constantFrom(...WORKSPACES),
    actor: fc.constantFrom(...ACTORS),
    type: fc.constantFrom(...TYPES),
    body: fc.record(
      { kind: fc.constantFrom('x', 'y', 1, true, null), n: fc.integer({ min: 0, max: 9 }) },
      { requiredKeys: [] },
    ),
  }),
  { seed: 7, numRuns: COUNT },
)

const some = <T>(values: readonly T[]) =>
  fc.option(fc.array(fc.constantFrom(...values), { maxLength: 3 }), { nil: undefined })
const seq = fc.option(fc.integer({ min: -2, max: COUNT + 3 }), { nil: undefined })
const ticks = fc.option(fc.integer({ min: START - 2, max: START + COUNT * 3 }), { nil: undefined })
const span = fc.record({ workspace: fc.constantFrom(...WORKSPACES), from: seq, to: seq })
const condition = fc.oneof(
  fc.record({ path: fc.constant(['kind']), equals: fc.constantFrom<Scalar>('x', 1, true, null, 'never') }),
  fc.record({ path: fc.constant(['n']), equals: fc.integer({ min: 0, max: 9 }) }),
)

const filters = fc
  .record({
    spans: fc.option(fc.array(span, { maxLength: 4 }), { nil: undefined }),
    actors: some([...ACTORS, 'nobody']),
    types: some([...TYPES, 'none']),
    from: ticks,
    to: ticks,
    after: seq,
    before: seq,
    body: fc.option(fc.array(condition, { maxLength: 2 }), { nil: undefined }),
  })
  .map(fields => withoutAbsent({ run: RUN, ...fields }) as StoreFilter)

/** `undefined` stands for a key that is not there. */
function withoutAbsent(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAbsent)
  if (typeof value !== 'object' || value === null) return value
  const present = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(present.map(([key, each]) => [key, withoutAbsent(each)]))
}

interface Known {
  readonly entry: StoredEntry
  readonly ticks: number
  readonly workspace: string | null
  readonly actor: string
  readonly event_type: string
  readonly body: Record<string, Scalar>
}

function matches({ entry, ...known }: Known, filter: StoreFilter): boolean {
  const inSpan = filter.spans?.some(
    each =>
      each.workspace === known.workspace &&
      entry.seq >= (each.from ?? Number.NEGATIVE_INFINITY) &&
      entry.seq < (each.to ?? Number.POSITIVE_INFINITY),
  )
  return (
    (inSpan ?? true) &&
    (filter.actors?.includes(known.actor) ?? true) &&
    (filter.types?.includes(known.event_type) ?? true) &&
    known.ticks >= (filter.from ?? Number.NEGATIVE_INFINITY) &&
    known.ticks <= (filter.to ?? Number.POSITIVE_INFINITY) &&
    entry.seq > (filter.after ?? Number.NEGATIVE_INFINITY) &&
    entry.seq < (filter.before ?? Number.POSITIVE_INFINITY) &&
    (filter.body?.every(({ path, equals }) => known.body[path[0]!] === equals) ?? true)
  )
}

describe.each(KINDS)('%s rows', kind => {
  let bench: Bench
  let index: TrailIndex
  let known: Known[]

  beforeAll(() => {
    bench = new Bench(kind)
    known = PARTS.map((parts, at) => {
      if (at % 50 === 49) bench.log.rotate()
      const [entry] = bench.log.add({ ...parts, ticks: START + at * 3 })
      bench.log.add({ run: 'run_2' as RunId })
      return { entry: entry!, ticks: START + at * 3, ...JSON.parse(entry!.view) }
    })
    index = bench.open()
  })
  afterAll(() => bench.remove())

  it('select what a list of entries and a filter would', async () => {
    const order = fc.constantFrom('ascending', 'descending')
    await fc.assert(
      fc.asyncProperty(filters, order, fc.integer({ min: 1, max: COUNT + 1 }), async (filter, direction, limit) => {
        const query = { ...filter, order: direction, limit } as StoreQuery
        const page = await index.select(query, bench.log.end.frame)
        const expected = known.filter(each => matches(each, filter)).map(each => each.entry)
        if (direction === 'descending') expected.reverse()
        expect(page.entries).toEqual(expected.slice(0, limit))
        expect(page.more).toBe(expected.length > limit)
        expect(page.partial).toBeUndefined()
      }),
      { seed: 11, numRuns: 400 },
    )
  })

  it('count and sum what a list of entries and a filter would', async () => {
    const keys = fc.constantFrom<AggregateKey | undefined>(undefined, 'workspace', 'actor', 'event_type', {
      body: ['kind'],
    })
    await fc.assert(
      fc.asyncProperty(filters, keys, fc.boolean(), async (filter, groupBy, summing) => {
        const query = { filter, ...(groupBy && { groupBy }), ...(summing && { sum: ['n'] }) }
        const rows = await index.aggregate(query, bench.log.end.frame)
        const counted = known.filter(each => matches(each, filter) && (!summing || each.body.n !== undefined))
        const expected = new Map<Scalar, { count: number; sum: number }>()
        if (groupBy === undefined) expected.set(null, { count: 0, sum: 0 })
        for (const each of counted) {
          const key =
            groupBy === undefined ? null : typeof groupBy === 'string' ? each[groupBy] : (each.body.kind ?? null)
          const { count, sum } = expected.get(key) ?? { count: 0, sum: 0 }
          expected.set(key, { count: count + 1, sum: sum + (summing ? Number(each.body.n) : 0) })
        }
        expect(new Map(rows.map(({ key, ...row }) => [key, row]))).toEqual(expected)
      }),
      { seed: 13, numRuns: 300 },
    )
  })
})
