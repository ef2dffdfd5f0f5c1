// What can be completed, from the table of commands: for each command its flags, the values that they take, and its
// arguments.
import { type Argument, type Entry, type FlagSpec, GLOBAL_FLAGS, loaded, type Table } from '../command.ts'
import { firstWords, secondWords, type Words } from '../line/words.ts'

export interface Completable {
  /** `solve`, or `trail query`. */
  readonly name: string
  /** Each with the values that are known of it. */
  readonly flags: readonly (readonly [name: string, spec: FlagSpec, values: readonly string[]])[]
  /** What may stand at the first place. */
  readonly argument: Argument | undefined
}

export interface Completion {
  readonly first: Words
  /** The second words behind each that needs one. */
  readonly groups: readonly (readonly [name: string, second: Words])[]
  readonly commands: readonly Completable[]
}

export async function completionOf(table: Table): Promise<Completion> {
  return {
    first: [...firstWords(table), ['help', 'Show help on a command']],
    groups: table.groups.map(({ name }) => [name, secondWords(table, name)]),
    commands: await Promise.all(table.commands.map(completable)),
  }
}

async function completable(entry: Entry): Promise<Completable> {
  const { name, flags, args } = await loaded(entry)
  const known = Object.entries<FlagSpec>({ ...flags, ...GLOBAL_FLAGS }).map(
    async ([flag, spec]) => [flag, spec, spec.choices ?? (await spec.offers?.()) ?? []] as const,
  )
  return { name, flags: await Promise.all(known), argument: args[0] }
}

/** The words that an argument can be, where they are known. */
export function choicesOf(argument: Argument | undefined): readonly string[] {
  if (argument?.choices) return argument.choices
  return argument && /RUN/.test(argument.name) ? ['last'] : []
}
