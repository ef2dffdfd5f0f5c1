// An index whose tables run full or whose commits fail: the log has everything, so nothing may be missing later.
import type { RunId } from '@parley/core'
import { expect, test } from 'vitest'
import { indexLimits } from '../../index/limits.ts'
import { RUN, TestLog, TRAIL } from '../log-fixture.ts'
import { type CommitFault, IndexDisk } from './index-disk.ts'
import { MemoryIndex } from './memory-index.ts'

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
    const log = new TestLog()
    const disk = new IndexDisk()
    const index = new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
    await seqs(index, log)
    for (let round = 1; round <= 2 * indexLimits.answersPerCommit; round++) {
      disk.fail(fault)
      grow(log, index, 1)
      expect(await seqs(index, log)).toEqual(upTo(round))
    }
    disk.mend()
    await index.close()
    const again = new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
    expect(await again.opening()).toMatchObject({ state: 'current' })
    const last = 2 * indexLimits.answersPerCommit
    expect(await seqs(again, log)).toEqual(upTo(last))
    expect(await again.head(RUN, log.end.frame)).toMatchObject({ seq: last, known: last })
    expect((await again.replay(RUN, 0, 1000, undefined, log.end.frame)).records).toHaveLength(2 * last)
  })
}

test('an index that is full refuses until there is space, and then lacks nothing', async () => {
  const log = new TestLog()
  const disk = new IndexDisk()
  const index = new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
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
  const log = new TestLog()
  const disk = new IndexDisk()
  const index = new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
  await seqs(index, log)
  grow(log, index, 3)
  expect(await seqs(index, log)).toEqual(upTo(3))
  // As a statement that fails does it: back to what was committed last.
  expect(disk.found()!.isTransaction).toBe(false)
  grow(log, index, 2)
  expect(await seqs(index, log)).toEqual(upTo(5))
})

test('an index that is made anew on demand holds what the log does', async () => {
  const log = new TestLog()
  const disk = new IndexDisk()
  const index = new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
  grow(log, index, 3)
  await seqs(index, log)
  await index.close()
  disk.found()!.exec('DELETE FROM entries WHERE seq = 2')
  const wrong = new MemoryIndex({ reader: log, trail: TRAIL, end: log.end, disk })
  expect(await seqs(wrong, log)).toEqual([1, 3])
  await wrong.rebuild()
  expect(await seqs(wrong, log)).toEqual([1, 2, 3])
})
