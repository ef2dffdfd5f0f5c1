// The public names of @parley/alx.
export type { Answer } from './kb/answer.ts'
export {
  type BlockEntry,
  type BlockQuery,
  Knowledge,
  type KnowledgeOptions,
} from './kb/knowledge.ts'
export { Nonces } from './kb/nonces.ts'
export {
  type FittedStep,
  fitProcedure,
  type Outcome,
  type OutlinedTask,
  type Procedure,
  type ProcedureStep,
  parseProcedure,
  procedureEnvelope,
  synthesisEnvelope,
  type TeamOutline,
} from './kb/procedure.ts'
export type { KbAct, Maker } from './kb/registry.ts'
export { renderPayload } from './kb/rendering.ts'
export {
  SIGNED_REQUEST_HEADER,
  type SignedMatter,
  SignedRequests,
  type SignedRequestsOptions,
  type Signer,
  signedRequestHeader,
} from './kb/signed-requests.ts'
export type {
  ArtifactCandidate,
  ArtifactSelector,
  ExecutionPlan,
  PlanExecutor,
  PlannedStep,
  SelectionRequest,
} from './ports.ts'
export type { RelatedBlock } from './select/related.ts'
export { envelopeOfGenerated } from './select/selector.ts'
export type { RatedExecution } from './settle/feedback.ts'
export type { Rating } from './settle/ratings.ts'
export type { Reputation } from './settle/reputation.ts'
export type { Settled } from './settle/settlements.ts'
