// A run's projection as its view.
import { commandText } from '@parley/agents'
import { durationMs, machineFaultText, parseTimestamp, type RunId, type WorkspaceId } from '@parley/core'
import { given } from '../given.ts'
import { coordinatorLimits } from '../limits.ts'
import { judgedBy } from '../merge/evaluation.ts'
import { whyFinal } from '../plan/finality.ts'
import { turnsOf } from '../plan/spending.ts'
import { alternatives, lastTried } from '../plan/stand-in.ts'
import { isWantedAgain } from '../plan/task-agent.ts'
import { after } from '../projection/highway.ts'
import type { FolderAction, ProjectedTask, ProjectedWorkspace, TurnRecord } from '../projection/projected.ts'
import { type RunProjection, waitsForPerson } from '../projection/run-projection.ts'
import { gaveUp, wasAbandoned } from '../run/abandon.ts'
import { doerOf, type PlannedTask } from '../team/team.ts'
import { nameOf } from '../turn/identities.ts'
import { sentence } from './failure-text.ts'
import { furnishingViews } from './furnishing-view.ts'
import { type Asks, gateViews } from './gate-view.ts'
import { salvageOfTask } from './salvage-view.ts'
import { noteOf } from './task-note.ts'
import type {
  PersonSaid,
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
  turn(workspace: WorkspaceId): TurnRecord | undefined
  asks: Asks
  result(): RunView['result']
}

const nothingLive: Live = {
  activity: () => undefined,
  turn: () => undefined,
  asks: () => undefined,
  result: () => undefined,
}

export function runView(run: RunId, projection: RunProjection, live: Live = nothingLive): RunView {
  const { facts, root } = projection
  const tasks = withParents(facts?.plan ?? []).map(([planned, parent]) => taskView(planned, parent, projection, live))
  const state = runState(projection, tasks)
  const reason = reasonOf(state, tasks, projection)
  const gates = gateViews(run, projection, live.asks)
  return {
    run,
    intent: facts?.intent ?? '',
    team: facts?.team.name ?? '',
    project: facts?.project?.path ?? '',
    principal: facts?.principal ?? '',
    state,
    started: root?.created ?? '',
    ...given({ ended: root?.ended }),
    tasks_done: tasks.filter(task => task.state === 'done').length,
    tasks_total: tasks.length,
    usage: total(tasks.map(task => task.usage)),
    tasks,
    ...given({ folders: facts && furnishingViews(facts) }),
    ...given({ asks_before: facts?.gates && [...facts.gates] }),
    gates,
    ...given({ reason, waits: waitsOf(gates, projection), times: timesOf(projection), result: live.result() }),
    warnings: warningsOf(projection),
    cursor: projection.cursor,
  }
}

export function summary({
  tasks: _,
  folders: _0,
  gates: _1,
  asks_before: _6,
  reason: _2,
  result: _3,
  warnings: _4,
  cursor: _5,
  ...rest
}: RunView) {
  return rest satisfies RunSummaryView
}

function timesOf({ times: { spent, doing, since } }: RunProjection): RunView['times'] {
  return since === undefined ? undefined : { ...spent, doing, since }
}

function waitsOf([oldest, ...others]: RunView['gates'], projection: RunProjection): RunView['waits'] {
  return oldest && { things: others.length + 1, question: oldest.question, alone: waitsForPerson(projection) }
}

/** With those of plans inside it, each with the task that it is part of. */
function withParents(plan: readonly PlannedTask[], parent?: string): [PlannedTask, string | undefined][] {
  return plan.flatMap(task => [[task, parent], ...withParents(task.plan ?? [], task.id)])
}

function runState(projection: RunProjection, tasks: readonly PlanTaskView[]): RunState {
  const top = tasks.filter(task => task.parent === undefined)
  if (projection.root?.state === 'closed') {
    if (top.every(task => isMet(projection, task, top))) return 'done'
    if (projection.controls.some(each => each.kind === 'abort' && each.task === undefined)) return 'aborted'
    return top.every(task => isRejected(projection, task)) ? 'rejected' : 'failed'
  }
  if (gaveUp(projection) && projection.facts?.ends) return 'failed'
  const begun = [...projection.tasks.values()].some(task => task.status !== 'draft' && task.status !== 'cancelled')
  if (projection.root?.state === 'failed')
    return begun || projection.facts?.approval === 'given' || wasLate(projection) || wasAbandoned(projection)
      ? 'aborted'
      : 'rejected'
  return begun || projection.facts?.approval === 'given' ? 'working' : 'waiting'
}

