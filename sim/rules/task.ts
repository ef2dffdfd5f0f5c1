// Checkpoints, tasks and integrations.
import type { EventBody, TaskStatus } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import { isOver, type TaskModel } from '../model/records.ts'
import { has, type Invariant, touched } from './rule.ts'

/** W-TASK-04, written down a second time. */
const STEPS: { readonly [From in TaskStatus]: readonly TaskStatus[] } = {
  draft: ['pending', 'cancelled'],
  pending: ['assigned', 'cancelled'],
  assigned: ['in_progress', 'failed', 'cancelled'],
  in_progress: ['completed', 'failed', 'cancelled'],
  completed: ['integrated', 'failed', 'cancelled'],
  failed: ['pending', 'cancelled'],
  integrated: [],
  cancelled: [],
}

/** As far as the simulator's own drafts go: everything, a file, a folder. */
function contains(resources: readonly string[], file: string): boolean {
  return resources.some(each => each === '**' || each === file || (each.endsWith('/') && file.startsWith(each)))
}

export const taskRules: readonly Invariant[] = [
  {
    name: 'W-CP-04 W-CP-07 checkpoints form one chain, made while the workspace is active',
    on: {
      checkpoint_created: (run, body) => {
        const workspace = run.workspaces.get(body.workspace)
        if (workspace?.status !== 'active') return `${body.workspace} is ${workspace?.status}`
        const head = workspace.register.at(-1) ?? null
        return body.parent === head ? undefined : `${body.checkpoint_id} follows ${body.parent}, the head is ${head}`
      },
    },
  },
  {
    name: 'W-WS-17 a checkpoint changes what the authority of its workspace contains',
    on: {
      checkpoint_created: (run, body) => {
        const { resources } = run.workspace(body.workspace)
        const made = run.staged.get(body.checkpoint_id)?.value as { payload: { files_changed: string[] } } | undefined
        const outside = made?.payload.files_changed.find(file => !contains(resources, file))
        return outside === undefined ? undefined : `${body.workspace} has ${resources}, and changed ${outside}`
      },
    },
  },
  {
    name: 'W-CP-12 a checkpoint is signalled to the parent',
    on: {
      checkpoint_created: (_run, body, _entry, batch) => {
        const next = batch.entries[batch.at + 1]
        const signal = next?.body as { type?: string; ref?: string } | undefined
        return signal?.type === 'checkpoint' && signal.ref === body.checkpoint_id
          ? undefined
          : `${next?.event_type} follows ${body.checkpoint_id}`
      },
    },
  },
  {
    name: 'W-CP-08 W-INT-04 the deliverable is the newest final checkpoint',
    on: {
      integration_started: (run, body) => {
        if (body.mode === 'salvage') return undefined
        const source = run.workspace(body.source)
        const newest = source.register.findLast(id => run.checkpoints.get(id)?.status === 'final') ?? null
        return (body.checkpoint_ref ?? null) === newest ? undefined : `${body.checkpoint_ref}, newest is ${newest}`
      },
      task_completed: (run, body) => {
        const { register } = run.workspace(body.workspace_id)
        const newest = register.findLast(id => run.checkpoints.get(id)?.status === 'final')
        return body.checkpoint_id === newest ? undefined : `${body.checkpoint_id}, newest is ${newest}`
      },
    },
  },
  {
    name: 'W-TASK-04 only the transitions of the table happen',
    on: {
      task_status_changed: (run, body) => {
        const now = run.tasks.get(body.task_id)?.status
        if (now !== body.from_status) return `${body.task_id} is ${now}, the entry says ${body.from_status}`
        return STEPS[body.from_status].includes(body.to_status)
          ? undefined
          : `${body.task_id}: ${body.from_status} to ${body.to_status}`
      },
    },
  },
  {
    name: 'W-TASK-06 attempts count up from one',
    on: {
      task_assigned: (run, body) => {
        const attempts = run.tasks.get(body.task_id)?.history.length ?? -1
        return body.attempt_number === attempts + 1 ? undefined : `attempt ${body.attempt_number} after ${attempts}`
      },
      task_failed: (run, body) => {
        const attempts = run.tasks.get(body.task_id)?.history.length
        return body.attempt_number === attempts ? undefined : `attempt ${body.attempt_number} of ${attempts}`
      },
    },
  },
  {
    name: 'W-TASK-07 W-TASK-08 a task is bound while it is pending and what it depends on is done, to one workspace',
    on: {
      task_assigned: (run, body) => {
        const task = run.tasks.get(body.task_id)
        if (task?.status !== 'pending') return `${body.task_id} is ${task?.status}`
        if (run.workspaces.get(body.workspace_id)?.task !== task.id) return `${body.workspace_id} serves another task`
        const undone = task.dependsOn.find(id => !['completed', 'integrated'].includes(run.tasks.get(id)?.status ?? ''))
        if (undone !== undefined) return `${undone} is ${run.tasks.get(undone)?.status}`
        const live = task.history.find(id => !isOver(run.workspace(id).status))
        return live === undefined ? undefined : `${live} is still at work on ${task.id}`
      },
    },
  },
  {
    name: 'W-TASK-03 tasks depend on tasks of their own graph that were there before',
    on: {
      task_created: (run, body) => {
        const outside = body.depends_on.find(id => run.tasks.get(id)?.graph !== body.graph_id)
        return outside === undefined ? undefined : `${body.task_id} depends on ${outside}`
      },
    },
  },
  {
    name: 'W-TASK-06 W-TASK-10 W-TASK-11 W-TASK-16 a task and its workspace agree',
    batch: (run, batch) => {
      for (const id of touched(batch)) {
        const task = run.tasks.get(run.workspaces.get(id)?.task ?? '')
        const problem = task && disagreement(run, task)
        if (problem !== undefined) return problem
      }
      return undefined
    },
    state: run => {
      for (const task of run.tasks.values()) {
        const problem = disagreement(run, task)
        if (problem !== undefined) return problem
      }
      return undefined
    },
  },
  {
    name: 'W-TASK-05 no draft waits where there is no gate',
    state: run => {
      const gated = new Set([...run.gates.values()].map(gate => gate.task))
      for (const { id, status } of run.tasks.values())
        if (status === 'draft' && !gated.has(id)) return `${id} is a draft`
      return undefined
    },
  },
  {
    name: 'W-INT-01 W-INT-08 one integration at a time goes into a target, of a source that is integrating',
    on: {
      integration_started: (run, body) => {
        if (body.mode === 'salvage') return undefined
        const source = run.workspace(body.source)
        if (source.status !== 'integrating') return `${source.id} is ${source.status}`
        if (body.target !== source.parent) return `${source.id} is merged into ${body.target}`
        const { merging } = run.workspace(body.target)
        return merging === null ? undefined : `${merging} is being merged into ${body.target}`
      },
    },
  },
  {
    name: 'W-INT-01 what waits below a completed delegate is sent back by the nearest ancestor that acts, and never merged',
    on: {
      integration_started: (run, body, _entry, batch) => {
        if (body.mode === 'salvage' || !hasCompleted(run, body.target)) return undefined
        const signal = batch.entries[batch.at - 1]
        const by = (signal?.body as { readonly from?: string } | undefined)?.from
        let judge = run.workspace(body.target).parent ?? ''
        while (hasCompleted(run, judge)) judge = run.workspace(judge).parent ?? ''
        if (by !== judge) return `${by} judges ${body.source}, not ${judge}`
        return has(batch, 'integration_aborted', each => each.source === body.source)
          ? undefined
          : `${body.source} goes into ${body.target}, which has completed`
      },
      // A conflict that was put to a person before the delegate completed is theirs to settle.
      integration_completed: (run, body) =>
        body.result === 'success' && hasCompleted(run, body.target)
          ? `${body.source} was merged into ${body.target}, which has completed`
          : undefined,
    },
  },
  {
    name: 'W-INT-02 an integration that was started ends once',
    on: {
      integration_completed: (run, body) => notOpen(run, body),
      integration_aborted: (run, body) => notOpen(run, body),
    },
    batch: (run, batch) => {
      for (const id of touched(batch)) {
        const workspace = run.workspaces.get(id)
        if (workspace?.integration && !['integrating', 'conflicted'].includes(workspace.status))
          return `${id} is ${workspace.status}, its integration is open`
      }
      return undefined
    },
  },
  {
    name: 'W-INT-03 W-LIFE-09 a workspace closes only by a merge',
    on: {
      workspace_state_changed: (run, body, _entry, batch) => {
        if (body.to_state !== 'closed' || run.isRoot(body.workspace_id)) return undefined
        const before = batch.entries[batch.at - 1]?.event_type
        return before === 'integration_completed' ? undefined : `${before} stands before it`
      },
    },
  },
]

