// Notices about gates: that one opened, that one fell to the coordinator, that one ended and what came of it. The
// coordinator hears of all of them, and whoever asked for what a gate held up hears how it ended (W-HWY-07).
import type { GateId, GraphId, TaskId, WorkspaceId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { EventBody, GateType } from '@parley/trail/events'
import type { GateOutcome } from '../highway/gate.ts'
import { type Run, rootOf } from '../run/run.ts'

export type GateNotice =
  | {
      readonly kind: 'gate_opened'
      readonly gate: GateId
      readonly type: GateType
      readonly subject_id: string
      readonly workspace: WorkspaceId | null
      readonly task_ref: TaskId | null
      readonly graph_ref: GraphId | null
      readonly addressee: string
    }
  /** Nobody answered in time: approve or reject it, or ask again for what it holds up (W-HWY-10). */
  | { readonly kind: 'gate_handed_over'; readonly gate: GateId; readonly type: GateType }
  | ({ readonly kind: 'gate_ended' } & GateOutcome)

type Noticed = { readonly to: WorkspaceId } & GateNotice

export function gateNotices(run: Run, entry: EntryDraft): readonly Noticed[] {
  const to = rootOf(run).id
  if (entry.event_type === 'gate_triggered') {
    const body = entry.body as EventBody<'gate_triggered'>
    return [
      {
        kind: 'gate_opened',
        to,
        gate: body.gate_id as GateId,
        type: body.gate_type,
        subject_id: body.subject.id,
        workspace: body.workspace as WorkspaceId | null,
        task_ref: body.task_ref as TaskId | null,
        graph_ref: body.graph_ref as GraphId | null,
        addressee: body.addressee,
      },
    ]
  }
  const { gate_id, gate_type, fallback_action } = entry.body as EventBody<'gate_timeout'>
  if (fallback_action !== 'escalate_to_coordinator') return []
  return [{ kind: 'gate_handed_over', to, gate: gate_id as GateId, type: gate_type }]
}

/** Asked once everything of the decision is folded in, so that what it came to can be looked at. */
export function outcomeNotices(run: Run, outcomes: readonly GateOutcome[]): readonly Noticed[] {
  return outcomes.flatMap(outcome => {
    const told = new Set([rootOf(run).id, ...(outcome.asked === undefined ? [] : [outcome.asked])])
    return [...told].map(to => ({ kind: 'gate_ended' as const, to, ...outcome }))
  })
}
