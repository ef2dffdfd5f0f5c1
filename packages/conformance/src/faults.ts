// What scenarios make go wrong. Every fault is optional: a scenario that needs one which a host cannot inject is
// reported as not tested. The list is closed.
import type { Entry, Outcome } from './host.ts'

export interface Delivery {
  readonly kind: 'envelope' | 'signal'
  readonly id: string
  readonly from: string
  readonly to: string
  /** 1 for the first attempt of this id. */
  readonly attempt: number
}

/**
 * What becomes of one attempt. `drop`: it never arrives. `unconfirmed`: it arrives, and the confirmation is lost.
 * `delay`: it arrives when `release` is called. `duplicate`: it arrives twice. `alter`: what arrives is what the
 * function makes of the envelope.
 */
export type Fate =
  | 'pass'
  | 'drop'
  | 'unconfirmed'
  | 'delay'
  | 'duplicate'
  | { readonly alter: (envelope: Readonly<Record<string, unknown>>) => unknown }

export interface TransportFault {
  /**
   * Decides about every attempt from now on, envelopes and signals. Signals that are not carried apart need not be
   * offered.
   */
  rule(fate: (delivery: Delivery) => Fate): void
  /** Everything that was delayed arrives, in the order in which it was sent. */
  release(): void
  /** An envelope that was carried before arrives once more, restarts or not: the network had kept a copy. */
  repeat(run: string, envelope: string): Promise<void>
}

export interface StoreFault {
  /** The next `times` appends fail, all of them where it is left out. */
  fail(times?: number): void
  /** The trail is slow: no append is confirmed until `mend`. */
  hold(): void
  /** Appends work again. */
  mend(): void
}

/**
 * One record of a store that is not running. An object is whatever entries refer to by id: envelopes, checkpoints,
 * contexts.
 */
export type StoredRecord =
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'object'; readonly id: string; readonly type: string; readonly value: unknown }

/** Something that was appended without the rules having been asked, as by a foreign or a dying runtime. */
export interface ForeignEntry {
  readonly workspace: string | null
  readonly actor: string
  readonly event_type: string
  readonly body: Readonly<Record<string, unknown>>
  /** The runtime's next where it is left out. A `timestamp` in the body is set to it. */
  readonly timestamp?: string
  /** Made up where it is left out. */
  readonly id?: string
}

export interface StoredFault {
  /**
   * Rewrites one run while everything is stopped (`restart({ meanwhile })`); hashes stay as they are in what is
   * returned.
   */
  rewrite(run: string, change: (records: readonly StoredRecord[]) => readonly StoredRecord[]): Promise<void>
  /**
   * The same, and then every hash, link and anchor is made anew: a store without damage whose content was never decided
   * so.
   */
  forge(run: string, change: (records: readonly StoredRecord[]) => readonly StoredRecord[]): Promise<void>
  /** Puts sound entries behind the last one; for use in `meanwhile` too. Returns their ids. */
  append(run: string, entries: readonly ForeignEntry[]): Promise<readonly string[]>
}

export interface Faults {
  /** Loses, repeats, delays and alters what is carried. */
  readonly transport?: TransportFault
  /** Appends fail, or take their time. */
  readonly store?: StoreFault
  /** What is stored was changed. */
  readonly stored?: StoredFault
  /**
   * An entry is handed to the trail directly, running: answers the trail's own refusal, or undefined where it was taken
   * (W-TRAIL-03).
   */
  readonly entry?: (run: string, entry: ForeignEntry) => Promise<string | undefined>
  /** The wall clock steps by so many milliseconds, back too; what is timed does not notice. */
  readonly clock?: (milliseconds: number) => void
  /** `fail`: agents cannot be bound or prepared; `hold`: binding waits until the next call; `work`: it works. */
  readonly binder?: (mode: 'work' | 'fail' | 'hold') => void
  /** There is room for so many workspaces besides the root; without a number for any. */
  readonly capacity?: (workspaces?: number) => void
  /**
   * What a workspace used since the last reading, by the runtime's own measure (W-BUDGET-03); `context` is the current
   * value.
   */
  readonly meter?: (
    run: string,
    workspace: string,
    used: { readonly tokens?: number; readonly cost?: number; readonly context?: number },
  ) => Promise<void>
  /** The next restart dies once recovery has made so many appends, and starts once more, undisturbed. */
  readonly recovery?: (appends: number) => void
  /**
   * Somebody starts a second runtime over the store of the one that runs (W-CONC-08). One that starts all the same is
   * closed again.
   */
  readonly rival?: () => Promise<Outcome<undefined>>
}

export const FAULT_NAMES = [
  'transport',
  'store',
  'stored',
  'entry',
  'clock',
  'binder',
  'capacity',
  'meter',
  'recovery',
  'rival',
] as const satisfies readonly (keyof Faults)[]
export type FaultName = (typeof FAULT_NAMES)[number]

/** Thrown where a scenario needs what the host cannot do to itself. */
export class NotTested extends Error {
  override readonly name = 'NotTested'
}

/** Every fault that is asked for is there, or the scenario ends as not tested. */
export function required(faults: Faults): Required<Faults> {
  return new Proxy(faults as Required<Faults>, {
    get(target, name: FaultName) {
      const fault: unknown = target[name]
      if (fault === undefined) throw new NotTested(`needs the fault ${name}, which the host cannot inject`)
      return fault
    },
  })
}