/** Whether it is done, or one that takes its place is. */
function isMet({ facts }: RunProjection, { id }: PlanTaskView, all: readonly PlanTaskView[]): boolean {
  const names = alternatives(facts?.plan ?? [], id)
  return all.some(task => task.state === 'done' && names.includes(task.id))
}

/** Whether a person did not want a task, or one that it needs. */
function isRejected(projection: RunProjection, { id }: PlanTaskView): boolean {
  const task = projection.task(id)
  return task?.status === 'cancelled' && task.attempts.length === 0
}

export function wasLate(projection: RunProjection): boolean {
  const { timeoutMs } = projection.facts?.team.limits ?? {}
  return timeoutMs !== undefined && tookAtLeast(projection, timeoutMs)
}

function ranOutOfTime(projection: RunProjection): boolean {
  const { timeoutMs, graceMs } = projection.facts?.team.limits ?? {}
  return timeoutMs !== undefined && graceMs !== undefined && tookAtLeast(projection, timeoutMs - graceMs)
}

function tookAtLeast({ root }: RunProjection, milliseconds: number): boolean {
  if (root?.ended === undefined) return false
  return durationMs(parseTimestamp(root.created)!, parseTimestamp(root.ended)!) >= milliseconds
}

function reasonOf(state: RunState, tasks: readonly PlanTaskView[], projection: RunProjection): string | undefined {
  const abort = projection.controls.findLast(each => each.kind === 'abort' && each.task === undefined)
  if (state === 'rejected' && abort?.kind !== 'abort')
    return sentence(`The plan was not approved${rejectedBy(projection)}`)
  if (abort?.kind === 'abort' && (state === 'aborted' || state === 'rejected'))
    return `${abort.by} ended it: ${abort.reason}`
  if (wasAbandoned(projection)) return projection.root?.reason
  if (state === 'aborted') return wasLate(projection) ? 'It took longer than its limit.' : 'Somebody ended it.'
  if (state !== 'failed') return undefined
  const { ends } = projection.facts ?? {}
  if (ends?.outcome === 'failed') return ends.message
  const failed = tasks.find(task => task.state === 'failed')
  if (!failed && ranOutOfTime(projection))
    return 'The time of the run was nearly over, and not everything had been begun.'
  const first = failed ?? tasks.find(task => task.state === 'cancelled')
  const last = first && lastTried(tasks, first)
  return last && `${last.title}: ${last.note ?? 'failed'}`
}

function rejectedBy(projection: RunProjection): string {
  for (const task of projection.tasks.values()) {
    const end = projection.highway.ended('task_approval', task.id)
    if (end?.action === 'reject') return ` by ${end.actor}${end.reason === undefined ? '' : `: ${end.reason}`}`
  }
  return ''
}

function warningsOf(projection: RunProjection): string[] {
  const { facts } = projection
  if (!facts) return []
  const { dirty = 0, dirty_files: names = [] } = facts.project ?? {}
  const changes =
    dirty === 1 ? 'One uncommitted change of the project is' : `${dirty} uncommitted changes of the project are`
  const more = dirty > names.length ? ` and ${dirty - names.length} more` : ''
  const which = names.length === 0 ? '' : `: ${names.join(', ')}${more}`
  const uncommitted = dirty > 0 ? [`${changes} not part of this run${which}.`] : []
  const team = facts.team.warnings.map(({ message }) => message)
  const uncarried = (facts.uncarried ?? []).map(
    glob => `${glob} names no ignored file of the project: nothing is carried.`,
  )
  return [...team, ...uncarried, ...uncommitted, ...[...projection.workspaces.values()].flatMap(diskWarning)]
}

function diskWarning({ facts, checkpoints }: ProjectedWorkspace): string[] {
  const code = checkpoints.findLast(({ turn }) => turn?.machine !== undefined)?.turn?.machine
  if (!facts || code === undefined) return []
  const fault = machineFaultText({ code })
  return [
    `${facts.task}: ${nameOf(facts.agent)} ended a turn without an error, but not on a sound disk: ${fault}. Look at what it wrote; something may be missing.`,
  ]
}

