// AgentKind: one way to be an agent. A kind is one file that exports a value of this type, and one line in the node's
// table (`agents/kinds.ts` of @parley/node). Everything else reads the table and knows no kind by name.
import type { TSchema } from 'typebox'
import type { Result } from '../result.ts'
import type { AgentAdapter } from './agent.ts'

/** An agent as a run keeps it: plain JSON, durations in milliseconds and sizes in bytes. */
export interface AgentSettings {
  /** How long a turn may take; every kind has it, and its adapter ends a longer turn as failed with `timeout`. */
  readonly timeoutMs?: number | undefined
  readonly [field: string]: unknown
}

/** What is wrong with an agent of a file, which its schema cannot say. */
export interface SettingsProblem {
  readonly field?: string
  /** A sentence. */
  readonly reason: string
}

/** What a pattern of a kind's schema asks for, in words, since an expression is hard to read. */
export interface PatternMeaning {
  readonly code: 'bad_name' | 'bad_value'
  readonly expected: string
}

/** What must be there before an agent can work, beside what `missing` finds; `doctor` shows it. */
export interface AgentNeeds {
  /** Hosts that it talks to, by HTTPS. */
  readonly hosts: readonly string[]
  /** One of these is enough: a variable that is set, or a file that a login left. */
  readonly credentials: {
    readonly variables: readonly string[]
    /** `~` is the home folder. */
    readonly files: readonly string[]
    /** Variables that put another folder in the place of one of those: `CODEX_HOME` of `~/.codex`. */
    readonly moved?: Readonly<Record<string, string>>
  }
  /** How a person logs in or gets it. */
  readonly help: string
}

/** How a run is refused whose agents lack what this kind works with. Preflight makes one refusal of several. */
export interface AgentAbsence {
  /** Of the refusal, such as `program_missing`. */
  readonly code: string
  /** For the list of codes that an operation refuses with. */
  readonly description: string
  /** In front of the names of what is missing: `not found, or not executable:`. */
  readonly problem: string
  /** What to do about it: a sentence. */
  readonly remedy: string
}

/** Something that an agent cannot work without and that is not here. */
export interface MissingPart {
  readonly name: string
  /** Where it was looked for: a sentence. */
  readonly looked?: string | undefined
  /** How a person gets just this one. */
  readonly help?: string | undefined
}

/** What a person is shown of an agent before they let it work. */
export interface AgentDescription {
  /** The shortest name of what does the work: a program, `peer NAME`. */
  readonly program: string
  /** The ready configuration that it uses. */
  readonly preset?: string | undefined
  /** What a turn runs: a command line, a peer. */
  readonly runs: string
  /** What else counts, each under a label of at most eight characters. */
  readonly facts: readonly (readonly [label: string, text: string])[]
  /** Bounds of a turn beside its time, such as `8 MiB of output`. */
  readonly limits: readonly string[]
}

/** Who pays for a turn: this profile, from its ledger; others, so that only an exhausted cap stops it; nobody. */
export type TurnCosts = 'profile' | 'elsewhere' | 'nothing'

/**
 * `Place` is where a kind looks for what it needs, also where no node runs; `Host` is what its adapters work with. The
 * node offers the sum of what all kinds ask for. Team files are read by programs that never take a turn: what is heavy
 * to load is imported in the first turn.
 */
export interface AgentKind<out Settings extends AgentSettings = AgentSettings, in Place = never, in Host = never> {
  /** Also the `kind` of its adapters. */
  readonly name: string
  /** An agent with one of these fields is of this kind, in a file and in settings; where several fit, the last. */
  readonly marks: readonly [string, ...string[]]
  /** Its fields in a file beside `timeout` and `slots`, each with a title. A field that kinds share is one schema. */
  readonly fields: Readonly<Record<string, TSchema>>
  readonly patterns?: ReadonlyMap<string, PatternMeaning>
  /** Agents that need no configuration, by name. */
  readonly ready?: Readonly<Record<string, Settings>>
  readonly costs: TurnCosts
  /**
   * true: its agents see no folder, so that nothing is carried or set up for them. `possible`: they see one where the
   * run has a project, and work without it too. Others need a project.
   */
  readonly folderless?: true | 'possible'
  readonly absence: AgentAbsence

  /** The settings, from fields that their schemas accept. The mark stays among them. */
  read(fields: Readonly<Record<string, unknown>>): Result<Settings, SettingsProblem>
  describe(settings: Settings): AgentDescription
  /** Undefined where there is nothing to say. */
  needs(settings: Settings): AgentNeeds | undefined
  /** Names of variables that it is given from the environment in which a run is started. */
  passes(settings: Settings): readonly string[]
  /** What is missing; undefined also if that cannot be known before a turn. */
  missing(settings: Settings, place: Place): MissingPart | undefined
  /** The version of what does the work, where asking is safe; undefined if it does not say. */
  version?(settings: Settings, place: Place): Promise<string | undefined>
  /** Throws `invalid_agent` for settings that this version cannot use. */
  adapter(name: string, settings: Settings, host: Host): AgentAdapter
}
