// An authenticated human at work in runs: what the highway lets people do (W-HWY-07, -17, -22, W-ROLE-04). The kernel checks state,
// capability and scope at every step.
import type { GateId, Result, RunId, SignalId, WorkspaceId } from '@parley/core'
import type { Budget } from '@parley/trail/events'
import type { UserCommand } from '../command.ts'
import type { EnvelopeDraft, PayloadDraft } from '../envelope/envelope.ts'
import type { Sent } from '../envelope/send.ts'
import { plain } from '../plain.ts'

type Done = Promise<Result<void>>

/** Distributes over the union, so that each command keeps its own fields. */
type WithoutUser<C> = C extends { readonly user: string } ? Omit<C, 'user'> : never

/** W-HWY-22. */
export type EscalationAnswer =
  | { readonly type: 'envelope'; readonly payload: PayloadDraft }
  | { readonly type: 'abort' }
  | { readonly type: 'delegation' }

/** What a user handle needs of the runtime. */
export interface UserHost {
  submit<T>(run: RunId, command: UserCommand): Promise<Result<T>>
}

export class UserHandle {
  readonly id: string
  readonly #host: UserHost

  constructor(host: UserHost, id: string) {
    this.id = id
    this.#host = host
  }

  /** Mail to any workspace; to the root it asks the coordinator for work. */
  inject(run: RunId, draft: EnvelopeDraft): Promise<Result<Sent>> {
    return this.#ask(run, { type: 'inject', draft: plain(draft) })
  }

  approve(run: RunId, gate: GateId, reason?: string): Promise<Result<unknown>> {
    return this.#ask(run, { type: 'resolve_gate', gate, action: 'approve', reason })
  }

  reject(run: RunId, gate: GateId, reason?: string): Promise<Result<unknown>> {
    return this.#ask(run, { type: 'resolve_gate', gate, action: 'reject', reason })
  }

  /** Approves with changes: only the fields that change (W-HWY-08). */
  modify(run: RunId, gate: GateId, modifications: object, reason?: string): Promise<Result<unknown>> {
    return this.#ask(run, {
      type: 'resolve_gate',
      gate,
      action: 'modify',
      modifications: plain(modifications),
      reason,
    })
  }

  answerEscalation(run: RunId, signal: SignalId, answer: EscalationAnswer): Promise<Result<unknown>> {
    return this.#ask(run, { type: 'resolve_escalation', signal, answer: plain(answer) })
  }

  abort(run: RunId, workspace: WorkspaceId, reason?: string): Done {
    return this.#ask(run, { type: 'user_abort', workspace, reason })
  }

  suspend(run: RunId, workspace: WorkspaceId, reason: string): Done {
    return this.#ask(run, { type: 'user_suspend', workspace, reason })
  }

  resume(run: RunId, workspace: WorkspaceId): Done {
    return this.#ask(run, { type: 'user_resume', workspace })
  }

  raiseBudget(run: RunId, workspace: WorkspaceId, limits: Budget): Done {
    return this.#ask(run, { type: 'user_raise_budget', workspace, limits: plain(limits) })
  }

  transferOwnership(run: RunId, workspace: WorkspaceId, owner: string, reason?: string): Done {
    return this.#ask(run, { type: 'user_transfer_ownership', workspace, owner, reason })
  }

  #ask<T>(run: RunId, command: WithoutUser<UserCommand>): Promise<Result<T>> {
    return this.#host.submit<T>(run, { ...command, user: this.id } as UserCommand)
  }
}
