import { describe, expect, it } from 'vitest'
import { RUN, TestLog, TRAIL } from '../../testing/log-fixture.ts'
import { IndexDisk } from '../../testing/memory/index-disk.ts'
import { Applier } from '../apply.ts'
import { indexLimits } from '../limits.ts'
import { Rows } from '../sqlite/sqlite-rows.ts'
import { Engine, type Work } from './engine.ts'

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

  function manyEntries(log: TestLog) {
    const parts = Array.from({ length: indexLimits.scanRows + 10 }, () => ({ body: { n: 1 } }))
    return log.add(...parts)
  }

  it('finds entries that moved to an archive meanwhile', () => {
    const log = new TestLog()
    const last = manyEntries(log).at(-1)!
    const engine = indexed(log)
    const work = engine.aggregate({ filter: { run: RUN }, sum: ['n'] })
    expect(work.next().done).toBe(false)
    engine.relocate(RUN, log.archive(1, [last]))
    log.flip(1, log.find(1, `"id":"en_${RUN}_${last.seq}"`) + 8)
    expect(finish(work)).toEqual([{ key: null, count: last.seq, sum: last.seq }])
  })

  it('leaves out entries that were forgotten meanwhile', () => {
    const log = new TestLog()
    const last = manyEntries(log).at(-1)!
    const engine = indexed(log)
    const work = engine.aggregate({ filter: { run: RUN }, sum: ['n'] })
    work.next()
    engine.forget(RUN, [last.seq])
    expect(finish(work)).toEqual([{ key: null, count: last.seq - 1, sum: last.seq - 1 }])
  })
})
