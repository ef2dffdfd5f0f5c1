// Team files with every kind of agent: what docs/guide/team-files.md says of agents, and mistakes in agents that are
// not programs.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { formatProblems } from '@parley/coordinator'
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { agentSchema, readTeam } from './team-files.ts'

const guide = readFileSync(join(import.meta.dirname, '../../../../docs/guide/team-files.md'), 'utf8')
const files = [...guide.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text!)

type TeamProblem = Parameters<typeof formatProblems>[0][number]

function problemsIn(agent: string): readonly Partial<TeamProblem>[] {
  const read = readTeam(`version: 1\nname: team\nagents:\n  one: ${agent}\n`)
  const problems = read.ok ? [] : (read.error.details.problems as readonly TeamProblem[])
  return problems.map(({ code, path, message }) => ({ code, path, message }))
}

describe('the guide to team files', () => {
  test.each(files.map(text => [/name: (.*)/.exec(text)![1]!, text]))('%s is a team file', (name, text) => {
    expect(unwrap(readTeam(text))).toMatchObject({ name, warnings: [] })
  })

  test('has a row for every field of an agent', () => {
    const [, table = ''] = /\n### An agent\n(.*?)\n#/s.exec(guide) ?? []
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, field]) => field)
    expect(rows.toSorted()).toEqual(Object.keys((agentSchema as { properties?: object }).properties ?? {}).toSorted())
  })
})

test('an agent may be a peer or a function, with a time limit and slots; nothing is set up for a peer, which has no folder', () => {
  const agents = 'adviser: { peer: Home_server-2, timeout: 10m, slots: 1 }, other: { peer: x }, near: { function: sum }'
  const plan = '{ id: a, agent: adviser, prompt: x, fallback: [other, near] }'
  const folders = 'setup: [npm, ci]\ncarry: [.env]'
  const text = `version: 1\nname: far\n${folders}\nagents: { ${agents} }\nplan: [${plan}]\n`
  expect(unwrap(readTeam(text)).agents).toEqual({
    adviser: { peer: 'Home_server-2', timeoutMs: 600_000, slots: 1 },
    other: { peer: 'x', slots: 4 },
    near: { function: 'sum', slots: 4, setup: { run: ['npm', 'ci'], timeoutMs: 900_000 }, carry: ['.env'] },
  })
})

test.each([
  ['a peer with a bad name', '{ peer: home.server }', 'bad_name', 'peer', 'pinned peer'],
  ['a peer that is no text', '{ peer: 7 }', 'wrong_type', 'peer', 'pinned peer'],
  ['a peer that must be quick', '{ peer: home, timeout: 0s }', 'bad_value', 'timeout', '1ms'],
  ['a function without a name', "{ function: '' }", 'bad_value', 'function', 'is empty'],
  ['an agent of no kind', '{ slots: 2 }', 'missing_key', 'command', "'command', 'preset', 'function' or 'peer'"],
])('%s is found', (_, agent, code, field, says) => {
  expect(problemsIn(agent)).toEqual([{ code, path: `agents.one.${field}`, message: expect.stringContaining(says) }])
})

test.each([
  ['command', '[sh]'],
  ['preset', 'claude'],
  ['prompt', 'none'],
  ['output', 'text'],
  ['env', '{ A: b }'],
  ['pass', '[HOME]'],
  ['model', 'sonnet'],
  ['args', '[-v]'],
  ['setup', '[npm, ci]'],
  ['carry', '[.env]'],
  ['max_output', '1MiB'],
  ['function', 'sum'],
])("a peer has no '%s' of its own here", (field, value) => {
  const message = expect.stringContaining(`Leave out either 'peer' or '${field}'.`)
  const problem = { code: 'bad_value', path: `agents.one.${field}`, message }
  expect(problemsIn(`{ peer: home, ${field}: ${value} }`)).toEqual([problem])
})
