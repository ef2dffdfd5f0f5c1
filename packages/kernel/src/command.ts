// Everything that can be asked of a run. Agents' commands name the workspace that the caller is bound to; what a caller
// handed in stays unknown until the check that looks at it, since a malformed request has its own place in the order of
// checks.
import type { EnvelopeId, SignalId, Timestamp, WorkspaceId } from '@parley/core'
import type { ProposedEntry } from '@parley/trail'
import type { Evidence } from './checkpoint/proof.ts'
import type { ResolveRequest } from './integration/conflict.ts'
import type {
  AcceptRequest,
  BeginRequest,
  IntegrationDecision,
  MergeSalvageRequest,
  SalvageRequest,
} from './integration/integration.ts'
import type { ReportRequest } from './integration/report.ts'
import type { RecoveryStep } from './recovery/steps.ts'
import type { SignalDraft } from './signal/decide.ts'
import type { FailedClaim, UserChange } from './user/user.ts'
import type { Readable } from './workspace/access.ts'
import type { MigrateRequest } from './workspace/migrate.ts'
import type { TerminateRequest } from './workspace/terminate.ts'

export type RuntimeCommand =
  | { readonly type: 'start'; readonly draft: unknown }
  | { readonly type: 'close' }
  | { readonly type: 'stop' }
  | { readonly type: 'bind_failed'; readonly workspace: WorkspaceId }
  /** The agent that takes over was prepared, or could not be (W-MIG-05, -06). */
  | { readonly type: 'complete_migration'; readonly workspace: WorkspaceId; readonly agent: string }
  | {
      readonly type: 'fail_migration'
      readonly workspace: WorkspaceId
      readonly agent: string
      readonly error: string
    }
  /** `arrived`: the envelope as a transport that carries it handed it in. */
  | { readonly type: 'arrive'; readonly envelope: EnvelopeId; readonly arrived?: unknown }
  | { readonly type: 'exhaust'; readonly envelope: EnvelopeId }
  | { readonly type: 'arrive_signal'; readonly signal: SignalId; readonly to: WorkspaceId }
  /** Time has run out for something (W-CLOCK-05). */
  | { readonly type: 'due'; readonly recovering?: boolean }
  /** Use since the last report, measured by the runtime (W-BUDGET-03); `context` is the current value. */
  | {
      readonly type: 'meter'
      readonly workspace: WorkspaceId
      readonly tokens?: number
      readonly cost?: number
      readonly context?: number
    }
  /** A claim to be somebody that did not hold (W-SEC-06). */
  | { readonly type: 'authentication_failed'; readonly claim: FailedClaim }
  /** Everything that changes users; only the house run takes these (user/decide.ts). */
  | { readonly type: 'user'; readonly change: UserChange }
  /** The steps of recovery that write (W-REC-11), and its marker. */
  | { readonly type: 'recover'; readonly step: RecoveryStep }
  /** The trail can be written again (W-REC-09). */
  | { readonly type: 'degraded_over'; readonly from: Timestamp; readonly reason: string }
  /** Entries that the trail proposed: denied reads, findings of a verification. */
  | { readonly type: 'record'; readonly entries: readonly ProposedEntry[] }

