// Disks in memory: what a power loss leaves of files and of an index, and the index in memory.
import type { RunId } from '@parley/core'
import { afterEach, beforeEach, describe, expect, it, test, vi } from 'vitest'
import { indexLimits } from '../../index/limits.ts'
import { readWhole, writeWhole } from '../../log/files.ts'
import { Bench, RUN, TestLog, TRAIL } from '../log-fixture.ts'
import { seededRandom } from '../random.ts'
import { FaultyFiles } from './faulty-files.ts'
import { type CommitFault, IndexDisk } from './index-disk.ts'
import { MemoryIndex } from './memory-index.ts'

const never = () => 0.999
const always = () => 0

function text(files: FaultyFiles, path: string): string | undefined {
  return readWhole(files, path)?.toString('latin1')
}

describe('the faulty twin of the file layer', () => {
  test('what was synced survives a power loss, what was not may be kept, lost or torn', async () => {
    const outcomes = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const files = new FaultyFiles()
      const file = files.open('a', 'create')
      file.write(Buffer.alloc(1024, 'o'), 0)
      await file.sync()
      await files.syncFolder('')
      file.write(Buffer.alloc(1024, 'n'), 0)
      const after = text(files.crash(seededRandom(seed)), 'a')
      expect(after).toHaveLength(1024)
      for (const sector of [after!.slice(0, 512), after!.slice(512)]) {
        outcomes.add(sector === 'o'.repeat(512) ? 'lost' : sector === 'n'.repeat(512) ? 'kept' : 'torn')
        expect(sector).toMatch(/^n*o*$/)
      }
    }
    expect(outcomes).toEqual(new Set(['lost', 'kept', 'torn']))
  })

  test('a name that was not synced may vanish, and a rename is never half done', async () => {
    for (const [random, outcome] of [
      [always, 'old'],
      [never, 'new'],
    ] as const) {
      const files = new FaultyFiles()
      await writeWhole(files, 'a', Buffer.from('old'))
      const file = files.open('b', 'create')
      file.write(Buffer.from('new'), 0)
      await file.sync()
      files.rename('b', 'a')
      const after = files.crash(random)
      expect([text(after, 'a'), after.exists('b')]).toEqual([outcome, false])
    }
  })

  test('a failed sync is not made good by a later one', async () => {
    const files = new FaultyFiles()
    const file = files.open('a', 'create')
    await files.syncFolder('')
    file.write(Buffer.from('first'), 0)
    files.fail('sync')
    await expect(file.sync()).rejects.toMatchObject({ code: 'EIO' })
    await file.sync()
    expect(text(files.crash(always), 'a')).not.toBe('first')
  })

  test('the nth write fails, space runs out, a bit flips, a file is cut', async () => {
    const files = new FaultyFiles()
    const file = files.open('a', 'create')
    files.fail('write', { after: 1 })
    file.write(Buffer.from('one'), 0)
    expect(() => file.write(Buffer.from('two'), 3)).toThrow('EIO')
    files.mend()
    files.capacity = 10
    expect(() => file.write(Buffer.alloc(20), 0)).toThrow('ENOSPC')
    files.mend()
    file.write(Buffer.from('abc'), 0)
    files.flip('a', 1)
    expect(text(files, 'a')?.slice(0, 3)).toBe('acc')
    files.cut('a', 1)
    expect(text(files, 'a')).toBe('a')
  })

  test('whoever held the disk before a crash can do nothing any more', () => {
    const files = new FaultyFiles()
    const file = files.open('a', 'create')
    files.crash(always)
    expect(() => file.write(Buffer.from('x'), 0)).toThrow('EBADF')
    expect(() => files.list('')).toThrow('EBADF')
  })
})

/** A log, and an index over it on a disk of its own; `again` opens it once more. */
function indexed() {
  const log = new TestLog()
  const disk = new IndexDisk()
  const again = () => new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
  return { log, disk, index: again(), again }
}

async function seqs(index: MemoryIndex, log: TestLog): Promise<number[]> {
  const page = await index.select({ run: RUN, order: 'ascending', limit: 1000 }, log.end.frame)
  return page.entries.map(({ seq }) => seq)
}

