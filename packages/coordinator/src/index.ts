// The public names of @parley/coordinator.

export { HIGHWAY_PRESETS, type HighwayPreset } from '@parley/kernel'
export { Conductor } from './conductor.ts'
export type {
  Conducting,
  ConductorOptions,
  HeardEvent,
  RunAccount,
  SolveRequest,
  StoredRun,
  WantedAdapter,
  WorkspaceDoor,
  WorkspaceMail,
  WorkspaceStatus,
} from './contract.ts'
export { DAILY_BUDGET } from './finality.ts'
export {
  type BudgetView,
  BudgetViewSchema,
  type GateDecision,
  type HighwayConducting,
  type Injection,
  type QuestionAnswer,
  type UserAct,
  type UserView,
  UserViewSchema,
} from './highway-contract.ts'
export { coordinatorDefaults, coordinatorLimits } from './limits.ts'
export { Machine, type MachineOptions } from './machine/machine.ts'
export { probeMachine } from './machine/probe.ts'
export { conductorRunPort, type PreparedRun, type RunPortOptions } from './run-port.ts'
export {
  type LeftView,
  LeftViewSchema,
  type SalvageView,
  SalvageViewSchema,
  type SuccessionConducting,
} from './succession-contract.ts'
export { BUDGET_NAMES, type Limits } from './team/budget-fields.ts'
export { formatProblems } from './team/format.ts'
export {
  type Gates,
  type GatesFile,
  GatesSchema,
  gatesOf,
} from './team/highway-fields.ts'
export type { Merge } from './team/merge-fields.ts'
export { PEER_PATTERN } from './team/patterns.ts'
export type { TeamProblem } from './team/problem.ts'
export { readTeam } from './team/read.ts'
export {
  type AgentConfig,
  type AgentTask,
  allTasks,
  type PlannedTask,
  planFor,
  soloTeam,
  type Team,
  type TeamAgent,
  type TeamTask,
} from './team/team.ts'
export {
  type GateView,
  GateViewSchema,
  isOver,
  LISTED_STATES,
  type ListedState,
  type MachineView,
  MachineViewSchema,
  type PlanTaskView,
  PlanTaskViewSchema,
  RUN_STATES,
  type RunState,
  RunSummarySchema,
  type RunSummaryView,
  type RunView,
  RunViewSchema,
  STEP_OUTCOMES,
  type StepOutcome,
  type StepView,
  StepViewSchema,
  TASK_STATES,
  type TaskState,
  type UsageView,
  UsageViewSchema,
} from './view.ts'
