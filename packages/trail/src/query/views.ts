// The standard views and the comparison of runs (W-TRAIL-22, 23). Views are queries and obey the same access rules.
import {
  assertNever,
  durationMs,
  err,
  ok,
  parseTimestamp,
  type Result,
  type RunId,
  type WorkspaceId,
} from '@parley/core'
import type { Entry } from '../entry.ts'
import { type EventBody, type EventType, RESERVED_ACTORS, type WorkspaceState } from '../events/index.ts'
import type { RunTrail } from '../run/run-trail.ts'
import { RUNTIME, type TrailReader } from './access.ts'
import { CausalOrder, LINKED_EVENTS } from './causality.ts'
import type { TrailFilter } from './query.ts'

const STATE_CATEGORIES = ['productive', 'suspended', 'resolution', 'terminal'] as const
type StateCategory = (typeof STATE_CATEGORIES)[number]

function stateCategory(state: WorkspaceState): StateCategory {
  switch (state) {
    case 'idle':
    case 'active':
      return 'productive'
    case 'blocked':
    case 'migrating':
    case 'suspended':
      return 'suspended'
    case 'integrating':
    case 'conflicted':
      return 'resolution'
    case 'closed':
    case 'failed':
      return 'terminal'
    default:
      return assertNever(state)
  }
}

/** Every view flags where a recovery lies: what stands before it was written by an earlier process. */
interface View {
  readonly recoveries: readonly number[]
}

interface RunOverview extends View {
  readonly workspaces: Readonly<Record<StateCategory, readonly { workspace: WorkspaceId; state: WorkspaceState }[]>>
  readonly tasks: { readonly done: number; readonly total: number }
}

interface MessageEdge {
  readonly kind: 'envelope' | 'signal'
  readonly id: string
  readonly from: string
  /** Null until it was delivered, for a signal. */
  readonly to: string | null
  readonly type: string
  readonly sent: number
  readonly delivered: number | null
}

interface TimelineView extends View {
  readonly entries: readonly Entry[]
}

/** A view across workspaces (W-CLOCK-06). */
interface AcrossWorkspaces extends View {
  /** For each entry, by `seq`, the shown ones right before it. Two without a path between them are concurrent. */
  readonly before: Readonly<Record<number, readonly number[]>>
}

export interface HighwayView extends TimelineView, AcrossWorkspaces {}

interface MessageFlow extends AcrossWorkspaces {
  readonly edges: readonly MessageEdge[]
}

export interface RunMetrics extends View {
  readonly run: RunId
  readonly total_cost: number
  readonly total_wall_time_ms: number
  readonly workspace_count: number
  readonly failure_count: number
  readonly retry_count: number
  readonly checkpoint_count: number
  readonly human_intervention_count: number
  readonly task_completion_ms: Readonly<Record<string, number>>
}

const DONE: ReadonlySet<string> = new Set(['completed', 'integrated'])

const LINKS: TrailFilter = { event_type: [...LINKED_EVENTS, 'recovery_completed'] }

async function runOverview(run: RunTrail, reader: TrailReader = RUNTIME): Promise<Result<RunOverview>> {
  const found = await gather(run, reader, {
    event_type: [
      'workspace_created',
      'workspace_state_changed',
      'task_created',
      'task_status_changed',
      'recovery_completed',
    ],
  })
  if (!found.ok) return found
  const states = new Map<WorkspaceId, WorkspaceState>()
  const tasks = new Map<string, boolean>()
  for (const entry of found.value) {
    if (is(entry, 'workspace_created')) states.set(entry.body.workspace_id as WorkspaceId, 'idle')
    else if (is(entry, 'workspace_state_changed'))
      states.set(entry.body.workspace_id as WorkspaceId, entry.body.to_state)
    else if (is(entry, 'task_created')) tasks.set(entry.body.task_id, false)
    else if (is(entry, 'task_status_changed')) tasks.set(entry.body.task_id, DONE.has(entry.body.to_status))
  }
  const workspaces: Record<StateCategory, { workspace: WorkspaceId; state: WorkspaceState }[]> = {
    productive: [],
    suspended: [],
    resolution: [],
    terminal: [],
  }
  for (const [workspace, state] of states) workspaces[stateCategory(state)].push({ workspace, state })
  const done = [...tasks.values()].filter(Boolean).length
  return ok({ workspaces, tasks: { done, total: tasks.size }, recoveries: recoveries(found.value) })
}

/** One local trail, unfiltered. Recoveries are system-level and lie between its entries by their `seq`. */
async function workspaceTimeline(
  run: RunTrail,
  workspace: WorkspaceId,
  reader: TrailReader = RUNTIME,
): Promise<Result<TimelineView>> {
  const entries = await gather(run, reader, { workspace })
  if (!entries.ok) return entries
  const marks = await gather(run, reader, { event_type: 'recovery_completed' })
  return marks.ok ? ok({ entries: entries.value, recoveries: recoveries(marks.value) }) : marks
}

