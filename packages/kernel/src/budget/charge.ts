// How use adds up in the fold (W-BUDGET-03, -07): on the workspace itself and on every delegate above it. Whoever
// crosses a mark of its budget by it is marked, for `due` to deal with.
import { type Ticks, ticksPerMillisecond } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { BudgetDimension, EventBody, EventType } from '@parley/trail/events'
import type { CheckpointRecord } from '../checkpoint/checkpoint.ts'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { type Folds, knownWorkspace, type Run, ticksOf, workspaceOf } from '../run/run.ts'
import type { WaitingSignal } from '../signal/signal.ts'
import { ended, isRoot, subtree, type Workspace } from '../workspace/workspace.ts'
import { excludeOutage } from './clock.ts'
import { AMOUNT_OF, type Amounts, charged, limitOf, limitsOf, limitsTime, meterOf, withLimit } from './meter.ts'

export interface UsageRecord {
  readonly workspace: string
  readonly tokens?: number
  readonly cost?: number
  readonly context?: number
}

/** What the fold counts for a workspace beyond what its host reports, as bits of `workspace.counts`. */
export const COUNTS = { checkpointBytes: 1, trailBytes: 2, bandwidth: 4, silence: 8 } as const

export function countsFor(workspace: Workspace): number {
  const { budget, livenessInterval, parent } = workspace
  return (
    (limitOf(budget, 'checkpoint_limit') === undefined ? 0 : COUNTS.checkpointBytes) |
    (limitOf(budget, 'trail_limit') === undefined ? 0 : COUNTS.trailBytes) |
    (limitOf(budget, 'bandwidth_limit') === undefined ? 0 : COUNTS.bandwidth) |
    (livenessInterval === null ? 0 : COUNTS.silence) |
    ((parent?.counts ?? 0) & ~COUNTS.silence)
  )
}

export function applyUsage(run: Run, usage: UsageRecord): void {
  const workspace = workspaceOf(run, usage.workspace)
  // From the first report on it is the runtime's own measure that counts, in a run of an older version too.
  run.metered = true
  if (!workspace) return
  if (usage.tokens) {
    charge(run, workspace, 'tokens', usage.tokens)
    run.measures.tokens = true
  }
  if (usage.cost) {
    charge(run, workspace, 'cost', usage.cost)
    run.measures.cost = true
  }
  if (usage.context !== undefined) charge(run, workspace, 'context', usage.context - meterOf(workspace).context)
}

export function charge(run: Run, workspace: Workspace, what: keyof Amounts, amount: number): void {
  meterOf(workspace)[what] += amount
  refreshMark(run, workspace)
  chargeAbove(run, workspace.parent, what, amount)
}

/** The root pays for nobody: it has no budget (W-LIFE-12). */
function chargeAbove(run: Run, parent: Workspace | null, what: keyof Amounts, amount: number): void {
  for (let each = parent; each !== null && !isRoot(each); each = each.parent) {
    meterOf(each).below[what] += amount
    refreshMark(run, each)
  }
}

export function closeMeter(run: Run, workspace: Workspace): void {
  run.marked.delete(workspace)
  const context = workspace.meter?.context ?? 0
  if (context > 0) chargeAbove(run, workspace.parent, 'context', -context)
}

export function moveCharge(run: Run, workspace: Workspace, from: Workspace | undefined): void {
  const { meter } = workspace
  if (meter) {
    for (const what of Object.values(AMOUNT_OF)) {
      const own = what === 'context' && ended(workspace) ? 0 : meter[what]
      const amount = own + meter.below[what]
      if (amount === 0) continue
      chargeAbove(run, from ?? null, what, -amount)
      chargeAbove(run, workspace.parent, what, amount)
    }
  }
  for (const each of subtree(workspace)) {
    each.counts |= countsFor(each)
    if (each.counts !== 0) run.counting = true
  }
}

export interface BudgetMark {
  readonly type: 'warning' | 'exceeded'
  readonly dimension: BudgetDimension
  readonly consumed: number
  readonly limit: number
}

/** The first mark that what was measured crossed and that is not on record yet; warnings first (W-BUDGET-04). */
export function crossedMark(run: Run, workspace: Workspace): BudgetMark | undefined {
  for (const [dimension, limit] of limitsOf(workspace.budget)) {
    if (limitsTime(dimension)) continue
    const mark = markAt(run, workspace, dimension, limit, charged(workspace, dimension, 0 as Ticks))
    if (mark) return mark
  }
  return undefined
}

