import { unwrap } from '@parley/core'
import { expect, test } from 'vitest'
import { loginWarnings } from './node-warnings.ts'
import { readTeam } from './team-files.ts'

const team = unwrap(
  readTeam(
    `version: 1
name: t
agents:
  one: { preset: claude }
  two: { preset: codex, env: { CODEX_HOME: /codex } }
  idle: { preset: gemini }
  own: { command: [x] }
plan:
  - { id: a, agent: one, fallback: two, prompt: x }
  - { id: b, agent: own, prompt: x }
`,
  ),
)

test('an agent of the plan without a key and without a login that can be seen is a warning, with what to do', () => {
  const warned = (env: Record<string, string>, ...files: string[]) =>
    loginWarnings(team, 'x', { HOME: '/mira', ...env }, file => files.includes(file), 'linux')
  expect(warned({})).toEqual([
    'agent one: no login of claude was found. Run `claude` once and log in, or set ANTHROPIC_API_KEY. `parley doctor` checks it.',
    'agent two: no login of codex was found. Run `codex login`, or set CODEX_API_KEY. `parley doctor` checks it.',
  ])
  expect(warned({ ANTHROPIC_API_KEY: 'k' }, '/codex/auth.json')).toEqual([])
  expect(warned({ OPENAI_API_KEY: 'k' }, '/mira/.claude/.credentials.json')).toEqual([])
})

test('on macOS, where logins are in the keychain, nothing is said', () => {
  expect(loginWarnings(team, 'x', {}, () => false, 'darwin')).toEqual([])
})
