// What holds of every entry, whatever it says: time, identity, filing, actors, the end of a run.

import type { RunModel } from '../model/model.ts'
import { isOver } from '../model/records.ts'
import { PEOPLE } from '../world/config.ts'
import type { Invariant } from './rule.ts'

/** Fields that bring a new id into the world. */
const BIRTHS: Readonly<Record<string, string>> = {
  workspace_created: 'workspace_id',
  signal_emitted: 'signal_id',
  envelope_created: 'envelope_id',
  envelope_rejected: 'envelope_id',
  port_right_created: 'right_id',
  checkpoint_created: 'checkpoint_id',
  graph_created: 'graph_id',
  task_created: 'task_id',
}

/** Which field of the body names the workspace that an entry is filed under (0.4). */
const FILED: Readonly<Record<string, string>> = {
  workspace_created: 'workspace_id',
  workspace_state_changed: 'workspace_id',
  suspension_started: 'workspace_id',
  suspension_resumed: 'workspace_id',
  migration_started: 'workspace_id',
  migration_completed: 'workspace_id',
  migration_failed: 'workspace_id',
  graceful_termination_initiated: 'workspace_id',
  graceful_termination_expired: 'workspace_id',
  signal_emitted: 'from',
  signal_delivered: 'delivered_to',
  envelope_created: 'from',
  envelope_rejected: 'from',
  envelope_undeliverable: 'from',
  envelope_delivered: 'to',
  envelope_redelivered: 'to',
  port_right_created: 'holder',
  port_right_revoked: 'holder',
  port_right_consumed: 'holder',
  port_right_transferred: 'to_holder',
  checkpoint_created: 'workspace',
  checkpoint_rejected: 'workspace',
  integration_started: 'source',
  integration_completed: 'source',
  integration_aborted: 'source',
  budget_warning: 'workspace_id',
  budget_exceeded: 'workspace_id',
  budget_modified: 'workspace_id',
  liveness_warning: 'workspace_id',
  priority_changed: 'workspace_id',
  visibility_granted: 'workspace_id',
  workspace_ownership_transferred: 'workspace_id',
  workspace_reparented: 'workspace_id',
  conflict_detected: 'workspace_id',
  conflict_resolved: 'workspace_id',
  gate_triggered: 'workspace',
  escalation_received: 'workspace',
  escalation_resolved: 'workspace',
  escalation_timeout: 'workspace',
}

/** W-INT-19: a salvage is filed under its target; conflicts do not name it, rules/salvage.ts does. */
const SALVAGE_FILED: Readonly<Record<string, string>> = {
  integration_started: 'target',
  integration_completed: 'target',
  integration_aborted: 'target',
  signal_emitted: 'from',
  gate_triggered: 'workspace',
}

/** System-level all of them. */
const AFTER_THE_END: readonly string[] = [
  'capability_denied',
  'trail_access_denied',
  'authentication_failed',
  'trail_compacted',
  'trail_snapshot_created',
]

const ROOT_FILED = /^(graph_created|task_|batch_)/

export const recordRules: readonly Invariant[] = [
  {
    name: 'W-CONC-05 W-CLOCK-03 timestamps strictly increase',
    every: (run, entry) =>
      entry.timestamp > run.lastTimestamp
        ? undefined
        : `${entry.event_type} at ${entry.timestamp} follows ${run.lastTimestamp}`,
  },
  {
    name: '0.4 a timestamp inside a body equals the header',
    every: (_run, { timestamp, body }) => {
      const { timestamp: own = timestamp, delivered_at: delivered = timestamp } = body as Record<string, unknown>
      return own === timestamp && delivered === timestamp ? undefined : `body says ${String(own)} ${String(delivered)}`
    },
  },
  {
    name: 'W-TRAIL-13 W-LIFE-12 the first entry of a run is its root',
    every: (run, { event_type, body }) => {
      if (run.root) return undefined
      const first = event_type === 'workspace_created' && (body as { parent?: unknown }).parent === null
      return first ? undefined : `it is ${event_type}`
    },
  },
  {
    name: 'W-LIFE-13 W-LIFE-14 W-TRAIL-13 nothing but denials and housekeeping follows the terminal entry of the root',
    every: (run, { event_type, workspace }) => {
      if (!run.ended) return undefined
      return AFTER_THE_END.includes(event_type) && workspace === null ? undefined : `${event_type} follows it`
    },
  },
  {
    name: 'W-TRAIL-08 A-03 the local trail of a workspace ends with its terminal entry',
    every: (run, entry) => {
      if (entry.workspace === null) return undefined
      const workspace = run.workspaces.get(entry.workspace)
      if (!workspace) return entry.event_type === 'workspace_created' ? undefined : `${entry.workspace} does not exist`
      return isOver(workspace.status)
        ? `${entry.event_type} is filed under ${workspace.status} ${workspace.id}`
        : undefined
    },
  },
  {
    name: '0.4 entries are filed under the workspace that the table names',
    every: (run, { event_type, body, workspace }) => {
      const { mode } = body as { readonly mode?: string }
      const field = (mode === 'salvage' ? SALVAGE_FILED : FILED)[event_type]
      if (ROOT_FILED.test(event_type))
        return workspace === run.root?.id ? undefined : `${event_type} under ${workspace}`
      if (field === undefined) return undefined
      const named = (body as Record<string, unknown>)[field] as string
      const over = isOver(run.workspaces.get(named)?.status ?? 'idle')
      return workspace === (over ? null : named) ? undefined : `${event_type} of ${named} under ${workspace}`
    },
  },
  {
    name: '0.3 A-01 actors are the system, the protocol, the fallback, a role or a person',
    every: (run, { actor, workspace, event_type }) => {
      if (['system', 'protocol', 'fallback'].includes(actor)) return undefined
      if (actor === 'coordinator') return `${event_type} by the role name of the coordinator`
      return roles(run).has(actor) || isPerson(actor) ? undefined : `${event_type} under ${workspace} by ${actor}`
    },
  },
  {
    name: 'W-TRAIL-01 W-ID-03 W-ID-06 an id is given out once',
    every: (run, { id, event_type, body }) => {
      if (run.entryTypes.has(id)) return `entry ${id} is there already`
      const born = (body as Record<string, unknown>)[BIRTHS[event_type] ?? ''] as string | undefined
      if (born === undefined || (event_type === 'envelope_rejected' && wasAccepted(run, born))) return undefined
      const known = [run.workspaces, run.signals, run.envelopes, run.rights, run.checkpoints, run.graphs, run.tasks]
      return known.some(map => map.has(born)) ? `${event_type} gives out ${born} again` : undefined
    },
  },
]

/** W-ENV-04: one on its way may be rejected at its gate, or because its proof fails. */
function wasAccepted(run: RunModel, id: string): boolean {
  const envelope = run.envelopes.get(id)
  return envelope?.status === 'validated' && envelope.undeliverable === null
}

function isPerson(actor: string): boolean {
  return (PEOPLE as readonly string[]).includes(actor) || actor === 'stranger'
}

function roles(run: RunModel): Set<string> {
  return new Set([...run.workspaces.values()].map(workspace => workspace.role))
}