export function markAt(
  run: Run,
  workspace: Workspace,
  dimension: BudgetDimension,
  limit: number,
  consumed: number,
): BudgetMark | undefined {
  const warned = workspace.meter?.warned.get(dimension) === limit
  if (!warned && consumed * 100 >= run.budgetWarning * limit) return { type: 'warning', dimension, consumed, limit }
  return consumed >= limit ? { type: 'exceeded', dimension, consumed, limit } : undefined
}

export function refreshMark(run: Run, workspace: Workspace): void {
  if (workspace.budget === undefined) return
  if (!ended(workspace) && crossedMark(run, workspace)) run.marked.add(workspace)
  else run.marked.delete(workspace)
}

// What the fold counts itself

/** Budget and liveness entries are not charged (W-BUDGET-03). */
const FREE: ReadonlySet<EventType> = new Set<EventType>([
  'budget_warning',
  'budget_exceeded',
  'budget_modified',
  'liveness_warning',
])

export function countEntry(run: Run, entry: EntryDraft): void {
  const workspace = entry.workspace === null ? undefined : run.workspaces.get(entry.workspace)
  if (!workspace || workspace.counts === 0) return
  if (workspace.counts & COUNTS.silence) {
    workspace.lastEntry = ticksOf(entry)
    if (entry.event_type !== 'liveness_warning') workspace.lastActivity = workspace.lastEntry
  }
  if (workspace.counts & COUNTS.trailBytes && !FREE.has(entry.event_type)) {
    const { id, timestamp, actor, event_type, body } = entry
    const text = JSON.stringify({ id, timestamp, workspace: workspace.id, actor, event_type, body })
    charge(run, workspace, 'trailBytes', byteLength(text))
  }
}

export function countCheckpoint(
  run: Run,
  workspace: Workspace,
  record: CheckpointRecord,
  body: EventBody<'checkpoint_created'>,
): void {
  if (workspace.counts & COUNTS.checkpointBytes)
    charge(run, workspace, 'checkpointBytes', byteLength(JSON.stringify(record)))
  // W-REC-15: a run that was never metered has nothing better than what its agents said.
  if (run.metered || !body.resource_usage) return
  charge(run, workspace, 'tokens', body.resource_usage.tokens_consumed)
  charge(run, workspace, 'cost', body.resource_usage.cost)
}

/** W-REC-15: in such a run the runtime's figure takes the place of a report that it contradicted. */
export function countDiscrepancy(
  run: Run,
  workspace: Workspace,
  { field, agent_value, runtime_value }: EventBody<'resource_discrepancy'>,
): void {
  if (run.metered || field === 'wall_time') return
  charge(run, workspace, field === 'cost' ? 'cost' : 'tokens', runtime_value - agent_value)
}

/** The sender pays. Mail from people comes from the root, which has no budget: it is free. */
export function countDelivered(run: Run, sender: Workspace, record: EnvelopeRecord | undefined): void {
  if (!record || !(sender.counts & COUNTS.bandwidth)) return
  charge(run, sender, 'bandwidth', byteLength(JSON.stringify(record)))
}

export function countSignal(run: Run, from: Workspace, signal: WaitingSignal): void {
  if (!(from.counts & COUNTS.bandwidth)) return
  const { id, type, reason, ref } = signal
  charge(run, from, 'bandwidth', byteLength(JSON.stringify({ id, from: from.id, type, reason, ref })))
}

function byteLength(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // A pair of surrogates takes four bytes, two for each half.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2
  }
  return bytes
}

export const budgetFolds: Folds = {
  budget_warning(run, body) {
    atLeast(run, body)
    const workspace = knownWorkspace(run, body.workspace_id)
    meterOf(workspace).warned.set(body.budget_dimension, body.limit)
    refreshMark(run, workspace)
  },

  budget_exceeded: (run, body) => atLeast(run, body),

  budget_modified(run, body) {
    const workspace = knownWorkspace(run, body.workspace_id)
    workspace.budget = withLimit(workspace.budget, body.budget_dimension, body.new_limit)
    refreshMark(run, workspace)
  },

  recovery_completed(run, body, entry) {
    if (body.content_proof !== undefined) run.contentProven = true
    const to = ticksOf(entry)
    const from = (to - body.downtime * ticksPerMillisecond) as Ticks
    for (const workspace of run.workspaces.values()) excludeOutage(workspace, from, to)
  },
}

/** W-REC-15, -25: what an entry says was consumed is the least that it can have been, whatever else is on record. */
function atLeast(run: Run, body: EventBody<'budget_warning' | 'budget_exceeded'>): void {
  const { budget_dimension: dimension, consumed } = body
  if (limitsTime(dimension)) return
  const workspace = knownWorkspace(run, body.workspace_id)
  const missing = consumed - charged(workspace, dimension, 0 as Ticks)
  if (missing > 0) charge(run, workspace, AMOUNT_OF[dimension], missing)
}