function taskView(
  planned: PlannedTask,
  parent: string | undefined,
  projection: RunProjection,
  live: Live,
): PlanTaskView {
  const task = projection.task(planned.id)
  const attempts = (task?.attempts ?? []).map(id => projection.workspaces.get(id)!).filter(each => each !== undefined)
  const newest = attempts.at(-1)
  const work = newest?.checkpoints.findLast(each => each.final)
  const all = attempts.flatMap(each => [each, ...projection.about(each.id)])
  const merger = newest && projection.about(newest.id).findLast(({ facts }) => facts?.kind === 'merge')
  const made = merger?.checkpoints.findLast(each => each.final) ?? work
  const outsideLinks = made?.outsideLinks ?? []
  const state = task ? taskState(task, planned, newest, projection) : projection.over ? 'cancelled' : 'waiting'
  const busy = newest && [...projection.about(newest.id).toReversed(), newest].find(each => each.ended === undefined)
  const activity = busy && state !== 'done' ? doingOf(busy, planned, live.activity(busy.id)) : undefined
  const note = noteOf(state, task, planned, newest, projection)
  const salvage = task && salvageOfTask(projection, task, planned)
  const moved = newest?.facts?.kind === 'work' && newest.facts.agent
  return {
    id: planned.id,
    ...given({ parent }),
    title: task?.changed.title ?? planned.title,
    agent: moved ? nameOf(moved) : doerOf(planned),
    state,
    needs: [...planned.needs],
    attempt: attempts.length,
    attempts: planned.attempts,
    ...given({
      workspace: newest?.id as string | undefined,
      started: attempts[0]?.created as string | undefined,
      ended: isSettled(state) ? (newest?.ended as string | undefined) : undefined,
      activity,
      note,
      terminating: newest?.termination && terminatingView(newest.termination),
      salvage,
    }),
    files: (work?.files ?? []).slice(0, coordinatorLimits.shownFiles),
    refused: refusedBy(all, 'write'),
    ...named('refused_links', refusedBy(all, 'link_outside')),
    ...named('dropped', refusedBy(all, 'special_file')),
    ...given({ symlinks: planned.symlinks, approve: planned.approve, stands_in_for: planned.standsInFor }),
    ...named('outside_links', outsideLinks),
    steps: all.map(each => stepView(each, attempts, planned, projection, live)),
    usage: usageOf(all, live),
  }
}

/** Who judges or joins the work, and what was said last; an author is named beside the task. */
function doingOf({ facts, state }: ProjectedWorkspace, { check = [] }: PlannedTask, said: string | undefined) {
  if (facts === undefined || facts.kind === 'work' || facts.kind === 'team' || state !== 'active') return said
  const who = facts.kind === 'check' ? commandText(check) : nameOf(facts.agent)
  return [`${facts.kind === 'check' ? 'check:' : `${facts.kind} by`} ${who}`, said].filter(Boolean).join(' · ')
}

function refusedBy(workspaces: readonly ProjectedWorkspace[], action: FolderAction): string[] {
  return [...new Set(workspaces.flatMap(({ refused }) => refused[action]))]
}

function named<K extends string>(key: K, names: readonly string[]): { [Key in K]?: string[] } {
  return (names.length === 0 ? {} : { [key]: [...names] }) as { [Key in K]?: string[] }
}

/** Time in which it is paused does not count; while it is, the end moves on. */
function terminatingView({ since, period, paused, reason }: NonNullable<ProjectedWorkspace['termination']>) {
  return { until: after(since, period + paused), reason }
}

