// Gates and escalations that wait, as hosts show them (W-HWY-04, -06), with whom each waits for now.
import { formatTimestamp } from '@parley/core'
import type { UserDirectory } from '../batch.ts'
import { knownWorkspace, type Run } from '../run/run.ts'
import { availability, type Escalation, escalationDeadline } from './escalation.ts'
import { type Gate, gateDeadline, modeOf } from './gate.ts'
import { MODIFIABLE } from './modify.ts'
import { addresseeOf } from './subject.ts'

export type GateView = ReturnType<typeof viewGate> & { readonly subject: unknown }

export function viewGates(run: Run, users: UserDirectory | undefined): readonly ReturnType<typeof viewGate>[] {
  const queues = new Map<string, number>()
  return [...run.gates.values()].map(gate => {
    const addressee = addresseeOf(run, users, gate)
    const ahead = queues.get(addressee) ?? 0
    if (gate.handedOver === undefined) queues.set(addressee, ahead + 1)
    return viewGate(gate, addressee, ahead)
  })
}

function viewGate(gate: Gate, addressee: string, ahead: number) {
  const deadline = gateDeadline(gate)
  return Object.freeze({
    id: gate.id,
    type: gate.type,
    subject_id: gate.subject,
    workspace: gate.workspace,
    task_ref: gate.task,
    graph_ref: gate.graph,
    timestamp: formatTimestamp(gate.opened),
    timeout: gate.timeout,
    fallback: gate.fallback,
    /** When the fallback acts, or the coordinator's silence counts; null where it waits without end. */
    deadline: deadline === undefined ? null : formatTimestamp(deadline),
    addressee,
    /** It fell to the coordinator; a human may still answer it. */
    handed_over: gate.handedOver !== undefined,
    /** How many are ahead in its addressee's queue; the one with 0 is presented. */
    queue_position: ahead,
    // W-HWY-08: there is one strategy for a salvage.
    modifiable: gate.type === 'integration' && modeOf(gate.paused).mode ? [] : MODIFIABLE[gate.type],
  })
}

export type EscalationView = ReturnType<typeof viewEscalation>

export function viewEscalations(run: Run, users: UserDirectory | undefined): readonly EscalationView[] {
  return Object.freeze([...run.escalations.values()].map(each => viewEscalation(run, users, each)))
}

function viewEscalation(run: Run, users: UserDirectory | undefined, escalation: Escalation) {
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
    /** The addressee is away and gets it on return. */
    queued: standing === 'away',
    /** The addressee is deactivated: nobody can answer it as its owner. */
    rejected: standing === 'gone',
    answered: answer !== undefined,
  })
}
