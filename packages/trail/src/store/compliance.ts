// What every trail store must do, as one suite (see the contract in store.ts). An implementation runs it with a maker
// that can open the same storage again.
import { type ObjectId, type ParleyError, parseTimestamp } from '@parley/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StoredEntry } from '../entry.ts'
import { A, append, B, collect, entry, fill, hashes, object, R1, R2, seqs, timeOf } from '../testing/store-records.ts'
import type { TrailStore } from './store.ts'

export interface StoreMaker {
  /** Opens the storage, made on first use. */
  open(): Promise<TrailStore>
  /** Removes the storage. */
  dispose(): Promise<void>
}

export function trailStoreCompliance(name: string, make: () => StoreMaker | Promise<StoreMaker>): void {
  describe(`trail store: ${name}`, () => {
    let maker: StoreMaker
    let store: TrailStore

    beforeEach(async () => {
      hashes.clear()
      maker = await make()
      store = await maker.open()
    })

    afterEach(async () => {
      await store.close()
      await maker.dispose()
    })

    async function reopen(): Promise<void> {
      await store.close()
      store = await maker.open()
    }

    test('a new store is empty', async () => {
      expect(await store.runs()).toEqual([])
      expect(await store.head(R1)).toBeUndefined()
      expect(await collect(store.replay(R1))).toEqual([])
      expect(store.floor).toBe(0)
      expect(store.damage).toEqual([])
    })

    test('what was acknowledged is read back as it was, at once and after reopening', async () => {
      const signed = { ...entry(R1, 1), signature: 'ab'.repeat(64), signer: 'key' }
      const records = [object(R1, 1, 'o1', 'Grüße 🌍'), signed, entry(R1, 2, { body: { text: 'é\u2028"\\' } })]
      expect(await append(store, ...records)).toBeUndefined()
      expect(await collect(store.replay(R1))).toEqual(records)
      await reopen()
      expect(await collect(store.replay(R1))).toEqual(records)
      expect(await store.object(R1, 'o1' as ObjectId)).toEqual(records[0])
    })

    test('settle is called once, after append has returned', async () => {
      let calls = 0
      let returned = false
      await new Promise<void>(resolve => {
        store.append([entry(R1, 1)], () => {
          calls++
          expect(returned).toBe(true)
          resolve()
        })
        returned = true
      })
      await append(store, entry(R1, 2))
      expect(calls).toBe(1)
    })

    test('batches of many runs at once keep the order of each run', async () => {
      const results = []
      for (let seq = 1; seq <= 200; seq++) for (const run of [R1, R2]) results.push(append(store, entry(run, seq)))
      expect((await Promise.all(results)).every(error => error === undefined)).toBe(true)
      const wanted = Array.from({ length: 200 }, (_, index) => index + 1)
      expect(await seqs(store, { run: R1 })).toEqual(wanted)
      expect(await seqs(store, { run: R2 })).toEqual(wanted)
    })

    describe('what does not follow the newest entry of its run is refused', () => {
      const conflict = { code: 'trail_conflict', retryable: false }

      beforeEach(() => fill(store, R1, 3))

      async function unchanged(): Promise<void> {
        expect(await seqs(store, { run: R1 })).toEqual([1, 2, 3])
        expect(await append(store, entry(R1, 4))).toBeUndefined()
      }

      test('a second entry in a place that is taken, at once and after reopening', async () => {
        const other = entry(R1, 3, { body: { other: true } })
        expect(await append(store, other)).toMatchObject(conflict)
        await reopen()
        expect(await append(store, other)).toMatchObject(conflict)
        entry(R1, 3)
        await unchanged()
      })

      test('an entry that leaves out a place', async () => {
        entry(R1, 4)
        expect(await append(store, entry(R1, 5))).toMatchObject(conflict)
        await unchanged()
      })

      test('an entry in the right place that follows another one', async () => {
        const wrong = entry(R1, 3, { body: { other: true } })
        const next = entry(R1, 4)
        entry(R1, 3)
        expect(await append(store, next)).toMatchObject(conflict)
        expect(wrong.hash).not.toBe(entry(R1, 3).hash)
        await unchanged()
      })

      test('a first entry that is not the first, and one of a batch of which the others fit', async () => {
        expect(await append(store, entry(R2, 2))).toMatchObject(conflict)
        const batch = [entry(R1, 4), entry(R2, 1), entry(R1, 6)]
        expect(await append(store, ...batch)).toMatchObject(conflict)
        expect(await store.head(R2)).toBeUndefined()
        await unchanged()
      })

      test('a batch behind one that is on its way may follow it, and nothing else', async () => {
        const settled: (ParleyError | undefined)[] = []
        const take = (each: StoredEntry) => store.append([each], error => settled.push(error))
        expect(take(entry(R1, 4))).toBeUndefined()
        expect(take(entry(R1, 4, { body: {} }))).toMatchObject(conflict)
        entry(R1, 4)
        expect(await append(store, entry(R1, 5))).toBeUndefined()
        expect(settled).toEqual([undefined])
      })

      test('the storage itself says how far a run goes', async () => {
        const newest = entry(R1, 3)
        const head = { run: R1, seq: 3, hash: newest.hash }
        expect(await store.logHead(R1)).toEqual(head)
        await reopen()
        expect(await store.logHead(R1)).toEqual(head)
        expect(await store.logHead(R2)).toBeUndefined()
      })
    })

    test('heads, summaries and the clock floor follow the appends', async () => {
      await fill(store, R1, 3, seq =>
        seq === 1 ? { type: 'workspace_created', body: { workspace_id: A, parent: null } } : {},
      )
      const head = { run: R1, seq: 3, hash: entry(R1, 3).hash }
      for (const time of ['live', 'reopened']) {
        expect(await store.head(R1), time).toEqual(head)
        expect(await store.knownHeads(R1), time).toContainEqual(head)
        expect(store.floor, time).toBe(parseTimestamp(timeOf(3)))
        const [summary] = await store.runs()
        expect(summary, time).toMatchObject({ ...head, root: A, entries: 3, ended: false })
        await reopen()
      }
    })

    test('the starts of many runs are read at once, from the log and after they moved out of it', async () => {
      const root = (run: typeof R1, body: object) =>
        entry(run, 1, { type: 'workspace_created', body: { workspace_id: A, parent: null, ...body } })
      const large = object(R1, 1, 'large', 'x'.repeat(200_000))
      const [first, second] = [root(R1, { context: 'large' }), root(R2, {})]
      await append(store, object(R1, 1, 'other', 'not the context'), large, first)
      await append(store, entry(R1, 2, { workspace: null }))
      await append(store, second)
      const both = [second, first, large]
      const wanted = [R2, 'run_unknown' as typeof R1, R1]
      expect(await store.starts(wanted)).toMatchObject(both)
      await store.tiers.moveRun(R1, timeOf(3))
      expect(await store.starts(wanted)).toMatchObject(both)
      await reopen()
      expect(await store.starts(wanted)).toMatchObject(both)
      expect(await store.starts([])).toEqual([])
    })

    test('a run is ended once its root is terminal', async () => {
      await fill(store, R1, 2, seq =>
        seq === 1
          ? { type: 'workspace_created', body: { workspace_id: A, parent: null } }
          : { type: 'workspace_state_changed', body: { workspace_id: A, to_state: 'closed' } },
      )
      expect((await store.runs())[0]?.ended).toBe(true)
    })

    test('each filter alone, and all of them joined', async () => {
      await fill(store, R1, 12, seq => ({
        workspace: seq % 3 === 0 ? null : seq % 3 === 1 ? A : B,
        actor: seq % 2 === 0 ? 'worker' : 'system',
        type: seq <= 6 ? 'signal_emitted' : 'envelope_created',
        body: { deep: { n: seq % 4 }, flag: seq > 10 },
      }))
      expect(await seqs(store, { run: R1, spans: [{ workspace: B }] })).toEqual([2, 5, 8, 11])
      expect(await seqs(store, { run: R1, spans: [{ workspace: null }] })).toEqual([3, 6, 9, 12])
      expect(
        await seqs(store, {
          run: R1,
          spans: [
            { workspace: A, from: 4, to: 10 },
            { workspace: B, from: 11 },
          ],
        }),
      ).toEqual([4, 7, 11])
      expect(await seqs(store, { run: R1, spans: [] })).toEqual([])
      expect(await seqs(store, { run: R1, actors: ['worker'] })).toEqual([2, 4, 6, 8, 10, 12])
      expect(await seqs(store, { run: R1, actors: [] })).toEqual([])
      expect(await seqs(store, { run: R1, types: ['envelope_created'] })).toEqual([7, 8, 9, 10, 11, 12])
      const [from, to] = [parseTimestamp(timeOf(4))!, parseTimestamp(timeOf(6))!]
      expect(await seqs(store, { run: R1, from, to })).toEqual([4, 5, 6])
      expect(await seqs(store, { run: R1, after: 9 })).toEqual([10, 11, 12])
      expect(await seqs(store, { run: R1, before: 3 })).toEqual([1, 2])
      expect(await seqs(store, { run: R1, body: [{ path: ['deep', 'n'], equals: 1 }] })).toEqual([1, 5, 9])
      expect(await seqs(store, { run: R1, body: [{ path: ['flag'], equals: true }] })).toEqual([11, 12])
      expect(await seqs(store, { run: R1, body: [{ path: ['nothing', 'here'], equals: null }] })).toEqual([])
      expect(
        await seqs(store, {
          run: R1,
          spans: [{ workspace: A }, { workspace: B }],
          actors: ['worker'],
          types: ['envelope_created'],
          body: [{ path: ['deep', 'n'], equals: 0 }],
        }),
      ).toEqual([8])
      expect(await seqs(store, { run: R2 })).toEqual([])
    })

    test('pages follow a cursor in both directions, without gap or repetition', async () => {
      await fill(store, R1, 10)
      const first = await store.select({ run: R1, order: 'ascending', limit: 4 })
      expect([first.entries.map(each => each.seq), first.more]).toEqual([[1, 2, 3, 4], true])
      expect(await seqs(store, { run: R1, after: 4, limit: 4 })).toEqual([5, 6, 7, 8])
      const last = await store.select({ run: R1, after: 8, order: 'ascending', limit: 4 })
      expect([last.entries.map(each => each.seq), last.more]).toEqual([[9, 10], false])
      expect(await seqs(store, { run: R1, order: 'descending', limit: 3 })).toEqual([10, 9, 8])
      expect(await seqs(store, { run: R1, order: 'descending', before: 8, limit: 3 })).toEqual([7, 6, 5])
    })

    test('aggregates count, group and sum', async () => {
      await fill(store, R1, 6, seq => ({
        workspace: seq <= 4 ? A : B,
        body: { cost: seq, kind: seq % 2 ? 'odd' : 'even' },
      }))
      expect(await store.aggregate({ filter: { run: R1 } })).toEqual([{ key: null, count: 6, sum: 0 }])
      expect(await store.aggregate({ filter: { run: R1 }, sum: ['cost'] })).toEqual([{ key: null, count: 6, sum: 21 }])
      const byWorkspace = await store.aggregate({ filter: { run: R1 }, groupBy: 'workspace', sum: ['cost'] })
      expect(byWorkspace.toSorted((a, b) => a.count - b.count)).toEqual([
        { key: B, count: 2, sum: 11 },
        { key: A, count: 4, sum: 10 },
      ])
      const byKind = await store.aggregate({ filter: { run: R1 }, groupBy: { body: ['kind'] } })
      expect(byKind.map(row => [row.key, row.count]).toSorted()).toEqual([
        ['even', 3],
        ['odd', 3],
      ])
      await expect(store.aggregate({ filter: { run: R1 }, sum: ['kind'] })).rejects.toMatchObject({
        code: 'invalid_query',
      })
    })

    test('an object larger than the log takes lies beside it and is read back whole', async () => {
      const large = object(R1, 1, 'large', 'x'.repeat(200_000))
      expect(await append(store, large, entry(R1, 1))).toBeUndefined()
      for (const time of ['live', 'reopened']) {
        expect((await store.object(R1, 'large' as ObjectId))?.data, time).toBe(large.data)
        const [replayed] = await collect(store.replay(R1))
        expect(replayed?.kind === 'object' && replayed.data, time).toBe(large.data)
        await reopen()
      }
      expect(await store.checkBlobs()).toMatchObject({ blobs: 1, garbage: [], damaged: [], missing: [] })
    })

    test('a scan yields what is there in the order of the log, of one run or of all', async () => {
      await fill(store, R1, 3)
      await fill(store, R2, 2)
      const all = (await collect(store.scan())).flat()
      expect(all).toHaveLength(5)
      const one = (await collect(store.scan(R2))).flat()
      expect(one).toEqual([entry(R2, 1), entry(R2, 2)])
    })

    test('archived entries are read from the archive, in their places; deleted ones are bridged', async () => {
      await fill(store, R1, 6)
      const manifest = await store.tiers.archive(R1, A, [2, 4], timeOf(900))
      for (const time of ['live', 'reopened']) {
        expect(await seqs(store, { run: R1 }), time).toEqual([1, 2, 3, 4, 5, 6])
        expect((await collect(store.scan(R1))).flat(), time).toEqual([1, 2, 3, 4, 5, 6].map(seq => entry(R1, seq)))
        await reopen()
      }
      await store.tiers.deleteArchive(manifest)
      for (const time of ['live', 'reopened']) {
        expect(await seqs(store, { run: R1 }), time).toEqual([1, 3, 5, 6])
        const scanned = (await collect(store.scan(R1))).flat()
        expect(
          scanned.map(record => record.kind),
          time,
        ).toEqual(['entry', 'bridge', 'entry', 'bridge', 'entry', 'entry'])
        await reopen()
      }
    })

    test('a run that moved out of the log is read as before, in its order and once, and what follows it, too', async () => {
      const record = (seq: number) => [object(R1, seq, `o${seq}`, `text ${seq}`), entry(R1, seq)]
      const records = [1, 2, 3, 4].flatMap(record)
      for (const seq of [1, 2, 3, 4]) {
        expect(await append(store, ...record(seq))).toBeUndefined()
        expect(await append(store, entry(R2, seq))).toBeUndefined()
      }
      await store.tiers.archive(R1, A, [2], timeOf(900))
      expect(await store.tiers.whereIs(R1, 1)).toBe('log')
      expect((await store.tiers.moveRun(R1, timeOf(901))).records).toBe(7)
      expect((await store.tiers.moveRun(R1, timeOf(902))).records).toBe(0)
      expect((await store.tiers.usage()).map(({ run, segments }) => [run, segments.length])).toEqual([
        [R1, 0],
        [R2, 1],
      ])
      expect(await store.tiers.warmRuns()).toEqual([R1])
      expect([await store.tiers.whereIs(R1, 1), await store.tiers.whereIs(R1, 2)]).toEqual(['warm', 'cold'])
      expect(await append(store, ...record(5))).toBeUndefined()
      records.push(...record(5))
      for (const time of ['live', 'reopened', 'moved again', 'in the cold tier', 'reopened again']) {
        expect(await collect(store.replay(R1)), time).toEqual(records)
        expect((await collect(store.scan(R1))).flat(), time).toEqual(records)
        expect(await seqs(store, { run: R2 }), time).toEqual([1, 2, 3, 4])
        expect((await store.object(R1, 'o3' as ObjectId))?.data, time).toBe('"text 3"')
        expect(await store.head(R1), time).toMatchObject({ seq: 5 })
        if (time === 'reopened') expect((await store.tiers.moveRun(R1, timeOf(903))).records).toBeGreaterThan(1)
        else if (time === 'moved again') expect(await store.tiers.expire(R1, timeOf(904))).toBe(1)
        else await reopen()
      }
      expect(await store.tiers.whereIs(R1, 5)).toBe('cold')
      expect(await store.tiers.warmRuns()).toEqual([])
    })

    test('objects alone behind the last entry move with their run, and keep their order', async () => {
      const loose = ['a', 'b', 'c'].map(id => object(R1, 2, id, id))
      expect(await append(store, entry(R1, 1))).toBeUndefined()
      expect(await append(store, loose[0]!, loose[1]!)).toBeUndefined()
      expect((await store.tiers.moveRun(R1, timeOf(900))).records).toBe(3)
      expect(await append(store, loose[2]!, entry(R1, 2))).toBeUndefined()
      for (const time of ['live', 'reopened', 'moved again']) {
        expect(await collect(store.replay(R1)), time).toEqual([entry(R1, 1), ...loose, entry(R1, 2)])
        expect((await collect(store.scan(R1))).flat(), time).toEqual([entry(R1, 1), ...loose, entry(R1, 2)])
        if (time === 'reopened') await store.tiers.moveRun(R1, timeOf(901))
        else await reopen()
      }
    })

    test('a run does not go to the cold tier while it is in the log', async () => {
      await fill(store, R1, 2)
      await expect(store.tiers.expire(R1, timeOf(900))).rejects.toMatchObject({ code: 'invalid_state' })
    })

    test('a closed store refuses, and closing again is harmless', async () => {
      await fill(store, R1, 1)
      await store.close()
      expect((await append(store, entry(R1, 2)))?.code).toBe('trail_closed')
      await store.close()
    })
  })
}
