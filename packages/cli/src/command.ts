// What a command is: its words, what it says of itself, and what it does.
import type { Clock } from '@parley/core'
import type { ExitCode } from './exit.ts'
import type { NodeClient } from './node/client.ts'
import type { Terminal } from './terminal.ts'

export interface FlagSpec {
  /** What its value is called in the help, for example `FILE`; without one the flag is there or not. */
  readonly value?: string
  readonly whole?: true
  /** Its value, a whole number, may be left out. */
  readonly optional?: true
  readonly short?: string
  readonly summary: string
  /** No other value is accepted. */
  readonly choices?: readonly string[]
  /** Values that completion offers where others are taken as well. */
  readonly offers?: () => Promise<readonly string[]>
  readonly many?: boolean
  readonly complete?: 'file' | 'folder'
}

export type FlagTable = Readonly<Record<string, FlagSpec>>

type ValueOf<F extends FlagSpec> = F extends { readonly optional: true }
  ? number | true | undefined
  : F extends { readonly value: string }
    ? F extends { readonly whole: true }
      ? number | undefined
      : F extends { readonly many: true }
        ? readonly string[]
        : string | undefined
    : boolean

export type FlagValues<F extends FlagTable> = { readonly [Name in keyof F]: ValueOf<F[Name]> }

/** One word of the usage line; `[NAME]` may be left out, `NAME...` takes the rest. */
export interface Argument {
  readonly name: string
  readonly summary: string
  readonly optional?: boolean
  readonly rest?: boolean
  readonly choices?: readonly string[]
  readonly complete?: 'file' | 'folder'
}

export const GLOBAL_FLAGS = {
  profile: { value: 'NAME', summary: 'The profile, a folder in ~/.parley (default: default)' },
  json: { summary: 'Print JSON: one value, or one per line' },
  'no-color': { summary: 'No colours; same as NO_COLOR' },
  quiet: { short: 'q', summary: 'Print results only' },
  help: { short: 'h', summary: 'Show help' },
  version: { summary: 'Show the version' },
} as const satisfies FlagTable

export type GlobalFlags = FlagValues<typeof GLOBAL_FLAGS>

export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  readonly terminal: Terminal
  /** The node of the profile; the connection closes when the command ends. */
  connect(options?: ConnectChoice): Promise<NodeClient>
}

export interface ConnectChoice {
  /** Start a node if none is running (the default). */
  readonly start?: boolean
  /** Create a named profile that does not exist; by default that is an error, since the name is probably mistyped. */
  readonly create?: boolean
  /** A node that this starts keeps running when it is idle. */
  readonly lasting?: boolean
  /** Accept a node of another version. */
  readonly anyVersion?: boolean
  /** Told when a node was started that continues runs. */
  readonly onContinued?: (runs: number) => void
  /** Further variables for a node that is started. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Context extends Environment {
  /** Connects at the first call, and starts a node if none is running. */
  readonly api: NodeClient
  readonly global: GlobalFlags
  readonly table: Table
}

export interface Input<F extends FlagTable = FlagTable> {
  readonly flags: FlagValues<F>
  readonly words: readonly string[]
}

interface Described {
  readonly about?: string
  readonly examples: readonly (readonly [command: string, what: string])[]
}

export interface Command extends Described {
  readonly args: readonly Argument[]
  readonly flags: FlagTable
  /** No exit code means success. */
  run(context: Context, input: Input): Promise<ExitCode | undefined> | Promise<void>
}

export function command<const F extends FlagTable = Record<never, never>>(
  spec: Described & {
    readonly args?: readonly Argument[]
    readonly flags?: F
    readonly run: (context: Context, input: Input<F>) => Promise<ExitCode | undefined> | Promise<void>
  },
): Command {
  return { args: [], flags: {}, ...spec } as unknown as Command
}

/** The name is one word, or two in a group: `trail query`. The command itself is loaded when it is used. */
export type Entry = readonly [name: string, summary: string, load: () => Promise<{ readonly default: Command }>]

export interface Group {
  readonly name: string
  readonly summary: string
  /** The command to run if no second word is given; without it the second word is required. */
  readonly alone?: string
}

/** Commands below one title of the help. */
export interface Section {
  readonly title: string
  readonly commands: Entry[]
}

/** Help, completion and part of the guide come from this. */
export interface Table {
  readonly sections: readonly Section[]
  readonly commands: readonly Entry[]
  /** `parley` without a word. */
  readonly alone: Entry
  readonly groups: readonly Group[]
}

export interface NamedCommand extends Command {
  readonly name: string
  readonly summary: string
}

export async function loaded([name, summary, load]: Entry): Promise<NamedCommand> {
  return { ...(await load()).default, name, summary }
}
