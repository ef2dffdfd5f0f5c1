// What is booked for asks that a dead node left: what their runs have on record, and all that was set aside where
// nobody knows.
import type { Coordination } from '@parley/coordinator'
import {
  err,
  INTERACTIVE,
  ManualClock,
  ok,
  ParleyError,
  type RunId,
  type StoredRun,
  type Ticks,
  type Usage,
  unwrap,
} from '@parley/core'
import { openLedger } from '@parley/link'
import { expect, test } from 'vitest'
import { ground, keptLog } from '../testing/ground.ts'
import { settleAsks } from './settle.ts'

const NOW = 1_800_000_000_000_000 as Ticks

interface Known {
  readonly reservation: string
  readonly usage?: Usage
  readonly unknownCost?: boolean
  readonly damaged?: boolean
}

/** Runs as a coordinator tells them, and how many were read. */
function runsOf(known: readonly Known[]) {
  const read: string[] = []
  const storedOf = (at: number): StoredRun =>
    ({
      run: `run_${at}` as RunId,
      started: NOW,
      principal: 'alp:x',
      origin: 'alp',
      context: { reservation: known[at]!.reservation },
    }) as unknown as StoredRun
  const records: Pick<Coordination['records'], 'find' | 'account'> = {
    /** Pages of one run. */
    async find({ after }) {
      const at = after === undefined ? 0 : Number(after.slice(4)) + 1
      read.push(`run_${at}`)
      const run = storedOf(at)
      return { runs: [run], ...(at + 1 < known.length && { cursor: run.run }) }
    },
    async account(run) {
      const { usage = {}, unknownCost = false, damaged } = known[Number(run.slice(4))]!
      if (damaged) return err(new ParleyError('trail_damaged', 'It cannot be read.'))
      return ok({ ...storedOf(Number(run.slice(4))), usage, unknownCost })
    },
  }
  return { records, read }
}

function ledger() {
  const clock = new ManualClock(NOW)
  const place = ground()
  place.write('logs/.here', '')
  return { clock, ledger: openLedger(place.path('logs', 'ledger.json'), { clock, cap: () => 10 }) }
}

test('ALP-BUD-01 each ask is settled by its run: its usage, all of it where that is unknown, nothing where no run came to be', async () => {
  const { clock, ledger: book } = ledger()
  const set = (peer: string) => unwrap(book.reserve(peer, { usd: 0.5 })).id
  const [one, two, three, four] = ['one', 'two', 'three', 'four'].map(set)
  unwrap(book.reserve(INTERACTIVE, { usd: 0.5 }))
  const { records } = runsOf([
    { reservation: 'of another day' },
    { reservation: one!, usage: { usd: 0.2, tokensIn: 7 } },
    { reservation: two!, usage: { usd: 0.1 }, unknownCost: true },
    { reservation: three!, damaged: true },
  ])
  expect(four).toBeDefined()
  await settleAsks(book.orphans(), records, clock, keptLog())
  const { byPeer, reserved } = book.today()
  expect(Object.fromEntries(byPeer)).toEqual({
    one: { usd: 0.2, tokens: 7 },
    two: { usd: 0.5, tokens: 0 },
    three: { usd: 0.5, tokens: 0 },
    four: { usd: 0, tokens: 0 },
  })
  // The profile's own turns are settled elsewhere.
  expect([...reserved.values()]).toMatchObject([{ name: INTERACTIVE }])
})

test('runs are looked through only where something is open, and no further than needed', async () => {
  const { clock, ledger: book } = ledger()
  const none = runsOf([{ reservation: 'x' }])
  await settleAsks(book.orphans(), none.records, clock, keptLog())
  expect(none.read).toEqual([])
  const { id } = unwrap(book.reserve('one', { usd: 0.5 }))
  const some = runsOf([{ reservation: id, usage: { usd: 0.1 } }, { reservation: 'older' }])
  await settleAsks(book.orphans(), some.records, clock, keptLog())
  expect(some.read).toEqual(['run_0'])
  expect(book.today().reserved.size).toBe(0)
})
