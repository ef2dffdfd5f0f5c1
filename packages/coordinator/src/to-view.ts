// A run's projection as its view.
import { durationMs, parseTimestamp, type RunId, type WorkspaceId } from '@parley/core'
import { judgedBy } from './evaluation.ts'
import { coordinatorLimits } from './limits.ts'
import type { RunProjection, SeenTask, SeenWorkspace, TurnRecord } from './projection.ts'
import { doerOf, type PlannedTask } from './team/team.ts'
import type {
  GateView,
  PlanTaskView,
  RunState,
  RunSummaryView,
  RunView,
  StepOutcome,
  StepView,
  TaskState,
  UsageView,
} from './view.ts'

/** What is known only while a turn is at work. */
export interface Live {
  activity(workspace: WorkspaceId): string | undefined
  /** The turn that runs in a workspace, as far as it has come. */
  turn(workspace: WorkspaceId): Omit<TurnRecord, 'epoch' | 'outcome'> | undefined
  result(): RunView['result']
}

export const nothingLive: Live = { activity: () => undefined, turn: () => undefined, result: () => undefined }

const gateId = (run: RunId, what: string): string => `${run}:${what}`

export function runView(run: RunId, seen: RunProjection, live: Live = nothingLive): RunView {
  const { facts, root } = seen
  const plan = facts?.plan ?? []
  const tasks = plan.map(planned => taskView(planned, seen, live))
  const state = runState(seen, tasks)
  const result = live.result()
  const reason = reasonOf(state, tasks, seen)
  return {
    run,
    intent: facts?.intent ?? '',
    team: facts?.team.name ?? '',
    project: facts?.project.path ?? '',
    principal: facts?.principal ?? '',
    state,
    started: root?.created ?? '',
    ...(root?.ended !== undefined && { ended: root.ended }),
    tasks_done: tasks.filter(task => task.state === 'done').length,
    tasks_total: tasks.length,
    usage: total(tasks.map(task => task.usage)),
    tasks,
    gates: gatesOf(run, state, seen, tasks),
    ...(reason !== undefined && { reason }),
    ...(result && { result }),
    warnings: warningsOf(seen),
    cursor: seen.cursor,
  }
}

export function summary({
  tasks: _,
  gates: _gates,
  reason: _reason,
  result: _result,
  warnings: _warnings,
  cursor: _cursor,
  ...rest
}: RunView): RunSummaryView {
  return rest
}

function runState(seen: RunProjection, tasks: readonly PlanTaskView[]): RunState {
  const begun = seen.tasks.size > 0
  if (seen.root?.state === 'closed') return tasks.every(task => task.state === 'done') ? 'done' : 'failed'
  if (seen.root?.state === 'failed')
    return begun || seen.facts?.approval === 'given' || late(seen) ? 'aborted' : 'rejected'
  return begun || seen.facts?.approval === 'given' ? 'working' : 'waiting'
}

function gatesOf(
  run: RunId,
  state: RunState,
  { facts, root, workspaces }: RunProjection,
  tasks: readonly PlanTaskView[],
): GateView[] {
  if (state === 'waiting') {
    const count = tasks.length === 1 ? 'one task' : `${tasks.length} tasks`
    const question = `Shall ${facts?.team.name} start with ${count}?`
    return [{ id: gateId(run, 'plan'), run, kind: 'plan', question, since: root?.created ?? '' }]
  }
  return tasks
    .filter(task => task.state === 'blocked')
    .map(({ id, note = '', workspace }) => {
      const since = workspaces.get(workspace as WorkspaceId)?.changed ?? ''
      return { id: gateId(run, id), run, kind: 'question', task: id, question: note, since }
    })
}

/** Whether a run was ended when its time was up. */
function late({ facts, root }: RunProjection): boolean {
  const { timeoutMs } = facts?.team.limits ?? {}
  if (timeoutMs === undefined || root?.ended === undefined) return false
  return durationMs(parseTimestamp(root.created)!, parseTimestamp(root.ended)!) >= timeoutMs
}

