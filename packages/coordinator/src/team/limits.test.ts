// What a file may cost its reader: every bound is reached, and passed by one.
import { limits } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { teamLimits } from './limits.ts'
import { problemsIn } from './testing/teams.ts'

const head = 'version: 1\nname: team\n'
const one = `${head}agents: { one: { preset: qwen } }\n`
const tasks = (count: number, more = '') =>
  `${one}plan:\n${Array.from({ length: count }, (_, index) => `  - { id: t${index}, agent: one, prompt: x${more} }\n`).join('')}`
const agents = (count: number) =>
  `${head}agents:\n${Array.from({ length: count }, (_, index) => `  a${index}: { preset: qwen }\n`).join('')}plan: [{ id: a, agent: a0, prompt: x }]\n`
const list = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`).join(', ')
const prompt = (text: string) => `${one}plan: [{ id: a, agent: one, prompt: '${text}' }]\n`

test.each<[what: string, path: string, most: number, file: (count: number, isMore: boolean) => string]>([
  ['agents', 'agents', teamLimits.agents, agents],
  // Nothing is said about the tasks of a plan that is too long.
  ['tasks', 'plan', teamLimits.tasks, (count, isMore) => tasks(count, isMore ? ', needs: [nobody]' : '')],
  [
    'characters of a description',
    'description',
    teamLimits.descriptionLength,
    count => `${one}description: ${'😀'.repeat(count)}\n`,
  ],
  ['characters of a prompt', 'plan[0].prompt', teamLimits.promptLength, count => prompt('x'.repeat(count))],
  ['places for the intent', 'plan[0].prompt', teamLimits.promptIntents, count => prompt('{intent} '.repeat(count))],
  ['paths', 'plan[0].paths', teamLimits.paths, count => tasks(1, `, paths: [${list(count)}]`)],
  ['stars of a path', 'plan[0].paths[0]', limits.globStars, count => tasks(1, `, paths: ['${'*a'.repeat(count)}']`)],
  ['patterns of a path with braces', 'plan[0].paths[0]', 8, count => tasks(1, `, paths: ['${'{a,b}'.repeat(count)}']`)],
  [
    'characters of all paths of a task',
    'plan[0].paths',
    8,
    count => tasks(1, `, paths: [${`"${'{a,b}'.repeat(8)}", `.repeat(count)}]`),
  ],
  [
    'words of a command',
    'agents.one.command',
    teamLimits.commandWords,
    count => `${head}agents: { one: { command: [${list(count)}] } }\n`,
  ],
])('%s', (_, path, most, file) => {
  expect(problemsIn(file(most, false))).toEqual([])
  expect(problemsIn(file(most + 1, true))).toMatchObject([{ code: 'too_large', path }])
})

test('bytes of a file', () => {
  const filled = (bytes: number) =>
    `${one}#${'é'.repeat((bytes - one.length - 2) / 2)}${'x'.repeat((bytes - one.length) % 2)}\n`
  expect(Buffer.byteLength(filled(teamLimits.fileBytes))).toBe(teamLimits.fileBytes)
  expect(problemsIn(filled(teamLimits.fileBytes))).toEqual([])
  const problems = problemsIn(filled(teamLimits.fileBytes + 1))
  expect(problems).toMatchObject([{ code: 'too_large', line: 1, column: 1 }])
  expect(problems[0]!.message).toContain('at most 262144 bytes')
})

test('tokens of a file', () => {
  const problems = problemsIn(`[${'a,'.repeat(teamLimits.fileTokens / 2)}]`)
  expect(problems).toMatchObject([{ code: 'too_large', line: 1, column: 1 }])
  expect(problems[0]!.message).toContain('too many values')
})

describe('depth', () => {
  // The parser composes recursively: without a bound these exhaust the stack, or end the process.
  test.each(['[', '{', '- ', '? ', '{a: ', '[[],', ': '])('many of %j', text => {
    expect(problemsIn(text.repeat(teamLimits.fileBytes / text.length - 1))).toMatchObject([
      { code: 'too_deep', line: 1 },
    ])
  })

  test('indentation', () => {
    const steps = Array.from({ length: 700 }, (_, index) => `${' '.repeat(index)}a:`).join('\n')
    expect(problemsIn(steps)).toMatchObject([{ code: 'too_deep' }])
  })
})

describe('aliases', () => {
  test('a bomb is refused at the alias that is too much', () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const before = level === 0 ? 'lol' : `*l${level - 1}`
      return `  - &l${level} [${Array.from({ length: 10 }, () => before).join(', ')}]\n`
    })
    expect(problemsIn(`${one}plan:\n${levels.join('')}`)).toMatchObject([
      { code: 'alias_limit', path: expect.stringMatching(/^plan/) },
    ])
  })

  test('a long text that is repeated often counts as what it becomes', () => {
    const text = `${tasks(1, `, title: &t ${'x'.repeat(60_000)}`)}${'  - *t\n'.repeat(20)}`
    expect(problemsIn(text)).toMatchObject([{ code: 'alias_limit', line: 14 }])
  })

  test('a chain of aliases does not exhaust the stack', () => {
    const chain = Array.from(
      { length: 9000 },
      (_, index) => `  - &a${index} [${index === 0 ? 'x' : `*a${index - 1}`}]\n`,
    )
    expect(problemsIn(`${one}plan:\n${chain.join('')}`).length).toBeGreaterThan(0)
  })
})

test('at most 20 problems are listed, the first ones of the file, with the number of all', () => {
  const text = `${one}${Array.from({ length: 500 }, (_, index) => `key${index}: 1\n`).join('')}`
  const problems = problemsIn(text)
  expect(problems.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, index) => index + 4))
})

// Each took at most seconds on two old cores; the limit of a test is a minute.
test.each([
  ['keys', Array.from({ length: 21_000 }, (_, index) => `key${index}: x\n`).join('')],
  ['equal keys', 'a: 1\n'.repeat(21_000)],
  ['needs', tasks(teamLimits.tasks, `, needs: [${list(80)}]`).slice(0, teamLimits.fileBytes - 1)],
  ['paths with braces', tasks(20, `, paths: [${"'{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}', ".repeat(250)}'{1..9}']`)],
  ['quotes', '"'.repeat(100_000)],
  ['closing brackets', '}'.repeat(100_000)],
  ['documents', '---\n'.repeat(40_000)],
  ['tags', '- !x y\n'.repeat(16_000)],
  ['escapes', `"${'\\x'.repeat(120_000)}"`],
  ['anchors', Array.from({ length: 16_000 }, (_, index) => `- &a${index} x\n`).join('')],
  ['aliases', `- &a x\n${'- *a\n'.repeat(20_000)}`],
  ['unknown aliases', `- *a\n`.repeat(20_000)],
])('a file full of %s is refused in a moment', (_, text) => {
  const problems = problemsIn(text)
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.length).toBeLessThanOrEqual(teamLimits.problems)
})
