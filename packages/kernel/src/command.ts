// Every command of a run. Fields that a caller supplied stay unknown until they are checked, since a malformed request
// has its own place in the order of checks.
import type { EnvelopeId, SignalId, Timestamp, WorkspaceId } from '@parley/core'
import type { ProposedEntry } from '@parley/trail'
import type { Usage } from './budget/decide.ts'
import type { Evidence } from './checkpoint/checkpoint.ts'
import type { GateAnswer } from './highway/resolve.ts'
import type { ResolveRequest } from './integration/conflict.ts'
import type { IntegrationDecision, IntegrationRequest } from './integration/integration.ts'
import type { ReportRequest } from './integration/report.ts'
import type { Filing } from './library/file.ts'
import type { RecoveryStep } from './recovery/plan.ts'
import type { SignalDraft } from './signal/decide.ts'
import type { FailedClaim, UserChange } from './user/user.ts'
import type { MemoryWrite, Readable } from './workspace/access.ts'
import type { MigrateRequest } from './workspace/migrate.ts'
import type { TerminateRequest } from './workspace/terminate.ts'

export type RuntimeCommand =
  | { readonly type: 'start'; readonly draft: unknown }
  | { readonly type: 'close' }
  | { readonly type: 'stop' }
  | { readonly type: 'bind_failed'; readonly workspace: WorkspaceId }
  /** The agent that takes over was prepared, or could not be (W-MIG-05, -06). */
  | { readonly type: 'complete_migration'; readonly workspace: WorkspaceId; readonly agent: string }
  | { readonly type: 'fail_migration'; readonly workspace: WorkspaceId; readonly agent: string; readonly error: string }
  | { readonly type: 'arrive'; readonly envelope: EnvelopeId; readonly arrived?: unknown }
  | { readonly type: 'exhaust'; readonly envelope: EnvelopeId }
  | { readonly type: 'arrive_signal'; readonly signal: SignalId; readonly to: WorkspaceId }
  /** Time has run out for something (W-CLOCK-05). */
  | { readonly type: 'due'; readonly recovering?: boolean }
  /** Use since the last report, measured by the runtime (W-BUDGET-03); `context` is the current value. */
  | ({ readonly type: 'meter' } & Usage)
  /** A claim to be somebody that did not hold (W-SEC-06). */
  | { readonly type: 'authentication_failed'; readonly claim: FailedClaim }
  | { readonly type: 'user'; readonly change: UserChange }
  /** The steps of recovery that write (W-REC-11), and its marker. */
  | { readonly type: 'recover'; readonly step: RecoveryStep }
  /** The trail can be written again (W-REC-09). */
  | { readonly type: 'degraded_over'; readonly from: Timestamp; readonly reason: string }
  | { readonly type: 'record'; readonly entries: readonly ProposedEntry[] }
  /** A record of the library that the node itself makes. */
  | ({ readonly type: 'file_own' } & Filing)

type Asks<T extends string, Fields extends string> = T extends string
  ? { readonly type: T } & { readonly [F in Fields]: unknown }
  : never

export type AgentCommand = { readonly caller: WorkspaceId; readonly agent?: string } & (
  | {
      readonly type: 'emit'
      readonly draft: SignalDraft & { readonly from?: string }
      readonly evidence?: Evidence | undefined
    }
  | Asks<'send' | 'checkpoint' | 'create_workspace', 'draft'>
  | Asks<'change_checkpoint', 'checkpoint'>
  | { readonly type: 'consume' }
  | ({ readonly type: 'write_memory' } & MemoryWrite)
  | { readonly type: 'read'; readonly kind: Readable; readonly id: string }
  | Asks<'dispatch' | 'abort' | 'resume' | 'set_authority' | 'set_delegate' | 'revoke_visibility', 'workspace'>
  | Asks<'suspend', 'workspace' | 'reason'>
  | ({ readonly type: 'migrate' } & MigrateRequest)
  | ({ readonly type: 'terminate' } & TerminateRequest)
  | Asks<'grant_right', 'right' | 'holder' | 'target'>
  | Asks<'revoke_right', 'right' | 'reason'>
  /** The owner of a workspace is asked (W-HWY-20). */
  | Asks<'consult', 'workspace' | 'reason'>
  /** `causedBy`: the injected envelope that the graph answers (W-HWY-23). */
  | (Asks<'submit_graph', 'tasks'> & { readonly causedBy?: unknown })
  | Asks<'add_tasks', 'graph' | 'tasks'>
  | (Asks<'retry_task', 'task'> & { readonly override?: boolean })
  | Asks<'cancel_task' | 'change_task' | 'remove_task', 'task'>
  | ({ readonly type: 'begin_integration' } & IntegrationRequest)
  | ({ readonly type: 'decide_integration'; readonly decision: IntegrationDecision } & IntegrationRequest)
  | Asks<'fail_integration' | 'discard_salvage', 'source'>
  | ({ readonly type: 'salvage' } & IntegrationRequest)
  | ({ readonly type: 'merge_salvage' } & IntegrationRequest)
  | ({ readonly type: 'report_conflicts' } & ReportRequest)
  | ({ readonly type: 'resolve_conflict' } & ResolveRequest)
  | Asks<'answer_gate', 'gate' | 'action'>
  | Asks<'grant_visibility', 'workspace' | 'target' | 'reason'>
  | Asks<'change_priority', 'workspace' | 'priority'>
  | Asks<'batch_priority', 'group' | 'priority'>
  | Asks<'batch_abort', 'group'>
  | Asks<'raise_budget', 'workspace' | 'limits'>
  | (Asks<'transfer_ownership', 'workspace' | 'owner'> & { readonly reason?: unknown })
  | Asks<'reparent', 'workspace' | 'parent'>
  | (Asks<'report_degraded', 'reason' | 'scope' | 'action'> & { readonly workspaces?: unknown })
  | Asks<'register_type', 'registration'>
)

export type UserCommand = { readonly user: string } & (
  | Asks<'inject', 'draft'>
  /** A record of the library. */
  | ({ readonly type: 'file' } & Filing)
  | ({ readonly type: 'resolve_gate' } & GateAnswer)
  | Asks<'resolve_escalation', 'signal' | 'answer'>
  | Asks<'user_abort' | 'user_resume', 'workspace'>
  | Asks<'user_suspend', 'workspace' | 'reason'>
  | Asks<'user_raise_budget', 'workspace' | 'limits'>
  | (Asks<'user_transfer_ownership', 'workspace' | 'owner'> & { readonly reason?: unknown })
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
