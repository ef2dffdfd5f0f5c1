// Conflicts for tests: work that overlaps, and the entries that strategies and conflicts leave, as rows.
import { type GateId, type Result, unwrap } from '@parley/core'
import type { Finding } from '../integration/conflict-record.ts'
import type { AgentHandle } from '../runtime/handle/agent.ts'
import { type Fixture, type Row, refused } from './fixture.ts'
import { aborted, changed, decided, delivered, emitted, failedTask, finished, graphOf, status } from './tasks.ts'

/**
 * Workers that have completed work on these files, in this order, each `integrating` with a final checkpoint K<name>.
 */
export async function completedOn(
  f: Fixture,
  work: Readonly<Record<string, readonly string[]>>,
  by: AgentHandle = f.root,
): Promise<void> {
  for (const [name, files] of Object.entries(work)) {
    await f.worker(name, {}, by)
    f.name(unwrap(await f.final(name, [...files])).checkpoint, `K${name}`)
    unwrap(await f.agent(name).complete())
  }
  await f.mark()
}

export const overlap: Finding = {
  type: 'content_overlap',
  resources: ['f'],
  description: 'both changed f',
}
export const contradiction: Finding = {
  type: 'semantic_contradiction',
  resources: ['f', 'g'],
  description: 'one says yes, the other no',
}

/** Opens an `evaluated` integration and reports these; the ids are named X1, X2, … */
export async function conflictedBy(
  f: Fixture,
  source: string,
  reports: readonly Finding[],
): Promise<readonly string[]> {
  unwrap(await f.root.beginIntegration(f.id(source), 'evaluated'))
  const ids = unwrap(await f.root.reportConflicts(f.id(source), reports))
  for (const [index, id] of ids.entries()) f.name(id, `X${index + 1}`)
  await f.mark()
  return ids
}

/** W with task T, `conflicted` with an overlap X1 and a contradiction X2. */
export async function twoConflicts(f: Fixture): Promise<readonly [string, string]> {
  const { id } = await graphOf(f, { T: {} })
  await finished(f, 'W', id('T'))
  f.name(unwrap(await f.root.look(f.id('W'))).deliverable!, 'KW')
  const [one, other] = await conflictedBy(f, 'W', [overlap, contradiction])
  return [one!, other!]
}

/** The gate that an operation now waits for. */
export function gateOf(answer: Result<unknown>): GateId {
  if (answer.ok || answer.error.code !== 'gated') throw new Error(`Not gated: ${refused(answer)}`)
  return answer.error.details.gate as GateId
}

// Rows

export function begunBy(source: string, strategy: string, extra: object = {}): Row {
  const body = { source, target: 'R', owner: 'ux', mode: 'normal', strategy, checkpoint_ref: `K${source}` }
  return ['integration_started', source, 'system', { ...body, ...extra }]
}

export function mergedBy(source: string, strategy: string, result = 'success', extra: object = {}): Row {
  const body = { source, target: 'R', mode: 'normal', strategy, result }
  return ['integration_completed', source, 'system', { ...body, ...extra }]
}

export function detected(id: string, source: string, actor: string, found: Finding): Row {
  return [
    'conflict_detected',
    source,
    actor,
    {
      workspace_id: source,
      conflict_type: found.type,
      resources: found.resources,
      description: found.description,
      conflict_id: id,
      mode: 'normal',
    },
  ]
}

export interface Settled {
  readonly type: string
  readonly strategy: string
  readonly resolution: string
  readonly outcome: 'closed' | 'failed'
}

export function resolved(id: string, source: string, actor: string, settled: Settled): Row {
  return [
    'conflict_resolved',
    source,
    actor,
    {
      workspace_id: source,
      conflict_type: settled.type,
      resolution_strategy: settled.strategy,
      resolution: settled.resolution,
      outcome: settled.outcome,
      conflict_id: id,
      mode: 'normal',
    },
  ]
}

/** How a conflict of that W ended. */
export const settled = (conflict: string, actor: string, how: Omit<Settled, 'type'>): Row => {
  const type = conflict === 'X1' ? 'content_overlap' : 'semantic_contradiction'
  return resolved(conflict, 'W', actor, { type, ...how })
}

export const byRoot = (conflict: string, resolution: string): Row =>
  settled(conflict, 'system', { strategy: 'coordinator_resolve', resolution, outcome: 'closed' })

/** The end of a conflicted W, behind its last `conflict_resolved`. */
export function endedConflicted(
  signal: string,
  { aborts, reason, actor, initiator }: { aborts: string; reason: string; actor: string; initiator: string },
): readonly Row[] {
  return [
    aborted('W', aborts, actor),
    emitted(signal, 'W', 'failed', actor === 'system' ? 'system' : 'protocol', { reason }),
    changed('W', 'conflicted', 'failed', reason, actor, initiator),
    status('T', 'completed', 'failed', 'W'),
    failedTask('T', 'W', 1, reason),
    delivered(signal, 'W', 'R'),
  ]
}

/** A gate about one of its conflicts. */
export const triggered = (gate: string, fallback = 'reject', timeout: number | null = null): Row => [
  'gate_triggered',
  'W',
  'protocol',
  { gate_id: gate, gate_type: 'conflict_resolution', workspace: 'W', task_ref: 'T', timeout, fallback },
]

export const answered = (gate: string, action: string, actor: string, extra: object = {}): Row => [
  'gate_resolved',
  'W',
  actor,
  { gate_id: gate, gate_type: 'conflict_resolution', action, ...extra, actor },
]

/** The end of a W whose conflicts are settled. */
export const closedConflicted: readonly Row[] = [
  mergedBy('W', 'evaluated', 'conflict_resolved'),
  decided('W', 'conflicted', 'closed', 'conflict_resolved'),
  status('T', 'completed', 'integrated', 'W'),
]
