// What the ALX server needs from its host (ALX-HTTP-08). Runs go through core's `RunPort`, what outlives them through
// its `Library`; both are the record, so nothing here is stored a second time.
import type { SolveArtifact, SolveIntentShape } from '@alx/protocol'
import type { Principal, Result } from '@parley/core'

/** What is asked, without `meta`, which must not influence a selection (ALX-SOLVE-01). */
export interface SelectionRequest {
  readonly intent: SolveIntentShape
  readonly context: Readonly<Record<string, unknown>> | undefined
  /** Only blocks that they may read are candidates. */
  readonly reader: Principal
}

export interface ArtifactCandidate {
  readonly artifact: SolveArtifact
  /** 0 to 1. */
  readonly confidence: number
  /** What the confidence is made of, each part by its name; the response shows them (`selectMeta`). */
  readonly parts: Readonly<Record<string, number>>
}

export interface ArtifactSelector {
  /** The best first; empty where nothing fits. */
  select(request: SelectionRequest): Promise<readonly ArtifactCandidate[]>
}

export interface PlannedStep {
  /** The id of the task in the plan of the run. */
  readonly id: string
  readonly name: string
  /** Why it is left out: it is never given to anybody. */
  readonly skipped?: string
}

/** What carrying out an artifact takes. `none`: its content is the result, and nobody works. */
export type ExecutionPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'steps'; readonly steps: readonly PlannedStep[] }

export interface PlanExecutor {
  /**
   * No side effects: a dry run asks the same. The run is then started through `RunPort`, whose setup makes team and
   * plan from what the request stored. Refuses with `unknown_team` where an artifact cannot be carried out here.
   */
  plan(artifact: SolveArtifact, request: SelectionRequest): Promise<Result<ExecutionPlan>>
}
