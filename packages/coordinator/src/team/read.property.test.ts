// Whatever the text is, reading it ends in a team or in problems that lie inside the text; and what the walk over the
// schema accepts, the compiled schema accepts as well.
import { compile } from '@parley/core'
import { plain } from '@parley/core/yaml'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { formatProblems } from './format.ts'
import { teamLimits } from './limits.ts'
import { TEAM_PROBLEM_CODES } from './problem.ts'
import { shapeFindings } from './shape.ts'
import { readSource } from './source.ts'
import { planFor } from './team.ts'
import { FULL, problemsOf, readTeam, teamSchema } from './testing/teams.ts'

const RUNS = process.env.PARLEY_SOAK ? 60_000 : 1500
const codes: readonly string[] = TEAM_PROBLEM_CODES
const schema = compile(teamSchema)

function endsInResult(text: string): void {
  const result = readTeam(text)
  if (result.ok) {
    expect(JSON.parse(JSON.stringify(result.value))).toEqual(result.value)
    expect(planFor(result.value, 'intent').length).toBeGreaterThan(0)
    return
  }
  expect(result.error.code).toBe('invalid_team')
  const problems = problemsOf(result)
  expect(problems.length).toBeGreaterThan(0)
  expect(problems.length).toBeLessThanOrEqual(teamLimits.problems)
  const lines = text.split('\n')
  let last = { line: 1, column: 1 }
  for (const problem of problems) {
    expect(codes).toContain(problem.code)
    expect(problem.message).not.toBe('')
    const { line, column } = problem
    expect(line > last.line || (line === last.line && column >= last.column)).toBe(true)
    expect(line).toBeLessThanOrEqual(lines.length)
    expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1)
    last = { line, column }
  }
  expect(formatProblems(problems, text).length).toBeGreaterThan(0)
}

/** Pieces that mean something to YAML or to a team file. */
const lines = 'version: 1|name: a|agents:|  one: { preset: claude }|plan:|  - id: a|    agent: one|---|...|__proto__: 1'
const words = String.raw`: - [ ] { } , *a !! | > " ' # % @ \ ~ null true 1 .nan -0 0x1 a constructor 😀`
const pieces = [
  ...lines.split('|').map(line => `${line}\n`),
  ...words.split(' '),
  ...['    prompt: |\n', '      text\n', 'needs: [a]', ': ', '- ', '? ', '&a ', '!x ', '<<: ', ' ', '  ', '`'],
  ...['\n', '\r\n', '\r', '\t', '\0', '\ufeff', '\u2028', '\ud800'],
]
const garbage = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.string({ unit: fc.constantFrom(...pieces), maxLength: 60 }),
)

test('garbage ends in a result', () => {
  fc.assert(fc.property(garbage, endsInResult), { numRuns: RUNS })
})

const mutation = fc.record({
  at: fc.nat(FULL.length),
  cut: fc.nat(20),
  put: fc.oneof(fc.constant(''), fc.constantFrom(...pieces), fc.string({ unit: 'binary', maxLength: 4 })),
})

test('a good file with pieces taken out and put in ends in a result', () => {
  const mutated = fc.array(mutation, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(mutated, mutations => {
      let text = FULL
      for (const { at, cut, put } of mutations) text = text.slice(0, at) + put + text.slice(at + cut)
      endsInResult(text)
    }),
    { numRuns: RUNS },
  )
})

const scalar = fc.oneof(
  fc.constantFrom(null, true, 0, 1, 2, 17, 65, 1.5, -1),
  fc.constantFrom('', 'a', 'one', 'ask', 'claude', '5m', '8MiB', 'A b', '../x', 'x\0'),
  fc.string({ maxLength: 5 }),
)
const keys = 'version name agents limits plan approval id agent prompt needs paths odd'.split(' ')
const anyValue = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 4 }),
  ),
})).value

/** A good value with something else in one place. */
const spoiled = fc.tuple(fc.nat(200), anyValue).map(([place, value]) => {
  let left = place
  const visit = (node: unknown): unknown => {
    if (left-- === 0) return value
    if (Array.isArray(node)) return node.map(visit)
    if (typeof node !== 'object' || node === null) return node
    return Object.fromEntries(Object.entries(node).map(([key, each]) => [key, visit(each)]))
  }
  return visit(plain(readSource(FULL).root!))
})

test('the walk over the schema and the compiled schema agree on every value', () => {
  let accepted = 0
  fc.assert(
    fc.property(fc.oneof(anyValue, spoiled), value => {
      const { root } = readSource(stringify(value, { aliasDuplicateObjects: false }))
      if (!root) return
      const fits = schema.is(plain(root))
      if (fits) accepted++
      expect(shapeFindings(root, teamSchema).length === 0).toBe(fits)
    }),
    { numRuns: RUNS },
  )
  // Both sides are met.
  expect(accepted).toBeGreaterThan(RUNS / 50)
  expect(accepted).toBeLessThan(RUNS)
})
