// AgentAdapter: the one way to take a turn, whatever does the thinking: a command, an endpoint, a peer, a person.
import type { ParleyError } from '../error.ts'
import type { RunId, TaskId, WorkspaceId } from '../ids.ts'
import type { Ticks } from '../timestamp.ts'

/** What a turn cost. `undefined` is "not measured", 0 is "measured, nothing". */
export interface Usage {
  readonly tokensIn?: number
  readonly tokensOut?: number
  /** The part of `tokensIn` that a cache served. */
  readonly tokensCached?: number
  readonly usd?: number
}

/** What a turn may still spend; the ledger has reserved it before the turn starts. */
export interface TurnBudget {
  readonly tokens?: number
  readonly usd?: number
}

/** One piece of context, in the order in which the agent should read it. */
export interface TurnContextPart {
  /** What it is, for example `directive`, `envelope`, `checkpoint`, `memory`. */
  readonly kind: string
  readonly title: string
  readonly text: string
  /** It came since the agent's last turn: all that a conversation which goes on has not been told. */
  readonly news?: true
}

export interface TurnInput {
  readonly run: RunId
  readonly workspace: WorkspaceId
  /** The same at every attempt at the task, in no other run: a key for effects that must not be repeated. */
  readonly task?: TaskId
  /** `<agent>#<slot>`: one identity never sits in two live workspaces. */
  readonly agent: string
  /** Counts the attempts at this workspace's turns; an old epoch's token is refused. */
  readonly epoch: number
  readonly prompt: string
  readonly context: readonly TurnContextPart[]
  /** Absolute path of the workspace's folder, if the turn has one. It is the only folder that the agent may change. */
  readonly folder?: string
  /** Variables for the agent's process: never logged. */
  readonly environment?: Readonly<Record<string, string>>
  /** A conversation of the agent's own, which the turn before this one began in the same folder: to be continued. */
  readonly session?: string
  /** Lets the agent act inside its workspace. Never logged or in an environment: a process gets it in a file. */
  readonly token?: string
  readonly budget?: TurnBudget
  /**
   * Milliseconds that the service behind the agent may refuse to work before the turn ends, since somebody else can
   * take over. Without it the agent decides how often it tries.
   */
  readonly patienceMs?: number
  readonly deadline?: Ticks
  /** Fires on abort, deadline and shutdown; its reason is a ParleyError. */
  readonly signal: AbortSignal
}

export type TurnEvent =
  /** A line or a message of its own; with `part`, the next one continues where it ends. */
  | { readonly type: 'text'; readonly text: string; readonly part?: true }
  | { readonly type: 'thinking'; readonly text: string }
  | {
      readonly type: 'tool'
      readonly name: string
      readonly state: 'started' | 'finished' | 'failed'
      readonly summary?: string
    }
  | { readonly type: 'notice'; readonly text: string }
  /** The total so far, not an increment. */
  | { readonly type: 'usage'; readonly usage: Usage }

/** A conversation of the agent's own, which its next turn may continue. No secret. */
export interface AgentSession {
  readonly id: string
  /** This turn continued it; false: it began anew. */
  readonly resumed: boolean
}

export type TurnResult = { readonly session?: AgentSession } & TurnOutcome

type TurnOutcome =
  | { readonly outcome: 'complete'; readonly text: string; readonly usage: Usage }
  | { readonly outcome: 'failed'; readonly error: ParleyError; readonly usage: Usage }
  /** The agent waits for something: mail starts the next turn. */
  | { readonly outcome: 'blocked'; readonly reason: string; readonly usage: Usage }

/** What an agent has of its workspace in a turn. Its prompt speaks of nothing else. */
export interface AgentReach {
  /** It works on the files of the turn's folder. */
  readonly folder: boolean
  /** How it calls the verbs of its turn: `parley ws` in a shell, or the tools of an MCP server called `parley`. */
  readonly verbs?: 'shell' | 'tools'
}

export interface AgentAdapter {
  readonly name: string
  /** What it is: `command`, `http`, `operation`, `function`, `peer`, `human`. */
  readonly kind: string
  readonly reach: AgentReach
  /**
   * Takes one turn. Turns of one adapter may overlap. `emit` is called in order, only while the turn runs, and
   * never throws; events are for watching, and a reader who misses them loses nothing that matters.
   *
   * Resolves exactly once, also when the agent fails: that is `failed` with the agent's error and whatever usage
   * is known by then. When `signal` fires, the adapter ends everything it started, children included, and resolves
   * `failed` with code `aborted`. It rejects only for a defect of the adapter itself, which counts as `failed`
   * with unknown usage. It never retries by itself: a turn that dies is run again by its caller, so effects on the
   * outside world happen at least once.
   */
  takeTurn(input: TurnInput, emit: (event: TurnEvent) => void): Promise<TurnResult>
  /** Releases what the adapter holds between turns. Running turns are aborted first. May be called twice. */
  close(): Promise<void>
}
