// What docs/guide/team-files.md says is so: its tables have every field, default and code. Its files and agents are
// read where all kinds of agents are known, in @parley/node.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unwrap } from '@parley/core'
import { describe, expect, test } from 'vitest'
import { formatProblems } from './format.ts'
import { teamDefaults } from './limits.ts'
import { TEAM_PROBLEM_CODES, TEAM_WARNING_CODES } from './problem.ts'
import { problemsIn, readTeam, teamSchema } from './testing/teams.ts'

const root = join(import.meta.dirname, '../../../..')
const guide = readFileSync(join(root, 'docs/guide/team-files.md'), 'utf8')

const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text]) => text!)

/** The cells of the rows below a heading, those with code in the first. */
function rows(heading: string): string[][] {
  const [, below = ''] = guide.split(`\n${heading}\n`)
  const lines = below.split(/^#/m)[0]!.split('\n')
  return lines
    .filter(line => line.startsWith('| `'))
    .map(line => line.split(' | ').map(cell => cell.replace(/^\| |\s*\|$/g, '')))
}

const fields = (heading: string) => rows(heading).map(([name]) => name!.replaceAll('`', ''))

describe('the guide to team files', () => {
  test('has a table with every field', () => {
    const file = teamSchema.properties
    const { properties: task } = file.plan.items
    const same = (heading: string, properties: object) =>
      expect(fields(heading).toSorted(), heading).toEqual(Object.keys(properties).toSorted())
    same('### The file', file)
    same('### `limits`', file.limits.properties)
    same('### A task', task)
    same('### `review`', task.review.properties)
    same('### `breakers`', file.limits.properties.breakers.properties)
    same('### `budget`', task.budget.properties)
    same('### `gates`', file.gates.properties)
    same('### A gate', file.gates.properties.integration.properties)
    same('### `merge`', task.merge.properties)
  })

  test('names the defaults that hold', () => {
    const { breakers, merge, reviewPrompt, ...plain } = teamDefaults
    const defaults: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
      '### The file': { approval: plain.approval },
      '### `limits`': { concurrency: plain.concurrency, attempts: plain.attempts },
      '### An agent': { slots: plain.slots },
      '### A task': { priority: plain.priority },
      '### `breakers`': breakers,
      '### `merge`': { strategy: merge.strategy },
      '### `review`': { prompt: reviewPrompt },
    }
    for (const [heading, fields] of Object.entries(defaults))
      for (const [field, value] of Object.entries(fields))
        expect(
          rows(heading)
            .find(([name]) => name === `\`${field}\``)
            ?.at(-1),
        ).toBe(`\`${value}\``)
  })

  test('explains every code', () => {
    expect(fields('## When a file is refused')).toEqual([...TEAM_PROBLEM_CODES, ...TEAM_WARNING_CODES])
  })

  test('shows a message as it is printed', () => {
    const text = 'version: 1\nname: x\nagents:\n  one: { preset: cluade }\n'
    expect(blocks('text')).toContain(`${formatProblems(problemsIn(text), text, 'parley.yaml')}\n`)
  })
})

test.each(readdirSync(join(root, 'examples')).filter(name => !name.includes('.')))(
  'examples/%s has a good team file',
  name => {
    const text = readFileSync(join(root, 'examples', name, 'parley.yaml'), 'utf8')
    expect(unwrap(readTeam(text))).toMatchObject({ name, warnings: [] })
  },
)
