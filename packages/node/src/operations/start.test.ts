// What a run starts with: the environment of whoever starts it, and a look whether its programs are there at all.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { nodeLimits } from '../limits.ts'
import { refusal, solve } from '../testing/calls.ts'
import { filesWith, type Ground, ground } from '../testing/ground.ts'
import { startedNode } from '../testing/started.ts'

const SECRET = 'a-value-that-nobody-may-find'

function teamOf(place: Ground, agents: string, plan = '  - { id: one, agent: a, prompt: Do it. }') {
  return {
    text: `version: 1\nname: t\nagents:\n${agents}\nplan:\n${plan}\n`,
    file: join(place.home, 'parley.yaml'),
  }
}

function program(place: Ground, name: string): string {
  const folder = join(place.home, 'later')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 })
  return folder
}

test('an agent whose tasks another can take over need not be there; one of them must', async () => {
  const { client, place, coordinator } = await startedNode()
  const agents = '  a: { command: [parley-none] }\n  b: { command: [sh] }\n  c: { command: [parley-none-either] }'
  const plan = (fallback: string) => `  - { id: one, agent: a, prompt: Do it., fallback: ${fallback} }`
  await client.call('solve', 'start', { ...solve, team: teamOf(place, agents, plan('[c, b]')) })
  expect(coordinator.solved).toHaveLength(1)
  const none = client.call('solve', 'start', { ...solve, team: teamOf(place, agents, plan('c')) })
  const missing = { code: 'program_missing', message: expect.stringContaining('agent c') }
  expect(await refusal(none)).toMatchObject(missing)
  const reviews = `${plan('b')}\n  - { id: two, agent: b, prompt: x, review: { by: a } }`
  const needed = client.call('solve', 'start', { ...solve, team: teamOf(place, agents, reviews) })
  expect((await refusal(needed)).code).toBe('program_missing')
  const spared = reviews.replace('by: a', 'by: a, fallback: [c, b]')
  await client.call('solve', 'start', { ...solve, team: teamOf(place, agents, spared) })
  expect(coordinator.solved).toHaveLength(2)
})

test('a start ends with its caller: who has left gets no run', async () => {
  const { client, coordinator, place } = await startedNode()
  await client.call('solve', 'start', { ...solve, team: teamOf(place, '  a: { command: [sh] }') })
  expect(coordinator.solved[0]).toHaveProperty('caller', expect.any(AbortSignal))
})

describe('the environment of whoever starts a run', () => {
  test('goes with the run: their PATH and what the agents pass on, and nothing else', async () => {
    const { client, coordinator, place } = await startedNode()
    const team = teamOf(place, '  a: { command: [sh], pass: [MY_KEY, NOT_SET] }\n  b: { preset: codex }')
    const environment = { PATH: '/usr/bin:/bin', MY_KEY: SECRET, OPENAI_API_KEY: 'k', HOME: '/x', OTHER: 'y' }
    await client.call('solve', 'start', { ...solve, team, environment })
    const { HOME: _home, OTHER: _other, ...passed } = environment
    expect(coordinator.solved[0]).toHaveProperty('environment', passed)
  })

  test('is neither in the log nor in a file of the profile', async () => {
    const { client, place, log } = await startedNode()
    const team = teamOf(place, '  a: { command: [sh], pass: [MY_KEY] }')
    await client.call('solve', 'start', { ...solve, team, environment: { MY_KEY: SECRET } })
    await refusal(client.call('solve', 'start', { ...solve, team, environment: { MY_KEY: `${SECRET}\0` } }))
    expect(JSON.stringify(log.lines)).not.toContain(SECRET)
    expect(filesWith(place, SECRET)).toEqual([])
  })

  test.each([
    ['a zero in a value', { MY_KEY: `${SECRET}\0` }],
    ['no name', { '': SECRET }],
    ['an equals sign in a name', { 'A=B': SECRET }],
    ['too much of it', { MY_KEY: SECRET.repeat(nodeLimits.environmentLength / 10) }],
    ['too many', Object.fromEntries(Array.from({ length: 513 }, (_, n) => [`V${n}`, SECRET]))],
  ])('is refused with %s, and no value is repeated', async (_what, environment) => {
    const { client, coordinator, place } = await startedNode()
    const team = teamOf(place, '  a: { command: [sh], pass: [MY_KEY] }')
    const error = await refusal(client.call('solve', 'start', { ...solve, team, environment }))
    expect(error.code).toBe('invalid_argument')
    expect(JSON.stringify(error)).not.toContain(SECRET)
    expect(coordinator.solved).toEqual([])
  })

  test('says where programs are: what was put on their PATH later is found', async () => {
    const place = ground()
    const { client } = await startedNode({ place })
    const path = program(place, 'put-there-later')
    const team = teamOf(place, '  a: { command: [put-there-later] }')
    expect((await refusal(client.call('solve', 'start', { ...solve, team }))).code).toBe('program_missing')
    await client.call('solve', 'start', { ...solve, team, environment: { PATH: path } })
  })

  test('and so for a list of agents', async () => {
    const place = ground()
    place.write('default/config.yaml', 'agents:\n  late: { command: [put-there-later] }\n')
    const { client } = await startedNode({ place })
    const late = async (input: { path?: string }) =>
      (await client.call('agents', 'list', input)).agents.find(({ name }) => name === 'late')?.found
    const path = program(place, 'put-there-later')
    expect([await late({}), await late({ path })]).toEqual([false, true])
  })
})

