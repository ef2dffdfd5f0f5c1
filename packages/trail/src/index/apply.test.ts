import type { RunId, WorkspaceId } from '@parley/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredEntry } from '../entry.ts'
import { FRAME_HEADER } from '../log/frame.ts'
import { SEGMENT_HEADER } from '../log/segment.ts'
import type { StorePage } from '../store/store.ts'
import { Bench, KINDS, ROOT, RUN, START, type TestLog } from '../testing/log-fixture.ts'
import type { TrailIndex } from './contract.ts'
import { indexLimits } from './limits.ts'

const OTHER = 'run_2' as RunId

describe.each(KINDS)('an index of %s rows over its log', kind => {
  let bench: Bench
  let log: TestLog
  beforeEach(() => {
    bench = new Bench(kind)
    log = bench.log
  })
  afterEach(() => bench.remove())

  function all(index: TrailIndex, run = RUN): Promise<StorePage> {
    return index.select({ run, order: 'ascending', limit: 10_000 }, log.end.frame)
  }

  async function seqs(index: TrailIndex, run = RUN): Promise<number[]> {
    return (await all(index, run)).entries.map(entry => entry.seq)
  }

  describe('keeping up', () => {
    it('answers about an empty log', async () => {
      const index = bench.open()
      expect(await index.runs(0)).toEqual([])
      expect(await index.head(RUN, 0)).toBeUndefined()
      expect(await seqs(index)).toEqual([])
    })

    it('follows a log from its first commit over several segments', async () => {
      const index = bench.open()
      for (let count = 1; count <= 9; count++) {
        if (count % 3 === 0) log.rotate(count === 6 ? 2 : 0)
        log.add({}, { run: OTHER })
        bench.advance(index)
        expect(await seqs(index)).toHaveLength(count)
      }
    })

    it('catches up with a log that is there already, in more than one slice', async () => {
      const many = indexLimits.sliceRecords * 2 + 10
      for (let left = many; left > 0; left -= 500) {
        log.add(...Array.from({ length: Math.min(500, left) }, () => ({})))
        if (left % 2000 === 10) log.rotate()
      }
      const index = bench.open()
      expect(await index.head(RUN, log.end.frame)).toMatchObject({ seq: many })
      const counted = [{ key: null, count: many, sum: 0 }]
      expect(await index.aggregate({ filter: { run: RUN } }, log.end.frame)).toEqual(counted)
    })

    it('never reads what a failed sync left behind the end of a segment', async () => {
      const [, kept] = log.add({}, {})
      const forsaken = log.copy()
      const { at } = forsaken.commit(forsaken.entry({ body: { never: true } }))
      const left = forsaken.segments.get(1)!.subarray(at)
      log.rotate()
      log.scribble(1, left)
      log.add({})
      const page = await all(bench.open())
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 2, 3])
      expect(page.entries[1]).toEqual(kept)
      expect(page.entries[2]!.view).not.toContain('never')
      expect(page.partial).toBeUndefined()
    })

    it('lets a query wait until the log has come as far as it asks', async () => {
      log.add({})
      const index = bench.open()
      let answered = false
      const waiting = index.head(RUN, 3).then(head => {
        answered = true
        return head
      })
      log.add({})
      bench.advance(index)
      await index.head(RUN, 2)
      expect(answered).toBe(false)
      log.add({})
      bench.advance(index)
      expect(await waiting).toMatchObject({ seq: 3 })
    })

    it('takes news of an older point for what it is', async () => {
      log.add({})
      const before = log.end
      log.add({})
      const index = bench.open()
      index.advance(before)
      expect(await seqs(index)).toEqual([1, 2])
    })
  })

  describe('summaries', () => {
    it('name head, root, times and counts of every run', async () => {
      const [created, updated] = [START + 5, START + 7]
      const [, second] = log.add({ type: 'workspace_created', ticks: created }, { workspace: 'ws_a', ticks: updated })
      log.commit(log.object('o1', '{}', OTHER))
      const index = bench.open()
      const head = { run: RUN, seq: 2, hash: second!.hash }
      const summary = { ...head, root: ROOT, created, updated, entries: 2, ended: false }
      expect(await index.runs(log.end.frame)).toEqual([summary])
      expect(await index.head(RUN, log.end.frame)).toEqual({ ...head, known: 2 })
      expect(await index.head(OTHER, log.end.frame)).toBeUndefined()
    })

    it.each(['closed', 'failed'])('say that a run ended when its root is %s', async to_state => {
      const type = 'workspace_state_changed'
      log.add(
        { type: 'workspace_created' },
        { workspace: 'ws_a', type, body: { to_state } },
        { type, body: { to_state: 'active' } },
      )
      const index = bench.open()
      expect((await index.runs(1))[0]!.ended).toBe(false)
      log.add({ type, body: { to_state } })
      bench.advance(index)
      expect((await index.runs(2))[0]!.ended).toBe(true)
    })
  })

  describe('damage', () => {
    it('in one commit leaves the others readable, and queries of that run say so', async () => {
      log.add({}, {})
      const { at } = log.commit(log.entry())
      log.add({ run: OTHER }, {})
      log.flip(1, at + FRAME_HEADER + 200)
      const index = bench.open()
      const page = await all(index)
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 2, 4])
      expect(page.partial).toEqual([
        expect.stringMatching(new RegExp(`^segment 1, byte ${at}: \\d+ bytes are damaged`)),
        expect.stringMatching(/^segment 1, byte \d+: entry 3 should stand before this place$/),
      ])
      expect((await all(index, OTHER)).partial).toBeUndefined()
      expect((await index.replay(RUN, 0, 10, undefined, 1)).partial).toHaveLength(2)
    })

    it('that names nobody concerns every run that does not go on behind it', async () => {
      log.add({}, { run: OTHER }, { run: 'run_3' as RunId })
      log.add({ run: 'run_3' as RunId, type: 'workspace_state_changed', body: { to_state: 'closed' } })
      const { at } = log.commit(log.entry({ run: 'run_4' as RunId }))
      log.add({})
      log.flip(1, at)
      log.flip(1, at + FRAME_HEADER + 1)
      const index = bench.open()
      expect((await all(index)).partial).toBeUndefined()
      expect((await all(index, OTHER)).partial).toHaveLength(1)
      expect((await all(index, 'run_3' as RunId)).partial).toBeUndefined()
      expect((await all(index, 'run_4' as RunId)).partial).toHaveLength(1)
    })

    it('at the very end keeps nobody waiting', async () => {
      log.add({})
      const { at } = log.commit(log.entry())
      log.flip(1, at + FRAME_HEADER + 200)
      const index = bench.open()
      expect((await all(index)).entries).toHaveLength(1)
      expect((await all(index)).partial).toHaveLength(1)
      log.add({})
      bench.advance(index)
      expect(await seqs(index)).toEqual([1, 3])
    })

    it('of a whole segment is met and passed', async () => {
      log.add({})
      log.rotate()
      log.add({}, {})
      log.rotate()
      log.add({})
      log.segments.set(2, log.segments.get(2)!.subarray(0, SEGMENT_HEADER))
      const page = await all(bench.open())
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 4])
      expect(page.partial).toContainEqual(expect.stringMatching(/entries 2 to 3 should stand before this place/))
    })

    it('by an entry that stands twice keeps the first', async () => {
      const [first] = log.add({})
      log.add({ seq: 1, body: { second: true } }, { seq: 2 })
      const page = await all(bench.open())
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 2])
      expect(page.entries[0]).toEqual(first)
      expect(page.partial).toEqual([expect.stringMatching(/entry 1 stands here a second time/)])
    })

    it('by an entry whose view is not one leaves that entry out', async () => {
      log.add({})
      log.commit({ ...log.entry(), view: '{"actor":1}' }, log.entry())
      const page = await all(bench.open())
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 3])
      expect(page.partial).toContainEqual(expect.stringMatching(/entry 2 cannot be read/))
    })

    it('by a commit that was cut out is noticed by its number', async () => {
      log.add({})
      const { at } = log.commit(log.entry({ run: OTHER }))
      const behind = log.segments.get(1)!.length
      log.add({})
      const bytes = log.segments.get(1)!
      log.segments.set(1, Buffer.concat([bytes.subarray(0, at), bytes.subarray(behind)]))
      const page = await all(bench.open(), OTHER)
      expect(page.partial).toEqual([`segment 1, byte ${at}: commit 2 should stand before this place`])
    })

    it('of a view on disk is never handed out', async () => {
      log.add({ body: { amount: 1 } }, { body: { amount: 2 } })
      const index = bench.open()
      expect(await seqs(index)).toEqual([1, 2])
      const at = log.find(1, '"amount":2')
      log.flip(1, at + 9)
      bench.save()
      const damaged = { name: 'ParleyError', code: 'trail_damaged', details: { run: RUN, seq: 2, segment: 1 } }
      await expect(seqs(index)).rejects.toMatchObject(damaged)
      await expect(index.aggregate({ filter: { run: RUN }, sum: ['amount'] }, 1)).rejects.toMatchObject(damaged)
      await expect(index.replay(RUN, 0, 10, undefined, 1)).rejects.toMatchObject(damaged)
      expect(await index.select({ run: RUN, order: 'ascending', limit: 1 }, 1)).toMatchObject({ entries: [{ seq: 1 }] })
    })

    it('is told in a few words where there is much of it', async () => {
      for (let count = 0; count < indexLimits.partialNotes + 5; count++) log.add({ seq: count * 2 + 2 })
      const { partial } = await all(bench.open())
      expect(partial).toHaveLength(indexLimits.partialNotes)
      expect(partial!.at(-1)).toBe('and 6 more')
    })
  })

  describe('archives', () => {
    let entries: StoredEntry[]
    beforeEach(() => {
      const parts = Array.from({ length: 6 }, (_, at) => ({ workspace: at % 2 ? 'ws_a' : ROOT, body: { n: at + 1 } }))
      entries = parts.map(each => log.add(each)[0]!)
      log.rotate()
      entries.push(...log.add({ body: { n: 7 } }))
    })

    it('are read in place of the segments from then on', async () => {
      const index = bench.open()
      await index.runs(log.end.frame)
      const places = log.archive(1, [entries[1]!, entries[3]!])
      bench.save()
      await index.relocate(RUN, places)
      for (const text of ['"n":2', '"n":4']) log.flip(1, log.find(1, text) + 1)
      bench.save()
      expect((await all(index)).entries).toEqual(entries)
      const rest = [0, 2, 4, 5].map(at => entries[at]!)
      const more = log.archive(2, rest)
      bench.save()
      await index.relocate(RUN, more)
      expect((await all(index)).entries).toEqual(entries)
      const spans = [{ workspace: 'ws_a' as WorkspaceId }]
      const cold = await index.select({ run: RUN, order: 'descending', limit: 2, spans }, 1)
      expect(cold.entries.map(entry => entry.seq)).toEqual([6, 4])
    })

    it('take nothing that is not there', async () => {
      const index = bench.open()
      const places = log.archive(1, entries.slice(0, 2))
      bench.save()
      const wrong = [places[1]!, { ...places[0]!, at: places[0]!.at + 1 }]
      await expect(index.relocate(RUN, wrong)).rejects.toMatchObject({ code: 'trail_damaged' })
      const missing = index.relocate(RUN, [{ ...places[0]!, file: -9 }])
      await expect(missing).rejects.toMatchObject({ code: 'archive_unreadable' })
    })

    it('that cannot be read leave a partial answer', async () => {
      const index = bench.open()
      const places = log.archive(1, entries.slice(1, 3))
      bench.save()
      await index.relocate(RUN, places)
      log.cold.delete(1)
      // What was unpacked once is kept for a while, so the file index is opened again.
      if (kind === 'sqlite') await bench.closeIndexes()
      const again = kind === 'sqlite' ? bench.open() : index
      const page = await all(again)
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 4, 5, 6, 7])
      expect(page.partial).toEqual(['archive 1: not readable, its entries are left out'])
      const unreadable = { code: 'archive_unreadable', retryable: true }
      await expect(again.replay(RUN, 0, 9, undefined, 1)).rejects.toMatchObject(unreadable)
      await expect(again.aggregate({ filter: { run: RUN }, sum: ['n'] }, 1)).rejects.toMatchObject(unreadable)
    })

    it('are found by an index that is made anew', async () => {
      log.archive(1, [entries[3]!, entries[5]!])
      log.archive(2, [entries[0]!])
      log.flip(1, log.find(1, '"n":4') + 1)
      const index = bench.open()
      const page = await all(index)
      expect(page.entries).toContainEqual(entries[3])
      expect((await index.runs(1))[0]).toMatchObject({ root: ROOT, seq: 7, created: START + 1 })
    })

    it('hold the end of a run as well as its beginning', async () => {
      const type = 'workspace_state_changed'
      const [last] = log.add({ type, body: { to_state: 'closed' } })
      log.archive(1, [entries[1]!, last!])
      log.archive(2, [entries[0]!])
      log.segments.delete(1)
      const [summary] = await bench.open().runs(log.end.frame)
      expect(summary).toMatchObject({ root: ROOT, ended: true, entries: 4 })
    })

    it('that were deleted take their entries with them, and that is no damage', async () => {
      const index = bench.open()
      const places = log.archive(1, entries.slice(1, 3))
      bench.save()
      await index.relocate(RUN, places)
      log.deleteArchive(1)
      await index.forget(RUN, [2, 3])
      expect(await seqs(index)).toEqual([1, 4, 5, 6, 7])
      expect((await index.runs(1))[0]).toMatchObject({ seq: 7, entries: 5 })
      expect((await all(index)).partial).toBeUndefined()
    })

    it('that were deleted stay deleted for an index that is made anew', async () => {
      log.archive(1, entries.slice(1, 3))
      log.deleteArchive(1)
      const page = await all(bench.open())
      expect(page.entries.map(entry => entry.seq)).toEqual([1, 4, 5, 6, 7])
      expect(page.partial).toBeUndefined()
    })
  })
})
