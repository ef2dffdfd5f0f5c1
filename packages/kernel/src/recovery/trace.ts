// Decisions and signals whose consequence replay has not seen yet. Our own batches are atomic; trails of other runtimes
// need not be (W-REC-16, -24).
import type { CheckpointId, GateId, SignalId, Ticks, WorkspaceId } from '@parley/core'
import type { EntryDraft, TrailState } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'
import type { Gate, Resolution } from '../highway/gate.ts'
import { type Run, ticksOf } from '../run/run.ts'
import { DELIVERY_EXHAUSTED, SIGNAL_RULES } from '../signal/signal.ts'
import type { DrivingSignal } from './plan.ts'

export interface ResolvedGate {
  readonly gate: Gate
  readonly resolution: Resolution
}

const DECISIONS: ReadonlySet<EventType> = new Set<EventType>([
  'gate_resolved',
  'gate_timeout',
  'escalation_resolved',
  'escalation_timeout',
  'integrity_violation',
  'system_degraded',
])

const DRIVING: ReadonlySet<string> = new Set(['started', 'blocked', 'complete', 'failed'])

export class Trace {
  examined = 0
  /** The newest moment on record (W-CLOCK-07), and that of each local trail, entries that were left out aside. */
  floor = 0 as Ticks
  readonly newest = new Map<WorkspaceId, Ticks>()
  /** Signals behind the newest transition of their workspace that may have a transition of their own. */
  readonly driving = new Map<WorkspaceId, DrivingSignal[]>()
  readonly unsignalled = new Set<CheckpointId>()
  readonly aborts = new Map<WorkspaceId, string>()
  readonly completed = new Map<WorkspaceId, string>()
  readonly failures = new Map<WorkspaceId, string>()
  /** Gates whose end nothing follows: the effect of an end stands right behind it. */
  readonly resolved: ResolvedGate[] = []

  static behind({ locals, systemTimestamp }: TrailState['chain']): Trace {
    const trace = new Trace()
    let newest = systemTimestamp
    for (const [workspace, { timestamp, terminal }] of locals) {
      if (timestamp > newest) newest = timestamp
      if (!terminal) trace.newest.set(workspace, ticksOf({ timestamp }))
    }
    if (newest !== '') trace.floor = ticksOf({ timestamp: newest })
    return trace
  }

  see(entry: EntryDraft): void {
    this.examined++
    const at = ticksOf(entry)
    if (at > this.floor) this.floor = at
  }

  /** To be called before the entry is folded in: a gate is known until then. */
  note(run: Run, entry: EntryDraft): void {
    if (entry.workspace !== null) this.newest.set(entry.workspace, ticksOf(entry))
    if (!DECISIONS.has(entry.event_type)) this.resolved.length = 0
    const note = NOTES[entry.event_type] as Note<EventType> | undefined
    note?.(this, run, entry.body, entry)
  }
}

type Note<T extends EventType> = (trace: Trace, run: Run, body: EventBody<T>, entry: EntryDraft) => void

const NOTES: { readonly [T in EventType]?: Note<T> } = {
  signal_emitted(trace, run, body, entry) {
    if (body.type === 'checkpoint') trace.unsignalled.delete(body.ref as CheckpointId)
    if (!DRIVING.has(body.type) || entry.workspace === null) return
    // W-ENV-15: this one is a notice and never moves anything.
    if (entry.actor === 'protocol' && body.reason === DELIVERY_EXHAUSTED) return
    const from = body.from as WorkspaceId
    const status = run.workspaces.get(from)?.status
    const waiting = trace.driving.get(from)
    // What has no effect in a state that nothing before it changes has none later either.
    if (status === undefined || (!waiting && !drives(body.type, status, entry.actor))) return
    const { type, reason, ref } = body
    const id = body.signal_id as SignalId
    const signal = { id, from, type, reason, ref, actor: entry.actor, seq: run.seq + 1 } as DrivingSignal
    if (waiting) waiting.push(signal)
    else trace.driving.set(from, [signal])
  },
  workspace_state_changed(trace, run, body) {
    const id = body.workspace_id as WorkspaceId
    trace.driving.delete(id)
    if (body.to_state === 'closed') trace.completed.delete(id)
    if (body.to_state !== 'failed') return
    trace.aborts.delete(id)
    trace.completed.delete(id)
    if (run.workspaces.get(id)?.task) trace.failures.set(id, body.reason ?? body.trigger)
  },
  task_failed: (trace, _run, body) => void trace.failures.delete(body.workspace_id as WorkspaceId),
  checkpoint_created: (trace, _run, body) => void trace.unsignalled.add(body.checkpoint_id as CheckpointId),
  integration_completed(trace, _run, body, entry) {
    if (body.mode === 'normal') trace.completed.set(body.source as WorkspaceId, entry.actor)
  },
  escalation_resolved(trace, _run, body) {
    if (body.response_type === 'abort') trace.aborts.set(body.workspace as WorkspaceId, body.actor)
  },
  gate_resolved(trace, run, body) {
    const gate = run.gates.get(body.gate_id as GateId)
    const { action, actor, reason, modifications } = body
    if (gate) trace.resolved.push({ gate, resolution: { action, actor, reason, modifications } })
  },
}

function drives(type: string, status: keyof (typeof SIGNAL_RULES)['failed']['moves'], actor: string): boolean {
  if (type === 'failed' && actor === 'protocol') return true
  return SIGNAL_RULES[type as keyof typeof SIGNAL_RULES].moves[status] !== undefined
}
