// Notices about people and about what agents ask them (W-USER-06, W-HWY-20 to -22). They go to the coordinator; whoever
// serves the highway hears them through the run's subscription.
import type { SignalId, WorkspaceId } from '@parley/core'
import type { EntryDraft } from '@parley/trail'
import type { EscalationResponse, EventBody, UserState } from '@parley/trail/events'
import { RECEIVE_ESCALATION } from '../highway/escalation.ts'
import { type Run, rootOf, workspaceOf } from '../run/run.ts'
import type { UserEvent } from '../user/user.ts'

/** The events of W-USER-03. */
export type UserTransitionEvent = Exclude<Extract<UserEvent, `user_${string}`>, 'user_created'>

/** What became of a user; what that means for running work is the coordinator's to decide. */
export interface UserNotice {
  readonly kind: 'user'
  readonly user: string
  readonly event: UserTransitionEvent
  readonly state: UserState
}

export type EscalationNotice = {
  readonly kind: 'escalation'
  readonly signal: SignalId
  readonly workspace: WorkspaceId
} & (
  | { readonly event: 'received'; readonly addressee: string; readonly queued: boolean }
  /** A user who was away is back, or became the owner, and has it now. */
  | { readonly event: 'delivered'; readonly addressee: string }
  /** The addressee is deactivated: transfer the ownership, or handle it. */
  | { readonly event: 'rejected'; readonly addressee: string }
  /** Too many wait for one who is away; its fallback acts. */
  | { readonly event: 'overflow'; readonly addressee: string }
  /** `delegation`: the coordinator is to handle it. */
  | { readonly event: 'resolved'; readonly actor: string; readonly response: EscalationResponse }
)

type Noticed = { readonly to: WorkspaceId } & EscalationNotice

/** What an entry means for escalations; asked before the entry is folded in. */
export function escalationNotices(run: Run, entry: EntryDraft): readonly Noticed[] {
  const to = rootOf(run).id
  switch (entry.event_type) {
    case 'escalation_received': {
      const { signal_id, workspace, addressee, queued } = entry.body as EventBody<'escalation_received'>
      return [{ ...about(to, signal_id, workspace), event: 'received', addressee, queued }]
    }
    case 'escalation_resolved': {
      const body = entry.body as EventBody<'escalation_resolved'>
      const { signal_id, workspace, actor, response_type: response } = body
      return [{ ...about(to, signal_id, workspace), event: 'resolved', actor, response }]
    }
    case 'capability_denied': {
      const { capability, target, user_id, reason } = entry.body as EventBody<'capability_denied'>
      const escalation = capability === RECEIVE_ESCALATION ? run.escalations.get(target as SignalId) : undefined
      if (!escalation || user_id === null) return []
      const event = reason === 'escalation_queue_overflow' ? 'overflow' : 'rejected'
      return [{ ...about(to, escalation.signal, escalation.workspace), event, addressee: user_id }]
    }
    case 'workspace_ownership_transferred': {
      const { workspace_id, to_user } = entry.body as EventBody<'workspace_ownership_transferred'>
      const workspace = workspaceOf(run, workspace_id)
      if (!workspace || run.escalations.size === 0) return []
      return [...run.escalations.values()]
        .filter(each => each.workspace === workspace.id && !each.answer)
        .map(each => ({
          ...about(to, each.signal, each.workspace),
          event: 'delivered' as const,
          addressee: to_user,
        }))
    }
    default:
      return []
  }
}

function about(to: WorkspaceId, signal: string, workspace: string) {
  return {
    kind: 'escalation',
    to,
    signal: signal as SignalId,
    workspace: workspace as WorkspaceId,
  } as const
}
