// Answers of the index: aggregates, filters and pages, replay.
import type { ObjectId, RunId, WorkspaceId } from '@parley/core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject, StoredRecord } from '../../entry.ts'
import type { AggregateRow, StoreAggregate, StoreFilter } from '../../store/store.ts'
import { Bench, KINDS, RUN, TestLog, TRAIL } from '../../testing/log-fixture.ts'
import { IndexDisk } from '../../testing/memory/index-disk.ts'
import { Applier } from '../apply.ts'
import type { TrailIndex } from '../contract.ts'
import { indexLimits } from '../limits.ts'
import { Rows } from '../sqlite/sqlite-rows.ts'
import { Engine, type Work } from './engine.ts'

const A = 'ws_a' as WorkspaceId

describe.each(KINDS)('aggregates over %s rows', kind => {
  let bench: Bench
  let index: TrailIndex

  beforeAll(() => {
    bench = new Bench(kind)
    const { log } = bench
    log.add({ type: 'workspace_created', actor: 'protocol', body: { timeout: null } })
    const type = 'checkpoint_created'
    log.add(
      { workspace: A, type, actor: 'ann', body: { cost: 0.5, kind: 'draft', usage: { tokens: 10 } } },
      { workspace: A, type, actor: 'bob', body: { cost: 2, kind: 'final', usage: { tokens: 5 } } },
      { workspace: A, type: 'signal_emitted', actor: 'ann', body: { kind: 'draft', cost: 'much', timeout: 30 } },
    )
    log.add({ workspace: null, type: 'trail_compacted', body: { kind: 7, list: [1], timeout: null } })
    log.add({ run: 'run_2' as RunId, workspace: A, type, body: { cost: 100 } })
    index = bench.open()
  })

  afterAll(() => bench.remove())

  function aggregate(
    query: Partial<StoreAggregate>,
    filter: Partial<StoreFilter> = {},
  ): Promise<readonly AggregateRow[]> {
    return index.aggregate({ filter: { run: RUN, ...filter }, ...query }, bench.log.end.frame)
  }

  it('count nothing as zero', async () => {
    expect(await aggregate({}, { types: [] })).toEqual([{ key: null, count: 0, sum: 0 }])
    expect(await aggregate({}, { run: 'run_9' as RunId })).toEqual([{ key: null, count: 0, sum: 0 }])
    expect(await aggregate({ groupBy: 'actor' }, { types: ['nothing'] })).toEqual([])
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
    await expect(aggregate(query, filter)).rejects.toMatchObject({ name: 'ParleyError', code: 'invalid_query' })
  })

  it('refuse to group by what is not a single value', async () => {
    await expect(aggregate({ groupBy: { body: ['usage'] } })).rejects.toMatchObject({ code: 'invalid_query' })
    await expect(aggregate({ groupBy: { body: ['list'] } })).rejects.toMatchObject({ code: 'invalid_query' })
  })
})

