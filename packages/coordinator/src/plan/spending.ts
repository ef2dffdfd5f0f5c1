// What tasks and runs have used, and what is left for the next workspace: a task's budget holds for all attempts,
// checks, reviews and merges together, the run's for everything (W-BUDGET-02).
import { durationText, sizeText } from '@parley/core'
import { BUDGET_DIMENSIONS, type BudgetDimension } from '@parley/trail/events'
import type { ProjectedTask, ProjectedWorkspace, TurnRecord } from '../projection/projected.ts'
import type { RunProjection } from '../projection/run-projection.ts'
import type { Limits } from '../team/budget-fields.ts'
import type { PlannedTask } from '../team/team.ts'

/** What adds up over workspaces; the others hold for each by itself. */
type Summed = 'token_limit' | 'cost_limit' | 'compute_timeout'

export type Used = { readonly [Name in Summed]: number }

/** The turn that is at work now, as far as it has come. */
export type LiveTurn = (workspace: ProjectedWorkspace) => TurnRecord | undefined

export function turnsOf(workspace: ProjectedWorkspace, live: LiveTurn): TurnRecord[] {
  const kept = workspace.checkpoints.flatMap(({ turn }) => (turn && turn.outcome !== 'kept' ? [turn] : []))
  const running = workspace.ended === undefined ? live(workspace) : undefined
  if (running) return [...kept, running]
  const unrecorded = cutOffByTime(workspace, kept)
  return unrecorded ? [...kept, unrecorded] : kept
}

/** A limit of working time ends its workspace in the middle of a turn, which nobody can record any more. */
function cutOffByTime({ exceeded, ended }: ProjectedWorkspace, kept: readonly TurnRecord[]): TurnRecord | undefined {
  if (ended === undefined || exceeded?.dimension !== 'compute_timeout') return undefined
  const wall_ms = Math.round(exceeded.consumed - kept.reduce((sum, turn) => sum + turn.wall_ms, 0))
  if (wall_ms <= 0) return undefined
  const epoch = (kept.at(-1)?.epoch ?? 0) + 1
  return { epoch, outcome: 'failed', wall_ms, output_bytes: 0, error: 'budget_exceeded' }
}

export function usedBy(workspaces: Iterable<ProjectedWorkspace>, live: LiveTurn = () => undefined): Used {
  let [tokens, cost, time] = [0, 0, 0]
  for (const workspace of workspaces) {
    const turns = turnsOf(workspace, live)
    const sum = (of: (turn: (typeof turns)[number]) => number) => turns.reduce((all, turn) => all + of(turn), 0)
    // A turn that was ended has no checkpoint, but what it used was measured.
    const told = sum(turn => (turn.tokens_in ?? 0) + (turn.tokens_out ?? 0))
    tokens += Math.max(told, workspace.metered?.tokens ?? 0)
    const spent = sum(turn => turn.usd ?? 0)
    cost += Math.max(spent, workspace.metered?.cost ?? 0)
    time += sum(turn => turn.wall_ms)
  }
  return { token_limit: tokens, cost_limit: cost, compute_timeout: time }
}

/** Every workspace that works on a task, judges or merges work on it, or on a part of it. */
export function* workspacesOf(projection: RunProjection, task: ProjectedTask): Generator<ProjectedWorkspace> {
  for (const id of task.attempts) {
    const attempt = projection.workspaces.get(id)
    if (!attempt) continue
    yield attempt
    yield* projection.about(id)
  }
  for (const part of projection.tasks.values()) if (part.parent === task.id) yield* workspacesOf(projection, part)
}

function limitsFor(projection: RunProjection, own: Limits, task?: string): Limits {
  const limits: Record<string, number> = { ...own }
  for (const each of projection.controls)
    if (each.kind === 'budget' && each.task === task && (limits[each.dimension] ?? Infinity) < each.limit)
      limits[each.dimension] = each.limit
  return limits
}

export function taskLimits(projection: RunProjection, task: PlannedTask): Limits {
  return limitsFor(projection, task.budget, task.id)
}

export function runLimits(projection: RunProjection): Limits {
  return limitsFor(projection, projection.facts?.team.limits.budget ?? {})
}

export function left(limits: Limits, used: Used): Limits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => {
      const rest = name in used ? limit - used[name as Summed] : limit
      return [name, name === 'compute_timeout' ? Math.floor(rest) : rest]
    }),
  )
}

export function spent(rest: Limits): BudgetDimension | undefined {
  const found = Object.entries(rest).find(([, amount]) => amount <= 0)
  return found?.[0] as BudgetDimension | undefined
}

interface Allowance {
  readonly limits: Limits
  readonly spent?: { readonly dimension: BudgetDimension; readonly of: 'task' | 'run' }
}

/** What the next workspace for a task may use: the smaller of what the task and the run have left. */
export function allowance(
  projection: RunProjection,
  planned: PlannedTask,
  task: ProjectedTask | undefined,
  live?: LiveTurn,
): Allowance {
  const ofRun = left(runLimits(projection), usedBy(projection.workspaces.values(), live))
  const ofTask = left(taskLimits(projection, planned), task ? usedBy(workspacesOf(projection, task), live) : NOTHING)
  const limits: Record<string, number> = { ...ofTask }
  for (const [name, amount] of Object.entries(ofRun)) limits[name] = Math.min(amount, limits[name] ?? amount)
  const [run, own] = [spent(ofRun), spent(ofTask)]
  if (run) return { limits, spent: { dimension: run, of: 'run' } }
  return own ? { limits, spent: { dimension: own, of: 'task' } } : { limits }
}

const NOTHING: Used = { token_limit: 0, cost_limit: 0, compute_timeout: 0 }

const WORDS: { readonly [Name in BudgetDimension]: string } = {
  token_limit: 'tokens',
  cost_limit: 'cost',
  compute_timeout: 'working time',
  wall_time_limit: 'wall time',
  context_limit: 'context',
  checkpoint_limit: 'checkpoints',
  trail_limit: 'trail',
  bandwidth_limit: 'mail',
}

/** `Its budget is used up: $2.47 of $2.00.` */
export function overBudgetText({ dimension, consumed, limit }: NonNullable<ProjectedWorkspace['exceeded']>): string {
  const amount = AMOUNTS[dimension]
  const unit = dimension === 'cost_limit' ? '' : dimension === 'token_limit' ? ' tokens' : ` of ${WORDS[dimension]}`
  return `Its budget is used up: ${amount(consumed)} of ${amount(limit)}${unit}.`
}

const AMOUNTS: { readonly [Name in BudgetDimension]: (amount: number) => string } = {
  token_limit: amount => amount.toLocaleString('en'),
  cost_limit: amount => `$${amount.toFixed(2)}`,
  compute_timeout: durationText,
  wall_time_limit: durationText,
  context_limit: amount => amount.toLocaleString('en'),
  checkpoint_limit: sizeText,
  trail_limit: sizeText,
  bandwidth_limit: sizeText,
}

/** `working time 30 min, cost $5.00`. */
export function limitsText(limits: Limits): string {
  return BUDGET_DIMENSIONS.flatMap(dimension => {
    const limit = limits[dimension]
    return limit === undefined ? [] : [`${WORDS[dimension]} ${AMOUNTS[dimension](limit)}`]
  }).join(', ')
}

export function spentText({ dimension, of }: NonNullable<Allowance['spent']>): string {
  const whose = of === 'run' ? 'of the run' : 'of this task'
  return `The budget ${whose} is used up: ${WORDS[dimension]}.`
}
