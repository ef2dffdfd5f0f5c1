// What is not tried again, and what a task that was ended in the middle is said to have used.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ParleyError } from '@parley/core'
import { expect, test } from 'vitest'
import { Fixture, hanging, planned } from '../testing/fixture.ts'

const TEAM = planned('{ id: a, agent: one, prompt: x, attempts: 3 }')

test('an agent whose interpreter is missing is not started again', async () => {
  const script = join(mkdtempSync(join(tmpdir(), 'parley-finality-')), 'agent')
  writeFileSync(script, '#!/usr/bin/nosuchinterp\n', { mode: 0o755 })
  const fixture = await Fixture.open()
  const team = TEAM.replace('[scripted, one]', `[${script}]`)
  const view = await fixture.finished(team)
  expect(view.tasks).toMatchObject([{ state: 'failed', attempt: 1, note: expect.stringContaining('its first line') }])
})

test('an agent that is not logged in is not started again, and the end says where to look', async () => {
  let turns = 0
  const fixture = await Fixture.open({
    one: () => {
      turns++
      const details = { outage: { reason: 'account', status: 401 } }
      return { outcome: 'failed', error: new ParleyError('exit_nonzero', 'Invalid API key.', { details }), usage: {} }
    },
  })
  const view = await fixture.finished(TEAM)
  expect(turns).toBe(1)
  expect(view.tasks).toMatchObject([
    { state: 'failed', attempt: 1, note: expect.stringMatching(/^Invalid API key\. .*`parley doctor`/) },
  ])
})

test.each([
  ['the run', `${TEAM}limits: { budget: { working_time: 1s } }\n`],
  ['a task', planned('{ id: a, agent: one, prompt: x, budget: { working_time: 1s } }')],
])('a turn that the working time of %s ends counts with its time', async (_, team) => {
  const fixture = await Fixture.open({ one: hanging().script })
  const view = await fixture.finished(team)
  expect(view.tasks[0]?.note).toContain('of working time')
  expect(view.usage.turns).toBe(1)
  expect(view.usage.wall_ms).toBeGreaterThanOrEqual(1000)
  await fixture.restart()
  const [again] = await fixture.coordinator.runs.list()
  expect(again?.usage).toEqual(view.usage)
})

test('a plan that nobody answered before its run was ended says so in words', async () => {
  const fixture = await Fixture.open({ one: () => 'done' })
  const run = await fixture.solve(TEAM, { approved: false })
  await fixture.until(run, ({ gates }) => gates.length > 0)
  await fixture.abort(run, { reason: 'No time.' })
  const view = await fixture.over(run)
  expect(view.tasks).toMatchObject([{ note: 'Not done: alice ended the run.' }])
})
