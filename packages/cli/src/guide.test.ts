// The guide says what the table of commands says.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readTeam } from '@parley/node'
import { expect, test } from 'vitest'
import { loaded } from './command.ts'
import { commandTable } from './commands/table.ts'
import { EXIT_MEANINGS } from './exit.ts'
import { everyField } from './guide.ts'

const FOLDER = join(import.meta.dirname, '../../../docs/guide')
const guide = readFileSync(join(FOLDER, 'getting-started.md'), 'utf8')

test('the guide has every command with its arguments and its summary', async () => {
  for (const entry of commandTable.commands) {
    const { name, args, summary } = await loaded(entry)
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

test('the guide lists no command that is not there', () => {
  const listed = [...guide.matchAll(/^\| `parley ([a-z]+(?: [a-z-]+)?)[^`]*` \|/gm)].map(([, name]) => name!)
  const names = commandTable.commands.map(([name]) => name)
  expect(listed.map(name => (names.includes(name) ? name : name.split(' ')[0]))).toEqual(names)
})

test.each(['getting-started.md', 'operations.md', 'alp.md', 'threat-model.md'])(
  'every command that %s mentions exists',
  file => {
    const text = readFileSync(join(FOLDER, file), 'utf8')
    const names = commandTable.commands.map(([name]) => name)
    const groups = commandTable.groups.map(({ name }) => name)
    for (const [, first = '', second = ''] of text.matchAll(/\bparley ([a-z]+)(?: ([a-z-]+))?/g)) {
      if (first === 'help' || groups.includes(first) === (second === '')) continue
      const known = groups.includes(first) ? names.includes(`${first} ${second}`) : names.includes(first)
      expect(known, `parley ${first} ${second}`).toBe(true)
    }
  },
)

test('what the page on ALP explains is said in these words', () => {
  const text = readFileSync(join(FOLDER, 'alp.md'), 'utf8')
  const section = text.slice(text.indexOf('## When it does not work'), text.indexOf('## Other implementations'))
  const said = readFileSync(join(import.meta.dirname, 'commands/peers/peer-failure.ts'), 'utf8').replace(
    /\$\{peer\}/g,
    'bob',
  )
  const listed = [...section.matchAll(/^\| `(bob [^`]+?)(?: \(link\.ask\))?`/gm)].map(([, words]) => words!)
  expect(listed.length).toBeGreaterThanOrEqual(8)
  for (const words of listed) expect(said).toContain(words)
})

test('the team on the page on ALP is one', () => {
  const text = readFileSync(join(FOLDER, 'alp.md'), 'utf8')
  const [, team = ''] = /```yaml\n(version: 1\n[\s\S]*?)```/.exec(text) ?? []
  expect(readTeam(team)).toMatchObject({ ok: true, value: { name: 'second-opinion' } })
})

test('every setting that the page on ALP names is one', () => {
  const file = join(import.meta.dirname, '../../node/schema/config.schema.json')
  type Schema = { readonly properties: Readonly<Record<string, Partial<Schema>>> }
  const { properties } = JSON.parse(readFileSync(file, 'utf8')) as Schema
  const text = readFileSync(join(FOLDER, 'alp.md'), 'utf8')
  const named = [...text.matchAll(/`(service|network|alp|budget)\.([a-z_]+)`/g)]
  expect(named.length).toBeGreaterThan(5)
  for (const [all, section = '', key = ''] of named) expect(properties[section]?.properties, all).toHaveProperty(key)
})

test('operations.md shows only flags that its commands have', async () => {
  const text = readFileSync(join(FOLDER, 'operations.md'), 'utf8')
  const commands = commandTable.commands.filter(([name]) => /^(runs|show|trail .*)$/.test(name)).map(loaded)
  const flags = (await Promise.all(commands)).flatMap(command => Object.keys(command.flags))
  for (const [, flag = ''] of text.matchAll(/--([a-z][a-z-]*)/g))
    expect([...flags, 'profile', 'json'], flag).toContain(flag)
})
