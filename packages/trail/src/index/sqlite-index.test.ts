// What only the index in a file can do: be found again, be found wanting, lose its thread.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Worker } from 'node:worker_threads'
import type { RunId } from '@parley/core'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { sha256 } from '../run/chain.ts'
import { Bench, RUN, type TestLog, TRAIL } from '../testing/log-fixture.ts'
import type { TrailIndex } from './contract.ts'
import { indexLimits } from './limits.ts'
import { SCHEMA, SCHEMA_VERSION } from './sqlite/sqlite-schema.ts'

const workers: Worker[] = []
vi.mock('node:worker_threads', async importOriginal => {
  const original = await importOriginal<typeof import('node:worker_threads')>()
  class WatchedWorker extends original.Worker {
    constructor(...args: ConstructorParameters<typeof original.Worker>) {
      super(...args)
      workers.push(this)
    }
  }
  return { ...original, Worker: WatchedWorker }
})

let bench: Bench
let log: TestLog
beforeEach(() => {
  bench = new Bench('sqlite')
  log = bench.log
  workers.length = 0
})
afterEach(() => bench.remove())

async function count(index: TrailIndex, run = RUN): Promise<number> {
  const [row] = await index.aggregate({ filter: { run } }, log.end.frame)
  return row!.count
}

/** Opens an index, lets it see the whole log, and closes it. */
async function indexOnce(): Promise<void> {
  await count(bench.open())
  await bench.closeIndexes()
}

function change(sql: string): void {
  const database = new DatabaseSync(bench.file)
  database.exec(sql)
  database.close()
}

const current = { state: 'current', lostHeads: [] }
function rebuilt(reason: string, lostHeads: object[] = []): object {
  return { state: 'rebuilt', reason: `The index was made anew because ${reason}.`, lostHeads }
}

describe('opening an index file', () => {
  beforeEach(() => {
    log.add({}, {})
    log.rotate()
    log.add({}, { run: 'run_2' as RunId })
  })

  it('makes one where there is none, and takes up one that is as far as the log', async () => {
    await expectRebuilt('there was none')
    await bench.closeIndexes()
    const index = bench.open()
    expect(await index.opening()).toEqual(current)
    expect(await count(index)).toBe(3)
  })

  it('takes up one that is behind, and catches up', async () => {
    await indexOnce()
    log.add({})
    log.rotate()
    log.add({})
    const index = bench.open()
    expect(await index.opening()).toEqual(current)
    expect(await count(index)).toBe(5)
  })

  it('takes up one of an empty log', async () => {
    const empty = new Bench('sqlite')
    await empty.open().opening()
    await empty.closeIndexes()
    expect(await empty.open().opening()).toEqual(current)
    await empty.remove()
  })

  async function expectRebuilt(reason: string): Promise<void> {
    const index = bench.open()
    expect(await index.opening()).toEqual(rebuilt(reason))
    expect(await count(index)).toBe(3)
  }

  it.each([
    ['no database', () => writeFileSync(bench.file, 'garbage, '.repeat(1000))],
    ['an empty file', () => writeFileSync(bench.file, '')],
    ['a database of something else', () => overwrite('CREATE TABLE recipes (name TEXT)')],
  ])('makes it again when it is %s', async (_, damage) => {
    damage()
    await expectRebuilt('it was damaged')
  })

  it('makes it again when its inside is damaged', async () => {
    await indexOnce()
    const bytes = readFileSync(bench.file)
    bytes.fill(0xff, 4096)
    writeFileSync(bench.file, bytes)
    await expectRebuilt('it was damaged')
  })

  it.each([
    ['a later one', 'PRAGMA user_version = 9999'],
    ['the one before', `PRAGMA user_version = ${SCHEMA_VERSION - 1}`],
    ['the one before in its table', `UPDATE meta SET version = ${SCHEMA_VERSION - 1}`],
  ])('makes it again when it is of another version: %s', async (_, sql) => {
    await indexOnce()
    change(sql)
    await expectRebuilt('it was of another version')
  })

  it('has another version wherever its tables are others', () => {
    const digest = 'a350433b281b59fd9f892f2073ff69cad7203a37b4b88f1f42f2fc9141dfe487'
    const say = 'new tables need a new SCHEMA_VERSION, then a new line here'
    expect([SCHEMA_VERSION, sha256(SCHEMA)], say).toEqual([3, digest])
  })

  it('makes it again when it is of another trail', async () => {
    await indexOnce()
    change("UPDATE meta SET trail = 'cd'")
    await expectRebuilt('it was of another trail')
  })

  it('survives the loss of its thread in the middle of building', async () => {
    const index = bench.open()
    await index.opening()
    await workers[0]!.terminate()
    await bench.closeIndexes()
    expect(await count(bench.open())).toBe(3)
  })

  it('fails, and may be tried again, where its file cannot be made', async () => {
    const failed = { name: 'ParleyError', code: 'index_failed', retryable: true }
    const index = bench.open(`${bench.folder}/missing/index.db`)
    await expect(index.opening()).rejects.toMatchObject(failed)
    await expect(index.head(RUN, 0)).rejects.toMatchObject(failed)
    mkdirSync(`${bench.folder}/missing`)
    expect(await index.head(RUN, 2)).toMatchObject({ seq: 3 })
  })

  function overwrite(sql: string): void {
    rmSync(bench.file, { force: true })
    change(sql)
  }
})

