import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Bench, RUN } from '../log-fixture.ts'

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