function stepView(
  each: ProjectedWorkspace,
  attempts: readonly ProjectedWorkspace[],
  { check }: PlannedTask,
  projection: RunProjection,
  live: Live,
): StepView {
  const { facts } = each
  const work = facts && 'of' in facts ? facts.of : each.id
  const text = each.checkpoints.findLast(({ turn }) => turn?.outcome !== 'kept')?.text ?? each.reason
  const people = peopleOn(each, projection)
  const sessions = each.checkpoints.flatMap(({ turn }) =>
    turn?.session ? [{ turn: turn.epoch, id: turn.session.id, resumed: turn.session.resumed }] : [],
  )
  return {
    kind: facts?.kind ?? 'work',
    agent: facts?.agent ?? '',
    ...(facts?.kind === 'check' && check && { command: commandText(check) }),
    attempt: attempts.findIndex(({ id }) => id === work) + 1,
    workspace: each.id,
    outcome: isWantedAgain(projection, each) ? 'revise' : stepOutcome(each),
    started: each.created,
    ...(each.ended !== undefined && { ended: each.ended }),
    ...(text !== undefined && text !== '' && { text }),
    ...(people.length > 0 && { people }),
    ...(each.setup && { setup: { ...each.setup, command: [...each.setup.command] } }),
    ...(each.migrations.length > 0 && { moves: each.migrations.map(move => ({ ...move })) }),
    ...(sessions.length > 0 && { sessions }),
    usage: usageOf([each], live),
  }
}

function peopleOn(each: ProjectedWorkspace, projection: RunProjection): PersonSaid[] {
  const { highway } = projection
  const replies = highway.replies(each.id).map((reply): PersonSaid => ({ ...reply, did: 'replied' }))
  const end = highway.ended('integration', each.id)
  if (end?.action !== 'reject' || each.trigger !== 'gate_rejected_by_human') return replies
  const did = isWantedAgain(projection, each) ? 'sent_back' : 'rejected'
  return [...replies, { by: end.actor, did, ...given({ text: end.reason }) }]
}

const VERDICT_OUTCOMES = { accept: 'accepted', revise: 'revise', reject: 'rejected' } as const

function stepOutcome({ state, ended, trigger, checkpoints }: ProjectedWorkspace): StepOutcome {
  const verdict = checkpoints.findLast(each => each.final)?.verdict
  if (verdict !== undefined) return VERDICT_OUTCOMES[verdict]
  if (state === 'blocked') return 'blocked'
  if (state === 'closed' || state === 'integrating') return 'complete'
  if (ended === undefined) return 'working'
  if (trigger === 'revision_required') return 'revise'
  return trigger === 'rejected' ? 'rejected' : 'failed'
}

const isSettled = (state: TaskState) => state === 'done' || state === 'failed' || state === 'cancelled'

function taskState(
  task: ProjectedTask,
  planned: PlannedTask,
  newest: ProjectedWorkspace | undefined,
  projection: RunProjection,
): TaskState {
  switch (task.status) {
    case 'draft':
    case 'pending':
      if (projection.over) return 'cancelled'
      if (task.status === 'draft') return projection.highway.waits('task_approval', task.id) ? 'gated' : 'waiting'
      if (projection.highway.waits('workspace_create', task.id)) return 'gated'
      if (planned.standsInFor !== undefined && projection.task(planned.standsInFor)?.status !== 'failed')
        return 'waiting'
      return task.dependsOn.every(id => projection.tasks.get(id)?.status === 'integrated') ? 'ready' : 'waiting'
    case 'assigned':
    case 'in_progress':
      // Its agent has not got its message yet.
      if (newest?.state === 'idle' && projection.highway.waits('envelope_delivery', newest.id)) return 'gated'
      if (newest?.state === 'blocked' || newest?.state === 'suspended' || newest?.state === 'migrating')
        return newest.state
      return 'working'
    case 'completed':
      if (newest?.state === 'conflicted') return 'conflicted'
      if (newest && projection.highway.waits('integration', newest.id)) return 'gated'
      return judgedBy(planned).length > 0 &&
        projection.judges(newest?.id ?? ('' as WorkspaceId)).some(each => each.ended === undefined)
        ? 'reviewing'
        : 'integrating'
    case 'integrated':
      return 'done'
    case 'failed':
      return projection.over || whyFinal(projection, task, planned) !== undefined ? 'failed' : 'ready'
    case 'cancelled':
      return 'cancelled'
  }
}

function usageOf(workspaces: readonly ProjectedWorkspace[], live: Live): UsageView {
  return total(
    workspaces.flatMap(each => {
      const turns = each.facts?.kind === 'check' ? 0 : 1
      return turnsOf(each, ({ id }) => live.turn(id)).map(turn => ({ ...turn, turns }))
    }),
  )
}

const OPTIONAL = ['tokens_in', 'tokens_out', 'tokens_cached', 'usd'] as const

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
