// The agent of a workspace as its run knows it: what it asks is asked in its name, and what is for the workspace
// reaches it as long as it is bound there (W-SEC-03).
import { type CheckpointId, ok, type Result, type WorkspaceId } from '@parley/core'
import { EVIDENCE_MISSING } from '../../checkpoint/checkpoint.ts'
import type { AgentCommand } from '../../command.ts'
import type { EnvelopeRecord } from '../../envelope/envelope.ts'
import { STATE_RULES } from '../../lifecycle/states.ts'
import { invalidArgument, invalidState, refusal } from '../../refusal.ts'
import type { Run } from '../../run/run.ts'
import type { Notice } from '../notice.ts'
import { evidenceOf } from './content.ts'
import type { RunHandle } from './run-handle.ts'

type WithoutCaller<C> = C extends { readonly caller: WorkspaceId } ? Omit<C, 'caller'> : never

type AgentRequest = WithoutCaller<AgentCommand>

export class AgentCaller {
  readonly run: RunHandle
  readonly workspace: WorkspaceId
  readonly agent: string | undefined

  constructor(run: RunHandle, workspace: WorkspaceId, agent: string | undefined) {
    this.run = run
    this.workspace = workspace
    this.agent = agent
  }

  ask<T>(request: AgentRequest): Promise<Result<T>> {
    const { workspace: caller, agent } = this
    return this.run.submit<T>({ ...request, caller, ...(agent !== undefined && { agent }) } as AgentCommand)
  }

  /** Proves the chosen checkpoint, by default the deliverable; once more if that has changed meanwhile. */
  async askWithEvidence<T>(
    source: WorkspaceId,
    request: AgentRequest,
    pick: (run: Run) => CheckpointId | undefined = run => run.workspaces.get(source)?.deliverable,
  ): Promise<Result<T>> {
    const { proofs } = this.run
    if (!proofs) return this.ask(request)
    const ask = async (): Promise<Result<T>> => {
      const evidence = await evidenceOf(this.run, proofs, source, pick)
      return evidence.ok ? this.ask({ ...request, evidence: evidence.value } as AgentRequest) : evidence
    }
    const first = await ask()
    return !first.ok && first.error.details.reason === EVIDENCE_MISSING ? ask() : first
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    return this.run.subscribe(notice => {
      if (notice.to === this.workspace && this.#isBound) listener(notice)
    })
  }

  get #isBound(): boolean {
    const bound = this.run.agentOf(this.workspace)
    return this.agent === undefined || bound === undefined || bound === this.agent
  }

  /** Refuses an agent that is not bound any more, on record. */
  identity(): Result<string> {
    const agent = this.agent ?? this.run.agentOf(this.workspace) ?? `agent:${this.workspace}`
    if (this.#isBound) return ok(agent)
    const reason = 'invalid_credential'
    const body = { entity: agent, context: 'agent_operation', reason, source: this.workspace } as const
    void this.run.record([{ event_type: 'authentication_failed', workspace: null, actor: 'protocol', body }])
    return refusal('permission_denied', `${agent} is not the agent of ${this.workspace} any more.`, { reason })
  }

  async receive(signal?: AbortSignal): Promise<Result<EnvelopeRecord>> {
    for (;;) {
      const arrived = this.#nextNotice(notice => notice.kind === 'mail' || notice.kind === 'state', signal)
      const next = await this.ask<EnvelopeRecord | undefined>({ type: 'consume' })
      if (!next.ok || next.value !== undefined) {
        arrived.forget()
        return next as Result<EnvelopeRecord>
      }
      if (!(await arrived.seen)) return invalidArgument('Waiting for mail was given up.', 'aborted')
      // Who is paused while it waits did not reach for anything: nothing is denied, and nothing is on record.
      const shut = await this.#shut()
      if (shut) return shut
    }
  }

  async #shut(): Promise<Result<never> | undefined> {
    const status = await this.run.tryRead(run => run.workspaces.get(this.workspace)?.status)
    if (!status.ok) return status
    if (status.value === undefined || STATE_RULES[status.value].consumes) return undefined
    return invalidState(`${this.workspace} is ${status.value} and reads no mail.`)
  }

  #nextNotice(wanted: (notice: Notice) => boolean, signal: AbortSignal | undefined) {
    const { promise: seen, resolve } = Promise.withResolvers<boolean>()
    const off = this.subscribe(notice => wanted(notice) && finish(true))
    const stop = () => finish(false)
    const finish = (value: boolean) => {
      off()
      signal?.removeEventListener('abort', stop)
      resolve(value)
    }
    if (signal?.aborted) finish(false)
    else signal?.addEventListener('abort', stop)
    return { seen, forget: () => finish(true) }
  }
}
