// The work that a person judges at a gate: fetched when the question comes up, and shown with it.
import { SLOW } from '../limits.ts'
import type { NodeClient } from '../node/client.ts'
import type { GateView, WorkView } from '../node/views.ts'

/** Undefined until it is there, and where a gate is about no work. */
export type GateWork = () => WorkView | undefined

export function gateWork(
  api: NodeClient,
  { run, type, task, workspace = task }: GateView,
  arrived: () => void,
): GateWork {
  let work: WorkView | undefined
  if ((type === 'integration' || type === 'conflict_resolution') && workspace !== undefined)
    api.results.show({ run, task: workspace, patch: true }, SLOW).then(
      found => {
        work = found
        arrived()
      },
      // The question can be answered without it.
      () => undefined,
    )
  return () => work
}
