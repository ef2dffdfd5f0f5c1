// Help, from the table of commands: of everything, of a group, of one command.
import { type FlagTable, GLOBAL_FLAGS, type Group, loaded, type NamedCommand, type Table } from '../command.ts'
import { EXIT_MEANINGS } from '../exit.ts'
import { grid } from '../render/grid.ts'
import { hanging, wrap, wrapLines } from '../render/text.ts'
import { usageOf, valueText } from './args.ts'
import { firstWords, secondWords } from './words.ts'

export async function helpText(topic: string | undefined, table: Table, width: number): Promise<string> {
  const found = table.commands.find(([name]) => name === topic)
  if (found) return commandHelp(await loaded(found), width)
  const group = table.groups.find(({ name }) => name === topic)
  if (group) return groupHelp(group, table, width)
  return overview(table, width)
}

function overview(table: Table, width: number): string {
  const told = [
    'Parley lets a team of agents solve an intent, with a record of everything and a person at every gate.',
    '',
    'usage: parley [COMMAND] [ARGUMENTS] [FLAGS]',
    '',
    'Without a command: where you are, what waits for you, and what to do next.',
    '',
    ...table.sections.flatMap(({ title, commands }) => [
      `${title}:`,
      ...pairs(firstWords({ ...table, commands }), width, longest(firstWords(table))),
      '',
    ]),
    'Flags for every command:',
    ...flagLines(GLOBAL_FLAGS, width),
    '',
    'Exit codes:',
    ...pairs(
      EXIT_MEANINGS.map(([code, meaning]) => [String(code), meaning] as const),
      width,
    ),
    '',
    'Start with `parley init`, then `parley solve "what you want"`. `parley help COMMAND` says more.',
  ]
  return page(wrapLines(told, width))
}

function groupHelp({ name, summary, alone }: Group, table: Table, width: number): string {
  const of = secondWords(table, name)
  return page([
    `${summary}.`,
    '',
    ...hanging('usage: ', `parley ${name} ${of.map(([word]) => word).join(' | ')}`, width),
    '',
    'Commands:',
    ...pairs(
      of.map(([word, means]) => [`${name} ${word}`, means] as const),
      width,
    ),
    '',
    ...(alone ? [`\`parley ${name}\` alone means \`parley ${alone}\`.`] : []),
    `\`parley help ${name} COMMAND\` says more.`,
  ])
}

function commandHelp(found: NamedCommand, width: number): string {
  const { summary, about, args, flags, examples } = found
  return page([
    `${summary}.`,
    '',
    ...hanging('usage: ', usageOf(found), width),
    ...(about ? ['', ...about.split('\n').flatMap(text => wrap(text, width))] : []),
    ...(args.length > 0
      ? [
          '',
          'Arguments:',
          ...pairs(
            args.map(arg => [arg.name, arg.summary] as const),
            width,
          ),
        ]
      : []),
    ...(Object.keys(flags).length > 0 ? ['', 'Flags:', ...flagLines(flags, width)] : []),
    '',
    ...wrap(
      `Flags for every command: ${Object.keys(GLOBAL_FLAGS)
        .map(name => `--${name}`)
        .join(' ')}`,
      width,
    ),
    '',
    'Examples:',
    ...examples.flatMap(([line, what]) => [...hanging('  ', line, width), ...hanging('      ', what, width)]),
  ])
}

function flagLines(flags: FlagTable, width: number): readonly string[] {
  return pairs(
    Object.entries(flags).map(([name, spec]) => {
      const short = spec.short ? `-${spec.short}, ` : ''
      const choices = spec.choices ? `: ${spec.choices.join(', ')}` : ''
      return [`${short}--${name}${valueText(spec)}`, `${spec.summary}${choices}`] as const
    }),
    width,
  )
}

function longest(rows: readonly (readonly [string, string])[]): number {
  return Math.max(...rows.map(([name]) => name.length))
}

function pairs(rows: readonly (readonly [string, string])[], width: number, left = longest(rows)): readonly string[] {
  const right = Math.max(20, width - left - 4)
  return grid(
    [{}, {}],
    rows.flatMap(([name, meaning]) =>
      wrap(meaning, right).map((line, index) => [`  ${index === 0 ? name : ''}`.padEnd(left + 2), line]),
    ),
    left + 4 + right,
  )
}

function page(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
