// The public names of @parley/alx.
export { type AlxOpenApi, alxOpenApi } from './openapi.ts'
export type {
  ArtifactCandidate,
  ArtifactSelector,
  ExecutionPlan,
  PlanExecutor,
  PlannedStep,
  SelectionRequest,
} from './ports.ts'
