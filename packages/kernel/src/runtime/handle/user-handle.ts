// An authenticated human at work in runs: what the highway lets people do (W-HWY-07, -17, -22, W-ROLE-04). The kernel
// checks state, capability and scope at every step.
import type { GateId, Result, RunId, SignalId, WorkspaceId } from '@parley/core'
import type { QueryPage, TrailFilter, TrailQuery } from '@parley/trail'
import type { Budget } from '@parley/trail/events'
import type { UserCommand } from '../../command.ts'
import type { EnvelopeDraft } from '../../envelope/envelope.ts'
import type { Sent } from '../../envelope/send.ts'
import type { EscalationAnswer } from '../../highway/answer.ts'
import type { GateOutcome } from '../../highway/gate.ts'
import { plain } from '../../plain.ts'
import type { RecordedReads } from '../recorded-reads.ts'

type Done = Promise<Result<void>>

type WithoutUser<C> = C extends { readonly user: string } ? Omit<C, 'user'> : never

export interface UserHost {
  submit<T>(run: RunId, command: UserCommand): Promise<Result<T>>
  readonly reads: Pick<RecordedReads, 'queryAsUser' | 'watchAsUser'>
}

export class UserHandle {
  readonly id: string
  readonly #host: UserHost

  constructor(host: UserHost, id: string) {
    this.id = id
    this.#host = host
    // What it asks is asked in this name.
    Object.freeze(this)
  }

  /** Mail to any workspace; to the root it asks the coordinator for work. */
  inject(run: RunId, draft: EnvelopeDraft): Promise<Result<Sent>> {
    return this.#ask(run, { type: 'inject', draft: plain(draft) })
  }

  approve(run: RunId, gate: GateId, reason?: string): Promise<Result<GateOutcome>> {
    return this.#ask(run, { type: 'resolve_gate', gate, action: 'approve', reason })
  }

  reject(run: RunId, gate: GateId, reason?: string): Promise<Result<GateOutcome>> {
    return this.#ask(run, { type: 'resolve_gate', gate, action: 'reject', reason })
  }

  /** Approves with changes: only the fields that change (W-HWY-08). */
  modify(run: RunId, gate: GateId, modifications: object, reason?: string): Promise<Result<GateOutcome>> {
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

  abort(run: RunId, workspace: WorkspaceId): Done {
    return this.#ask(run, { type: 'user_abort', workspace })
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

  /** W-TRAIL-20: the trail of what is the user's own, or of everything with `view_trail_any`. */
  query(run: RunId, query: TrailQuery): Promise<Result<QueryPage>> {
    return this.#host.reads.queryAsUser(run, query, this.id)
  }

  /** The same page by page as it becomes durable (W-HWY-02); a run may be configured to show nothing live. */
  watch(
    run: RunId,
    filter: TrailFilter & { readonly after?: number } = {},
    signal?: AbortSignal,
  ): Promise<Result<AsyncGenerator<QueryPage>>> {
    return this.#host.reads.watchAsUser(run, filter, this.id, signal)
  }

  #ask<T>(run: RunId, command: WithoutUser<UserCommand>): Promise<Result<T>> {
    return this.#host.submit<T>(run, { ...command, user: this.id } as UserCommand)
  }
}
