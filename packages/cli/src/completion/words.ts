// What can be completed, from the table of commands: for each command its flags, the values that they take, and its arguments.
import { GLOBAL_FLAGS, type Table } from '../args.ts'
import type { Argument, FlagSpec } from '../command.ts'

export interface Completable {
  /** `solve`, or `trail query`. */
  readonly name: string
  readonly summary: string
  readonly flags: readonly (readonly [name: string, spec: FlagSpec])[]
  /** What may stand at the first place. */
  readonly argument: Argument | undefined
}

export function completables({ commands }: Table): readonly Completable[] {
  return commands.map(({ name, summary, flags, args }) => ({
    name,
    summary,
    flags: Object.entries({ ...flags, ...GLOBAL_FLAGS }),
    argument: args[0],
  }))
}

/** The first words, with what each is for. */
export function firstWords({ commands, groups }: Table): readonly (readonly [string, string])[] {
  const words = new Map<string, string>()
  for (const { name, summary } of commands) {
    const [word = name] = name.split(' ')
    words.set(word, groups.find(group => group.name === word)?.summary ?? summary)
  }
  words.set('help', 'Show help on a command')
  return [...words]
}

export function secondWords({ commands }: Table, group: string): readonly (readonly [string, string])[] {
  return commands
    .filter(({ name }) => name.startsWith(`${group} `))
    .map(({ name, summary }) => [name.slice(group.length + 1), summary] as const)
}

/** The values of a flag, where some are known. */
export function offersOf({ choices, offers = [] }: FlagSpec): readonly string[] {
  return choices ?? offers
}

/** The words that an argument can be, where they are known. */
export function choicesOf(argument: Argument | undefined): readonly string[] {
  if (argument?.choices) return argument.choices
  return argument && /RUN/.test(argument.name) ? ['last'] : []
}
