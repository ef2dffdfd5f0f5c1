import type { RunId, Ticks } from '@parley/core'
import { expect, test } from 'vitest'
import type { Command } from '../command.ts'
import { decide } from '../decide.ts'
import { fixture, refused } from '../testing/fixture.ts'
import { newRun } from './run.ts'

test('W-LIFE-12 a start that is refused leaves no trail, and before genesis nothing is appended', async () => {
  const f = await fixture()
  const runs = await f.trail.runs()
  const wrong = await f.runtime.start({ owner: 'ux', taxonomy: { id: 'x' } })
  expect(refused(wrong)).toBe('invalid_taxonomy')
  expect(await f.trail.runs()).toEqual(runs)
  const run = newRun('run_other' as RunId)
  const early: Command = { type: 'abort', caller: f.id('R'), workspace: f.id('R') }
  const decision = decide(run, early, { now: 1 as Ticks, ids: f.ids })
  expect(refused(decision.result)).toBe('invalid_state(not_initialized)')
  expect([decision.entries, decision.objects]).toEqual([[], []])
})
