// What an integrator asks that takes more than the command itself: the proof of what it integrates comes along as the
// store holds it (W-INT-05), and what it made of a merge is JSON.
import type { CheckpointId, Result, WorkspaceId } from '@parley/core'
import type { ConflictType, IntegrationStrategy } from '@parley/trail/events'
import { EVIDENCE_MISSING } from '../../checkpoint/proof.ts'
import type { ResolutionOutcome, ResolveRequest } from '../../integration/conflict.ts'
import type {
  IntegrationDecision,
  IntegrationOutcome,
  Salvaged,
  SalvageOutcome,
} from '../../integration/integration.ts'
import { openSalvage, salvageCandidate } from '../../integration/salvage-record.ts'
import { plain } from '../../plain.ts'
import { invalidArgument } from '../../refusal.ts'
import type { Run } from '../../run/run.ts'
import type { SignalDraft, SignalOutcome } from '../../signal/decide.ts'
import type { AgentCaller, AgentRequest } from './agent-caller.ts'
import { evidenceOf } from './content.ts'

export interface BeginOptions {
  /** `direct` where it is left out. */
  readonly strategy?: IntegrationStrategy
  readonly basis?: string
}

/** Which overlap counts under `layered` and `evaluated`. */
export interface OverlapOptions {
  /** Ignore overlap with what was integrated before the source was created (AMB-55). */
  readonly baseAware?: boolean
}

export interface AcceptOptions extends BeginOptions, OverlapOptions {
  readonly result?: unknown
}

export interface SalvageOptions {
  /** Left out: the newest final checkpoint, else the newest. */
  readonly checkpoint?: CheckpointId
  /** Only `evaluated` is available (W-INT-19). */
  readonly strategy?: IntegrationStrategy
  readonly basis?: string
}

export interface ConflictReport {
  readonly type: ConflictType
  readonly resources: readonly string[]
  readonly description: string
}

const noJson = invalidArgument('The result of a merge is a JSON value.')

export class Integrator {
  readonly #caller: AgentCaller

  constructor(caller: AgentCaller) {
    this.#caller = caller
  }

  begin(source: WorkspaceId, how: string | BeginOptions): Promise<Result<void>> {
    return this.#withEvidence(source, { type: 'begin_integration', source, ...withStrategy(how) })
  }

  /** The signal `integrate`: from the coordinator it is the operation (W-SIG-05), with what that takes. */
  emit(source: WorkspaceId, draft: SignalDraft): Promise<Result<SignalOutcome>> {
    return this.#withEvidence(source, { type: 'emit', draft })
  }

  decide(
    source: WorkspaceId,
    decision: IntegrationDecision,
    how: string | AcceptOptions,
  ): Promise<Result<IntegrationOutcome>> {
    const { result, ...said } = withStrategy(how)
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    const request = { type: 'decide_integration', source, decision, ...said, result: copy } as const
    return decision === 'accept' ? this.#withEvidence(source, request) : this.#caller.ask(request)
  }

  resolve(
    request: Omit<ResolveRequest, 'result'>,
    result: unknown,
  ): Promise<Result<ResolutionOutcome | SalvageOutcome>> {
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    return this.#caller.ask({ type: 'resolve_conflict', ...request, result: copy })
  }

  salvage(source: WorkspaceId, options: SalvageOptions): Promise<Result<Salvaged>> {
    const pick = (run: Run) => options.checkpoint ?? salvageCandidate(run, source)
    return this.#withEvidence(source, { type: 'salvage', source, ...options }, pick)
  }

  mergeSalvage(source: WorkspaceId, result: unknown, options: OverlapOptions): Promise<Result<SalvageOutcome>> {
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    const pick = (run: Run) => openSalvage(run, source)?.checkpoint
    return this.#withEvidence(source, { type: 'merge_salvage', source, result: copy, ...options }, pick)
  }

  /** Proves the chosen checkpoint, by default the deliverable; once more if that has changed meanwhile. */
  async #withEvidence<T>(
    source: WorkspaceId,
    request: AgentRequest,
    pick: (run: Run) => CheckpointId | undefined = run => run.workspaces.get(source)?.deliverable,
  ): Promise<Result<T>> {
    const { run } = this.#caller
    const { proofs } = run
    if (!proofs) return this.#caller.ask(request)
    const ask = async (): Promise<Result<T>> => {
      const evidence = await evidenceOf(run, proofs, source, pick)
      if (!evidence.ok) return evidence
      return this.#caller.ask({ ...request, evidence: evidence.value } as AgentRequest)
    }
    const first = await ask()
    return !first.ok && first.error.details.reason === EVIDENCE_MISSING ? ask() : first
  }
}

function withStrategy(how: string | AcceptOptions): Omit<AcceptOptions, 'strategy'> & { strategy: string } {
  return typeof how === 'object' ? { ...how, strategy: how.strategy ?? 'direct' } : { strategy: how }
}
