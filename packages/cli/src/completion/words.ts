// What can be completed, from the table of commands.
import { type Argument, type Entry, type FlagSpec, GLOBAL_FLAGS, loaded, type Table } from '../command.ts'
import { firstWords, secondWords, type Words } from '../line/words.ts'

export interface Completable {
  /** `solve`, or `trail query`. */
  readonly name: string
  /** Each flag with its known values. */
  readonly flags: readonly (readonly [name: string, spec: FlagSpec, values: readonly string[]])[]
  readonly argument: Argument | undefined
}

export interface Completion {
  readonly first: Words
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

export function choicesOf(argument: Argument | undefined): readonly string[] {
  if (argument?.choices) return argument.choices
  return argument && /RUN/.test(argument.name) ? ['last'] : []
}
