// What waits for people, and how it ended, as the trail of a run says it: gates and escalations.
import {
  deadline,
  formatTimestamp,
  type GateId,
  type ObjectId,
  parseTimestamp,
  type SignalId,
  type TaskId,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import type { GateRecord } from '@parley/kernel'
import type { FollowedEntry } from '@parley/trail'
import { type EventBody, type GateAction, type GateFallback, type GateType, isTerminal } from '@parley/trail/events'
import type { JudgeFacts, MergeFacts } from '../run/facts.ts'
import type { Load } from './run-projection.ts'

export interface ProjectedGate {
  readonly id: GateId
  readonly type: GateType
  readonly workspace: WorkspaceId | null
  readonly task: TaskId | null
  readonly addressee: string
  readonly since: Timestamp
  readonly timeout: number | null
  readonly fallback: GateFallback
  /** What it is about, whole, and what it holds up. */
  readonly record: GateRecord
  /** Since when it waits for the coordinator. */
  handedOver: Timestamp | undefined
}

interface GateEnd {
  readonly gate: ProjectedGate
  readonly action: GateAction
  readonly actor: string
  readonly reason: string | undefined
}

interface ProjectedEscalation {
  readonly signal: SignalId
  readonly workspace: WorkspaceId
  readonly reason: string
  readonly since: Timestamp
}

export class ProjectedHighway {
  readonly gates = new Map<GateId, ProjectedGate>()
  readonly escalations = new Map<SignalId, ProjectedEscalation>()
  /** The newest end of a gate about each task and workspace, by type. */
  readonly #ends = new Map<string, GateEnd>()
  /** Ends that nobody has looked at yet. */
  #fresh: GateEnd[] = []
  /** How often a workspace's questions fell to the coordinator, and how often the coordinator has answered. */
  readonly #delegated = new Map<WorkspaceId, { times: number; answered: number }>()

  waits(type: GateType, about: TaskId | WorkspaceId): boolean {
    return [...this.gates.values()].some(
      gate => gate.type === type && (gate.task === about || gate.workspace === about),
    )
  }

  waitsToCreate(fits: (context: Partial<JudgeFacts | MergeFacts>) => boolean): boolean {
    return [...this.gates.values()].some(({ record: { paused } }) => {
      if (paused.type !== 'workspace_create') return false
      const { context } = paused.draft as { readonly context?: Partial<JudgeFacts | MergeFacts> }
      return context !== undefined && fits(context)
    })
  }

  /** How the last gate of that type about a task or workspace ended. */
  ended(type: GateType, about: TaskId | WorkspaceId): GateEnd | undefined {
    return this.#ends.get(`${type} ${about}`)
  }

  /** Gates that ended since this was asked last. */
  takeEnds(): readonly GateEnd[] {
    const ends = this.#fresh
    this.#fresh = []
    return ends
  }

  /** How often questions of a workspace have come to nobody, and whether the last of them waits for the coordinator. */
  delegated(workspace: WorkspaceId): { readonly times: number; readonly open: boolean } {
    const { times, answered } = this.#delegated.get(workspace) ?? { times: 0, answered: 0 }
    return { times, open: answered < times }
  }

  asks(workspace: WorkspaceId): boolean {
    return [...this.escalations.values()].some(escalation => escalation.workspace === workspace)
  }

  async apply(entry: FollowedEntry, load: Load): Promise<void> {
    switch (entry.event_type) {
      case 'gate_triggered': {
        const body = entry.body as EventBody<'gate_triggered'>
        const record = (await load(body.gate_id as ObjectId)) as GateRecord | undefined
        if (!record) return
        const id = body.gate_id as GateId
        this.gates.set(id, {
          id,
          type: body.gate_type,
          workspace: sourceOf(record) ?? (body.workspace as WorkspaceId | null),
          task: body.task_ref as TaskId | null,
          addressee: body.addressee,
          since: entry.timestamp,
          timeout: body.timeout,
          fallback: body.fallback,
          record,
          handedOver: undefined,
        })
        return
      }
      case 'gate_timeout': {
        const body = entry.body as EventBody<'gate_timeout'>
        const gate = this.gates.get(body.gate_id as GateId)
        if (gate && body.fallback_action === 'escalate_to_coordinator') gate.handedOver = entry.timestamp
        return
      }
      case 'gate_resolved':
        this.#resolved(entry.body as EventBody<'gate_resolved'>)
        return
      case 'escalation_received': {
        const body = entry.body as EventBody<'escalation_received'>
        const signal = body.signal_id as SignalId
        const workspace = body.workspace as WorkspaceId
        this.escalations.set(signal, { signal, workspace, reason: body.reason, since: entry.timestamp })
        return
      }
      case 'escalation_resolved': {
        const body = entry.body as EventBody<'escalation_resolved'>
        this.escalations.delete(body.signal_id as SignalId)
        if (body.response_type !== 'delegation') return
        const workspace = body.workspace as WorkspaceId
        const { times, answered } = this.#delegated.get(workspace) ?? { times: 0, answered: 0 }
        this.#delegated.set(workspace, { times: times + 1, answered })
        return
      }
      case 'workspace_state_changed': {
        const { workspace_id, to_state } = entry.body as EventBody<'workspace_state_changed'>
        // What was asked on the way waits for nobody any more.
        if (isTerminal(to_state))
          for (const { signal, workspace } of this.escalations.values())
            if (workspace === (workspace_id as WorkspaceId)) this.escalations.delete(signal)
        return
      }
      case 'envelope_created': {
        const body = entry.body as EventBody<'envelope_created'>
        const open = this.#delegated.get(body.to as WorkspaceId)
        if (open && body.type === 'feedback' && body.origin !== 'human') open.answered = open.times
      }
    }
  }

  #resolved({ gate_id, action, actor, reason }: EventBody<'gate_resolved'>): void {
    const gate = this.gates.get(gate_id as GateId)
    if (!gate) return
    this.gates.delete(gate.id)
    const end: GateEnd = { gate, action, actor, reason }
    this.#fresh.push(end)
    for (const about of [gate.task, gate.workspace]) if (about !== null) this.#ends.set(`${gate.type} ${about}`, end)
  }
}

/** What a salvage asks is filed under its target (W-INT-19), and is about its source. */
function sourceOf({ paused }: GateRecord): WorkspaceId | undefined {
  return 'mode' in paused && paused.mode === 'salvage' ? paused.source : undefined
}

export function isSalvage({ record }: Pick<ProjectedGate, 'record'>): boolean {
  return sourceOf(record) !== undefined
}

/** When the fallback of a gate acts, or the coordinator's silence counts. */
export function deadlineOf({ timeout, since, handedOver }: ProjectedGate): Timestamp | undefined {
  return timeout === null ? undefined : after(handedOver ?? since, timeout)
}

export function after(since: Timestamp, milliseconds: number): Timestamp {
  return formatTimestamp(deadline(parseTimestamp(since)!, milliseconds))
}
