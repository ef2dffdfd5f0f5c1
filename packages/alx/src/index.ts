// The public names of @parley/alx.
export { type AlxPluginOptions, alxPlugin } from './http/plugin.ts'
export { ALX_SCOPES, type AlxScope, type Authenticate, type Authenticated } from './http/scopes.ts'
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
export { AlxServer } from './server/alx-server.ts'
export type { AlxServerOptions } from './server/host.ts'
export { type AlxSettings, DEFAULT_SETTINGS } from './settings.ts'
