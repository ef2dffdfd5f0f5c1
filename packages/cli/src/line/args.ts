// Parses a command line, with the parser of Node. Complaints name the nearest known word and the usage line.
import { parseArgs } from 'node:util'
import {
  type Argument,
  type FlagSpec,
  type FlagTable,
  GLOBAL_FLAGS,
  type GlobalFlags,
  type Group,
  type Input,
  loaded,
  type NamedCommand,
  type Table,
} from '../command.ts'
import { type Failure, wrongUsage } from '../failure.ts'
import { firstWords, secondWords, suggest } from './words.ts'

export type Parsed =
  | {
      readonly kind: 'command'
      readonly command: NamedCommand
      readonly global: GlobalFlags
      readonly input: Input
    }
  /** On a command, on a group, or on everything. */
  | { readonly kind: 'help'; readonly topic: string | undefined; readonly global: GlobalFlags }
  | { readonly kind: 'version'; readonly global: GlobalFlags }
  | { readonly kind: 'wrong'; readonly failure: Failure; readonly global: GlobalFlags }

interface Token {
  readonly kind: string
  readonly index: number
  readonly name?: string
  readonly rawName?: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

export async function parseCommandLine(args: readonly string[], table: Table): Promise<Parsed> {
  const first = tokensOf(args, GLOBAL_FLAGS)
  const lenient = globalsOf(first)
  const wrong = (failure: Failure): Parsed => ({ kind: 'wrong', failure, global: lenient })
  const start = first.find(token => token.kind === 'positional')
  if (!start) {
    const { flags, failure } = valuesOf(first, GLOBAL_FLAGS, 'parley COMMAND')
    if (failure) return wrong(failure)
    const global = flags as unknown as GlobalFlags
    if (global.version) return { kind: 'version', global }
    if (global.help) return { kind: 'help', topic: undefined, global }
    return { kind: 'command', command: await loaded(table.alone), global, input: { flags, words: [] } }
  }
  const word = start.value!
  const before = args.slice(0, start.index)
  const after = args.slice(start.index + 1)
  if (word === 'help') {
    const words = after.filter(each => !each.startsWith('-'))
    return helpOn(words, table, lenient)
  }
  const group = table.groups.find(each => each.name === word)
  const second = group ? tokensOf(after, GLOBAL_FLAGS).find(token => token.kind === 'positional') : undefined
  // Also if the first word alone is a command.
  if (lenient.help && group && !second) return { kind: 'help', topic: word, global: lenient }
  const name = second ? `${word} ${second.value}` : (group?.alone ?? word)
  const found = table.commands.find(([each]) => each === name)
  if (!found) return wrong(unknownCommand(word, group, second?.value, table))
  const rest = second ? [...after.slice(0, second.index), ...after.slice(second.index + 1)] : after
  return parseFor(await loaded(found), [...before, ...rest], wrong)
}

function helpOn(words: readonly string[], table: Table, global: GlobalFlags): Parsed {
  const topic = words.slice(0, 2).join(' ')
  const known = [...table.commands.map(([name]) => name), ...table.groups.map(({ name }) => name)]
  if (topic === '' || topic === 'help') return { kind: 'help', topic: undefined, global }
  if (known.includes(topic)) return { kind: 'help', topic, global }
  const failure = wrongUsage(`There is no command '${topic}'.`, 'parley help [COMMAND]', didYouMean(topic, known))
  return { kind: 'wrong', failure, global }
}

function parseFor(found: NamedCommand, args: readonly string[], wrong: (failure: Failure) => Parsed): Parsed {
  const usage = usageOf(found)
  const all: FlagTable = { ...GLOBAL_FLAGS, ...found.flags }
  const tokens = tokensOf(args, all)
  const { flags, failure } = valuesOf(tokens, all, usage)
  const global = globalsOf(tokens)
  // --help wins over every mistake.
  if (global.help) return { kind: 'help', topic: found.name, global }
  if (failure) return wrong(failure)
  const words = tokens.filter(({ kind }) => kind === 'positional').map(({ value }) => value!)
  const problem = wordsProblem(found.args, words)
  if (problem) return wrong(wrongUsage(problem, usage, `\`parley ${found.name} --help\` has examples.`))
  return { kind: 'command', command: found, global, input: { flags, words } }
}

function tokensOf(args: readonly string[], flags: FlagTable): readonly Token[] {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, spec]) => [
      name,
      {
        type: spec.value === undefined || spec.optional ? 'boolean' : 'string',
        ...(spec.short && { short: spec.short }),
      } as const,
    ]),
  )
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true })
  return withOptional(tokens, flags)
}

/** A value that may be left out is the number behind its flag, if there is one. */
function withOptional(tokens: readonly Token[], flags: FlagTable): readonly Token[] {
  const isOpen = (token: Token | undefined) =>
    token?.kind === 'option' && token.value === undefined && flags[token.name!]?.optional === true
  return tokens.flatMap((token, index) => {
    const isValue = (each: Token | undefined) => each?.kind === 'positional' && /^\d{1,9}$/.test(each.value ?? '')
    if (isOpen(token) && isValue(tokens[index + 1])) return [{ ...token, value: tokens[index + 1]!.value }]
    return isOpen(tokens[index - 1]) && isValue(token) ? [] : [token]
  })
}

