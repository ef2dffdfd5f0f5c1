// A run whose task has patterns that no team file may have any more: it is on record, and a node that starts finds it
// there.
import { type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { readTeam } from '../team/testing/teams.ts'
import { alice, Fixture, hanging, writes } from '../testing/fixture.ts'

const yaml = `
version: 1
name: solo
agents: { one: { command: [scripted, one] } }
limits: { attempts: 1 }
plan: [{ id: a, agent: one, prompt: x, paths: [src/**] }]
`

async function approved(fixture: Fixture, paths: readonly string[]): Promise<RunId> {
  const read = unwrap(readTeam(yaml))
  // As an earlier version read it.
  const team = { ...read, plan: read.plan.map(task => ({ ...task, paths })) }
  const request = { intent: 'Do it.', principal: alice, origin: 'test' }
  const setup = { project: fixture.project, team, approved: false }
  const { run } = unwrap(await fixture.coordinator.start(request, setup))
  await fixture.until(run, ({ gates }) => gates.length > 0)
  await fixture.restart()
  const [gate] = await fixture.coordinator.gates.list()
  await fixture.respond(gate!.id, { decision: 'approve' })
  return run
}

test('a pattern that cannot be used fails its task and says why, and the run stays readable', async () => {
  const fixture = await Fixture.open({ one: writes('7') })
  const run = await approved(fixture, ['{1..300000}'])
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ state: 'failed' }] })
  expect(JSON.stringify(view.tasks)).toContain("'{1..300000}' has a range in braces")
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(run))).toEqual(view)
})

test('a run with such a pattern can be aborted after a restart', async () => {
  const one = hanging()
  const fixture = await Fixture.open({ one: one.script })
  const run = await approved(fixture, ['{a,b}'.repeat(200)])
  await one.begun
  await fixture.restart()
  await fixture.abort(run, { reason: 'enough' })
  expect((await fixture.over(run)).state).toBe('aborted')
})
