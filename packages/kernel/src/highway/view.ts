// A gate that waits, as hosts show it (W-HWY-04, -06): everything that the human needs to decide, with whom it waits
// for now.
import {
  formatTimestamp,
  type GateId,
  type GraphId,
  type SignalId,
  type TaskId,
  type Timestamp,
  type WorkspaceId,
} from '@parley/core'
import type { EscalationFallback, GateFallback, GateType } from '@parley/trail/events'
import type { UserDirectory } from '../batch.ts'
import { knownWorkspace, type Run } from '../run/run.ts'
import { availability, type Escalation, escalationDeadline } from './escalation.ts'
import { type Gate, gateDeadline } from './gate.ts'
import { MODIFIABLE } from './modify.ts'
import { addresseeOf } from './subject.ts'

export interface GateView {
  readonly id: GateId
  readonly type: GateType
  readonly subject: unknown
  readonly subject_id: string
  readonly workspace: WorkspaceId | null
  readonly task_ref: TaskId | null
  readonly graph_ref: GraphId | null
  readonly timestamp: Timestamp
  /** Milliseconds; null waits without end. */
  readonly timeout: number | null
  readonly fallback: GateFallback
  /** When the fallback acts, or the coordinator's silence counts; null where it waits without end. */
  readonly deadline: Timestamp | null
  readonly addressee: string
  /** Nobody answered in time, and it fell to the coordinator; a human may still answer it. */
  readonly handed_over: boolean
  /** How many are ahead of it in its addressee's queue; the one with 0 is presented. */
  readonly queue_position: number
  readonly modifiable: readonly string[]
}

/** All that wait, in order of their opening; the subjects are the content store's. */
export function viewGates(run: Run, users: UserDirectory | undefined): readonly Omit<GateView, 'subject'>[] {
  const queues = new Map<string, number>()
  return [...run.gates.values()].map(gate => {
    const addressee = addresseeOf(run, users, gate)
    const ahead = queues.get(addressee) ?? 0
    if (gate.handedOver === undefined) queues.set(addressee, ahead + 1)
    return viewGate(gate, addressee, ahead)
  })
}

function viewGate(gate: Gate, addressee: string, ahead: number): Omit<GateView, 'subject'> {
  const deadline = gateDeadline(gate)
  return {
    id: gate.id,
    type: gate.type,
    subject_id: gate.subject,
    workspace: gate.workspace,
    task_ref: gate.task,
    graph_ref: gate.graph,
    timestamp: formatTimestamp(gate.opened),
    timeout: gate.timeout,
    fallback: gate.fallback,
    deadline: deadline === undefined ? null : formatTimestamp(deadline),
    addressee,
    handed_over: gate.handedOver !== undefined,
    queue_position: ahead,
    modifiable: isSalvage(gate) ? [] : MODIFIABLE[gate.type],
  }
}

/** W-HWY-08: there is one strategy for it. */
function isSalvage({ paused }: Gate): boolean {
  return paused.type === 'integration' && paused.mode === 'salvage'
}

export interface EscalationView {
  readonly signal: SignalId
  readonly workspace: WorkspaceId
  readonly reason: string
  readonly received: Timestamp
  /** When the fallback acts; null where it waits without end. */
  readonly deadline: Timestamp | null
  readonly fallback: EscalationFallback
  readonly addressee: string
  /** The addressee is away and gets it on return. */
  readonly queued: boolean
  /** The addressee is deactivated: nobody can answer it as its owner. */
  readonly rejected: boolean
  readonly answered: boolean
}

export function viewEscalations(run: Run, users: UserDirectory | undefined): readonly EscalationView[] {
  return Object.freeze([...run.escalations.values()].map(each => viewEscalation(run, users, each)))
}

function viewEscalation(run: Run, users: UserDirectory | undefined, escalation: Escalation): EscalationView {
  const { signal, workspace, reason, received, answer } = escalation
  const deadline = escalationDeadline(run, escalation)
  const addressee = knownWorkspace(run, workspace).owner
  const standing = availability(users, addressee)
  return Object.freeze({
    signal,
    workspace,
    reason,
    received: formatTimestamp(received),
    deadline: deadline === undefined ? null : formatTimestamp(deadline),
    fallback: run.highway.escalation.fallback,
    addressee,
    queued: standing === 'away',
    rejected: standing === 'gone',
    answered: answer !== undefined,
  })
}
