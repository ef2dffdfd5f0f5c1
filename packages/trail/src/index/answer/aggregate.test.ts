import type { RunId, WorkspaceId } from '@parley/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AggregateRow, StoreAggregate, StoreFilter } from '../../store/store.ts'
import { Bench, KINDS, ROOT, RUN } from '../../testing/log-fixture.ts'
import type { TrailIndex } from '../contract.ts'

const A = 'ws_a' as WorkspaceId

describe.each(KINDS)('aggregates over %s rows', kind => {
  let bench: Bench
  let index: TrailIndex

  beforeAll(() => {
    bench = new Bench(kind)
    const { log } = bench
    log.add({ type: 'workspace_created', actor: 'protocol', body: { timeout: null } })
    log.add(
      {
        workspace: A,
        type: 'checkpoint_created',
        actor: 'ann',
        body: { cost: 0.5, kind: 'draft', usage: { tokens: 10 } },
      },
      {
        workspace: A,
        type: 'checkpoint_created',
        actor: 'bob',
        body: { cost: 2, kind: 'final', usage: { tokens: 5 } },
      },
      {
        workspace: A,
        type: 'signal_emitted',
        actor: 'ann',
        body: { kind: 'draft', cost: 'much', timeout: 30 },
      },
    )
    log.add({
      workspace: null,
      type: 'trail_compacted',
      actor: 'protocol',
      body: { kind: 7, list: [1], timeout: null },
    })
    log.add({ run: 'run_2' as RunId, workspace: A, type: 'checkpoint_created', body: { cost: 100 } })
    index = bench.open()
  })

  afterAll(() => bench.remove())

  function aggregate(
    query: Partial<StoreAggregate>,
    filter: Partial<StoreFilter> = {},
  ): Promise<readonly AggregateRow[]> {
    return index.aggregate({ filter: { run: RUN, ...filter }, ...query }, bench.log.end.frame)
  }

  it('count all entries of a filter', async () => {
    expect(await aggregate({})).toEqual([{ key: null, count: 5, sum: 0 }])
    expect(await aggregate({}, { actors: ['ann'] })).toEqual([{ key: null, count: 2, sum: 0 }])
    expect(await aggregate({}, { after: 1, before: 3 })).toEqual([{ key: null, count: 1, sum: 0 }])
    expect(await aggregate({}, { body: [{ path: ['kind'], equals: 'draft' }] })).toEqual([
      { key: null, count: 2, sum: 0 },
    ])
  })

  it('count nothing as zero', async () => {
    expect(await aggregate({}, { types: [] })).toEqual([{ key: null, count: 0, sum: 0 }])
    expect(await aggregate({}, { run: 'run_9' as RunId })).toEqual([{ key: null, count: 0, sum: 0 }])
    expect(await aggregate({ groupBy: 'actor' }, { types: ['nothing'] })).toEqual([])
  })

  it('group by workspace, with system-level entries under null', async () => {
    expect(await aggregate({ groupBy: 'workspace' })).toEqual([
      { key: null, count: 1, sum: 0 },
      { key: A, count: 3, sum: 0 },
      { key: ROOT, count: 1, sum: 0 },
    ])
  })

  it('group by actor and by type', async () => {
    expect(await aggregate({ groupBy: 'actor' })).toEqual([
      { key: 'ann', count: 2, sum: 0 },
      { key: 'bob', count: 1, sum: 0 },
      { key: 'protocol', count: 2, sum: 0 },
    ])
    const spans = [{ workspace: A, from: 3 }, { workspace: null }]
    expect(
      await aggregate({ groupBy: 'event_type' }, { spans, types: ['checkpoint_created', 'trail_compacted'] }),
    ).toEqual([
      { key: 'checkpoint_created', count: 1, sum: 0 },
      { key: 'trail_compacted', count: 1, sum: 0 },
    ])
  })

  it('group by a body path, with entries that lack it under null', async () => {
    expect(await aggregate({ groupBy: { body: ['kind'] } })).toEqual([
      { key: null, count: 1, sum: 0 },
      { key: 7, count: 1, sum: 0 },
      { key: 'draft', count: 2, sum: 0 },
      { key: 'final', count: 1, sum: 0 },
    ])
  })

  it('sum a body path and leave out entries that lack it', async () => {
    expect(await aggregate({ sum: ['usage', 'tokens'] })).toEqual([{ key: null, count: 2, sum: 15 }])
    expect(await aggregate({ sum: ['cost'] }, { types: ['checkpoint_created'] })).toEqual([
      { key: null, count: 2, sum: 2.5 },
    ])
    expect(await aggregate({ sum: ['nowhere'] })).toEqual([{ key: null, count: 0, sum: 0 }])
  })

  it('sum by group', async () => {
    expect(await aggregate({ sum: ['usage', 'tokens'], groupBy: 'actor' })).toEqual([
      { key: 'ann', count: 1, sum: 10 },
      { key: 'bob', count: 1, sum: 5 },
    ])
    expect(await aggregate({ sum: ['cost'], groupBy: { body: ['kind'] } }, { types: ['checkpoint_created'] })).toEqual([
      { key: 'draft', count: 1, sum: 0.5 },
      { key: 'final', count: 1, sum: 2 },
    ])
  })

  it('leave out null where the path holds numbers elsewhere', async () => {
    expect(await aggregate({ sum: ['timeout'] })).toEqual([{ key: null, count: 1, sum: 30 }])
  })

  it.each<[string, Partial<StoreAggregate>, Partial<StoreFilter>]>([
    ['a text', { sum: ['kind'] }, {}],
    ['a path that is a number only sometimes', { sum: ['cost'] }, {}],
    ['an object', { sum: ['usage'] }, {}],
    ['a path that never is more than null', { sum: ['timeout'] }, { types: ['trail_compacted'] }],
    ['the empty path', { sum: [] }, {}],
  ])('refuse to sum %s', async (_, query, filter) => {
    await expect(aggregate(query, filter)).rejects.toMatchObject({
      name: 'ParleyError',
      code: 'invalid_query',
    })
  })

  it('refuse to group by what is not a single value', async () => {
    await expect(aggregate({ groupBy: { body: ['usage'] } })).rejects.toMatchObject({ code: 'invalid_query' })
    await expect(aggregate({ groupBy: { body: ['list'] } })).rejects.toMatchObject({ code: 'invalid_query' })
  })
})
