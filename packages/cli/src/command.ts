// What a command is: its words, what it says of itself, and what it does.
import type { Clock } from '@parley/core'
import type { ExitCode } from './exit.ts'
import type { NodeClient } from './node/client.ts'
import type { Terminal } from './terminal.ts'

export interface FlagSpec {
  /** What its value is called in the help, for example `FILE`; without one the flag is there or not. */
  readonly value?: string
  /** Its value is a whole number. */
  readonly whole?: true
  readonly short?: string
  readonly summary: string
  /** The only values that are taken. */
  readonly choices?: readonly string[]
  /** Values that completion offers where others are taken as well. */
  readonly offers?: () => Promise<readonly string[]>
  /** May be given several times. */
  readonly many?: boolean
  /** What completion offers in place of its value. */
  readonly complete?: 'file' | 'folder'
}

export type FlagTable = Readonly<Record<string, FlagSpec>>

type ValueOf<F extends FlagSpec> = F extends { readonly value: string }
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

/** Every command takes them. */
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
  /** The node of the profile. It is closed when the command ends. */
  connect(options?: ConnectChoice): Promise<NodeClient>
}

export interface ConnectChoice {
  /** Start a node where none runs. By default yes. */
  readonly start?: boolean
  /** A profile that is named and not there is made. By default it is taken for a slip. */
  readonly create?: boolean
  /** One that is started does not stop by itself when nobody needs it. */
  readonly lasting?: boolean
  /** A node of another version is good enough. */
  readonly anyVersion?: boolean
  /** Further variables for a node that is started. */
  readonly env?: Readonly<Record<string, string>>
}

export interface Context extends Environment {
  /** The node of the profile, reached with the first call: started where none runs. */
  readonly api: NodeClient
  readonly global: GlobalFlags
  /** All commands, for those that tell of others. */
  readonly table: Table
}

export interface Input<F extends FlagTable = FlagTable> {
  readonly flags: FlagValues<F>
  readonly words: readonly string[]
}

export interface Described {
  /** More for its own help, where the summary is not enough. */
  readonly about?: string
  readonly examples: readonly (readonly [command: string, what: string])[]
}

export interface Command extends Described {
  readonly args: readonly Argument[]
  readonly flags: FlagTable
  /** Without an exit code it is done. */
  run(context: Context, input: Input): Promise<ExitCode | undefined> | Promise<void>
}

/** What the file of a command exports. */
export function command<const F extends FlagTable = Record<never, never>>(
  spec: Described & {
    readonly args?: readonly Argument[]
    readonly flags?: F
    readonly run: (context: Context, input: Input<F>) => Promise<ExitCode | undefined> | Promise<void>
  },
): Command {
  return { args: [], flags: {}, ...spec } as unknown as Command
}

/** One word, or two for a command of a group: `trail query`. The rest is read when it is needed. */
export type Entry = readonly [name: string, summary: string, load: () => Promise<{ readonly default: Command }>]

/** Commands that share their first word. */
export interface Group {
  readonly name: string
  readonly summary: string
  /** The command that the word alone stands for; without one, a second word is needed. */
  readonly alone?: string
}

/** The one source of help, completion and a part of the guide. */
export interface Table {
  readonly commands: readonly Entry[]
  readonly groups: readonly Group[]
}

export interface NamedCommand extends Command {
  readonly name: string
  readonly summary: string
}

export async function loaded([name, summary, load]: Entry): Promise<NamedCommand> {
  return { ...(await load()).default, name, summary }
}
