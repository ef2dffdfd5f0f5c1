// What goes with a start: what its agents may get, and nothing else of whoever starts it.
import { expect, test } from 'vitest'
import { ground } from '../testing/ground.ts'
import { startEnvironment } from './caller-environment.ts'

const env = { PATH: '/bin', MINE: '1', OPENAI_API_KEY: '2', GEMINI_API_KEY: '3', HOME: '/h', OTHER: '4' }

test('of a team: what its agents and setups pass on, by themselves or by their preset', () => {
  const agents = {
    a: { command: ['x'], pass: ['MINE', 'UNSET'], slots: 1, setup: { run: ['npm'], timeoutMs: 1, pass: ['OTHER'] } },
    b: { preset: 'codex' as const, slots: 1 },
  }
  expect(startEnvironment(env, { team: { agents } })).toEqual({
    PATH: '/bin',
    MINE: '1',
    OTHER: '4',
    OPENAI_API_KEY: '2',
  })
})

test('without a team: what any agent may need that the node could choose', () => {
  const place = ground()
  place.write('default/config.yaml', 'agents:\n  mine: { command: [x], pass: [MINE] }\n')
  const { HOME: _home, OTHER: _other, ...needed } = env
  expect(startEnvironment(env, { config: place.config() })).toEqual(needed)
})