function reasonOf(state: RunState, tasks: readonly PlanTaskView[], seen: RunProjection): string | undefined {
  if (state === 'rejected') return 'The plan was not approved.'
  if (state === 'aborted') return late(seen) ? 'It took longer than its limit.' : 'Somebody ended it.'
  if (state !== 'failed') return undefined
  const failed = tasks.find(task => task.state === 'failed')
  return failed && `${failed.title}: ${failed.note ?? 'failed'}`
}

function warningsOf({ facts }: RunProjection): string[] {
  if (!facts) return []
  const { dirty } = facts.project
  const changes =
    dirty === 1
      ? 'One uncommitted change of the project is'
      : `${dirty} uncommitted changes of the project are`
  const uncommitted = dirty > 0 ? [`${changes} not part of this run.`] : []
  return [...facts.team.warnings.map(({ message }) => message), ...uncommitted]
}

function taskView(planned: PlannedTask, seen: RunProjection, live: Live): PlanTaskView {
  const task = seen.task(planned.id)
  const attempts = (task?.attempts ?? [])
    .map(id => seen.workspaces.get(id)!)
    .filter(each => each !== undefined)
  const newest = attempts.at(-1)
  const work = newest?.checkpoints.findLast(each => each.final)
  const all = attempts.flatMap(each => [each, ...seen.judges(each.id)])
  const state = task ? taskState(task, planned, newest, seen) : seen.over ? 'cancelled' : 'waiting'
  const busy =
    newest && [...seen.judges(newest.id).toReversed(), newest].find(each => each.ended === undefined)
  const activity = busy && state !== 'done' ? live.activity(busy.id) : undefined
  const note = noteOf(state, newest, seen)
  return {
    id: planned.id,
    title: planned.title,
    agent: doerOf(planned),
    state,
    needs: [...planned.needs],
    attempt: attempts.length,
    attempts: planned.attempts,
    ...(newest && { workspace: newest.id }),
    ...(attempts[0] && { started: attempts[0].created }),
    ...(newest?.ended !== undefined && isSettled(state) && { ended: newest.ended }),
    ...(activity !== undefined && { activity }),
    ...(note !== undefined && { note }),
    files: (work?.files ?? []).slice(0, coordinatorLimits.shownFiles),
    refused: [...new Set(attempts.flatMap(each => each.refused))],
    steps: all.map(each => stepView(each, attempts, live)),
    usage: usageOf(all, live),
  }
}

function stepView(each: SeenWorkspace, attempts: readonly SeenWorkspace[], live: Live): StepView {
  const { facts } = each
  const work = facts?.kind === 'work' ? each.id : (facts?.of ?? each.id)
  const text = each.checkpoints.findLast(({ turn }) => turn?.outcome !== 'kept')?.text ?? each.reason
  return {
    kind: facts?.kind ?? 'work',
    agent: facts?.agent ?? '',
    attempt: attempts.findIndex(({ id }) => id === work) + 1,
    workspace: each.id,
    outcome: stepOutcome(each),
    started: each.created,
    ...(each.ended !== undefined && { ended: each.ended }),
    ...(text !== undefined && text !== '' && { text }),
    usage: usageOf([each], live),
  }
}

const VERDICT_OUTCOMES = { accept: 'accepted', revise: 'revise', reject: 'rejected' } as const

function stepOutcome({ state, ended, trigger, checkpoints }: SeenWorkspace): StepOutcome {
  const verdict = checkpoints.findLast(each => each.final)?.verdict
  if (verdict !== undefined) return VERDICT_OUTCOMES[verdict]
  if (state === 'blocked') return 'blocked'
  if (state === 'closed' || state === 'integrating') return 'complete'
  if (ended === undefined) return 'working'
  if (trigger === 'revision_required') return 'revise'
  return trigger === 'rejected' ? 'rejected' : 'failed'
}

