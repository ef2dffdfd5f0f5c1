// Whole nodes under faults of the machine: everything that a client was told is there afterwards, once, and the node
// goes on by itself.
import { expect, test } from 'vitest'
import { failureText, type Ground, liveRange, withGround } from './range.ts'

const soak = process.env.PARLEY_SOAK !== undefined
const FAULTS = soak ? 50 : 7
const LIVES = soak ? 400 : 2
const HOURS = 12 * 3_600_000

/**
 * Two lives: one with what once forked the record (any seed found that), one with others that cost little. The soak has
 * all kinds.
 */
const SHORT = [
  { seed: 2, kinds: ['disk-full', 'enospc-index', 'quota'] },
  {
    seed: 1,
    kinds: ['eio-log', 'open-files', 'stop', 'clock-forward', 'clock-back', 'eio-run-folders', 'enospc-keys', 'kill'],
  },
]

function lives(ground: Ground) {
  if (soak) return liveRange({ first: 1, last: LIVES, faults: FAULTS, jobs: 2 }, ground)
  const both = SHORT.map(({ seed, kinds }) =>
    liveRange({ first: seed, last: seed, faults: FAULTS, kinds, jobs: 1 }, ground),
  )
  return Promise.all(both).then(each => each.flat())
}

test(
  `${LIVES} nodes live through ${FAULTS} faults each, ${LIVES * FAULTS} in all, and lose nothing that they told`,
  async () => {
    const outcomes = await withGround(lives)
    const failed = outcomes.find(({ failure }) => failure)
    expect(failed && failureText(failed, FAULTS)).toBeUndefined()
    expect(outcomes).toHaveLength(LIVES)
    for (const { histories, seed } of outcomes)
      expect(
        Object.values(histories).reduce((sum, each) => sum + each, 0),
        `seed ${seed}`,
      ).toBe(FAULTS)
  },
  HOURS,
)
