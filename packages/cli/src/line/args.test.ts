import { expect, test } from 'vitest'
import { commandTable } from '../commands/table.ts'
import { parley } from '../testing/parley.ts'
import { FakeTerminal } from '../testing/terminal.ts'
import { type Parsed, parseCommandLine } from './args.ts'

const parse = (...args: string[]): Promise<Parsed> => parseCommandLine(args, commandTable)
const command = async (...args: string[]) => {
  const parsed = await parse(...args)
  if (parsed.kind !== 'command') throw new Error(`not a command: ${JSON.stringify(parsed)}`)
  return parsed
}
const complaint = async (...args: string[]) => {
  const parsed = await parse(...args)
  if (parsed.kind !== 'wrong') throw new Error(`not wrong: ${parsed.kind}`)
  const { code, message, usage, next } = parsed.failure
  return { code, message, usage, next: next[0] }
}

test('flags and words may come in any order, global flags before the command too', async () => {
  const one = await command('--profile', 'work', 'solve', '--yes', 'tidy up', '--team=t.yaml', '--json')
  expect(one.command.name).toBe('solve')
  expect(one.global).toMatchObject({ profile: 'work', json: true, quiet: false })
  expect(one.input.words).toEqual(['tidy up'])
  expect(one.input.flags).toMatchObject({ yes: true, team: 't.yaml', detach: false, agent: undefined })
  expect((await command('solve', '-y', 'x')).input.flags).toMatchObject({ yes: true })
})

test('a command of a group has two words', async () => {
  const { command: found, input } = await command(...'trail --json query run_1 --type a --type b --limit 5'.split(' '))
  expect(found.name).toBe('trail query')
  expect(input.words).toEqual(['run_1'])
  expect(input.flags).toMatchObject({ type: ['a', 'b'], limit: 5 })
})

test('-- ends the flags', async () => {
  expect((await command('solve', '--', '--help')).input.words).toEqual(['--help'])
})

test('an unknown command, flag or topic names the nearest one and the usage', async () => {
  expect(await complaint('solv', 'x')).toEqual({
    code: 'usage',
    message: "There is no command 'solv'.",
    usage: 'parley COMMAND',
    next: "Did you mean 'solve'?",
  })
  expect(await complaint('trail', 'verfy')).toMatchObject({
    usage: expect.stringMatching(/^parley trail query \| follow \| .* \| restore$/),
    next: "Did you mean 'verify'?",
  })
  expect(await complaint('solve', 'x', '--tema', 'f')).toMatchObject({
    message: 'There is no flag --tema.',
    usage: expect.stringMatching(/^parley solve INTENT \[--team FILE\]/),
    next: "Did you mean '--team'?",
  })
  expect(await complaint('help', 'aprove')).toMatchObject({ next: "Did you mean 'approve'?" })
  expect(await complaint('runs', '--wrong')).not.toHaveProperty('next', "Did you mean '--json'?")
  expect(await complaint('zzzzzz')).toMatchObject({ next: '`parley help` lists all.' })
})

test.each([
  [['solve'], 'INTENT is missing: what you want, in quotes, or - to read it from standard input.'],
  [['solve', 'tidy', 'up'], "One word too many: 'up'. Put text with spaces into quotes."],
  [['runs', '--limit', 'many'], "--limit takes a whole number, not 'many'."],
  [['runs', '--limit'], '--limit needs a value: --limit N.'],
  [['solve', 'x', '--team', '--yes'], '--team needs a value: --team FILE, or --team=--yes if that is what you mean.'],
  [['runs', '--state', 'doen'], expect.stringContaining("not 'doen'")],
  [['solve', 'x', '--yes=no'], '--yes takes no value.'],
  [['completion', 'tcsh'], "SHELL is one of bash, zsh, fish, not 'tcsh'."],
  [['trail'], "'parley trail' needs a second word."],
  [['solve', 'x', '--__proto__'], 'There is no flag --__proto__.'],
])('what is missing, too much or of the wrong kind is wrong usage: %j', async (args, message) => {
  expect(await complaint(...args)).toMatchObject({ message })
})

test('help is given for everything, a group and a command, whatever else is wrong', async () => {
  expect(await parse('--help')).toMatchObject({ kind: 'help', topic: undefined })
  expect(await parse('help')).toMatchObject({ kind: 'help', topic: undefined })
  expect(await parse('help', 'help')).toMatchObject({ kind: 'help', topic: undefined })
  expect(await parse('help', 'trail', 'query')).toMatchObject({ kind: 'help', topic: 'trail query' })
  expect(await parse('trail', '--help')).toMatchObject({ kind: 'help', topic: 'trail' })
  expect(await parse('solve', '--help')).toMatchObject({ kind: 'help', topic: 'solve' })
  expect(await parse('solve', '--nonsense', '-h')).toMatchObject({ kind: 'help', topic: 'solve' })
  expect(await parse('--version')).toMatchObject({ kind: 'version' })
})

test('wrong usage ends with 2, on stderr, as JSON where JSON was asked for', async () => {
  const people = await parley(['solve'])
  expect(people).toMatchObject({ code: 2, out: '' })
  expect(people.err).toBe(
    'parley: INTENT is missing: what you want, in quotes, or - to read it from standard input.\n' +
      '  usage: parley solve INTENT [--team FILE] [--agent AGENT] [--project FOLDER] [--yes] [--gates PRESET] [--force] [--detach]\n' +
      '  next: `parley solve --help` has examples.\n',
  )
  const narrow = await parley(['solve'], { terminal: new FakeTerminal({ columns: 44 }) })
  expect(narrow.err).toBe(`parley: INTENT is missing: what you want, in
        quotes, or - to read it from
        standard input.
  usage: parley solve INTENT [--team FILE]
         [--agent AGENT] [--project FOLDER]
         [--yes] [--gates PRESET] [--force]
         [--detach]
  next: \`parley solve --help\` has examples.
`)
  const program = await parley(['solve', '--json', '--bad'])
  expect(program).toMatchObject({ code: 2, out: '' })
  expect(JSON.parse(program.err)).toMatchObject({
    error: { code: 'usage', message: 'There is no flag --bad.', details: {} },
  })
})

test('--version prints the version', async () => {
  expect(await parley(['--version'])).toEqual({ code: 0, out: '1.2.3\n', err: '' })
  expect(await parley(['--version', '--json'])).toMatchObject({ out: '{"version":"1.2.3"}\n' })
})

test('the value of a flag may be left out where it says so', async () => {
  const http = async (...words: string[]) => {
    const parsed = await parseCommandLine(['up', ...words], commandTable)
    return parsed.kind === 'command' ? (parsed.input.flags as Record<string, unknown>).http : parsed.kind
  }
  expect(await http()).toBeUndefined()
  expect(await http('--http')).toBe(true)
  expect(await http('--http', '8080')).toBe(8080)
  expect(await http('--http=8080', '--detach')).toBe(8080)
  expect(await http('--http', '--detach')).toBe(true)
  expect(await http('--http', 'x')).toBe('wrong')
  expect(await http('--http=x')).toBe('wrong')
  expect(await http('8080')).toBe('wrong')
})
