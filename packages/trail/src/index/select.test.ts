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
    log.add({ type: 'workspace_created', actor: 'protocol', ticks: START })
    log.add(
      { workspace: A, type: 'signal_emitted', actor: 'ann', ticks: START + 10, body: { state: 'blocked', n: 1 } },
      { workspace: B, type: 'signal_emitted', actor: 'bob', ticks: START + 20, body: { state: 'active', n: 1 } },
    )
    log.add({ run: 'run_2' as RunId, workspace: A, ticks: START + 25 })
    log.add({
      workspace: A,
      type: 'checkpoint_created',
      actor: 'ann',
      ticks: START + 30,
      body: { usage: { cost: 2 }, n: null },
    })
    log.rotate()
    log.add({ workspace: null, type: 'trail_compacted', actor: 'protocol', ticks: START + 40 })
    log.add(
      {
        workspace: A,
        type: 'checkpoint_created',
        actor: 'bob',
        ticks: START + 50,
        body: { usage: { cost: 3 }, list: [1] },
      },
      { workspace: B, type: 'checkpoint_created', actor: 'ann', ticks: START + 60, body: { flag: true } },
    )
    log.add({ type: 'workspace_state_changed', actor: 'system', ticks: START + 70, body: { to_state: 'blocked' } })
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

  it.each<[string, Partial<StoreQuery>, number[]]>([
    ['no filter', {}, [1, 2, 3, 4, 5, 6, 7, 8]],
    ['a run that is not there', { run: 'run_9' as RunId }, []],
    ['one workspace', { spans: [{ workspace: A }] }, [2, 4, 6]],
    ['several workspaces in order of seq', { spans: [{ workspace: B }, { workspace: A }] }, [2, 3, 4, 6, 7]],
    ['system-level entries', { spans: [{ workspace: null }] }, [5]],
    ['a workspace that is not there', { spans: [{ workspace: 'ws_z' as WorkspaceId }] }, []],
    ['a span from and to', { spans: [{ workspace: A, from: 4, to: 6 }] }, [4]],
    [
      'spans of one workspace that overlap',
      {
        spans: [
          { workspace: A, from: 2, to: 5 },
          { workspace: A, from: 4 },
        ],
      },
      [2, 4, 6],
    ],
    ['a span without extent', { spans: [{ workspace: A, from: 4, to: 4 }] }, []],
    ['one actor', { actors: ['bob'] }, [3, 6]],
    ['several actors', { actors: ['bob', 'system'] }, [3, 6, 8]],
    ['an actor that is not there', { actors: ['zed'] }, []],
    ['one type', { types: ['checkpoint_created'] }, [4, 6, 7]],
    ['several types', { types: ['checkpoint_created', 'signal_emitted'] }, [2, 3, 4, 6, 7]],
    ['a type named twice', { types: ['trail_compacted', 'trail_compacted'] }, [5]],
    ['a time from, inclusive', { from: (START + 50) as Ticks }, [6, 7, 8]],
    ['a time to, inclusive', { to: (START + 20) as Ticks }, [1, 2, 3]],
    ['a time range', { from: (START + 15) as Ticks, to: (START + 45) as Ticks }, [3, 4, 5]],
    ['a time range between two entries', { from: (START + 31) as Ticks, to: (START + 39) as Ticks }, []],
    ['after', { after: 6 }, [7, 8]],
    ['before', { before: 3 }, [1, 2]],
    ['after and before', { after: 2, before: 5 }, [3, 4]],
    ['a body value', { body: [{ path: ['state'], equals: 'blocked' }] }, [2]],
    ['a body value of another type', { body: [{ path: ['n'], equals: '1' }] }, []],
    ['a number in a body', { body: [{ path: ['n'], equals: 1 }] }, [2, 3]],
    ['null in a body, which is not absence', { body: [{ path: ['n'], equals: null }] }, [4]],
    ['a flag in a body', { body: [{ path: ['flag'], equals: true }] }, [7]],
    ['a nested body path', { body: [{ path: ['usage', 'cost'], equals: 3 }] }, [6]],
    ['a path into a list', { body: [{ path: ['list', '0'], equals: 1 }] }, []],
    ['a path that every object inherits', { body: [{ path: ['constructor', 'name'], equals: 'Object' }] }, []],
    [
      'two body values',
      {
        body: [
          { path: ['n'], equals: 1 },
          { path: ['state'], equals: 'active' },
        ],
      },
      [3],
    ],
    ['workspace and type', { spans: [{ workspace: A }], types: ['checkpoint_created'] }, [4, 6]],
    [
      'a span, types and an actor',
      {
        spans: [{ workspace: A, from: 3 }, { workspace: B }],
        types: ['checkpoint_created', 'signal_emitted'],
        actors: ['bob'],
      },
      [3, 6],
    ],
    ['actor and time', { actors: ['ann'], from: (START + 20) as Ticks }, [4, 7]],
    [
      'everything at once',
      {
        spans: [{ workspace: A, to: 7 }],
        types: ['checkpoint_created'],
        actors: ['ann', 'bob'],
        from: (START + 30) as Ticks,
        to: (START + 50) as Ticks,
        after: 4,
        before: 7,
        body: [{ path: ['usage', 'cost'], equals: 3 }],
      },
      [6],
    ],
    ['no workspace at all', { spans: [] }, []],
    ['no actor at all', { actors: [] }, []],
    ['no type at all', { types: [] }, []],
  ])('finds the entries of %s', async (_, query, expected) => {
    expect(await found(query)).toEqual(expected)
    expect(await found({ ...query, order: 'descending' })).toEqual(expected.toReversed())
  })

  it('gives the newest first, and says that there is more', async () => {
    const query = { run: RUN, order: 'descending', limit: 2, spans: [{ workspace: A }] } as const
    const page = await index.select(query, bench.log.end.frame)
    expect(page.entries.map(entry => entry.seq)).toEqual([6, 4])
    expect(page.more).toBe(true)
    const rest = await index.select({ ...query, before: 4 }, bench.log.end.frame)
    expect(rest.entries.map(entry => entry.seq)).toEqual([2])
    expect(rest.more).toBe(false)
  })

  it.each([
    ['header conditions', {}],
    ['several ranges', { types: ['checkpoint_created', 'signal_emitted'] }],
    ['body conditions', { body: [{ path: ['n'], equals: 1 }] }],
  ])('pages by the last seq without losing or repeating an entry, with %s', async (_, filter) => {
    const all = await found(filter)
    const paged: number[] = []
    for (let after = 0, more = true; more; ) {
      const page = await index.select({ run: RUN, order: 'ascending', limit: 1, after, ...filter }, bench.log.end.frame)
      paged.push(...page.entries.map(entry => entry.seq))
      after = paged.at(-1)!
      more = page.more
    }
    expect(paged).toEqual(all)
  })

  it('says that there is no more when a page holds exactly the rest', async () => {
    for (const filter of [{ after: 6 }, { body: [{ path: ['n'], equals: 1 }] }]) {
      const page = await index.select({ run: RUN, order: 'ascending', limit: 2, ...filter }, bench.log.end.frame)
      expect(page.entries).toHaveLength(2)
      expect(page.more).toBe(false)
    }
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
