import { expect, test } from 'vitest'
import { formatProblems } from './format.ts'
import type { TeamProblem } from './problem.ts'
import { problemsIn } from './testing/teams.ts'

const wrong = { code: 'bad_value', message: 'It is wrong.', path: '' } as const
const at = (line: number, column: number): TeamProblem => ({ ...wrong, line, column })

test('each problem has its place, its message, its line and a mark below', () => {
  const text = 'version: 1\nname: Team\nagents:\n  one: { preset: cluade }\n'
  expect(formatProblems(problemsIn(text), text, 'parley.yaml')).toBe(
    `parley.yaml:2:7: 'Team' is not a name of 1 to 64 lower-case letters, digits and hyphens that starts with a letter or a digit.
  2 | name: Team
    |       ^

parley.yaml:4:18: 'preset' must be claude, codex, gemini, opencode or qwen, not 'cluade'. Did you mean 'claude'?
  4 |   one: { preset: cluade }
    |                  ^`,
  )
})

test('a line that is empty or not there is left out', () => {
  expect(formatProblems([at(1, 1)], '')).toBe('team file:1:1: It is wrong.')
  expect(formatProblems([at(9, 9)], 'a: b')).toBe('team file:9:9: It is wrong.')
  expect(formatProblems([], 'a: b')).toBe('')
})

test('the mark stands below its character also behind tabs and characters outside the basic plane', () => {
  expect(formatProblems([at(1, 8)], '\t"😀": x\r\n')).toBe('team file:1:8: It is wrong.\n  1 |  "😀": x\n    |       ^')
})

test('of a long line the part around the mark is shown', () => {
  const [, shown, mark] = formatProblems([at(1, 5001)], `${'a'.repeat(5000)}X${'b'.repeat(5000)}`).split('\n')
  expect(shown!.length).toBeLessThan(140)
  expect(shown![mark!.indexOf('^')]).toBe('X')
  expect(shown).toMatch(/\| …a+Xb+…$/)
})

test('a file cannot steer the terminal of its reader', () => {
  const shown = formatProblems([at(1, 5)], 'a: \u001b[2J\u202e\u0007', 'x\u001b[31m.yaml')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
  expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/)
})