/** What the agent bound to `caller` asks; `agent` is who asks, where the runtime does not ask for it. */
export type AgentCommand = { readonly caller: WorkspaceId; readonly agent?: string } & (
  | {
      readonly type: 'emit'
      readonly draft: SignalDraft & { readonly from?: string }
      /** Where the coordinator means the operation `integrate`. */
      readonly evidence?: Evidence | undefined
    }
  | { readonly type: 'send'; readonly draft: unknown }
  | { readonly type: 'checkpoint'; readonly draft: unknown }
  | { readonly type: 'change_checkpoint'; readonly checkpoint: unknown }
  | { readonly type: 'consume' }
  | {
      readonly type: 'write_memory'
      readonly workspace?: string | undefined
      readonly key: unknown
      readonly value?: unknown
    }
  | { readonly type: 'read'; readonly kind: Readable; readonly id: string }
  | { readonly type: 'create_workspace'; readonly draft: unknown }
  | { readonly type: 'dispatch'; readonly workspace: unknown }
  | { readonly type: 'abort'; readonly workspace: unknown }
  | { readonly type: 'suspend'; readonly workspace: unknown; readonly reason: unknown }
  | { readonly type: 'resume'; readonly workspace: unknown }
  | ({ readonly type: 'migrate' } & MigrateRequest)
  | ({ readonly type: 'terminate' } & TerminateRequest)
  | { readonly type: 'set_authority' | 'set_delegate' | 'revoke_visibility'; readonly workspace: unknown }
  | {
      readonly type: 'grant_right'
      readonly right: unknown
      readonly holder: unknown
      readonly target: unknown
    }
  | { readonly type: 'revoke_right'; readonly right: unknown; readonly reason: unknown }
  /** The owner of a workspace is asked (W-HWY-20). */
  | { readonly type: 'consult'; readonly workspace: unknown; readonly reason: unknown }
  /** `causedBy`: the injected envelope that the graph answers (W-HWY-23). */
  | { readonly type: 'submit_graph'; readonly tasks: unknown; readonly causedBy?: unknown }
  | { readonly type: 'add_tasks'; readonly graph: unknown; readonly tasks: unknown }
  | { readonly type: 'retry_task'; readonly task: unknown; readonly override?: boolean }
  | { readonly type: 'cancel_task' | 'change_task' | 'remove_task'; readonly task: unknown }
  | ({ readonly type: 'begin_integration' } & BeginRequest)
  | ({ readonly type: 'decide_integration'; readonly decision: IntegrationDecision } & AcceptRequest)
  | { readonly type: 'fail_integration'; readonly source: unknown }
  | ({ readonly type: 'salvage' } & SalvageRequest)
  | ({ readonly type: 'merge_salvage' } & MergeSalvageRequest)
  | { readonly type: 'discard_salvage'; readonly source: unknown }
  | ({ readonly type: 'report_conflicts' } & ReportRequest)
  | ({ readonly type: 'resolve_conflict' } & ResolveRequest)
  | { readonly type: 'answer_gate'; readonly gate: unknown; readonly action: unknown }
  | {
      readonly type: 'grant_visibility'
      readonly workspace: unknown
      readonly target: unknown
      readonly reason: unknown
    }
  | { readonly type: 'change_priority'; readonly workspace: unknown; readonly priority: unknown }
  | { readonly type: 'batch_priority'; readonly group: unknown; readonly priority: unknown }
  | { readonly type: 'batch_abort'; readonly group: unknown }
  | { readonly type: 'raise_budget'; readonly workspace: unknown; readonly limits: unknown }
  | {
      readonly type: 'transfer_ownership'
      readonly workspace: unknown
      readonly owner: unknown
      readonly reason?: unknown
    }
  | { readonly type: 'reparent'; readonly workspace: unknown; readonly parent: unknown }
  | {
      readonly type: 'report_degraded'
      readonly reason: unknown
      readonly scope: unknown
      readonly action: unknown
      readonly workspaces?: unknown
    }
  | { readonly type: 'register_type'; readonly registration: unknown }
)

/** What an authenticated human asks; the highway is the only way in. */
export type UserCommand = { readonly user: string } & (
  | { readonly type: 'inject'; readonly draft: unknown }
  | {
      readonly type: 'resolve_gate'
      readonly gate: unknown
      readonly action: unknown
      readonly modifications?: unknown
      readonly reason?: unknown
    }
  | { readonly type: 'resolve_escalation'; readonly signal: unknown; readonly answer: unknown }
  | { readonly type: 'user_abort'; readonly workspace: unknown }
  | { readonly type: 'user_suspend'; readonly workspace: unknown; readonly reason: unknown }
  | { readonly type: 'user_resume'; readonly workspace: unknown }
  | { readonly type: 'user_raise_budget'; readonly workspace: unknown; readonly limits: unknown }
  | {
      readonly type: 'user_transfer_ownership'
      readonly workspace: unknown
      readonly owner: unknown
      readonly reason?: unknown
    }
)

export type Command = RuntimeCommand | AgentCommand | UserCommand

/** W-CONC-02: aborts first, then what the runtime itself fails, then everything else. */
export const PRECEDENCE = { abort: 0, failure: 1, other: 2 } as const

export function precedenceOf(command: Command): number {
  switch (command.type) {
    case 'abort':
    case 'batch_abort':
    case 'user_abort':
    case 'stop':
      return PRECEDENCE.abort
    case 'bind_failed':
    case 'fail_migration':
    case 'exhaust':
    case 'due':
      return PRECEDENCE.failure
    default:
      return PRECEDENCE.other
  }
}
