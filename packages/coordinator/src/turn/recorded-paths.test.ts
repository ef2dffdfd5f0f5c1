// A run whose task has patterns that no team file may have any more: it is on record, and a node that starts finds it
// there.
import { type RunId, type TurnInput, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Team } from '../team/team.ts'
import { readTeam } from '../team/testing/teams.ts'
import { alice, Fixture, put } from '../testing/fixture.ts'

const yaml = `
version: 1
name: solo
agents: { one: { command: [scripted, one] } }
limits: { attempts: 1 }
plan: [{ id: a, agent: one, prompt: x, paths: [src/**] }]
`

/** As an earlier version read it. */
function teamWith(paths: readonly string[]): Team {
  const team = unwrap(readTeam(yaml))
  return { ...team, plan: team.plan!.map(task => ({ ...task, paths })) }
}

async function approved(fixture: Fixture, paths: readonly string[]): Promise<RunId> {
  const { project } = fixture
  const request = { intent: 'Do it.', principal: alice, origin: 'test' }
  const setup = { project, team: teamWith(paths), approved: false }
  const { run } = unwrap(await fixture.coordinator.start(request, setup))
  await fixture.until(run, ({ gates }) => gates.length > 0)
  await fixture.restart()
  const [gate] = await fixture.coordinator.gates.list()
  await fixture.respond(gate!.id, { decision: 'approve' })
  return run
}

test('a pattern that cannot be used fails its task and says why, and the run stays readable', async () => {
  const fixture = await Fixture.open({
    one: ({ folder }) => {
      put(folder!, '7', 'x')
      return 'done'
    },
  })
  const run = await approved(fixture, ['{1..300000}'])
  const view = await fixture.over(run)
  expect(view).toMatchObject({ state: 'failed', tasks: [{ state: 'failed' }] })
  expect(JSON.stringify(view.tasks)).toContain("'{1..300000}' has a range in braces")
  await fixture.restart()
  expect(unwrap(await fixture.coordinator.views.view(run))).toEqual(view)
})

test('a run with such a pattern can be aborted after a restart', async () => {
  const turns = Promise.withResolvers<void>()
  const fixture = await Fixture.open({
    one: ({ signal }: TurnInput) => {
      turns.resolve()
      return new Promise<string>(resolve => signal.addEventListener('abort', () => resolve('ended')))
    },
  })
  const run = await approved(fixture, ['{a,b}'.repeat(200)])
  await turns.promise
  await fixture.restart()
  await fixture.abort(run, { reason: 'enough' })
  expect((await fixture.over(run)).state).toBe('aborted')
})