describe('an index that knows more than the log', () => {
  it('names the heads that the log lost, and follows the log', async () => {
    const [first] = log.add({})
    log.add({ run: 'run_2' as RunId })
    const before = log.copy()
    const [lost] = log.add({})
    await indexOnce()
    log.cutTo(before)
    const index = bench.open()
    expect(await index.opening()).toEqual(rebuilt('it was ahead of the log', [{ run: RUN, seq: 2, hash: lost!.hash }]))
    expect(await index.head(RUN, log.end.frame)).toEqual({ run: RUN, known: 1, seq: 1, hash: first!.hash })
    await bench.closeIndexes()
    expect(await bench.open().opening()).toEqual(current)
  })

  it('names them again when it was not closed in order', async () => {
    log.add({})
    const before = log.copy()
    const [lost] = log.add({})
    await indexOnce()
    log.cutTo(before)
    const lostHeads = [{ run: RUN, seq: 2, hash: lost!.hash }]
    const index = bench.open()
    expect((await index.opening()).lostHeads).toEqual(lostHeads)
    await workers.at(-1)!.terminate()
    await bench.closeIndexes()
    expect(await bench.open().opening()).toEqual({ state: 'current', lostHeads })
  })

  it('notices a log that was cut and then written on', async () => {
    log.add({}, { run: 'run_2' as RunId })
    const before = log.copy()
    const [lost] = log.add({ body: { told: 'one way' } })
    await indexOnce()
    log.cutTo(before)
    log.add({ body: { told: 'another' } })
    log.add({})
    const index = bench.open()
    const lostHeads = [{ run: RUN, seq: 2, hash: lost!.hash }]
    expect(await index.opening()).toEqual(rebuilt('it did not agree with the log', lostHeads))
    expect(await count(index)).toBe(3)
  })

  it('names nothing lost when all heads are still borne out', async () => {
    log.add({})
    log.add({})
    await indexOnce()
    change('UPDATE meta SET lastMark = lastMark + 1')
    const index = bench.open()
    expect(await index.opening()).toEqual(rebuilt('it did not agree with the log'))
  })
})

describe('the thread of an index', () => {
  it('fails what it was asked when it dies, and the next question starts another', async () => {
    log.add({})
    const index = bench.open()
    await index.opening()
    const ended = workers[0]!.terminate()
    const asked = index.head(RUN, 1)
    await expect(asked).rejects.toMatchObject({ name: 'ParleyError', code: 'index_failed', retryable: true })
    await ended
    log.add({})
    bench.advance(index)
    expect(await index.head(RUN, 2)).toMatchObject({ seq: 2 })
    expect(workers).toHaveLength(2)
    expect(await index.opening()).toEqual(current)
  })

  it('makes its file again when that is damaged under it, and still answers', async () => {
    for (let first = 0; first < 40; first++)
      log.add(...Array.from({ length: 100 }, () => ({ workspace: `ws_${first}` })))
    await indexOnce()
    const bytes = readFileSync(bench.file)
    bytes.fill(0xff, 4096 * 14)
    writeFileSync(bench.file, bytes)
    const index = bench.open()
    await index.opening()
    expect((await index.aggregate({ filter: { run: RUN }, groupBy: 'workspace' }, 40)).length).toBe(40)
    const page = await index.select({ run: RUN, order: 'ascending', limit: 5000 }, 40)
    expect(page.entries).toHaveLength(4000)
  })

  it('lets others in between while it searches through many bodies', async () => {
    const many = indexLimits.scanRows * 3
    for (let left = many; left > 0; left -= 256) log.add(...Array.from({ length: 256 }, () => ({ body: { n: 1 } })))
    const index = bench.open()
    await index.runs(log.end.frame)
    const order: string[] = []
    const sum = index.aggregate({ filter: { run: RUN }, sum: ['n'] }, 1).then(rows => {
      order.push('sum')
      return rows
    })
    await index.head(RUN, 1)
    order.push('head')
    expect(await sum).toEqual([{ key: null, count: many, sum: many }])
    expect(order).toEqual(['head', 'sum'])
  })

  it('hears of thousands of commits in one message', async () => {
    const index = bench.open()
    await index.opening()
    const told = vi.spyOn(workers[0]!, 'postMessage')
    log.add({})
    bench.save()
    for (let count = 0; count < 10_000; count++) index.advance({ ...log.end })
    expect(await index.head(RUN, 1)).toMatchObject({ seq: 1 })
    expect(told).toHaveBeenCalledTimes(1)
  })

  it('refuses more questions than it can hold', async () => {
    log.add({})
    const index = bench.open()
    const waiting = Array.from({ length: indexLimits.waitingQueries }, () => index.head(RUN, 2))
    await expect(index.head(RUN, 2)).rejects.toMatchObject({ code: 'index_busy', retryable: true })
    log.add({})
    bench.advance(index)
    expect(new Set((await Promise.all(waiting)).map(head => head!.seq))).toEqual(new Set([2]))
  })

  it('ends when the index is closed, with every question answered or refused', async () => {
    log.add({})
    const index = bench.open()
    const never = index.head(RUN, 99)
    const refused = expect(never).rejects.toMatchObject({ code: 'trail_closed' })
    await index.close()
    await refused
    expect(workers[0]!.threadId).toBe(-1)
    await index.close()
    await expect(index.head(RUN, 1)).rejects.toMatchObject({ code: 'trail_closed' })
    await expect(index.opening()).rejects.toMatchObject({ code: 'trail_closed' })
    index.advance(log.end)
  })
})

