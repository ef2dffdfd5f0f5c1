// What a workspace has used (W-BUDGET-02, -03): clocks by state, and what the runtime measured or was told by its own adapters.

/** Ticks that it spent in states before the current one. */
export interface Spent {
  active: number
  blocked: number
  conflicted: number
}

/** Sums, but for `context`, which is the current value. Bytes are counted only where a limit asks for them. */
export interface Meter {
  tokens: number
  cost: number
  context: number
  checkpointBytes: number
  trailBytes: number
  bandwidth: number
  /** Limits whose warning was written, by dimension: the limit that it was written for (W-BUDGET-04). */
  readonly warned: Map<string, number>
}
