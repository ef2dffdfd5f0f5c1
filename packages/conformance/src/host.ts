// What an implementation of WACP offers so that the kit can drive and observe it. Black box: operations with their
// answers, the trail, notices, time. Nothing here says how any of it is built.
import type { Faults } from './faults.ts'
import type { OperationName, Value } from './operations.ts'

export const LEVELS = [1, 2, 3] as const
export type Level = (typeof LEVELS)[number]

/** The names of the three levels. */
export const LEVEL_NAMES: { readonly [L in Level]: string } = { 1: 'Core', 2: 'Standard', 3: 'Full' }

/** What is tested. A module given to `parley-conformance --host` exports one as `host`. */
export interface Host {
  readonly name: string
  readonly version: string
  /** The level that it claims; scenarios of higher levels are not run. */
  readonly level: Level
  /**
   * A fresh system on an empty store, with a clock that moves only by `advance`. Start-up may be refused (W-SEC-13),
   * and then nothing was written. Every scenario opens its own, several at a time are not needed.
   */
  open(setup: Setup): Promise<Outcome<System>>
}

/** How a system is started. What is left out has the default of the sheets. */
export interface Setup {
  /** A lower level than the host's own: what belongs above it answers `UNSUPPORTED`. */
  readonly level?: Level
  /** The declared deployment model (W-SEC-13), over a store that is not encrypted. */
  readonly deployment?: string
  /** Base of redelivery in milliseconds (W-ENV-14); 1000 where it is left out. */
  readonly redeliveryBase?: number
  /** How often a failed append is tried again before it counts as failed (W-REC-07); never where it is left out. */
  readonly appendRetries?: number
  /** Operations that are held while the trail cannot be written (W-REC-08). */
  readonly holdLimit?: number
  /** Escalations that may wait for one user who is away (W-HWY-21). */
  readonly escalationQueue?: number
  /** Ids that say nothing about order: random strings of any form (W-ID-02). */
  readonly unorderedIds?: boolean
  /** Signals travel by the transport, so that it can lose, delay and repeat them; otherwise they need not. */
  readonly carriedSignals?: boolean
  /** Every entry is signed (W-TRAIL-15). */
  readonly signing?: boolean
  /** Percent by which reported use may differ from the meter (W-CP-10); 1 where it is left out. */
  readonly usageTolerance?: number
  /** Milliseconds that archived entries are kept at least (W-TRAIL-28). */
  readonly retention?: number
  /** Observers may read the global trail (W-TRAIL-19). */
  readonly observersReadGlobally?: boolean
  /**
   * What the deployment does not bring along: the secret of which proofs are made, or the directory of people (WX-015).
   */
  readonly without?: 'secret' | 'users'
}

/** Who asks. The host has authenticated agents and users; an outsider is whoever claims something without that. */
export type Caller =
  | { readonly kind: 'agent'; readonly run: string; readonly workspace: string; readonly identity?: string }
  | { readonly kind: 'user'; readonly run: string; readonly user: string }
  | { readonly kind: 'outsider'; readonly run: string }
  /**
   * The runtime itself, or whoever operates it: no rule about callers applies. `run` is empty before the first one has
   * started.
   */
  | { readonly kind: 'runtime'; readonly run: string }

/** The codes of wacp-primitives 0.5, and three that its text implies. */
export const REFUSAL_CODES = [
  'REJECTED',
  'PERMISSION_DENIED',
  'INVALID_STATE',
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'CONTAINMENT',
  'IMMUTABLE',
  'CYCLE',
  'CROSS_GRAPH',
  'UNKNOWN_DEPENDENCY',
  'UNSUPPORTED',
  'TRAIL_UNAVAILABLE',
  /**
   * What was asked for waits at the gate that `about.gate` names; it goes on without being asked for again (W-HWY-04).
   */
  'GATED',
  /** The target of an integration is taken by another one (W-INT-08). */
  'TARGET_LOCKED',
  /** The run was found damaged and takes nothing (W-REC-13). */
  'HALTED',
  /** Another runtime writes the trail (W-CONC-08). */
  'TRAIL_IN_USE',
] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

export interface Refused {
  readonly ok: false
  readonly refused: RefusalCode
  /** The protocol's own word beside the code, where it has one: `no_final_checkpoint`, `gate_not_pending`. */
  readonly reason?: string
  /** For people. */
  readonly message?: string
  /**
   * Ids that the refusal speaks of: `envelope` of a rejected one, `gate` that is waited at, `entry` that records it. Of
   * a taxonomy: `faults`, a list with one member for each (W-TAX-05).
   */
  readonly about?: Readonly<Record<string, unknown>>
}

