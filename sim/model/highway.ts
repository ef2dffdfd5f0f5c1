// What gate and escalation entries mean to the simulator's own model of a run.
import type { EntryDraft } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { RunModel } from './model.ts'
import { ticksOf } from './records.ts'

export type ModelFolds = {
  readonly [T in EventType]?: (run: RunModel, body: EventBody<T>, entry: EntryDraft) => void
}

export const highwayFolds: ModelFolds = {
  gate_triggered: (run, body, entry) => {
    const stored = run.staged.get(body.gate_id)?.value as
      | { readonly paused: Readonly<Record<string, unknown>> }
      | undefined
    run.staged.delete(body.gate_id)
    run.gates.set(body.gate_id, {
      id: body.gate_id,
      type: body.gate_type,
      subject: body.subject.id,
      workspace: body.workspace,
      task: body.task_ref,
      timeout: body.timeout,
      fallback: body.fallback,
      addressee: body.addressee,
      opened: ticksOf(entry),
      paused: stored?.paused ?? {},
      timedOut: false,
      handedOver: null,
    })
  },
  gate_timeout: (run, body, entry) => {
    const gate = run.gates.get(body.gate_id)
    if (!gate) return
    gate.timedOut = true
    run.guards.set(`${gate.type} ${gate.subject}`, body.fallback_action)
    if (body.fallback_action === 'escalate_to_coordinator') gate.handedOver = ticksOf(entry)
  },
  gate_resolved: (run, body) => {
    const gate = run.gates.get(body.gate_id)
    if (!gate) return
    run.gates.delete(gate.id)
    run.gateEnds.set(gate.id, { gate, action: body.action, actor: body.actor })
  },
  escalation_received: (run, body, entry) => {
    run.escalations.set(body.signal_id, {
      signal: body.signal_id,
      workspace: body.workspace,
      received: ticksOf(entry),
      answer: null,
    })
  },
  escalation_resolved: (run, body) => {
    run.escalations.delete(body.signal_id)
  },
}
