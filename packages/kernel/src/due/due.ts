// What time brings (W-CLOCK-05): timeouts, budgets, grace, silence, gates, escalations. One alarm for each run rings at
// the earliest; `due` deals with one at a time.
import {
  formatTimestamp,
  type GateId,
  ok,
  type Result,
  type SignalId,
  type Ticks,
  type WorkspaceId,
} from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { EventBody } from '@parley/trail/events'
import type { Batch } from '../batch.ts'
import { livenessAt, timeoutAt } from '../budget/clock.ts'
import { firstMarked, timeMarkAt, writeMark, writeTimeMark } from '../budget/enforce.ts'
import { CLOCK_OF, type TimeDimension } from '../budget/meter.ts'
import { escalationDeadline, firstEscalationDeadline, writeEscalationDue } from '../highway/escalation.ts'
import { gateDeadline } from '../highway/gate.ts'
import { writeGateDue } from '../highway/resolve.ts'
import { writeConflictTimeout } from '../integration/conflict.ts'
import { approvedDue, writeApproved } from '../integration/gated.ts'
import type { Run } from '../run/run.ts'
import { byProtocol, writeFailure } from '../workspace/failure.ts'
import { graceAt, writeGraceOver } from '../workspace/terminate.ts'
import { ended, type Workspace } from '../workspace/workspace.ts'

const TIME_DIMENSIONS = Object.keys(CLOCK_OF) as readonly TimeDimension[]

interface Waiting {
  readonly kind: keyof typeof RANK
  readonly at: Ticks
  readonly act: (batch: Batch) => void
}

interface DueOptions {
  /** While a run recovers, the outage is not on record yet: compute time stands still until it is (W-REC-20). */
  readonly recovering?: boolean
}

export function nextDue(run: Run, options: DueOptions = {}): Ticks | undefined {
  return first(run, options)?.at
}

/** How many timers a run has (W-REC-22 `timers_reconstructed`). */
export function countTimers(run: Run): number {
  let count = 0
  for (const { kind } of waiting(run, {})) if (kind !== 'mark' && kind !== 'integration') count++
  return count
}

export function decideDue(batch: Batch, options: DueOptions = {}): Result<boolean> {
  const next = first(batch.run, options)
  if (!next || next.at > batch.context.now) return ok(false)
  next.act(batch)
  return ok(batch.entries.length > 0)
}

function writeTimeout(batch: Batch, workspace: Workspace): void {
  // W-INT-14: the integrator's time is over, not the agent's.
  if (workspace.status === 'conflicted') writeConflictTimeout(batch, workspace)
  else writeFailure(batch, workspace, byProtocol('timeout'))
}

/** W-BUDGET-08: advisory. */
function writeLiveness(batch: Batch, workspace: Workspace): void {
  batch.add('liveness_warning', workspace, 'protocol', {
    workspace_id: workspace.id,
    interval: workspace.livenessInterval!,
    last_activity_timestamp: formatTimestamp(workspace.lastActivity),
  })
}

// The order at the same instant. W-BUDGET-09: a timeout leaves no silence to warn of. W-TERM-05: a timeout and a budget
// act regardless of a grace, and so before it.
const RANK = {
  mark: 0,
  timeout: 1,
  time: 2,
  grace: 3,
  gate: 4,
  escalation: 5,
  liveness: 6,
  integration: 7,
} as const

function first(run: Run, options: DueOptions): Waiting | undefined {
  let earliest: Waiting | undefined
  for (const each of waiting(run, options)) {
    const before = earliest ? each.at - earliest.at || RANK[each.kind] - RANK[earliest.kind] : -1
    if (before < 0) earliest = each
  }
  return earliest
}

function* waiting(run: Run, { recovering = false }: DueOptions): Generator<Waiting> {
  const marked = firstMarked(run)
  // What was measured is a fact already: it comes before whatever only time brings.
  if (marked) yield { kind: 'mark', at: 0 as Ticks, act: batch => writeMark(batch, marked) }
  for (const workspace of run.workspaces.values()) {
    if (ended(workspace)) continue
    const timeout = timeoutAt(workspace)
    if (timeout !== undefined) yield { kind: 'timeout', at: timeout, act: batch => writeTimeout(batch, workspace) }
    for (const dimension of recovering ? (['wall_time_limit'] as const) : TIME_DIMENSIONS) {
      const at = timeMarkAt(run, workspace, dimension)
      if (at !== undefined) yield { kind: 'time', at, act: batch => writeTimeMark(batch, workspace, dimension) }
    }
    const grace = graceAt(workspace)
    if (grace !== undefined) yield { kind: 'grace', at: grace, act: batch => writeGraceOver(batch, workspace) }
    const liveness = livenessAt(workspace)
    if (liveness !== undefined) yield { kind: 'liveness', at: liveness, act: batch => writeLiveness(batch, workspace) }
  }
  for (const gate of run.gates.values()) {
    const at = gateDeadline(gate)
    if (at !== undefined) yield { kind: 'gate', at, act: batch => writeGateDue(batch, gate) }
  }
  for (const escalation of run.escalations.values()) {
    const at = escalationDeadline(run, escalation)
    if (at !== undefined) yield { kind: 'escalation', at, act: batch => writeEscalationDue(batch, escalation) }
  }
  const approved = approvedDue(run)
  if (approved !== undefined) yield { kind: 'integration', at: approved, act: writeApproved }
}

/** The earliest moment that a folded entry brought. What it only put off, the alarm finds out by itself. */
export function dueAfter(run: Run, entry: EntryDraft): Ticks | undefined {
  switch (entry.event_type) {
    case 'workspace_created':
    case 'workspace_state_changed':
    case 'budget_modified': {
      const workspace = run.workspaces.get(entry.workspace as WorkspaceId)
      return earlier(workspace && dueFor(run, workspace), approvedDue(run))
    }
    // W-TERM-02: what asks an agent to wind down starts its grace.
    case 'envelope_delivered': {
      const receiver = run.workspaces.get(entry.workspace as WorkspaceId)
      return receiver && graceAt(receiver)
    }
    case 'integration_completed':
    case 'integration_aborted':
    case 'workspace_reparented':
      return approvedDue(run)
    case 'gate_triggered':
    case 'gate_timeout': {
      const gate = run.gates.get((entry.body as EventBody<'gate_triggered'>).gate_id as GateId)
      return gate && gateDeadline(gate)
    }
    case 'escalation_received': {
      const signal = (entry.body as EventBody<'escalation_received'>).signal_id as SignalId
      const escalation = run.escalations.get(signal)
      return escalation && escalationDeadline(run, escalation)
    }
    // The answer to an escalation may be lost with it: its time goes on.
    case 'envelope_undeliverable':
    case 'envelope_rejected':
      return firstEscalationDeadline(run)
    default:
      return undefined
  }
}

function dueFor(run: Run, workspace: Workspace): Ticks | undefined {
  let at = earlier(earlier(timeoutAt(workspace), graceAt(workspace)), livenessAt(workspace))
  // A delegate's time runs with everybody below it.
  for (let each: Workspace | null = workspace; each !== null; each = each.parent)
    if (each.budget !== undefined)
      for (const dimension of TIME_DIMENSIONS) at = earlier(at, timeMarkAt(run, each, dimension))
  return at
}

export function earlier(one: Ticks | undefined, other: Ticks | undefined): Ticks | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one <= other ? one : other
}
