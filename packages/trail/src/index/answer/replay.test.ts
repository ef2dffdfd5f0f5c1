import type { ObjectId, RunId } from '@parley/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject, StoredRecord } from '../../entry.ts'
import { Bench, KINDS, RUN } from '../../testing/log-fixture.ts'
import type { TrailIndex } from '../contract.ts'

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
    expect(await index.object(RUN, 'o1' as ObjectId, at)).toEqual({
      kind: 'object',
      run: RUN,
      seq: 2,
      id: 'o1',
      objectKind: 'payload',
      data: '{"text":"one"}',
    })
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
