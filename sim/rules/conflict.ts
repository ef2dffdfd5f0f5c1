// Conflicts: where they are found, how they are settled, and that nothing with an open one is merged.
import { type Invariant, touched } from './rule.ts'

export const conflictRules: readonly Invariant[] = [
  {
    name: 'W-INT-11 conflicts are found while their integration is open, overlap by the runtime alone',
    on: {
      conflict_detected: (run, body, { actor }) => {
        if (body.mode === 'salvage') return undefined
        const source = run.workspace(body.workspace_id)
        const { integration } = source
        if (!integration || source.status !== 'integrating') return `${source.id} is ${source.status}`
        if (integration.strategy === 'evaluated')
          return actor === 'protocol' ? 'the runtime judges' : undefined
        if (integration.strategy !== 'layered' || actor !== 'protocol')
          return `${actor} found it under ${integration.strategy}`
        const { files } = run.workspace(integration.target)
        const own = run.checkpoints.get(integration.checkpoint ?? '')?.files ?? []
        const strange = body.resources.find(file => !files.has(file) || !own.includes(file))
        return strange && `${strange} overlaps with nothing`
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
        if (workspace?.status === 'conflicted' && workspace.conflicts.size === 0)
          return `${id} has no open conflict`
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
        if (body.strategy !== 'layered' || body.result !== 'success') return undefined
        const source = run.workspace(body.source)
        const own = run.checkpoints.get(source.integration?.checkpoint ?? '')?.files ?? []
        const { files } = run.workspace(body.target)
        const shared = own.find(file => (files.get(file) ?? 0) > source.created)
        return shared && `${shared} was changed meanwhile`
      },
    },
  },
]