export type Outcome<T> = { readonly ok: true; readonly value: T } | Refused

/**
 * An entry with all header fields (W-TRAIL-01) and its sequence number; hashes from level 2 on, as the global scope
 * shows them.
 */
export interface Entry {
  readonly seq: number
  readonly id: string
  readonly timestamp: string
  readonly workspace: string | null
  readonly actor: string
  readonly event_type: string
  readonly body: Readonly<Record<string, unknown>>
  readonly prev_hash?: string | null
  readonly integrity?: {
    readonly entry_hash: string
    readonly algorithm: string
    readonly local_hash?: string
    readonly signature?: string
    readonly signer?: string
  }
}

/** What notices can be about. Only those that a scenario asks for need to be told apart; all others are `other`. */
export const NOTICE_KINDS = [
  /** Tasks hang on a cancelled one (W-TASK-14); `subject` is the graph. */
  'unresolvable',
  /** A user changed state (W-USER-06); `subject` is the `user_id`, `detail` the event. */
  'user',
  /**
   * An escalation (W-HWY-20 to -22); `subject` is the signal, `detail` one of received, delivered, rejected, overflow,
   * resolved.
   */
  'escalation',
  /** The run was recovered (W-REC-22); `subject` is the run. */
  'recovered',
  /** An envelope could not be delivered; `subject` is the envelope. */
  'undeliverable',
  /** Somebody or something is not what was claimed (W-SEC-06); `subject` is the claimed name or the id. */
  'security',
  /**
   * A gate opened, fell to the coordinator or ended; `subject` is the gate, `detail` one of opened, handed_over, ended.
   */
  'gate',
  'other',
] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

/** A callback that was made to the agent of a workspace, or to whoever serves the highway (wacp-primitives 0.7). */
export interface Notice {
  readonly to: string
  readonly kind: NoticeKind
  readonly subject: string
  readonly detail?: string
  /** The user that it is about or for, where there is one. */
  readonly user?: string
}

export interface RestartOptions {
  /**
   * The process dies at once: what was not durable is gone, calls under way get no answer. Otherwise it stops in good
   * order.
   */
  readonly crash?: boolean
  /** Milliseconds that pass before it starts again. */
  readonly outage?: number
  /** Runs while nothing runs: the place for faults of what is stored. */
  readonly meanwhile?: () => void | Promise<void>
}

/** Runs that were found damaged and take nothing. A system that does not start at all reports every run. */
export interface Restarted {
  readonly halted: readonly { readonly run: string; readonly report: string }[]
}

export interface System {
  /**
   * Carries out one operation and answers when its effects are durable, or when it is refused. What the caller hands in
   * is as hostile as it comes. Throws `Unsupported` for an operation that this implementation does not have.
   */
  call<O extends OperationName>(
    caller: Caller,
    operation: O,
    params: Readonly<Record<string, unknown>>,
  ): Promise<Outcome<Value<O>>>
  /**
   * The global trail of a run in `seq` order, read past all access rules and without leaving a trace; of a damaged run
   * what is there.
   */
  entries(run: string): Promise<readonly Entry[]>
  /**
   * Entries that belong to no run, where the implementation keeps a standing run for them (W-TRAIL-13): users and their
   * log-ins.
   */
  standing?(): Promise<readonly Entry[]>
  /** Every notice so far, in order; those of before a restart may be gone. */
  notices(): readonly Notice[]
  /** Lets everything happen that needs no time: deliveries, receipts. */
  settle(): Promise<void>
  /** Lets time pass. Whatever falls due on the way happens at its own moment, as if time ran by itself. */
  advance(milliseconds: number): Promise<void>
  /**
   * Stops and starts again on the same store, with the same setup; runs recover (W-REC-11). Handles and ids stay valid.
   */
  restart(options: RestartOptions): Promise<Restarted>
  /** What can be made to go wrong; see faults.ts. */
  readonly faults: Faults
  close(): Promise<void>
}

/** Thrown by a host that does not have an operation: the scenario counts as a deviation. */
export class Unsupported extends Error {
  override readonly name = 'Unsupported'

  constructor(operation: string) {
    super(`The host has no operation ${operation}.`)
  }
}
