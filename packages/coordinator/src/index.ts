// The public names of @parley/coordinator.

export { HIGHWAY_PRESETS, type HighwayPreset } from '@parley/kernel'
export type {
  AgentVerbs,
  Coordination,
  CoordinatorOptions,
  RunAccount,
  RunSetup,
  WantedAdapter,
  WorkspaceEvent,
  WorkspaceMail,
  WorkspaceStatus,
} from './contract.ts'
export { Coordinator } from './coordinator.ts'
export { coordinatorDefaults, coordinatorLimits } from './limits.ts'
export { Machine, type MachineOptions } from './machine/machine.ts'
export { probeMachine } from './machine/probe.ts'
export { coordinatorRunPort } from './run/run-port.ts'
export { BUDGET_NAMES, type Limits } from './team/budget-fields.ts'
export { formatProblems } from './team/format.ts'
export {
  type Gates,
  type GatesFile,
  GatesSchema,
  gatesOf,
} from './team/highway-fields.ts'
export type { Merge } from './team/merge-fields.ts'
export type { TeamProblem } from './team/problem.ts'
export { type TeamReader, teamReader } from './team/read.ts'
export {
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
  type BudgetView,
  BudgetViewSchema,
  type GateView,
  GateViewSchema,
  type LeftView,
  LeftViewSchema,
  type SalvageView,
  SalvageViewSchema,
  type UserView,
  UserViewSchema,
} from './view/people-view.ts'
export {
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
} from './view/view.ts'
