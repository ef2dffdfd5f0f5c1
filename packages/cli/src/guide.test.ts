// docs/guide/getting-started.md says what the table of commands says.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandTable } from './commands/table.ts'
import { EXIT_MEANINGS } from './exit.ts'
import { everyField } from './guide.ts'

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

test('the guide uses a command that works in a clone, from any folder', () => {
  const bin = join(import.meta.dirname, '../../../bin')
  expect(guide).toContain('export PATH=$PWD/bin:$PATH')
  expect(statSync(join(bin, 'parley')).mode & 0o111).toBe(0o111)
  expect(guide).not.toMatch(/npx|npm run parley/)
})

test('nobody is sent to a guide that is not there', () => {
  expect(everyField()).toContain('team-files.md')
  expect(everyField(join(import.meta.dirname, 'nowhere'))).toBe('')
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