async function messageFlow(run: RunTrail, reader: TrailReader = RUNTIME): Promise<Result<MessageFlow>> {
  const found = await gather(run, reader, LINKS)
  if (!found.ok) return found
  const edges = new Map<string, MessageEdge>()
  for (const entry of found.value) {
    if (is(entry, 'envelope_created')) {
      const { envelope_id: id, from, to, type } = entry.body
      edges.set(id, { kind: 'envelope', id, from, to, type, sent: entry.seq, delivered: null })
    } else if (is(entry, 'signal_emitted')) {
      const { signal_id: id, from, type } = entry.body
      edges.set(id, { kind: 'signal', id, from, to: null, type, sent: entry.seq, delivered: null })
    } else if (is(entry, 'envelope_delivered')) {
      const edge = edges.get(entry.body.envelope_id)
      if (edge) edges.set(edge.id, { ...edge, delivered: entry.seq })
    } else if (is(entry, 'signal_delivered')) {
      const edge = edges.get(entry.body.signal_id)
      if (edge) edges.set(edge.id, { ...edge, to: entry.body.delivered_to, delivered: entry.seq })
    }
  }
  const sent = [...edges.values()].map(edge => edge.sent)
  const before = Object.fromEntries(new CausalOrder(found.value).before(sent))
  return ok({ edges: [...edges.values()], before, recoveries: recoveries(found.value) })
}

const HIGHWAY_EVENTS: readonly EventType[] = [
  'gate_triggered',
  'gate_resolved',
  'gate_timeout',
  'gate_reentry_blocked',
  'human_injection',
  'escalation_received',
  'escalation_resolved',
  'escalation_timeout',
]

/** What people did, and every gate, injection and escalation; of one person where `user` is given. */
async function highwayActivity(
  run: RunTrail,
  user?: string,
  reader: TrailReader = RUNTIME,
): Promise<Result<HighwayView>> {
  const found = await gather(run, reader, user === undefined ? {} : { actor: user })
  if (!found.ok) return found
  const linked = user === undefined ? found : await gather(run, reader, LINKS)
  if (!linked.ok) return linked
  const roles = await rolesOf(run)
  const entries = found.value.filter(entry => HIGHWAY_EVENTS.includes(entry.event_type) || isHuman(entry.actor, roles))
  const known = new Map([...linked.value, ...entries].map(entry => [entry.seq, entry]))
  const order = new CausalOrder([...known.values()])
  const before = Object.fromEntries(order.before(entries.map(({ seq }) => seq)))
  return ok({ entries, before, recoveries: recoveries(linked.value) })
}

/** The same metrics for each run; whether the runs are comparable is the caller's concern. */
async function compareRuns(runs: readonly RunTrail[], reader: TrailReader = RUNTIME): Promise<Result<RunMetrics[]>> {
  const metrics: RunMetrics[] = []
  for (const run of runs) {
    const found = await gather(run, reader, {})
    if (!found.ok) return found
    metrics.push(measure(run.id, found.value, await rolesOf(run)))
  }
  return ok(metrics)
}

function measure(run: RunId, entries: readonly Entry[], roles: ReadonlySet<string>): RunMetrics {
  const created = new Map<string, Entry>()
  const completion: Record<string, number> = {}
  let cost = 0
  let retries = 0
  let failures = 0
  for (const entry of entries) {
    if (is(entry, 'checkpoint_created')) cost += entry.body.resource_usage?.cost ?? 0
    // W-REC-15: the runtime's figure takes the place of a report that it contradicted.
    else if (is(entry, 'resource_discrepancy') && entry.body.field === 'cost')
      cost += entry.body.runtime_value - entry.body.agent_value
    else if (is(entry, 'task_assigned') && entry.body.attempt_number > 1) retries++
    else if (is(entry, 'workspace_state_changed') && entry.body.to_state === 'failed') failures++
    else if (is(entry, 'task_created')) created.set(entry.body.task_id, entry)
    else if (is(entry, 'task_completed')) {
      const start = created.get(entry.body.task_id)
      if (start) completion[entry.body.task_id] = elapsed(start, entry)
    }
  }
  return {
    run,
    total_cost: cost,
    total_wall_time_ms: entries.length === 0 ? 0 : elapsed(entries[0]!, entries.at(-1)!),
    workspace_count: entries.filter(entry => entry.event_type === 'workspace_created').length,
    failure_count: failures,
    retry_count: retries,
    checkpoint_count: entries.filter(entry => entry.event_type === 'checkpoint_created').length,
    human_intervention_count: entries.filter(entry => isHuman(entry.actor, roles)).length,
    task_completion_ms: completion,
    recoveries: recoveries(entries),
  }
}

async function gather(run: RunTrail, reader: TrailReader, filter: TrailFilter): Promise<Result<Entry[]>> {
  const entries: Entry[] = []
  let after = 0
  for (;;) {
    const page = await run.query({ ...filter, after }, reader)
    if (!page.ok) return err(page.error)
    entries.push(...page.value.entries)
    if (!page.value.more) return ok(entries)
    after = page.value.cursor
  }
}

function is<T extends EventType>(entry: Entry, type: T): entry is Entry<T> & { readonly body: EventBody<T> } {
  return entry.event_type === type
}

async function rolesOf(run: RunTrail): Promise<ReadonlySet<string>> {
  return new Set([...(await run.model()).workspaces.values()].map(({ role }) => role))
}

function isHuman(actor: string, roles: ReadonlySet<string>): boolean {
  return !roles.has(actor) && !(RESERVED_ACTORS as readonly string[]).includes(actor)
}

function recoveries(entries: readonly Entry[]): number[] {
  return entries.filter(entry => entry.event_type === 'recovery_completed').map(({ seq }) => seq)
}

function elapsed(from: Entry, to: Entry): number {
  return durationMs(parseTimestamp(from.timestamp)!, parseTimestamp(to.timestamp)!)
}

/** What standard questions about runs are answered by. */
export const views = { compareRuns, highwayActivity, messageFlow, runOverview, workspaceTimeline }
