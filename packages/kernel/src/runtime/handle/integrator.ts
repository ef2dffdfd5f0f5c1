// Integration as an agent asks for it. The request carries the proof of what is integrated, as the store holds it
// (W-INT-05); the integrator's result of a merge is JSON.
import type { CheckpointId, Result, WorkspaceId } from '@parley/core'
import type { IntegrationStrategy, ResolutionStrategy } from '@parley/trail/events'
import type { ResolutionOutcome } from '../../integration/conflict.ts'
import type { Finding } from '../../integration/conflict-record.ts'
import {
  type IntegrationDecision,
  type IntegrationOutcome,
  openSalvage,
  type Salvaged,
  type SalvageOutcome,
  salvageCandidate,
} from '../../integration/integration.ts'
import { plain } from '../../plain.ts'
import { invalidArgument } from '../../refusal.ts'
import type { Run } from '../../run/run.ts'
import type { AgentCaller } from './agent-caller.ts'
import { WorkingAgent } from './working-agent.ts'

interface BeginOptions {
  readonly strategy?: IntegrationStrategy
  readonly basis?: string
}

interface OverlapOptions {
  /** Ignore overlap with what was integrated before the source was created (AMB-55). */
  readonly baseAware?: boolean
}

interface AcceptOptions extends BeginOptions, OverlapOptions {
  readonly result?: unknown
  /** No gate stands before a deliverable that changes no file. */
  readonly ungatedIfEmpty?: boolean
}

interface SalvageOptions {
  readonly checkpoint?: CheckpointId
  /** Only `evaluated` is available (W-INT-19). */
  readonly strategy?: IntegrationStrategy
  readonly basis?: string
}

const noJson = invalidArgument('The result of a merge is a JSON value.')

export abstract class IntegratingAgent extends WorkingAgent {
  readonly #caller: AgentCaller

  constructor(caller: AgentCaller, role: string) {
    super(caller, role)
    this.#caller = caller
  }

  beginIntegration(source: WorkspaceId, how: string | BeginOptions = 'direct'): Promise<Result<void>> {
    return this.#caller.askWithEvidence(source, { type: 'begin_integration', source, ...withStrategy(how) })
  }

  accept(source: WorkspaceId, how: string | AcceptOptions = 'direct'): Promise<Result<IntegrationOutcome>> {
    return this.decideIntegration(source, 'accept', how)
  }

  revise(source: WorkspaceId): Promise<Result<IntegrationOutcome>> {
    return this.decideIntegration(source, 'revise')
  }

  reject(source: WorkspaceId): Promise<Result<IntegrationOutcome>> {
    return this.decideIntegration(source, 'reject')
  }

  decideIntegration(
    source: WorkspaceId,
    decision: IntegrationDecision,
    how: string | AcceptOptions = 'direct',
  ): Promise<Result<IntegrationOutcome>> {
    const { result, ...said } = withStrategy(how)
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    const request = { type: 'decide_integration', source, decision, ...said, result: copy } as const
    return decision === 'accept' ? this.#caller.askWithEvidence(source, request) : this.#caller.ask(request)
  }

  failIntegration(source: WorkspaceId): Promise<Result<IntegrationOutcome | SalvageOutcome>> {
    return this.#caller.ask({ type: 'fail_integration', source })
  }

  /** Opens the integration of what a failed child left (W-INT-18). */
  salvage(source: WorkspaceId, options: SalvageOptions = {}): Promise<Result<Salvaged>> {
    const pick = (run: Run) => options.checkpoint ?? salvageCandidate(run, source)
    return this.#caller.askWithEvidence(source, { type: 'salvage', source, ...options }, pick)
  }

  /** Usable: merges it with the integrator's result; overlap with earlier work is resolved first. */
  mergeSalvage(source: WorkspaceId, result?: unknown, options: OverlapOptions = {}): Promise<Result<SalvageOutcome>> {
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    const pick = (run: Run) => openSalvage(run, source)?.checkpoint
    return this.#caller.askWithEvidence(source, { type: 'merge_salvage', source, result: copy, ...options }, pick)
  }

  discardSalvage(source: WorkspaceId): Promise<Result<SalvageOutcome>> {
    return this.#caller.ask({ type: 'discard_salvage', source })
  }

  /** Conflicts of an `evaluated` merge. Answers the ids: the reported ones, then overlaps that none of them names. */
  reportConflicts(
    source: WorkspaceId,
    conflicts: readonly Finding[],
    options: OverlapOptions = {},
  ): Promise<Result<readonly string[]>> {
    return this.#caller.ask({ type: 'report_conflicts', source, conflicts: plain(conflicts), ...options })
  }

  /** `result` is the integrator's merge of both sides; the newest counts when the last conflict is settled. */
  resolveConflict(
    source: WorkspaceId,
    conflict: string,
    strategy: ResolutionStrategy,
    resolution: string,
    result?: unknown,
  ): Promise<Result<ResolutionOutcome | SalvageOutcome>> {
    const copy = plain(result)
    if (result !== undefined && copy === undefined) return Promise.resolve(noJson)
    return this.#caller.ask({ type: 'resolve_conflict', source, conflict, strategy, resolution, result: copy })
  }
}

function withStrategy(how: string | AcceptOptions): Omit<AcceptOptions, 'strategy'> & { strategy: string } {
  return typeof how === 'object' ? { ...how, strategy: how.strategy ?? 'direct' } : { strategy: how }
}
