// Blocks, settlements and feedback in memory, as far as the routes of solves and sessions ask for them.
import { type KbEnvelope, kbHashFromEnvelope, type LearningInfo, protocolErrorOf } from '@alx/protocol'
import type { KnowledgeService } from '../ports.ts'

const missing = (code: 'KB_NOT_FOUND' | 'SETTLEMENT_NOT_FOUND') =>
  ({ ok: false, error: protocolErrorOf(code, 'There is none.') }) as const

export class MemoryKnowledge implements KnowledgeService {
  /** What runs have made, with its curator. */
  readonly kept = new Map<string, { readonly envelope: KbEnvelope; readonly curator: string }>()
  /** Measured gains, by run. */
  readonly improvements = new Map<string, number>()
  readonly #ratings = new Map<string, { readonly feedbackId: string; readonly recordedAt: string }>()

  async keep(envelope: KbEnvelope, curator: string) {
    this.kept.set(kbHashFromEnvelope(envelope), { envelope, curator })
    return { ok: true, value: undefined } as const
  }

  learning(run: string): LearningInfo {
    const { feedbackId = null, recordedAt = null } = this.#ratings.get(run) ?? {}
    return { eligible: true, feedbackId, recordedAt, improvement: this.improvements.get(run) ?? null }
  }

  async feedback({ executionId }: { readonly executionId: string }) {
    const rating = { feedbackId: `fb_${executionId}`, recordedAt: '2026-01-01T00:00:00.000Z' }
    this.#ratings.set(executionId, rating)
    return { ok: true, value: { executionId, ...rating } } as const
  }

  register: KnowledgeService['register'] = async () => missing('KB_NOT_FOUND')
  read: KnowledgeService['read'] = async () => missing('KB_NOT_FOUND')
  verify: KnowledgeService['verify'] = async () => missing('KB_NOT_FOUND')
  lineage: KnowledgeService['lineage'] = async () => missing('KB_NOT_FOUND')
  settle: KnowledgeService['settle'] = async () => missing('KB_NOT_FOUND')
  readSettlement: KnowledgeService['readSettlement'] = async () => missing('SETTLEMENT_NOT_FOUND')
}
