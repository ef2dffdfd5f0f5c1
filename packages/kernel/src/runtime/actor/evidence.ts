// Proofs that a decision lacks (W-INT-05): the command waits until the stored checkpoint was read, and is decided next.
import {
  asParleyError,
  type CheckpointId,
  err,
  invariant,
  type ObjectId,
  ok,
  type Result,
  type WorkspaceId,
} from '@parley/core'
import type { RunTrail } from '@parley/trail'
import type { Evidence } from '../../checkpoint/checkpoint.ts'
import type { Proofs } from '../../integrity/proofs.ts'
import { kernelDefaults } from '../../limits.ts'
import { evidenceIn } from '../handle/content.ts'
import type { Queued } from './queue.ts'

interface EvidenceSource {
  readonly trail: RunTrail
  readonly proofs?: Proofs | undefined
  readonly wait: (milliseconds: number) => Promise<void>
  readonly stopped: () => boolean
  readonly maker: (checkpoint: CheckpointId) => WorkspaceId | undefined
}

export class MissingEvidence {
  readonly #source: EvidenceSource
  #lacking: { readonly queued: Queued; readonly checkpoint: CheckpointId } | undefined
  #ready: { readonly queued: Queued; readonly evidence: Evidence } | undefined
  #current: Evidence | undefined

  constructor(source: EvidenceSource) {
    this.#source = source
  }

  get lacking(): boolean {
    return this.#lacking !== undefined
  }

  get ready(): boolean {
    return this.#ready !== undefined
  }

  lack(queued: Queued, checkpoint: CheckpointId): void {
    this.#lacking = { queued, checkpoint }
  }

  next(): Queued | undefined {
    const ready = this.#ready
    this.#ready = undefined
    this.#current = ready?.evidence
    return ready?.queued
  }

  /** The proof for the command that was taken last, for one decision: what the store holds may change. */
  take(): Evidence | undefined {
    const evidence = this.#current
    this.#current = undefined
    return evidence
  }

  async bring(): Promise<void> {
    const { trail, proofs, wait, stopped, maker } = this.#source
    while (this.#lacking && !stopped()) {
      const { queued, checkpoint } = this.#lacking
      const workspace = maker(checkpoint)
      invariant(proofs && workspace, 'only what is proven can lack its proof')
      const stored = trail.object(checkpoint as string as ObjectId, undefined, 'shown')
      const read = await stored.then(ok, cause => err(asParleyError(cause)))
      const evidence = evidenceIn(read, proofs, workspace, checkpoint)
      if (!evidence.ok && evidence.error.retryable) {
        await wait(kernelDefaults.degradedRetry)
        continue
      }
      // Refused while it was read.
      if (!this.#lacking) return
      this.#lacking = undefined
      if (evidence.ok) this.#ready = { queued, evidence: evidence.value }
      else queued.answer(evidence)
    }
  }

  refuse(refused: Result<never>): void {
    for (const waiting of [this.#lacking, this.#ready]) waiting?.queued.answer(refused)
    this.#lacking = undefined
    this.#ready = undefined
  }
}
