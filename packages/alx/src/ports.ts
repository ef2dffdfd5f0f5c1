// What the ALX server needs from its host (ALX-HTTP-08). Runs go through core's `RunPort`, what outlives them through
// its `Library`; both are the record, so nothing here is stored a second time.
import type {
  FeedbackInput,
  FeedbackRecord,
  KbEnvelope,
  KbLineage,
  KbRecord,
  KbRegisterInput,
  KbRegistration,
  KbVerification,
  KbVerifyInput,
  LearningInfo,
  Result,
  SettlementInput,
  SettlementRecord,
  SolveArtifact,
  SolveIntentShape,
} from '@alx/protocol'
import type { Result as CoreResult, Principal, RunId, TurnContextPart } from '@parley/core'

/** What is asked, without `meta`, which must not influence a selection (ALX-SOLVE-01). */
export interface SelectionRequest {
  readonly intent: SolveIntentShape
  readonly context: Readonly<Record<string, unknown>> | undefined
  /** Only blocks that they may read are candidates. */
  readonly reader: Principal
}

export interface ArtifactCandidate {
  /** With its payload: the request that starts the run stores what is carried out. */
  readonly artifact: SolveArtifact
  /** 0 to 1. */
  readonly confidence: number
  /** What the confidence is made of, each part by its name; the response shows them (`selectMeta`). */
  readonly parts: Readonly<Record<string, number>>
}

export interface ArtifactSelector {
  /** The best first; empty where nothing fits. What it throws is a defect, and fails the run (ALX-ERR-05). */
  select(request: SelectionRequest): Promise<readonly ArtifactCandidate[]>
}

export interface PlannedStep {
  /** The id of the task in the artifact's plan, where it is unique. */
  readonly id: string
  readonly name: string
  /** Why it is left out: it is never given to anybody. */
  readonly skipped?: string
  /** A person approves it before it begins: a gate of its own (ALX-SOLVE-14). */
  readonly approve?: boolean
}

/** What carrying out an artifact takes. */
export type ExecutionPlan =
  /** Nobody works: the artifact's content is the result. */
  | { readonly kind: 'none'; readonly result: string }
  | {
      readonly kind: 'steps'
      /** Each behind those that it needs. */
      readonly steps: readonly PlannedStep[]
      /** Blocks that every turn is told first, as data; what the run makes cites them. */
      readonly told?: readonly { readonly kbHash: string; readonly part: TurnContextPart }[]
      /** The team's own time limit, which the coordinator keeps. Without one the server's holds, of working time. */
      readonly timeoutMs?: number
    }

export interface PlanExecutor {
  /**
   * No side effects: a dry run asks the same. The run is then started through `RunPort`, whose setup makes team and
   * plan from what the request stored (`readSolveFacts`). Refuses with `unknown_team` where an artifact cannot be
   * carried out here.
   */
  plan(artifact: SolveArtifact, request: SelectionRequest): Promise<CoreResult<ExecutionPlan>>
}

/** What an answer has beside the base envelope, which the server adds. */
export type Body<Envelope> = Omit<Envelope, 'ok' | 'correlationId' | 'protocol' | 'error'>

/** A run that feedback is about. */
export interface RatedRun {
  readonly run: RunId
  readonly user: string
  /** The block that it carried out, or whose content it gave: feedback is about that too. */
  readonly artifactId?: string
}

/**
 * Knowledge Blocks, settlements and feedback. Requests have passed their shape; everything else is checked here, and
 * refused with codes of the protocol in the order of the sheet. A rejection is a defect.
 */
export interface KnowledgeService {
  /** ALX-KB-12. `isNew` decides between 201 and 200. */
  register(input: KbRegisterInput, by: Principal): Promise<Result<Body<KbRegistration>>>
  /** ALX-KB-14; `kbHash` has its form. */
  read(kbHash: string, reader: Principal): Promise<Result<Body<KbRecord>>>
  verify(input: KbVerifyInput): Promise<Result<Body<KbVerification>>>
  lineage(kbHash: string, direction: 'ancestors' | 'descendants', reader: Principal): Promise<Result<Body<KbLineage>>>
  /** ALX-SETTLE-07. `isNew` decides between 201 and 200 and is not sent. */
  settle(
    input: SettlementInput,
    by: Principal,
  ): Promise<Result<{ readonly isNew: boolean; readonly body: Body<SettlementRecord> }>>
  readSettlement(queryId: string, reader: Principal): Promise<Result<Body<SettlementRecord>>>
  /** ALX-SOLVE-17, for a run that the caller has found to be the user's and completed. */
  feedback(input: FeedbackInput, by: Principal, run: RatedRun): Promise<Result<Body<FeedbackRecord>>>
  /** What is known of a completed run's learning now. */
  learning(run: RunId): LearningInfo
  /**
   * A block that a run has made: registered for its curator unless it is there already. Durable when it resolves.
   */
  keep(envelope: KbEnvelope, curator: string): Promise<Result<void>>
}
