// The public names of @parley/alx.

export { type AlxPluginOptions, alxPlugin } from './http/plugin.ts'
export { ALX_SCOPES, type AlxScope, type Authenticate, type Authenticated } from './http/scopes.ts'
export { readExport } from './kb/exchange.ts'
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
export { type AlxOpenApi, alxOpenApi } from './openapi.ts'
export type {
  ArtifactCandidate,
  ArtifactSelector,
  Body,
  ExecutionPlan,
  KnowledgeService,
  PlanExecutor,
  PlannedStep,
  RatedRun,
  SelectionRequest,
} from './ports.ts'
export { readSolveFacts, type SolveFacts, type StoredAttempt, type StoredStep } from './run/facts.ts'
export type { RelatedBlock } from './select/related.ts'
export { AlxServer } from './server/alx-server.ts'
export type { AlxServerOptions } from './server/host.ts'
export { type AlxSettings, DEFAULT_SETTINGS } from './settings.ts'
export type { Reputation } from './settle/reputation.ts'
export type { Settled } from './settle/settlements.ts'