describe('a process with an index', () => {
  it('ends by itself when nobody waits for an answer', () => {
    log.add({})
    bench.save()
    const options = { folder: bench.folder, file: bench.file, trail: TRAIL, end: log.end }
    const script = `
      const { sqliteIndex } = await import(${JSON.stringify(new URL('./sqlite-index.ts', import.meta.url))})
      const index = sqliteIndex(${JSON.stringify(options)})
      index.advance(${JSON.stringify(log.end)})
      console.log((await index.opening()).state, (await index.head('${RUN}', 1)).seq)`
    const said = execFileSync(process.execPath, [...process.execArgv, '--input-type=module', '--eval', script])
    expect(said.toString()).toBe('rebuilt 1\n')
  })
})

describe('archives that an index did not hear of', () => {
  /** All of the run, without a word about what cannot be read. */
  async function whole(index: TrailIndex) {
    const page = await index.select({ run: RUN, order: 'ascending', limit: 9 }, log.end.frame)
    expect(page.partial).toBeUndefined()
    return page.entries
  }

  /** A log whose first two entries are in an archive alone. */
  function archived(): void {
    const entries = [...log.add({}), ...log.add({})]
    log.rotate()
    log.add({})
    log.archive(1, entries)
    log.segments.delete(1)
    bench.save()
    // The disk is then the test's.
    vi.spyOn(bench, 'save').mockImplementation(() => {})
    onTestFinished(() => void vi.restoreAllMocks())
  }

  async function expectUnreadable(index: TrailIndex): Promise<void> {
    const page = await index.select({ run: RUN, order: 'ascending', limit: 9 }, log.end.frame)
    expect(page.entries.map(entry => entry.seq)).toEqual([3])
    expect(page.partial).toContainEqual('archive 1, byte 0: the archive cannot be read any further')
  }

  it('are taken in when it is opened again', async () => {
    const entries = [...log.add({}), ...log.add({}), ...log.add({})]
    log.rotate()
    log.add({})
    await indexOnce()
    log.archive(1, entries.slice(1))
    const index = bench.open()
    expect(await index.opening()).toEqual(current)
    await count(index)
    for (const entry of entries.slice(1)) log.flip(1, log.find(1, `"id":"en_${RUN}_${entry.seq}"`) + 8)
    bench.save()
    expect((await whole(index)).slice(0, 3)).toEqual(entries)
  })

  it('are forgotten when they were deleted meanwhile', async () => {
    const entries = [...log.add({}), ...log.add({}), ...log.add({})]
    const first = bench.open()
    const places = log.archive(1, entries.slice(0, 2))
    bench.save()
    await first.relocate(RUN, places)
    await bench.closeIndexes()
    log.deleteArchive(1)
    const index = bench.open()
    expect(await count(index)).toBe(1)
    expect(await whole(index)).toHaveLength(1)
  })

  it('are tried again when they could not be read', async () => {
    archived()
    const archive = `${bench.folder}/cold/${RUN}/1.zst`
    const good = readFileSync(archive)
    writeFileSync(archive, 'not compressed')
    await expectUnreadable(bench.open())
    await bench.closeIndexes()
    writeFileSync(archive, good)
    expect((await whole(bench.open())).map(entry => entry.seq)).toEqual([1, 2, 3])
  })

  it.each(['1.zst', '1.json'])('are read as soon as the disk gives %s again', async name => {
    archived()
    const file = `${bench.folder}/cold/${RUN}/${name}`
    const aside = `${bench.file}.aside`
    renameSync(file, aside)
    // Reading it fails with a system error, as on a disk that fails.
    mkdirSync(file)
    const index = bench.open()
    await expectUnreadable(index)
    rmdirSync(file)
    renameSync(aside, file)
    expect((await whole(index)).map(entry => entry.seq)).toEqual([1, 2, 3])
  })
})
