import { canonicalize, unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { FULL, problemsIn, readTeam } from './testing/teams.ts'

const furnishing = {
  setup: { run: ['npm', 'ci'], timeoutMs: 600_000, pass: ['NPM_TOKEN'] },
  carry: ['fixtures/large/**'],
}

/** What a task of a plan has that the file says nothing of. */
const task = (id: string, ...needs: string[]) => {
  return { id, title: id, needs, attempts: 3, priority: 'normal', budget: {} }
}

test('a file with everything in it becomes a team with units resolved and the plan in working order', () => {
  const layered = { strategy: 'layered', conflicts: 'ask' }
  const merge = { strategy: 'direct', conflicts: 'rework' }
  const guide = { ...task('guide'), agent: 'writer', prompt: 'Write the guide.', merge }
  expect(unwrap(readTeam(FULL, { file: 'parley.yaml', base: '/project' }))).toEqual({
    name: 'release-check',
    description: 'Is this repository fit to be released?',
    base: '/project',
    agents: {
      writer: { preset: 'claude', model: 'sonnet', args: ['--verbose'], slots: 4, ...furnishing },
      tests: {
        command: ['node', 'checks/tests.mjs', '{folder}'],
        prompt: 'none',
        output: 'json-lines',
        env: { CI: 'true' },
        pass: ['NPM_TOKEN'],
        timeoutMs: 300_000,
        maxOutputBytes: 1_048_576,
        slots: 2,
        carry: ['.env'],
      },
    },
    limits: {
      concurrency: 8,
      attempts: 3,
      timeoutMs: 5_400_000,
      budget: { token_limit: 1_000_000, cost_limit: 12.5 },
      breakers: { noProgress: 5, repetition: 3 },
    },
    ...furnishing,
    approval: 'none',
    gates: {
      preset: 'supervised',
      gates: {
        integration: { on: true, timeoutMs: 600_000, fallback: 'reject' },
        workspace_abort: { timeoutMs: null },
      },
      escalation: { timeoutMs: null, fallback: 'delegate_to_coordinator' },
      injection: false,
    },
    plan: [
      { ...task('build'), agent: 'writer', prompt: 'Build it.', paths: [], merge: layered },
      {
        ...task('tests', 'build'),
        title: 'Run the tests',
        agent: 'tests',
        prompt: 'Run the tests for {intent}.\n',
        paths: ['report/**'],
        attempts: 1,
        timeoutMs: 250,
        priority: 'urgent',
        check: ['npm', 'test'],
        review: { by: 'writer', prompt: 'Is {intent} done?' },
        budget: {
          token_limit: 5000,
          compute_timeout: 90_000,
          context_limit: 2000,
          checkpoint_limit: 1_048_576,
          trail_limit: 65_536,
          bandwidth_limit: 4096,
        },
        merge: { strategy: 'evaluated', by: 'writer', prompt: 'Join {intent}.', conflicts: 'ask' },
      },
      { ...task('docs', 'build'), prompt: 'All of it is about {intent}.', merge: layered, plan: [guide] },
    ],
    warnings: [],
  })
})

test('a file that says only what it must gets the defaults', () => {
  const text = 'version: 1\nname: solo\nagents:\n  one: { preset: codex }\n'
  expect(unwrap(readTeam(text))).toEqual({
    name: 'solo',
    description: '',
    agents: { one: { preset: 'codex', slots: 4 } },
    limits: { concurrency: 4, attempts: 2, budget: {}, breakers: { noProgress: 3, repetition: 3 } },
    approval: 'ask',
    plan: [],
    warnings: [],
  })
})

test('a review without a prompt asks a question that fits any work', () => {
  const text = FULL.replace(", prompt: 'Is {intent} done?'", '')
  const review = { by: 'writer', prompt: 'Is the work right and complete?' }
  expect(unwrap(readTeam(text)).plan[1]?.review).toEqual(review)
})

test('a team is plain JSON that the trail can store', () => {
  const team = unwrap(readTeam(FULL))
  expect(JSON.parse(JSON.stringify(team))).toEqual(team)
  expect(canonicalize(team)).toContain('"release-check"')
})

test('a refusal names the file, the first place and how many more there are', () => {
  const result = readTeam('version: 2\nname: solo\nagents: {}\n', { file: '/somewhere/parley.yaml' })
  expect(result).toMatchObject({
    ok: false,
    error: {
      code: 'invalid_team',
      retryable: false,
      message: "parley.yaml cannot be used. Line 1, column 10: 'version' must be 1, not 2. (and 1 more problem)",
      details: {
        file: '/somewhere/parley.yaml',
        total: 2,
        problems: [
          { code: 'bad_value', line: 1, column: 10, path: 'version' },
          { code: 'no_agents', line: 3, column: 9, path: 'agents' },
        ],
      },
    },
  })
})

describe('names that every object has are names like others', () => {
  const odd = (agents: string, rest = '') => `version: 1\nname: odd\nagents: { ${agents} }\n${rest}`

  test('as an agent', () => {
    const text = odd('constructor: { preset: qwen }', 'plan: [{ id: a, agent: constructor, prompt: x }]\n')
    expect(unwrap(readTeam(text)).agents).toEqual({ constructor: { preset: 'qwen', slots: 4 } })
  })

  test('and they do not exist unless the file has them', () => {
    const one = 'one: { preset: qwen }'
    const plan = 'plan: [{ id: a, agent: constructor, prompt: x, needs: [toString] }]\n'
    expect(problemsIn(odd(one, plan))).toMatchObject([{ code: 'unknown_agent' }, { code: 'unknown_task' }])
    expect(problemsIn(odd(one, 'toString: 1\n'))).toMatchObject([{ code: 'unknown_key' }])
  })

  test('as a variable', () => {
    const { env } = unwrap(readTeam(odd('one: { preset: qwen, env: { __proto__: x } }'))).agents.one!
    expect(Object.entries(env!)).toEqual([['__proto__', 'x']])
  })
})

test('an anchor repeats a value wherever its alias stands', () => {
  const text = `version: 1
name: repeated
agents:
  a: &agent { preset: claude, timeout: &time 5m }
  b: *agent
plan:
  - { id: one, agent: a, prompt: &prompt Do it., timeout: *time }
  - { id: two, agent: b, prompt: *prompt }
`
  const team = unwrap(readTeam(text))
  expect(team.agents.b).toEqual(team.agents.a)
  expect(team.plan).toMatchObject([{ timeoutMs: 300_000 }, { prompt: 'Do it.' }])
})

test('a byte order mark and Windows line ends change no place', () => {
  const text = 'version: 1\nname: solo\nagents: { one: { preset: codex } }\n'
  expect(readTeam(`\ufeff${text.replaceAll('\n', '\r\n')}`)).toMatchObject({ ok: true })
  const wrong = text.replace('solo', 'Solo')
  expect(problemsIn(`\ufeff${wrong.replaceAll('\n', '\r\n')}`)).toEqual(problemsIn(wrong))
  expect(problemsIn(`\ufeff${text.replace('version', 'vershun')}`)).toMatchObject([
    { code: 'unknown_key', line: 1, column: 1 },
    { code: 'missing_key', line: 1, column: 1 },
  ])
})

describe('warnings do not refuse a file', () => {
  const text = `version: 1
name: warned
agents:
  one: { preset: claude }
  idle: { preset: codex }
plan:
  - { id: a, agent: one, prompt: x, review: { by: one } }
`
  test('an agent that no task uses, an agent that reviews itself', () => {
    expect(unwrap(readTeam(text)).warnings).toEqual([
      {
        code: 'unused_agent',
        message: "No task of the plan uses the agent 'idle'.",
        line: 5,
        column: 3,
        path: 'agents.idle',
      },
      {
        code: 'reviews_itself',
        message: "The agent 'one' reviews its own work. Another agent would see more.",
        line: 7,
        column: 51,
        path: 'plan[0].review.by',
      },
    ])
  })

  test('whoever takes over a review is used, and may be the one whose work it is', () => {
    const both = text.replace('by: one', 'by: idle, fallback: one')
    expect(unwrap(readTeam(both)).warnings.map(({ code, path }) => [code, path])).toEqual([
      ['reviews_itself', 'plan[0].review.fallback'],
    ])
  })

  test('a reviewer is used, and a team without a plan uses its agent', () => {
    expect(unwrap(readTeam(text.replace('by: one', 'by: idle'))).warnings).toEqual([])
    expect(unwrap(readTeam('version: 1\nname: s\nagents: { one: { preset: qwen } }\n')).warnings).toEqual([])
  })
})