function grow(log: TestLog, index: MemoryIndex, entries: number): void {
  for (let count = 0; count < entries; count++) log.commit(log.object(`o${log.end.frame}`), log.entry())
  index.advance(log.end)
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

for (const fault of ['undone', 'refused'] satisfies CommitFault[]) {
  test(`a commit of the index that fails (${fault}) leaves no hole, now or after a restart`, async () => {
    const { log, disk, index, again: reopened } = indexed()
    await seqs(index, log)
    for (let round = 1; round <= 2 * indexLimits.answersPerCommit; round++) {
      disk.fail(fault)
      grow(log, index, 1)
      expect(await seqs(index, log)).toEqual(upTo(round))
    }
    disk.mend()
    await index.close()
    const again = reopened()
    expect(await again.opening()).toMatchObject({ state: 'current' })
    const last = 2 * indexLimits.answersPerCommit
    expect(await seqs(again, log)).toEqual(upTo(last))
    expect(await again.head(RUN, log.end.frame)).toMatchObject({ seq: last, known: last })
    expect((await again.replay(RUN, 0, 1000, undefined, log.end.frame)).records).toHaveLength(2 * last)
  })
}

test('an index that is full refuses until there is space, and then lacks nothing', async () => {
  const { log, disk, index } = indexed()
  grow(log, index, 40)
  expect(await seqs(index, log)).toEqual(upTo(40))
  disk.fill()
  grow(log, index, 400)
  await expect(seqs(index, log)).rejects.toMatchObject({ code: 'index_failed', retryable: true })
  disk.mend()
  expect(await seqs(index, log)).toEqual(upTo(440))
  expect(await index.runs(log.end.frame)).toMatchObject([{ run: RUN as RunId, entries: 440 }])
})

test('what SQLite undoes by itself between two answers is taken from the log again', async () => {
  const { log, disk, index } = indexed()
  await seqs(index, log)
  grow(log, index, 3)
  expect(await seqs(index, log)).toEqual(upTo(3))
  // As a statement that fails does it: back to what was committed last.
  expect(disk.found()!.isTransaction).toBe(false)
  grow(log, index, 2)
  expect(await seqs(index, log)).toEqual(upTo(5))
})

test('an index that is made anew on demand holds what the log does', async () => {
  const { log, disk, index, again } = indexed()
  grow(log, index, 3)
  await seqs(index, log)
  await index.close()
  disk.found()!.exec('DELETE FROM entries WHERE seq = 2')
  const wrong = again()
  expect(await seqs(wrong, log)).toEqual([1, 3])
  await wrong.rebuild()
  expect(await seqs(wrong, log)).toEqual([1, 2, 3])
})

describe('the index in memory', () => {
  let bench: Bench
  beforeEach(() => {
    bench = new Bench('memory')
  })
  afterEach(() => bench.remove())

  it('takes back what it had begun when the log cannot be read, and goes on later', async () => {
    const { log } = bench
    const first = log.add({ workspace: 'ws_a' }, {})
    log.commit(log.object('o1'), log.entry({ workspace: 'ws_a' }))
    log.rotate()
    log.add({})
    log.archive(1, first.slice(0, 1))
    const index = bench.open()
    const read = log.read.bind(log)
    const broken = vi.spyOn(log, 'read').mockImplementation((file, at, length) => {
      if (file === 2) throw new Error('EIO: the disk is gone')
      return read(file, at, length)
    })
    const failed = { name: 'ParleyError', code: 'index_failed', retryable: true }
    for (let tries = 0; tries < 2; tries++) await expect(index.runs(1)).rejects.toMatchObject(failed)
    broken.mockRestore()
    const page = await index.select({ run: RUN, order: 'ascending', limit: 9 }, log.end.frame)
    expect(page.entries.map(entry => entry.seq)).toEqual([1, 2, 3, 4])
    expect(page.partial).toBeUndefined()
    expect(await index.runs(1)).toMatchObject([{ seq: 4, entries: 4 }])
    expect((await index.replay(RUN, 0, 9, undefined, 1)).records).toHaveLength(5)
  })

  it('says that it starts empty', async () => {
    const opening = await bench.open().opening()
    expect(opening).toEqual({ state: 'rebuilt', reason: expect.any(String), lostHeads: [] })
  })

  it('refuses every question once it is closed', async () => {
    const index = bench.open()
    const waiting = index.head(RUN, 99)
    await index.close()
    await expect(waiting).rejects.toMatchObject({ code: 'trail_closed' })
    await expect(index.head(RUN, 0)).rejects.toMatchObject({ code: 'trail_closed' })
  })
})
