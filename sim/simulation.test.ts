// Seeds of the simulator: whatever agents, storage, transport and power do, the invariants of the specs hold.
import { expect, test } from 'vitest'
import { simulateInProcesses } from './jobs.ts'
import { simulateSeed } from './simulate.ts'
import { Statistics } from './statistics.ts'

const soak = process.env.PARLEY_SOAK !== undefined
const SEEDS = soak ? 20_000 : 300
const STEPS = soak ? 500 : 300
/** Long enough for a machine that does other work as well. */
const HOURS = 6 * 3_600_000

test(
  `${SEEDS} seeds of ${STEPS} steps each, ${SEEDS * STEPS} in all, break no invariant`,
  async () => {
    const broken = await inProcesses(soak ? 2 : 1)
    expect(broken, `npm run sim -- --seed ${broken} --steps ${STEPS}`).toBeUndefined()
  },
  HOURS,
)

/** Not in this process, in which a test runner stands between a module and what it imports. */
function inProcesses(jobs: number): Promise<number | undefined> {
  return simulateInProcesses({ first: 1, count: SEEDS, steps: STEPS, jobs }, ({ done }) => {
    // The only sign of life in most of an hour.
    if (done % 1000 === 0) console.log(`${done} of ${SEEDS} seeds`)
  })
}

test('seeds that processes share are the same as one by one', async () => {
  const total = new Statistics()
  const add = ({ statistics }: { readonly statistics: Statistics }) => total.add(statistics)
  expect(await simulateInProcesses({ first: 5, count: 24, steps: 20, jobs: 2 }, add)).toBeUndefined()
  const alone = new Statistics()
  for (let seed = 5; seed < 29; seed++) alone.add((await simulateSeed(seed, 20)).statistics)
  expect([total.steps, total.entries, total.crashes]).toEqual([alone.steps, alone.entries, alone.crashes])
})

test('the same seed gives the same trail, byte for byte', async () => {
  for (const seed of [7, 8, 9, 10, 11, 12]) {
    const [one, other] = [await simulateSeed(seed, 200), await simulateSeed(seed, 200)]
    expect(one.heads.length).toBeGreaterThan(0)
    expect(other.heads).toEqual(one.heads)
    expect(other.statistics).toEqual(one.statistics)
  }
})
