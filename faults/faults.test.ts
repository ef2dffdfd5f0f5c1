// Whole nodes under faults of the machine: everything that a client was told is there afterwards, once, and the node goes on by itself.
import { expect, test } from 'vitest'
import { failureText, liveRange, withGround } from './range.ts'

const soak = process.env.PARLEY_SOAK !== undefined
const FAULTS = soak ? 50 : 7
const LIVES = soak ? 400 : 2
const HOURS = 12 * 3_600_000

test(
  `${LIVES} nodes live through ${FAULTS} faults each, ${LIVES * FAULTS} in all, and lose nothing that they told`,
  async () => {
    const outcomes = await withGround(ground =>
      liveRange({ first: 1, last: LIVES, faults: FAULTS, jobs: 2 }, ground),
    )
    const failed = outcomes.find(({ failure }) => failure)
    expect(failed && failureText(failed, FAULTS)).toBeUndefined()
    const injected = outcomes.flatMap(({ histories }) => Object.values(histories))
    expect(injected.reduce((sum, each) => sum + each, 0)).toBe(LIVES * FAULTS)
  },
  HOURS,
)
