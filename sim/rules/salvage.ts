// Salvage: of what, into what, one at a time; that the source and its task stay as they are; that nothing is merged
// over a conflict.
import type { EventBody } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import { isOpen, salvageTarget } from '../model/salvage.ts'
import { strangeOverlap } from './conflict.ts'
import type { Invariant, Problem } from './rule.ts'

/** States in which nothing can be merged into a workspace any more. */
const SEALED = ['integrating', 'conflicted', 'closed', 'failed']

export const salvageRules: readonly Invariant[] = [
  {
    name: 'W-INT-18 W-INT-19 what failed is salvaged from a checkpoint of its own, evaluated, by its parent or the root',
    on: {
      integration_started: (run, body) => {
        if (body.mode !== 'salvage') return undefined
        const source = run.workspace(body.source)
        if (source.status !== 'failed' || run.isRoot(source.id)) return `${source.id} is ${source.status}`
        if (body.strategy !== 'evaluated') return `${source.id} is salvaged by ${body.strategy}`
        if (!source.register.includes(body.checkpoint_ref ?? '')) return `${body.checkpoint_ref} is not of ${source.id}`
        if (body.owner !== source.owner) return `${source.id} belongs to ${source.owner}`
        const target = salvageTarget(run, source.id)
        return body.target === target ? undefined : `${source.id} goes into ${body.target}, not ${target}`
      },
    },
  },
  {
    name: 'W-INT-08 W-INT-20 a salvage holds its target alone, and there is one of a source',
    on: {
      integration_started: (run, body) => {
        if (body.mode !== 'salvage') return undefined
        if (isOpen(run.salvages.get(body.source))) return `${body.source} is being salvaged`
        const { merging, status } = run.workspace(body.target)
        if (SEALED.includes(status)) return `${body.target} is ${status}`
        return merging === null ? undefined : `${merging} is being merged into ${body.target}`
      },
    },
    batch: run => held(run),
    state: run => held(run),
  },
  {
    name: 'W-INT-02 W-INT-20 a salvage that was begun ends once, and never over an open conflict',
    on: {
      integration_completed: (run, body) => {
        if (body.mode !== 'salvage') return undefined
        const salvage = run.salvages.get(body.source)
        if (salvage?.conflicts.size) return `${[...salvage.conflicts].join()} of ${body.source} is open`
        return notOpen(run, body)
      },
      integration_aborted: (run, body) => (body.mode === 'salvage' ? notOpen(run, body) : undefined),
    },
  },
  {
    name: 'W-INT-19 every entry of a salvage says so, and its source gets none and does not change',
    every: (run, { event_type, body, workspace }) => {
      const { mode, source, workspace_id: id } = body as Readonly<Record<string, string>>
      if (!ATTEMPT.includes(event_type)) return undefined
      const about = source ?? id ?? ''
      const failed = run.workspaces.get(about)?.status === 'failed'
      if (failed !== (mode === 'salvage')) return `${event_type} of ${about} has the mode ${mode}`
      if (!failed) return undefined
      const target = run.salvages.get(about)?.target
      return event_type === 'integration_started' || workspace === target
        ? undefined
        : `${event_type} is filed under ${workspace}, not ${target}`
    },
  },
  {
    name: 'W-INT-20 AMB-34 a salvage moves no task of its source',
    batch: (run, batch) => {
      const sources = new Set<string>()
      for (const { event_type, body } of batch.entries) {
        const { mode, source, workspace_id: id } = body as Readonly<Record<string, string>>
        if (ATTEMPT.includes(event_type) && mode === 'salvage') sources.add(source ?? id ?? '')
      }
      if (sources.size === 0) return undefined
      for (const { event_type, body } of batch.entries) {
        if (event_type !== 'task_status_changed') continue
        const { task_id: task, to_status: to } = body as EventBody<'task_status_changed'>
        const source = run.tasks.get(task)?.history.at(-1) ?? ''
        if (to !== 'cancelled' && sources.has(source)) return `${task} of ${source} became ${to}`
      }
      return undefined
    },
  },
  {
    name: 'W-INT-20 conflicts of a salvage are found and settled while it is open, and the runtime finds overlap only',
    on: {
      conflict_detected: (run, body, { actor }) => {
        if (body.mode !== 'salvage') return undefined
        const salvage = run.salvages.get(body.workspace_id)
        if (!isOpen(salvage)) return `no salvage of ${body.workspace_id} is open`
        return actor === 'protocol'
          ? strangeOverlap(run, body.resources, salvage.target, salvage.checkpoint)
          : undefined
      },
      conflict_resolved: (run, body) => {
        if (body.mode !== 'salvage') return undefined
        const salvage = run.salvages.get(body.workspace_id)
        return isOpen(salvage) && salvage.conflicts.has(body.conflict_id)
          ? undefined
          : `${body.conflict_id} is not open`
      },
    },
  },
]

const ATTEMPT: readonly string[] = [
  'integration_started',
  'integration_completed',
  'integration_aborted',
  'conflict_detected',
  'conflict_resolved',
]

function held(run: RunModel): Problem {
  for (const salvage of run.salvages.values()) {
    if (!isOpen(salvage)) continue
    const { merging, status } = run.workspace(salvage.target)
    if (merging !== salvage.source) return `${salvage.source} does not hold ${salvage.target}`
    if (SEALED.includes(status)) return `${salvage.source} is being saved into ${status} ${salvage.target}`
  }
  return undefined
}

function notOpen(run: RunModel, { source, target }: { readonly source: string; readonly target: string }): Problem {
  const salvage = run.salvages.get(source)
  return isOpen(salvage) && salvage.target === target ? undefined : `no salvage of ${source} into ${target} is open`
}
