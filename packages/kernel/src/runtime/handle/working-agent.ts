// What every agent does in its own workspace: signals, mail, checkpoints and working memory.
import type { CheckpointId, Result, WorkspaceId } from '@parley/core'
import type { CheckpointDraft } from '../../checkpoint/checkpoint.ts'
import type { CheckpointCreated } from '../../checkpoint/decide.ts'
import type { EnvelopeDraft, EnvelopeRecord } from '../../envelope/envelope.ts'
import { sealDraft } from '../../envelope/proof.ts'
import type { Sent } from '../../envelope/send.ts'
import { plain } from '../../plain.ts'
import { invalidArgument } from '../../refusal.ts'
import type { SignalDraft, SignalOutcome } from '../../signal/decide.ts'
import type { Notice } from '../notice.ts'
import type { AgentCaller } from './agent-caller.ts'
import { ReadingAgent } from './agent-reader.ts'

type Done = Promise<Result<void>>

export abstract class WorkingAgent extends ReadingAgent {
  readonly #caller: AgentCaller

  constructor(caller: AgentCaller, role: string) {
    super(caller, role)
    this.#caller = caller
  }

  // Signals

  emit(draft: SignalDraft): Promise<Result<SignalOutcome>> {
    const copy = plain(draft) ?? ({} as SignalDraft)
    if (copy.type === 'integrate' && typeof copy.ref === 'string')
      // From the coordinator it is the operation (W-SIG-05), with what that takes.
      return this.#caller.askWithEvidence(copy.ref as WorkspaceId, { type: 'emit', draft: copy })
    return this.#caller.ask({ type: 'emit', draft: copy })
  }

  started(): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'started' })
  }

  blocked(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'blocked', reason })
  }

  complete(): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'complete' })
  }

  failed(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'failed', reason })
  }

  escalate(reason: string): Promise<Result<SignalOutcome>> {
    return this.emit({ type: 'escalation', reason })
  }

  // Mail

  send(draft: EnvelopeDraft): Promise<Result<Sent>> {
    return this.#caller.ask({ type: 'send', draft: plain(draft) })
  }

  /** The draft with this agent's proof: it cannot change unnoticed on the way to the runtime (W-ENV-05). */
  seal(draft: EnvelopeDraft): Result<EnvelopeDraft> {
    const agent = this.#caller.identity()
    if (!agent.ok) return agent
    return sealDraft(this.#caller.run.proofs, { from: this.workspace, agent: agent.value }, plain(draft))
  }

  consume(): Promise<Result<EnvelopeRecord | undefined>> {
    return this.#caller.ask({ type: 'consume' })
  }

  receive(signal?: AbortSignal): Promise<Result<EnvelopeRecord>> {
    return this.#caller.receive(signal)
  }

  subscribe(listener: (notice: Notice) => void): () => void {
    return this.#caller.subscribe(listener)
  }

  // Checkpoints and working memory

  checkpoint(draft: CheckpointDraft): Promise<Result<CheckpointCreated>> {
    return this.#caller.ask({ type: 'checkpoint', draft: plain(draft) })
  }

  changeCheckpoint(checkpoint: CheckpointId): Promise<Result<never>> {
    return this.#caller.ask({ type: 'change_checkpoint', checkpoint })
  }

  /** Writes one key; another workspace's memory is refused and the attempt is on record. */
  writeMemory(key: string, value: unknown, workspace?: WorkspaceId): Done {
    const copy = plain(value)
    if (copy === undefined) return Promise.resolve(invalidArgument('Working memory takes JSON values.'))
    return this.#caller.ask({ type: 'write_memory', workspace, key, value: copy })
  }

  deleteMemory(key: string): Done {
    return this.#caller.ask({ type: 'write_memory', key })
  }
}
