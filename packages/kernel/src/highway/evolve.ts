// What gate entries do to the state: gates that wait, guards, and what a human changed.
import { type GateId, invariant, type ObjectId, type SignalId, type WorkspaceId } from '@parley/core'
import type { EventBody, TaskPriority } from '@parley/trail/events'
import type { EnvelopeRecord } from '../envelope/envelope.ts'
import { countProposal } from '../integration/conflict-record.ts'
import { kernelLimits } from '../limits.ts'
import { claim } from '../objects.ts'
import { type Folds, type Run, ticksOf } from '../run/run.ts'
import type { TaskText } from '../task/task.ts'
import { type Gate, type GateModifications, type GateRecord, gateFrom, guardKey } from './gate.ts'

export const highwayFolds: Folds = {
  gate_triggered(run, body, entry) {
    const id = body.gate_id as GateId
    const { paused } = claim<GateRecord>(run, id, 'gate')
    run.gates.set(id, gateFrom(body, paused, ticksOf(entry)))
    if (paused.type === 'envelope_delivery') {
      const envelope = run.envelopes.get(paused.envelope)
      if (envelope) envelope.gate = id
    }
    if (paused.type === 'conflict_resolution') countProposal(run, paused)
  },

  gate_timeout(run, body, entry) {
    const waiting = run.gates.get(body.gate_id as GateId)
    if (!waiting) return
    remember(run, waiting, body)
    if (body.fallback_action === 'escalate_to_coordinator') waiting.handedOver = ticksOf(entry)
  },

  gate_resolved(run, body) {
    const ended = run.gates.get(body.gate_id as GateId)
    if (!ended) return
    run.gates.delete(ended.id)
    const { paused } = ended
    if (paused.type === 'envelope_delivery') {
      const envelope = run.envelopes.get(paused.envelope)
      if (envelope) envelope.gate = undefined
    }
    if (body.modifications) change(run, ended, body.modifications)
  },

  escalation_received(run, { signal_id, workspace, reason, queued }, entry) {
    const signal = signal_id as SignalId
    const received = ticksOf(entry)
    const from = workspace as WorkspaceId
    run.escalations.set(signal, { signal, workspace: from, reason, received, queued, answer: undefined })
  },

  escalation_resolved: (run, body) => void run.escalations.delete(body.signal_id as SignalId),
}

/** W-HWY-11: what a fallback decided holds for the rest of the run, as far as there is room to remember it. */
function remember(run: Run, { id, type, subject }: Gate, body: EventBody<'gate_timeout'>): void {
  run.guards.set(guardKey(type, subject), { gate: id, fallback: body.fallback_action })
  const [oldest] = run.guards.keys()
  if (oldest !== undefined && run.guards.size > kernelLimits.guards) run.guards.delete(oldest)
}

/** W-HWY-08: what lasts of a change. A creation, a merge and an abort are carried out with theirs at once. */
function change(run: Run, { paused }: Gate, changed: GateModifications): void {
  if (paused.type === 'task_approval') {
    const task = run.tasks.get(paused.task)
    invariant(task, 'a task comes before its gate')
    if (changed.name !== undefined) task.name = changed.name
    if (changed.priority !== undefined) task.priority = changed.priority as TaskPriority
    const { description, resource_estimate } = changed
    task.text = {
      ...task.text,
      ...(description && claim<TaskText>(run, description.id, 'task')),
      ...(resource_estimate && { resource_estimate }),
    }
  }
  if (paused.type === 'envelope_delivery' && changed.payload) {
    const envelope = run.envelopes.get(paused.envelope)
    invariant(envelope, 'an envelope comes before its gate')
    envelope.record = claim<EnvelopeRecord>(run, changed.payload.id, 'envelope')
    envelope.changed = changed.payload.id as ObjectId
  }
}