describe('a run is not started', () => {
  test('where programs of its agents, reviewers, setups or checks are missing, and each is named', async () => {
    const { client, coordinator, place } = await startedNode()
    const team = teamOf(
      place,
      '  a: { command: [no-such-a], setup: [no-such-setup] }\n  r: { command: [./no-such-r] }\n  idle: { command: [no-such-idle] }',
      '  - { id: one, agent: a, prompt: Do it., check: [no-such-check, -v], review: { by: r, prompt: Look. } }',
    )
    const error = await refusal(client.call('solve', 'start', { ...solve, team }))
    const missing = [
      { what: 'agent a', program: 'no-such-a' },
      { what: 'agent r', program: './no-such-r' },
      { what: 'setup', program: 'no-such-setup' },
      { what: 'check of one', program: 'no-such-check' },
    ]
    expect(error).toMatchObject({ code: 'program_missing', details: { missing } })
    for (const name of [...missing.map(({ program: name }) => name), place.home]) expect(error.message).toContain(name)
    expect(coordinator.solved).toEqual([])
  })

  test('where a preset is not installed, with how to get it', async () => {
    const { client, coordinator } = await startedNode({ env: { PATH: '/nowhere' } })
    const details = { missing: [{ program: 'claude', help: expect.stringContaining('claude') }] }
    const error = await refusal(client.call('solve', 'start', { ...solve, agent: 'claude' }))
    expect(error).toMatchObject({ code: 'program_missing', details })
    expect(coordinator.solved).toEqual([])
  })

  test('where a program may not be executed', async () => {
    const { client, place } = await startedNode()
    const file = join(place.home, 'plain.sh')
    writeFileSync(file, '#!/bin/sh\n', { mode: 0o644 })
    const team = teamOf(place, '  a: { command: [./plain.sh] }')
    expect((await refusal(client.call('solve', 'start', { ...solve, team }))).code).toBe('program_missing')
    chmodSync(file, 0o755)
    await client.call('solve', 'start', { ...solve, team })
  })

  test('but it is where an agent has a PATH of its own, or the program may be in the folder of a turn', async () => {
    const { client, place, coordinator } = await startedNode()
    const path = program(place, 'own')
    const own = teamOf(place, `  a: { command: [own], env: { PATH: '${path}' } }`)
    await client.call('solve', 'start', { ...solve, team: own })
    const filled = teamOf(place, "  a: { command: ['{folder}/made.sh'] }")
    await client.call('solve', 'start', { ...solve, team: filled })
    const inside = teamOf(place, '  a: { command: [tool-of-the-project] }')
    const environment = { PATH: 'node_modules/.bin:/bin' }
    await client.call('solve', 'start', { ...solve, team: inside, environment })
    expect(coordinator.solved).toHaveLength(3)
  })
})
