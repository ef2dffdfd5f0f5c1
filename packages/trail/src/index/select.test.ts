import type { RunId, Ticks, WorkspaceId } from '@parley/core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StoreQuery } from '../store/store.ts'
import { Bench, KINDS, ROOT, RUN, START } from '../testing/log-fixture.ts'
import type { TrailIndex } from './contract.ts'
import { indexLimits } from './limits.ts'

const A = 'ws_a' as WorkspaceId
const B = 'ws_b' as WorkspaceId

describe.each(KINDS)('select over %s rows', kind => {
  let bench: Bench
  let index: TrailIndex

  beforeAll(() => {
    bench = new Bench(kind)
    const { log } = bench
    // seq: 1 root, 2 A, 3 B, 4 A, 5 null, 6 A, 7 B, 8 root
    const [type, other] = ['signal_emitted', 'checkpoint_created']
    log.add({ type: 'workspace_created' })
    log.add({ workspace: A, type, body: { n: 1 } }, { workspace: B, type, body: { n: 1 } })
    log.add({ run: 'run_2' as RunId, workspace: A })
    log.add({ workspace: A, type: other, body: { usage: { cost: 2 } } })
    log.rotate()
    log.add({ workspace: null })
    log.add({ workspace: A, type: other, body: { usage: { cost: 3 }, list: [1] } }, { workspace: B, type: other })
    log.add({})
    index = bench.open()
  })

  afterAll(() => bench.remove())

  async function found(query: Partial<StoreQuery>): Promise<number[]> {
    const page = await index.select({ run: RUN, order: 'ascending', limit: 100, ...query }, bench.log.end.frame)
    expect(page.partial).toBeUndefined()
    return page.entries.map(entry => entry.seq)
  }

  it('returns whole entries, as they were written', async () => {
    const page = await index.select({ run: RUN, order: 'ascending', limit: 1 }, bench.log.end.frame)
    const [entry] = page.entries
    expect(entry).toMatchObject({ kind: 'entry', run: RUN, seq: 1 })
    expect(JSON.parse(entry!.view)).toMatchObject({ event_type: 'workspace_created', workspace: ROOT })
    expect(page.more).toBe(true)
  })

  // What else there is to ask for is in model.test.ts.
  it.each<[string, Partial<StoreQuery>, number[]]>([
    ['no filter', {}, [1, 2, 3, 4, 5, 6, 7, 8]],
    ['a run that is not there', { run: 'run_9' as RunId }, []],
    ['a workspace that is not there', { spans: [{ workspace: 'ws_z' as WorkspaceId }] }, []],
    ['a body value of another type', { body: [{ path: ['n'], equals: '1' }] }, []],
    ['a nested body path', { body: [{ path: ['usage', 'cost'], equals: 3 }] }, [6]],
    ['a path into a list', { body: [{ path: ['list', '0'], equals: 1 }] }, []],
    ['a path that every object inherits', { body: [{ path: ['constructor', 'name'], equals: 'Object' }] }, []],
  ])('finds the entries of %s', async (_, query, expected) => {
    expect(await found(query)).toEqual(expected)
    expect(await found({ ...query, order: 'descending' })).toEqual(expected.toReversed())
  })

  it.each([
    ['a limit below one', { limit: 0 }],
    ['a limit that is no whole number', { limit: 1.5 }],
    ['an empty body path', { body: [{ path: [], equals: 1 }] }],
    ['a bound that is no number', { after: Number.NaN }],
    ['too many values', { actors: Array.from({ length: indexLimits.filterItems + 1 }, String) }],
  ])('refuses %s', async (_, query) => {
    await expect(found(query)).rejects.toMatchObject({ name: 'ParleyError', code: 'invalid_query', retryable: false })
  })
})

describe.each(KINDS)('pages over %s rows', kind => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench(kind)
  })
  afterEach(() => bench.remove())

  it('end at about eight megabytes, however many entries were asked for', async () => {
    const note = 'x'.repeat(200 * 1024)
    for (let count = 0; count < 60; count++) bench.log.add({ body: { note, n: 1 } })
    const index = bench.open()
    for (const body of [undefined, [{ path: ['n'], equals: 1 }]]) {
      const seqs: number[] = []
      for (let after = 0, more = true; more; ) {
        const page = await index.select({ run: RUN, order: 'ascending', limit: 1000, after, ...(body && { body }) }, 60)
        const bytes = page.entries.reduce((sum, entry) => sum + entry.view.length, 0)
        expect(bytes).toBeLessThanOrEqual(indexLimits.pageBytes)
        seqs.push(...page.entries.map(entry => entry.seq))
        after = seqs.at(-1)!
        more = page.more
      }
      expect(seqs).toEqual(Array.from({ length: 60 }, (_, at) => at + 1))
    }
  })

  it('find what they look for among more entries than are read at once', async () => {
    const many = indexLimits.scanRows + 100
    for (let first = 0; first < many; first += 100) {
      bench.log.add(
        ...Array.from({ length: 100 }, (_, at) => ({ workspace: `ws_${at % 10}`, body: { n: first + at } })),
      )
    }
    const index = bench.open()
    const at = bench.log.end.frame
    const last = Math.ceil(many / 100) * 100
    const needle = await index.select(
      { run: RUN, order: 'ascending', limit: 2, body: [{ path: ['n'], equals: last - 1 }] },
      at,
    )
    expect(needle.entries.map(entry => entry.seq)).toEqual([last])
    expect(needle.more).toBe(false)
    const spans = Array.from({ length: 10 }, (_, workspace) => ({ workspace: `ws_${workspace}` as WorkspaceId }))
    const merged = await index.select({ run: RUN, order: 'descending', limit: last, spans }, at)
    expect(merged.entries.map(entry => entry.seq)).toEqual(Array.from({ length: last }, (_, back) => last - back))
  })

  it('choose by what is rarer between a workspace and a type', async () => {
    const many = indexLimits.probeRows + 50
    const parts = Array.from({ length: many }, (_, at) => ({
      workspace: at === 7 ? A : B,
      type: at % 2 ? 'odd' : 'even',
    }))
    for (let first = 0; first < many; first += 100) bench.log.add(...parts.slice(first, first + 100))
    bench.log.add({ workspace: B, type: 'rare' }, { workspace: A, type: 'rare' })
    const index = bench.open()
    const at = bench.log.end.frame
    const select = async (spans: StoreQuery['spans'], types: string[]) => {
      const page = await index.select({ run: RUN, order: 'ascending', limit: 9, spans: spans!, types }, at)
      return page.entries.map(entry => entry.seq)
    }
    expect(await select([{ workspace: A }], ['odd', 'even'])).toEqual([8])
    expect(await select([{ workspace: B }], ['rare'])).toEqual([many + 1])
    expect(await select([{ workspace: B, to: many }, { workspace: A }], ['rare'])).toEqual([many + 2])
  })

  it('find a range of time where time goes back between entries', async () => {
    bench.log.add({ ticks: START + 50 }, { ticks: START + 10 }, { ticks: START + 60 }, { ticks: START + 20 })
    const page = await bench
      .open()
      .select({ run: RUN, order: 'ascending', limit: 9, from: (START + 15) as Ticks, to: (START + 55) as Ticks }, 1)
    expect(page.entries.map(entry => entry.seq)).toEqual([1, 4])
  })
})
