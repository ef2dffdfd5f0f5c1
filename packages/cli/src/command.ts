// What a command is: its words, what it says of itself, and what it does. The table of all commands is the one source of help,
// completion and the guide.
import type { Clock } from '@parley/core'
import type { ExitCode } from './exit.ts'
import type { NodeApi } from './node-api.ts'
import type { Terminal } from './terminal.ts'

export interface FlagSpec {
  readonly type: 'boolean' | 'text' | 'integer'
  /** What its value is called in the help, for example `FILE`. */
  readonly value?: string
  readonly short?: string
  readonly summary: string
  /** The only values that are taken. */
  readonly choices?: readonly string[]
  /** Values that completion offers where others are taken as well. */
  readonly offers?: readonly string[]
  /** May be given several times. */
  readonly many?: boolean
  /** What completion offers in place of its value. */
  readonly complete?: 'file' | 'folder'
}

export type FlagTable = Readonly<Record<string, FlagSpec>>

type ValueOf<F extends FlagSpec> = F['type'] extends 'boolean'
  ? boolean
  : F['type'] extends 'integer'
    ? number | undefined
    : F extends { readonly many: true }
      ? readonly string[]
      : string | undefined

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

export interface GlobalFlags {
  readonly profile: string | undefined
  readonly json: boolean
  readonly 'no-color': boolean
  readonly quiet: boolean
  readonly help: boolean
  readonly version: boolean
}

export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  readonly terminal: Terminal
  /** The node of the profile. It is closed when the command ends. */
  connect(options?: ConnectChoice): Promise<NodeApi>
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
  readonly global: GlobalFlags
}

export interface Input<F extends FlagTable = FlagTable> {
  readonly flags: FlagValues<F>
  readonly words: readonly string[]
}

interface Described {
  /** One word, or two for a command of a group: `trail query`. */
  readonly name: string
  readonly summary: string
  /** More for its own help, where the summary is not enough. */
  readonly about?: string
  readonly args: readonly Argument[]
  readonly examples: readonly (readonly [command: string, what: string])[]
}

export interface Command extends Described {
  readonly flags: FlagTable
  run(context: Context, input: Input): Promise<ExitCode>
}

export function command<const F extends FlagTable>(
  spec: Described & {
    readonly flags: F
    readonly run: (context: Context, input: Input<F>) => Promise<ExitCode>
  },
): Command {
  return spec as unknown as Command
}

/** Commands that share their first word. */
export interface Group {
  readonly name: string
  readonly summary: string
  /** The command that the word alone stands for; without one, a second word is needed. */
  readonly alone?: string
}
