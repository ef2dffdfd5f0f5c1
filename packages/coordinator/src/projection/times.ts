// How the time of a run passes, as its trail says it: agents work, or nothing goes on until a person answers, or work
// waits for a free slot.
import { durationMs, parseTimestamp, type Timestamp } from '@parley/core'
import type { ProjectedHighway } from './highway.ts'
import type { ProjectedWorkspace } from './projected.ts'

export const DOINGS = ['working', 'person', 'slot', 'other'] as const
export type Doing = (typeof DOINGS)[number]

interface Work {
  readonly workspaces: ReadonlyMap<unknown, ProjectedWorkspace>
  readonly highway: Pick<ProjectedHighway, 'gates' | 'escalations'>
}

export class ProjectedTimes {
  readonly spent: Record<Doing, number> = { working: 0, person: 0, slot: 0, other: 0 }
  doing: Doing = 'other'
  since: Timestamp | undefined

  /** Until this moment it was as before. */
  until(moment: Timestamp): void {
    if (this.since !== undefined)
      this.spent[this.doing] += durationMs(parseTimestamp(this.since)!, parseTimestamp(moment)!)
    this.since = moment
  }

  become(work: Work): void {
    this.doing = doingOf(work)
  }
}

function doingOf({ workspaces, highway }: Work): Doing {
  let waits = false
  for (const { facts, state } of workspaces.values()) {
    if (!facts || facts.kind === 'team') continue
    if (state === 'active') return 'working'
    waits ||= state === 'idle'
  }
  if (highway.gates.size + highway.escalations.size > 0) return 'person'
  return waits ? 'slot' : 'other'
}
