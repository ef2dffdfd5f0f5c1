// Starts of runs over a real trail: each is read once, in few questions, and a large context is not kept.
import type { RunId } from '@parley/core'
import type { Trail } from '@parley/trail'
import { expect, test } from 'vitest'
import { coordinatorLimits } from '../limits.ts'
import { Fixture, planned } from '../testing/fixture.ts'
import { StartIndex } from './start-index.ts'

/** The trail, and how many runs each question to it was about. */
function counted(trail: Trail): { trail: Pick<Trail, 'starts'>; asked: number[] } {
  const asked: number[] = []
  const starts = (runs: readonly RunId[]) => {
    asked.push(runs.length)
    return trail.starts(runs)
  }
  return { trail: { starts }, asked }
}

test('starts are read in one question and once; a large context is read when it is asked for', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const large = { text: 'x'.repeat(coordinatorLimits.keptContextBytes) }
  const yaml = planned('{ id: a, agent: one, prompt: x }')
  const runs: RunId[] = []
  for (const context of [{ at: 1 }, large, { at: 3 }]) runs.push(await fixture.solve(yaml, { context }))
  for (const run of runs) await fixture.over(run)
  const { trail, asked } = counted(fixture.trail)
  const index = new StartIndex(trail)
  const found = await index.starts([...runs, 'run_unknown' as RunId])
  expect(found.map(({ run }) => run)).toEqual(runs)
  expect(asked).toEqual([4])
  expect((await index.starts(runs)).map(({ context }) => context)).toEqual([{ at: 1 }, undefined, { at: 3 }])
  expect(asked).toEqual([4])
  expect((await index.start(runs[1]!))?.context).toEqual(large)
  expect((await index.start(runs[2]!))?.context).toEqual({ at: 3 })
  expect(asked).toEqual([4, 1])
})
