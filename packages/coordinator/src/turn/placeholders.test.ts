// What the placeholders of a command become at a real turn, and the id by which an agent can make a repeated effect
// harmless.
import { join } from 'node:path'
import { type RunId, type TurnInput, unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { readTeam } from '../team/testing/teams.ts'
import { alice, Fixture, hanging, writes } from '../testing/fixture.ts'

const PLACEHOLDERS = ['prompt', 'prompt_file', 'folder', 'base', 'agent', 'task', 'other'] as const

/**
 * `prompt` and `prompt_file` exclude each other: every placeholder has an agent of its own, which writes down what it
 * became.
 */
const team = `version: 1
name: shown
agents:
${PLACEHOLDERS.map(
  name => `  ${name}: { command: [sh, -c, 'printf %s "$1" > $PARLEY_TASK; echo $PARLEY_TASK_ID', sh, '{${name}}'] }\n`,
).join('')}plan:
${PLACEHOLDERS.map(name => `  - { id: the-${name}, agent: ${name}, prompt: 'Work on {intent} as {task}' }\n`).join('')}  - id: checked
    agent: agent
    prompt: Work.
    check: [sh, -c, 'test "$0 $1" = "$PARLEY_TASK_ID $PWD"', '{task}', '{folder}']
`

async function taskId(fixture: Fixture, run: RunId, name: string): Promise<string> {
  const created = await fixture.entries(run, 'task_created')
  return created.map(({ body }) => body as { task_id: string; name: string }).find(body => body.name === name)!.task_id
}

test('every placeholder is filled in at a real turn, for an agent and for a check', async () => {
  const fixture = await Fixture.open()
  const base = join(fixture.folder, 'base')
  const request = { intent: 'this', principal: alice, origin: 'test' }
  const setup = { project: fixture.project, team: unwrap(readTeam(team, { base })), approved: true }
  const { run } = unwrap(await fixture.coordinator.start(request, setup))
  const view = await fixture.over(run)
  expect(view.tasks.filter(({ state }) => state !== 'done')).toEqual([])
  const work = `${join(fixture.profile, 'runs', run, 'work')}/ws_[0-9a-z]{26}`
  const id = await taskId(fixture, run, 'the-task')
  const expected: Readonly<Record<(typeof PLACEHOLDERS)[number], RegExp>> = {
    prompt: /^Work on this as \{task\}\n\n## /,
    prompt_file: /\/parley-turn-[^/]+\/prompt\.md$/,
    folder: new RegExp(`^${work}$`),
    base: new RegExp(`^${base}$`),
    agent: /^agent#1$/,
    task: new RegExp(`^${id}$`),
    other: /^\{other\}$/,
  }
  for (const name of PLACEHOLDERS) expect(fixture.result(view, `the-${name}`)).toMatch(expected[name])
})

test('{task} is the same at every attempt, also of the team around it and after a restart, and another in the next run', async () => {
  const told: (string | undefined)[] = []
  const { script, begun } = hanging()
  const fixture = await Fixture.open({
    part: async (input: TurnInput) => {
      told.push(input.task)
      if (told.length < 4) throw new Error('not yet')
      return told.length === 4 ? script(input) : writes('done')(input)
    },
  })
  const yaml = `version: 1
name: again
agents:
  part: { command: [scripted, part] }
plan:
  - id: whole
    prompt: The whole.
    attempts: 2
    plan:
      - { id: part, agent: part, prompt: A part., attempts: 2 }
`
  const run = await fixture.solve(yaml)
  await begun
  await fixture.restart()
  expect((await fixture.over(run)).state).toBe('done')
  const id = await taskId(fixture, run, 'part')
  expect(told).toEqual(Array(5).fill(id))
  const other = await fixture.solve(yaml)
  await fixture.over(other)
  expect(told[5]).toBe(await taskId(fixture, other, 'part'))
  expect(told[5]).not.toBe(id)
})
