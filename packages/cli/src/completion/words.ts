// What can be completed, from the table of commands.
import { type Argument, type Entry, type FlagSpec, GLOBAL_FLAGS, loaded, type Table } from '../command.ts'
import { firstWords, secondWords, type Words } from '../line/words.ts'

export interface Completable {
  /** `solve`, or `trail query`. */
  readonly name: string
  /** Each flag with its known values. */
  readonly flags: readonly (readonly [name: string, spec: FlagSpec, values: readonly string[]])[]
  readonly args: readonly Argument[]
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
  return { name, flags: await Promise.all(known), args }
}

/** Words that only a running node or the project knows: `parley completion --offer KIND` prints them. */
export const OFFERS = ['runs', 'waiting', 'tasks', 'agents'] as const
export type Offer = (typeof OFFERS)[number]

/** What completes a word. */
export interface Completes {
  readonly known: readonly string[]
  readonly offers: readonly Offer[]
  readonly complete: FlagSpec['complete']
}

/** Of the words of a command, which come in any order there: of all of them. */
export function ofWords(args: readonly Argument[]): Completes {
  const offers = new Set(args.flatMap(({ name }) => offerOf(name) ?? []))
  const known = args.flatMap(({ name, choices = [] }) => (/RUN/.test(name) ? ['last', ...choices] : choices))
  return { known, offers: [...offers], complete: args.find(({ complete }) => complete)?.complete }
}

export function ofFlag({ value = '', complete }: FlagSpec, known: readonly string[]): Completes {
  const offer = offerOf(value)
  return { known: offer === 'runs' ? ['last', ...known] : known, offers: offer ? [offer] : [], complete }
}

function offerOf(name: string): Offer | undefined {
  if (/GATE|QUESTION/.test(name)) return 'waiting'
  if (/^RUN$/.test(name)) return 'runs'
  if (name === 'TASK') return 'tasks'
  return name === 'AGENT' ? 'agents' : undefined
}
