// The public names of @parley/alx.
export type {
  ArtifactCandidate,
  ArtifactSelector,
  ExecutionPlan,
  PlanExecutor,
  PlannedStep,
  SelectionRequest,
} from './ports.ts'
