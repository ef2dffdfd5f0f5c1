// docs/guide/getting-started.md says what the table of commands says.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandTable } from './commands/table.ts'
import { EXIT_MEANINGS } from './exit.ts'

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guide/getting-started.md'), 'utf8')

test('the guide has every command with its arguments and its summary', () => {
  for (const { name, args, summary } of commandTable.commands) {
    const words = args.map(arg => {
      const text = (arg.choices?.join('|') ?? arg.name).replaceAll('|', '\\|')
      return arg.optional ? `[${text}]` : text
    })
    expect(guide).toContain(`| \`${['parley', name, ...words].join(' ')}\` | ${summary} |\n`)
  }
})

test('the guide has every exit code', () => {
  for (const [code, meaning] of EXIT_MEANINGS) expect(guide).toContain(`| ${code} | ${meaning} |\n`)
})

test('every command that the guide mentions exists', () => {
  const names = commandTable.commands.map(({ name }) => name)
  const groups = commandTable.groups.map(({ name }) => name)
  for (const [, first = '', second = ''] of guide.matchAll(/\bparley ([a-z]+)(?: ([a-z]+))?/g)) {
    if (first === 'help' || groups.includes(first) === (second === '')) continue
    const known = groups.includes(first) ? names.includes(`${first} ${second}`) : names.includes(first)
    expect(known, `parley ${first} ${second}`).toBe(true)
  }
})
