// Conflicts: where they are found, how they are settled, and that nothing with an open one is merged.
import type { RunModel } from '../model/model.ts'
import { type Invariant, type Problem, touched } from './rule.ts'

export const conflictRules: readonly Invariant[] = [
  {
    name: 'W-INT-11 conflicts are found while their integration is open, and the runtime finds overlap only',
    on: {
      conflict_detected: (run, body, { actor }) => {
        if (body.mode === 'salvage') return undefined
        const source = run.workspace(body.workspace_id)
        const { integration } = source
        if (!integration || source.status !== 'integrating') return `${source.id} is ${source.status}`
        const { strategy, target, checkpoint } = integration
        if (actor === 'protocol' && strategy !== 'direct')
          return strangeOverlap(run, body.resources, target, checkpoint)
        return strategy === 'evaluated' ? undefined : `${actor} found it under ${strategy}`
      },
    },
  },
  {
    name: 'W-INT-13 W-INT-14 a conflict is settled once, and the last one decides',
    on: {
      conflict_resolved: (run, body) => {
        if (body.mode === 'salvage') return undefined
        const source = run.workspace(body.workspace_id)
        if (source.status !== 'conflicted') return `${source.id} is ${source.status}`
        return source.conflicts.has(body.conflict_id) ? undefined : `${body.conflict_id} is not open`
      },
    },
    batch: (run, batch) => {
      for (const id of touched(batch)) {
        const workspace = run.workspaces.get(id)
        if (workspace?.status === 'conflicted' && workspace.conflicts.size === 0) return `${id} has no open conflict`
        if (workspace?.status === 'closed' && workspace.conflicts.size > 0)
          return `${id} was closed over ${[...workspace.conflicts].join()}`
      }
      return undefined
    },
  },
  {
    name: 'W-INT-07 AMB-30 overlap with what was merged since the source began is never merged silently',
    on: {
      integration_completed: (run, body) => {
        if (body.strategy === 'direct' || body.result !== 'success') return undefined
        const source = run.workspace(body.source)
        const merged = body.mode === 'salvage' ? run.salvages.get(body.source) : source.integration
        const own = run.checkpoints.get(merged?.checkpoint ?? '')?.files ?? []
        const { files } = run.workspace(body.target)
        const shared = own.find(file => (files.get(file) ?? 0) > source.created)
        return shared && `${shared} was changed meanwhile`
      },
    },
  },
]

/** What the runtime says overlaps, and does not. */
export function strangeOverlap(
  run: RunModel,
  resources: readonly string[],
  target: string,
  checkpoint: string | null,
): Problem {
  const { files } = run.workspace(target)
  const own = run.checkpoints.get(checkpoint ?? '')?.files ?? []
  const strange = resources.find(file => !files.has(file) || !own.includes(file))
  return strange && `${strange} overlaps with nothing`
}
