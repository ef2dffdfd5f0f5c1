// Admission control (W-WS-20): four capacities, all of which must suffice before a workspace is created.
import type { EventBody } from '@parley/trail/events'
import type { Batch } from '../batch.ts'

export const CAPACITIES = ['compute', 'memory', 'storage', 'network'] as const
export type Capacity = (typeof CAPACITIES)[number]

export type Shortage = {
  readonly [Name in Capacity]?: { readonly needed: number; readonly available: number }
}

/** The thresholds are the host's. */
export interface CapacityProbe {
  /** `open`: workspaces of this run that are not terminal, its root among them. */
  shortage(open: number): Shortage
}

/** As `workspace_rejected` records it; undefined where there is room. */
export function shortageOf(batch: Batch): EventBody<'workspace_rejected'>['capacity_details'] | undefined {
  const shortage = batch.context.capacity?.shortage(batch.run.open)
  if (!shortage || Object.keys(shortage).length === 0) return undefined
  return Object.fromEntries(
    Object.entries(shortage).map(([name, { needed, available }]) => [name, { available, required: needed }]),
  )
}