/** Its own work is handed in, and frozen. */
function hasCompleted(run: RunModel, id: string): boolean {
  return ['integrating', 'conflicted'].includes(run.workspaces.get(id)?.status ?? '')
}

function notOpen(
  run: RunModel,
  { source, target, mode }: EventBody<'integration_completed' | 'integration_aborted'>,
): string | undefined {
  if (mode === 'salvage') return undefined
  const open = run.workspaces.get(source)?.integration
  return open?.target === target ? undefined : `no integration of ${source} into ${target} is open`
}

/** Which states of a workspace fit which status of the task that is bound to it. */
function disagreement(run: RunModel, task: TaskModel): string | undefined {
  const live = task.history.filter(id => !isOver(run.workspace(id).status))
  if (live.length > 1) return `${live.join(' and ')} are both at work on ${task.id}`
  const workspace = task.workspace === null ? undefined : run.workspace(task.workspace)
  const problem = (expected: boolean) =>
    expected ? undefined : `${task.id} is ${task.status}, its workspace ${workspace?.id} is ${workspace?.status}`
  if (workspace && workspace.task !== task.id) return `${workspace.id} serves ${workspace.task}, not ${task.id}`
  if (workspace && workspace.id !== task.history.at(-1))
    return `${workspace.id} is not the newest attempt of ${task.id}`
  switch (task.status) {
    case 'draft':
    case 'pending':
    case 'cancelled':
      return problem(!workspace && live.length === 0)
    case 'integrated':
      return problem(!workspace && run.workspace(task.history.at(-1)!).status === 'closed')
    case 'assigned':
      return problem(
        workspace !== undefined && ['idle', 'active', 'blocked', 'suspended', 'migrating'].includes(workspace.status),
      )
    case 'in_progress':
      return problem(workspace !== undefined && !isOver(workspace.status))
    case 'completed':
      return problem(['integrating', 'conflicted'].includes(workspace?.status ?? '') && task.checkpoint !== null)
    case 'failed':
      return problem(workspace?.status === 'failed')
  }
}
