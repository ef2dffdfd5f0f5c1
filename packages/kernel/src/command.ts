// Everything that can be asked of a run. Agents' commands name the workspace that the caller is bound to; what a caller handed in
// stays unknown until the check that looks at it, since a malformed request has its own place in the order of checks.
import type { EnvelopeId, SignalId, WorkspaceId } from '@parley/core'
import type { ProposedEntry } from '@parley/trail'
import type { IntegrationDecision } from './integration/integration.ts'
import type { SignalDraft } from './signal/decide.ts'
import type { Readable } from './workspace/access.ts'

/** What the runtime asks on its own account. */
export type RuntimeCommand =
  | { readonly type: 'start'; readonly draft: unknown }
  | { readonly type: 'close' }
  | { readonly type: 'stop' }
  | { readonly type: 'bind_failed'; readonly workspace: WorkspaceId }
  | { readonly type: 'arrive'; readonly envelope: EnvelopeId }
  | { readonly type: 'exhaust'; readonly envelope: EnvelopeId }
  | { readonly type: 'arrive_signal'; readonly signal: SignalId; readonly to: WorkspaceId }
  /** Entries that the trail proposed: denied reads, findings of a verification. */
  | { readonly type: 'record'; readonly entries: readonly ProposedEntry[] }

/** What the agent bound to `caller` asks. */
export type AgentCommand = { readonly caller: WorkspaceId } & (
  | { readonly type: 'emit'; readonly draft: SignalDraft & { readonly from?: string } }
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
  | { readonly type: 'migrate'; readonly workspace: unknown }
  | { readonly type: 'set_authority' | 'set_delegate' | 'revoke_visibility'; readonly workspace: unknown }
  | {
      readonly type: 'grant_right'
      readonly right: unknown
      readonly holder: unknown
      readonly target: unknown
    }
  | { readonly type: 'revoke_right'; readonly right: unknown; readonly reason: unknown }
  | { readonly type: 'submit_graph'; readonly tasks: unknown }
  | { readonly type: 'add_tasks'; readonly graph: unknown; readonly tasks: unknown }
  | { readonly type: 'retry_task'; readonly task: unknown; readonly override?: boolean }
  | { readonly type: 'cancel_task' | 'change_task' | 'remove_task'; readonly task: unknown }
  | { readonly type: 'begin_integration'; readonly source: unknown; readonly strategy: unknown }
  | {
      readonly type: 'decide_integration'
      readonly source: unknown
      readonly decision: IntegrationDecision
      readonly strategy?: unknown
    }
  | { readonly type: 'fail_integration'; readonly source: unknown }
)

export type Command = RuntimeCommand | AgentCommand

/** W-CONC-02: aborts first, then what the runtime itself fails, then everything else. */
export const PRECEDENCE = { abort: 0, failure: 1, other: 2 } as const

export function precedenceOf(command: Command): number {
  switch (command.type) {
    case 'abort':
    case 'stop':
      return PRECEDENCE.abort
    case 'bind_failed':
    case 'exhaust':
      return PRECEDENCE.failure
    default:
      return PRECEDENCE.other
  }
}