/** Does all of the work at once. */
function finish<Result>(work: Work<Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

describe('a search that pauses', () => {
  function indexed(log: TestLog): Engine {
    const rows = new Rows(new IndexDisk().renew(TRAIL))
    const applier = new Applier(rows, log)
    while (!applier.step(log.end));
    return new Engine(rows, log)
  }

  function paused() {
    const log = new TestLog()
    const last = log.add(...Array.from({ length: indexLimits.scanRows + 10 }, () => ({ body: { n: 1 } }))).at(-1)!
    const engine = indexed(log)
    const work = engine.aggregate({ filter: { run: RUN }, sum: ['n'] })
    expect(work.next().done).toBe(false)
    return { log, last, engine, work }
  }

  it('finds entries that moved to an archive meanwhile', () => {
    const { log, last, engine, work } = paused()
    engine.relocate(RUN, log.archive(1, [last]))
    log.flip(1, log.find(1, `"id":"en_${RUN}_${last.seq}"`) + 8)
    expect(finish(work)).toEqual([{ key: null, count: last.seq, sum: last.seq }])
  })

  it('leaves out entries that were forgotten meanwhile', () => {
    const { last, engine, work } = paused()
    engine.forget(RUN, [last.seq])
    expect(finish(work)).toEqual([{ key: null, count: last.seq - 1, sum: last.seq - 1 }])
  })
})

const OTHER = 'run_2' as RunId

describe.each(KINDS)('objects and replay over %s rows', kind => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench(kind)
  })
  afterEach(() => bench.remove())

  async function replay(index: TrailIndex, limit: number, after = 0): Promise<StoredRecord[]> {
    const records: StoredRecord[] = []
    let cursor: string | undefined
    do {
      const page = await index.replay(RUN, after, limit, cursor, bench.log.end.frame)
      expect(page.records.length).toBeLessThanOrEqual(limit)
      records.push(...page.records)
      cursor = page.cursor
    } while (cursor !== undefined)
    return records
  }

  /** Two runs interleaved, objects before the entries that name them, some without an entry in their own frame. */
  function write(): StoredRecord[] {
    const { log } = bench
    const written: StoredRecord[] = []
    const commit = (...records: StoredRecord[]) => {
      log.commit(...records)
      written.push(...records.filter(record => record.run === RUN))
    }
    commit(log.entry())
    commit(log.object('o1', '{"text":"one"}'), log.object('o2'), log.entry({ run: OTHER }), log.entry())
    commit(log.object('o3'))
    log.rotate()
    commit(log.object('x1', '{}', OTHER), log.object('o4', '"ü"'), log.entry(), log.entry({ run: OTHER }))
    commit({ ...log.object('o5'), data: '', blob: 'c0'.repeat(32) })
    return written
  }

  it('finds an object by run and id', async () => {
    write()
    const index = bench.open()
    const at = bench.log.end.frame
    const one = { kind: 'object', run: RUN, seq: 2, id: 'o1', objectKind: 'payload', data: '{"text":"one"}' }
    expect(await index.object(RUN, 'o1' as ObjectId, at)).toEqual(one)
    expect(await index.object(RUN, 'o4' as ObjectId, at)).toMatchObject({ data: '"ü"' })
    expect(await index.object(RUN, 'o5' as ObjectId, at)).toMatchObject({ data: '', blob: 'c0'.repeat(32) })
    expect(await index.object(RUN, 'x1' as ObjectId, at)).toBeUndefined()
    expect(await index.object('run_9' as RunId, 'o1' as ObjectId, at)).toBeUndefined()
  })

  it('never returns objects from a query', async () => {
    write()
    const page = await bench.open().select({ run: RUN, order: 'ascending', limit: 99 }, bench.log.end.frame)
    expect(page.entries.map(entry => entry.kind)).toEqual(['entry', 'entry', 'entry'])
  })

  it('keeps the first of two objects with one id', async () => {
    bench.log.commit(bench.log.object('o1', '1'), bench.log.entry())
    bench.log.commit(bench.log.object('o1', '2'), bench.log.entry())
    const index = bench.open()
    expect(((await index.object(RUN, 'o1' as ObjectId, 2)) as StoredObject).data).toBe('1')
    expect((await replay(index, 10)).map(record => record.kind)).toEqual(['object', 'entry', 'entry'])
  })

  it.each([1, 2, 3, 100])('replays a run in the order of the log, %i records to a page', async limit => {
    const written = write()
    const index = bench.open()
    expect(await replay(index, limit)).toEqual(written)
    expect(await replay(index, limit, 1)).toEqual(written.slice(1))
    expect(await replay(index, limit, 2)).toEqual(written.slice(4))
    expect(await replay(index, limit, 3)).toEqual(written.slice(-1))
    expect(await replay(index, limit, 99)).toEqual([])
  })

  it('replays nothing of a run that is not there', async () => {
    write()
    const page = await bench.open().replay('run_9' as RunId, 0, 10, undefined, 1)
    expect(page).toEqual({ records: [], cursor: undefined })
  })

  it('refuses a cursor that it did not give out', async () => {
    write()
    const refused = bench.open().replay(RUN, 0, 10, 'elsewhere', 1)
    await expect(refused).rejects.toMatchObject({ code: 'invalid_query' })
  })

  it('does not hand out an object that changed on disk', async () => {
    write()
    const index = bench.open()
    await index.runs(bench.log.end.frame)
    bench.log.flip(1, bench.log.find(1, '"one"') + 1)
    bench.save()
    const damaged = { code: 'trail_damaged', details: { run: RUN, seq: 2, segment: 1, object: 'o1' } }
    await expect(index.object(RUN, 'o1' as ObjectId, 1)).rejects.toMatchObject(damaged)
    await expect(index.replay(RUN, 0, 10, undefined, 1)).rejects.toMatchObject(damaged)
  })
})
