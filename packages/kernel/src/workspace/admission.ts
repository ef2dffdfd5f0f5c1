// Admission control (W-WS-20): four capacities, all of which must suffice.
export const CAPACITIES = ['compute', 'memory', 'storage', 'network'] as const
export type Capacity = (typeof CAPACITIES)[number]

/** What is needed and what is there, for each capacity that does not suffice; empty where all do. */
export type Shortage = {
  readonly [Name in Capacity]?: { readonly needed: number; readonly available: number }
}

export interface CapacityProbe {
  /** `open`: workspaces of this run that are not terminal. */
  shortage(open: number): Shortage
}
