import { expect, test } from 'vitest'
import { loaded } from '../command.ts'
import { commandTable } from '../commands/table.ts'
import { widthOf } from '../render/text.ts'
import { parley } from '../testing/parley.ts'
import { helpText } from './help.ts'

test('every command has a summary, a usage line, what its flags mean, and two examples', async () => {
  for (const entry of commandTable.commands) {
    const { name, summary, flags, args, examples } = await loaded(entry)
    const text = await helpText(name, commandTable, 80)
    expect(text).toContain(`${summary}.\n\nusage: parley ${name}`)
    for (const flag of Object.keys(flags)) expect(text).toContain(`--${flag}`)
    for (const arg of args) expect(text).toContain(arg.name)
    expect(examples.length, name).toBeGreaterThanOrEqual(2)
    for (const [line] of examples) expect(line).toContain('parley ')
  }
})

test('the overview names every command and every exit code', async () => {
  const { out, code } = await parley(['help'])
  expect(code).toBe(0)
  for (const [name] of commandTable.commands) expect(out).toContain(`\n  ${name.split(' ')[0]} `)
  for (const exit of [0, 1, 2, 3, 4, 5, 6, 70, 130]) expect(out).toMatch(new RegExp(`^ {2}${exit} +\\w`, 'm'))
})

test('the commands are those that were promised', () => {
  const names = commandTable.commands.map(([name]) => name)
  for (const name of [
    'init',
    'up',
    'solve',
    'run',
    'runs',
    'show',
    'tree',
    'tasks',
    'trail query',
    'trail follow',
    'trail verify',
    'trail export',
    'gates',
    'approve',
    'reject',
    'abort',
    'agents',
    'doctor',
    'config',
    'completion',
    'ws checkpoint',
    'ws status',
    'ws inbox',
    'ws block',
  ])
    expect(names).toContain(name)
})

test('help for a command and help of a command are the same', async () => {
  expect((await parley(['help', 'solve'])).out).toBe((await parley(['solve', '--help'])).out)
})

test('descriptions fit a narrow terminal', async () => {
  const lines = (await helpText(undefined, commandTable, 50)).split('\n')
  const tables = lines.filter(line => line.startsWith('  '))
  for (const line of tables) expect(widthOf(line), line).toBeLessThanOrEqual(50)
})
