// A delegate that takes the place of another one whose work has failed.
import type { AgentFunction } from '@parley/agents'
import { ParleyError, type RunId, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import type { Team } from '../team/team.ts'
import { readTeam } from '../team/testing/teams.ts'
import { aborted, alice, Fixture, hanging, planned } from '../testing/fixture.ts'

const fails: AgentFunction = () => {
  throw new ParleyError('agent_error', 'It does not work.')
}

function team(first = '', inner = ''): Team {
  const yaml = planned(
    `{ id: attempt-0, title: The first way, attempts: 1, prompt: Do it.${first}, plan: [{ id: one, agent: one, prompt: One., attempts: 1${inner} }] }`,
    '{ id: attempt-1, title: The second way, attempts: 1, prompt: Do it., plan: [{ id: two, agent: two, prompt: Two., attempts: 1 }] }',
  )
  const read = unwrap(readTeam(yaml.replace('plan:\n', 'limits: { timeout: 1h }\nplan:\n')))
  const [one, two] = read.plan
  return { ...read, plan: [one!, { ...two!, standsInFor: 'attempt-0' } as never] }
}

async function started(f: Fixture, how: Team, project: string | undefined = undefined): Promise<RunId> {
  const request = { principal: alice, intent: 'Do it.', origin: 'test' }
  return unwrap(await f.coordinator.start(request, { team: how, project, approved: true })).run
}

async function told(f: Fixture, run: RunId) {
  const view = await f.over(run)
  const tasks = view.tasks.filter(({ parent }) => parent === undefined).map(({ state, note }) => [state, note])
  return { state: view.state, reason: view.reason, tasks, end: unwrap(await f.coordinator.records.account(run)).end }
}

test('the stand-in does the work when the first way has failed, and the run is complete', async () => {
  const f = await Fixture.open({ one: fails, two: () => 'second answer' })
  const { state, tasks, end } = await told(f, await started(f, team()))
  expect(state).toBe('done')
  expect(tasks).toEqual([
    ['failed', 'one: It does not work. "The second way" takes its place.'],
    ['done', undefined],
  ])
  expect(end).toMatchObject({ outcome: 'complete', text: expect.stringContaining('second answer') })
})

test('it is cancelled without a word when the first way succeeds', async () => {
  const turns: string[] = []
  const f = await Fixture.open({ one: () => 'first answer', two: () => void turns.push('two') })
  const { state, tasks, end } = await told(f, await started(f, team()))
  expect([state, turns]).toEqual(['done', []])
  expect(tasks).toEqual([
    ['done', undefined],
    ['cancelled', 'Not needed: "The first way" is done.'],
  ])
  expect(end).toMatchObject({ outcome: 'complete', text: expect.stringContaining('first answer') })
})

test('a check or a review that turns the first way down lets the second one begin', async () => {
  const f = await Fixture.open({ one: () => 'poor', judge: () => 'REJECT: of no use', two: () => 'good' })
  const how = team('', ', review: { by: judge }')
  expect((await told(f, await started(f, how))).state).toBe('done')
  const checked = team('', ', check: ["false"]')
  expect((await told(f, await started(f, checked, f.project))).state).toBe('done')
})

test('where both fail, the run says why the last one did', async () => {
  const f = await Fixture.open({ one: fails, two: () => Promise.reject(new ParleyError('agent_error', 'Neither.')) })
  const { state, reason, end } = await told(f, await started(f, team()))
  expect([state, reason]).toEqual(['failed', 'The second way: two: Neither.'])
  expect(end).toMatchObject({ outcome: 'failed', error: { code: 'task_failed' } })
})

test('it never begins after a person has ended the first way', async () => {
  const slow = hanging()
  const turns: string[] = []
  const f = await Fixture.open({ one: slow.script, two: () => void turns.push('two') })
  const run = await started(f, team())
  await slow.begun
  await f.abort(run, { task: 'attempt-0', reason: 'enough' })
  const { state, tasks } = await told(f, run)
  expect([state, turns]).toEqual(['failed', []])
  expect(tasks[1]).toEqual([
    'cancelled',
    'Not begun: it takes the place of "The first way" only where its work fails by itself.',
  ])
})

test('nor after a part of it was ended or rejected by a person', async () => {
  const slow = hanging()
  const f = await Fixture.open({ one: slow.script, two: aborted })
  const run = await started(f, team())
  await slow.begun
  await f.abort(run, { task: 'one', reason: 'not this' })
  expect((await told(f, run)).tasks[1]![0]).toBe('cancelled')
  const asking = await started(f, team('', ', approve: true'))
  const { gates } = await f.until(asking, view => view.gates.length > 0)
  await f.respond(gates[0]!.id, { decision: 'reject', reason: 'no' })
  expect((await told(f, asking)).tasks[1]![0]).toBe('cancelled')
})

test('nor after its budget was used up', async () => {
  const spends: AgentFunction = () => ({
    outcome: 'failed',
    error: new ParleyError('agent_error', 'Too little.'),
    usage: { tokensIn: 500, tokensOut: 0 },
  })
  const f = await Fixture.open({ one: spends, two: () => 'never' })
  const { state, tasks } = await told(f, await started(f, team(', budget: { tokens: 100 }')))
  expect(state).toBe('failed')
  expect(tasks[1]![0]).toBe('cancelled')
})

test('while the first way is at work the second one waits, also over a restart', async () => {
  const slow = hanging()
  const f = await Fixture.open({ one: slow.script, two: () => 'second answer' })
  const run = await started(f, team())
  await slow.begun
  const view = unwrap(await f.coordinator.views.view(run))
  expect(view.tasks.find(({ id }) => id === 'attempt-1')).toMatchObject({
    state: 'waiting',
    stands_in_for: 'attempt-0',
    note: 'It begins if "The first way" fails.',
  })
  f.scripts = { one: fails, two: () => 'second answer' }
  await f.restart()
  expect((await told(f, run)).state).toBe('done')
})
