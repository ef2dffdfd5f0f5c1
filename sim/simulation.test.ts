// Seeds of the simulator: whatever agents, storage, transport and power do, the invariants of the specs hold.
import { expect, test } from 'vitest'
import { simulateSeed } from './simulate.ts'

const soak = process.env.PARLEY_SOAK !== undefined
const SEEDS = soak ? 2000 : 300
const STEPS = soak ? 500 : 300

test(`${SEEDS} seeds of ${STEPS} steps each, ${SEEDS * STEPS} in all, break no invariant`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { failure } = await simulateSeed(seed, STEPS)
    expect(failure, `npm run sim -- --seed ${seed} --steps ${STEPS}`).toBeUndefined()
  }
}, 21_600_000)

test('the same seed gives the same trail, byte for byte', async () => {
  for (const seed of [7, 8, 9, 10]) {
    const [one, other] = [await simulateSeed(seed, 200), await simulateSeed(seed, 200)]
    expect(one.heads.length).toBeGreaterThan(0)
    expect(other.heads).toEqual(one.heads)
    expect(other.statistics).toEqual(one.statistics)
  }
})