/** Also of a wrong line: the complaint may have to be JSON. */
function globalsOf(tokens: readonly Token[]): GlobalFlags {
  const given = (name: string) => tokens.some(token => token.kind === 'option' && token.name === name)
  return {
    profile: tokens.findLast(token => token.kind === 'option' && token.name === 'profile')?.value,
    json: given('json'),
    'no-color': given('no-color'),
    quiet: given('quiet'),
    help: given('help'),
    version: given('version'),
  }
}

type Values = Record<string, boolean | string | number | readonly string[] | undefined>

function valuesOf(
  tokens: readonly Token[],
  known: FlagTable,
  usage: string,
): { readonly flags: Input['flags']; readonly failure?: Failure } {
  const flags: Values = Object.fromEntries(
    Object.entries(known).map(([name, spec]) => [name, spec.value === undefined ? false : spec.many ? [] : undefined]),
  )
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const spec = Object.hasOwn(known, token.name!) ? known[token.name!] : undefined
    const problem = spec ? flagProblem(token, spec) : `There is no flag ${token.rawName}.`
    if (problem) {
      const near = spec
        ? undefined
        : // The dashes are no part of what was mistyped.
          didYouMean(token.name!, Object.keys(known), '--')
      return { flags: flags as Input['flags'], failure: wrongUsage(problem, usage, near) }
    }
    const value =
      spec!.value === undefined ||
      (spec!.optional && token.value === undefined) ||
      (spec!.whole ? Number(token.value) : token.value!)
    flags[token.name!] = spec!.many ? [...(flags[token.name!] as readonly string[]), String(value)] : value
  }
  return { flags: flags as Input['flags'] }
}

function flagProblem(token: Token, spec: FlagSpec): string | undefined {
  const { rawName, value, inlineValue } = token
  const name = spec.value
  if (name === undefined) return value === undefined ? undefined : `${rawName} takes no value.`
  if (value === undefined && spec.optional) return undefined
  if (value === undefined || value === '') return `${rawName} needs a value: ${rawName} ${name}.`
  if (!inlineValue && value.startsWith('-')) {
    return `${rawName} needs a value: ${rawName} ${name}, or ${rawName}=${value} if that is what you mean.`
  }
  if (spec.whole && !/^\d{1,9}$/.test(value)) return `${rawName} takes a whole number, not '${value}'.`
  if (spec.choices && !spec.choices.includes(value)) {
    return `${rawName} takes one of ${spec.choices.join(', ')}, not '${value}'.`
  }
  return undefined
}

function wordsProblem(args: readonly Argument[], words: readonly string[]): string | undefined {
  const missing = args.find((arg, index) => !arg.optional && (words[index] ?? '') === '')
  if (missing) return `${missing.name} is missing: ${missing.summary.toLowerCase()}.`
  const wrong = args.findIndex((arg, index) => arg.choices && words[index] && !arg.choices.includes(words[index]))
  if (wrong >= 0) return `${args[wrong]!.name} is one of ${args[wrong]!.choices!.join(', ')}, not '${words[wrong]}'.`
  if (args.at(-1)?.rest || words.length <= args.length) return undefined
  return `One word too many: '${words[args.length]}'.${args.length > 0 ? ' Put text with spaces into quotes.' : ''}`
}

function unknownCommand(word: string, group: Group | undefined, second: string | undefined, table: Table): Failure {
  if (!group) {
    const known = [...firstWords(table).map(([first]) => first), 'help']
    return wrongUsage(
      `There is no command '${word}'.`,
      'parley COMMAND',
      didYouMean(word, known) ?? '`parley help` lists all.',
    )
  }
  const of = secondWords(table, word).map(([each]) => each)
  const usage = `parley ${word} ${of.join(' | ')}`
  if (second === undefined) return wrongUsage(`'parley ${word}' needs a second word.`, usage)
  return wrongUsage(`There is no command '${word} ${second}'.`, usage, didYouMean(second, of))
}

function didYouMean(word: string, known: readonly string[], mark = ''): string | undefined {
  const near = suggest(word, known)
  return near === undefined ? undefined : `Did you mean '${mark}${near}'?`
}

/** `parley solve INTENT [--team FILE] …` */
/** What stands behind a flag in help and usage. */
export function valueText({ value, optional }: FlagSpec): string {
  return value === undefined ? '' : optional ? ` [${value}]` : ` ${value}`
}

export function usageOf({ name, args, flags }: Pick<NamedCommand, 'name' | 'args' | 'flags'>): string {
  const words = args.map(arg => {
    const text = arg.choices ? arg.choices.join('|') : arg.name
    return arg.optional ? `[${text}]` : text
  })
  const options = Object.entries(flags).map(([flag, spec]) => `[--${flag}${valueText(spec)}]`)
  return ['parley', name, ...words, ...options].join(' ')
}