const isSettled = (state: TaskState) => state === 'done' || state === 'failed' || state === 'cancelled'

/** Whether nothing is tried any more after a task's newest attempt has failed. */
export function isFinal(task: SeenTask, planned: PlannedTask, newest: SeenWorkspace | undefined): boolean {
  return task.attempts.length >= planned.attempts || newest?.trigger === 'rejected'
}

function taskState(
  task: SeenTask,
  planned: PlannedTask,
  newest: SeenWorkspace | undefined,
  seen: RunProjection,
): TaskState {
  switch (task.status) {
    case 'draft':
      return seen.over ? 'cancelled' : 'waiting'
    case 'pending':
      if (seen.over) return 'cancelled'
      return task.dependsOn.every(id => seen.tasks.get(id)?.status === 'integrated') ? 'ready' : 'waiting'
    case 'assigned':
    case 'in_progress':
      return newest?.state === 'blocked' ? 'blocked' : 'working'
    case 'completed':
      return judgedBy(planned).length > 0 &&
        seen.judges(newest?.id ?? ('' as WorkspaceId)).some(each => each.ended === undefined)
        ? 'reviewing'
        : 'integrating'
    case 'integrated':
      return 'done'
    case 'failed':
      return seen.over || isFinal(task, planned, newest) ? 'failed' : 'ready'
    case 'cancelled':
      return 'cancelled'
  }
}

function noteOf(
  state: TaskState,
  newest: SeenWorkspace | undefined,
  seen: RunProjection,
): string | undefined {
  if (!newest) return undefined
  if (state === 'cancelled') return 'Not needed any more.'
  if (state === 'blocked') return newest.reason
  if (state !== 'failed' && state !== 'ready') return undefined
  return failureText(newest, seen)
}

/** Why an attempt came to nothing, in words. */
export function failureText(attempt: SeenWorkspace, seen: RunProjection): string {
  if (attempt.trigger === 'agent_failed' && attempt.reason !== undefined) return attempt.reason
  const judge = seen
    .judges(attempt.id)
    .findLast(each => each.checkpoints.length > 0 || each.reason !== undefined)
  const said = judge?.checkpoints.findLast(each => each.final)?.text ?? judge?.reason
  if (said !== undefined && said !== '') return said
  if (attempt.trigger === 'system_shutdown') return 'The run was ended.'
  return (attempt.trigger ?? 'failed').replaceAll('_', ' ')
}

function usageOf(workspaces: readonly SeenWorkspace[], live: Live): UsageView {
  return total(
    workspaces.flatMap(each => {
      const running = each.ended === undefined ? live.turn(each.id) : undefined
      return [
        ...each.checkpoints.flatMap(({ turn }) => (turn && turn.outcome !== 'kept' ? [turn] : [])),
        ...(running ? [running] : []),
      ].map(turn => ({
        turns: 1,
        wall_ms: turn.wall_ms,
        output_bytes: turn.output_bytes,
        ...optional(turn),
      }))
    }),
  )
}

const OPTIONAL = ['tokens_in', 'tokens_out', 'tokens_cached', 'usd'] as const
type Told = Partial<Record<(typeof OPTIONAL)[number], number>>

function optional(turn: Told): Told {
  return Object.fromEntries(OPTIONAL.flatMap(key => (turn[key] === undefined ? [] : [[key, turn[key]]])))
}

/** What nobody told stays unknown; it is not nothing. */
export function total(usages: readonly UsageView[]): UsageView {
  const sum = (key: keyof UsageView) => usages.reduce((all, each) => all + (each[key] ?? 0), 0)
  const told = OPTIONAL.filter(key => usages.some(each => each[key] !== undefined))
  return {
    turns: sum('turns'),
    wall_ms: sum('wall_ms'),
    output_bytes: sum('output_bytes'),
    ...Object.fromEntries(told.map(key => [key, sum(key)])),
  }
}
