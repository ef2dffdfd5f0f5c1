// No deadlock (W-HWY-09, -10, -16, -22): a run in which no human ever answers comes to its end wherever gates have a
// time; where they have none, what waits for a human waits, all else goes on, and a late answer still works after a
// restart.
import { GATE_FALLBACKS, GATE_TYPES } from '@parley/trail/events'
import { expect, test } from 'vitest'
import { Dice } from './random.ts'
import { Unattended } from './unattended.ts'

const soak = process.env.PARLEY_SOAK !== undefined
const SEEDS = soak ? 2000 : 60
const MOST_ROUNDS = 1000
/** Every workspace has its time, as every workspace has; a short one, so that a seed stays short. */
const TIMEOUT = 60_000

const times = { short: 2000, medium: 8000 }

/** Every gate stands, each with a time and a fallback of its own. */
function timed(dice: Dice): object {
  const choice = () => ({ timeout: dice.pick([300, 2000, 9000]), fallback: dice.pick(GATE_FALLBACKS) })
  return {
    gates: Object.fromEntries(GATE_TYPES.map(type => [type, true])),
    gate_overrides: Object.fromEntries(GATE_TYPES.map(type => [type, choice()])),
    escalation: {
      timeout: dice.pick([500, 5000]),
      fallback: dice.pick(['approve', 'reject', 'delegate_to_coordinator']),
    },
  }
}

const ENDING: readonly (readonly [name: string, highway: (dice: Dice) => unknown])[] = [
  ['autonomous', () => ({ preset: 'autonomous', times })],
  ['supervised', () => ({ preset: 'supervised', times })],
  ['every gate with a time and any fallback', timed],
]

test.each(ENDING)('where nobody ever answers, a run under %s comes to its end', async (_name, highway) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = new Unattended(seed, { highway: highway(new Dice(seed)), timeout: TIMEOUT })
    await run.begin()
    expect(await run.until(MOST_ROUNDS), `seed ${seed}: ${run.unexplained()}`).toBe(true)
    expect([...run.run.gates.keys(), ...run.run.escalations.keys()]).toEqual([])
    await run.world.restart()
  }
})

/** Some gates stand or all, none with a time. */
function untimed(dice: Dice): unknown {
  if (dice.chance(0.4)) return 'gated'
  const gates = Object.fromEntries(GATE_TYPES.map(type => [type, dice.chance(0.5)]))
  return { preset: 'gated', gates }
}

test('where gates have no time, only what they hold up waits, is listed, and a late answer works after a restart', async () => {
  let waited = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = new Unattended(seed, { highway: untimed(new Dice(seed)) })
    await run.begin()
    if (await run.until(MOST_ROUNDS)) continue
    waited++
    expect(run.unexplained(), `seed ${seed}`).toBeUndefined()
    const listed = async () => (await run.handle.gates()).map(gate => gate.id)
    const before = [...run.run.gates.keys()]
    expect(await listed()).toEqual(before)
    if (seed % 2 === 0) await run.world.crash()
    else await run.world.restart()
    expect([...run.run.gates.keys()]).toEqual(before)
    expect(await listed()).toEqual(before)
    run.attended = true
    expect(await run.until(MOST_ROUNDS), `seed ${seed}: ${run.unexplained()}`).toBe(true)
    await run.world.restart()
  }
  expect(waited).toBeGreaterThan(SEEDS / 2)
})
