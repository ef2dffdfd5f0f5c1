// The public names of @parley/coordinator.
export { AppliedSchema, UndoneSchema } from './apply/applies.ts'
export { CleanedSchema } from './apply/cleaning.ts'
export type {
  AgentVerb,
  AgentVerbs,
  Coordination,
  CoordinatorOptions,
  RunSetup,
  WantedAdapter,
} from './contract.ts'
export { Coordinator } from './coordinator.ts'
export { Machine } from './machine/machine.ts'
export { probeMachine } from './machine/probe.ts'
export { VERDICTS } from './merge/verdict.ts'
export { coordinatorRunPort } from './run/run-port.ts'
export { formatProblems } from './team/format.ts'
export { type Gates, type GatesFile, GatesSchema, gatesOf } from './team/highway-fields.ts'
export { type TeamReader, teamReader } from './team/read.ts'
export { allTasks, type PlannedTask, planFor, soloTeam, type Team, type TeamAgent } from './team/team.ts'
export {
  BudgetViewSchema,
  GateViewSchema,
  LeftViewSchema,
  SalvageViewSchema,
  UserViewSchema,
} from './view/people-view.ts'
export { runMeant } from './view/run-list.ts'
export { followTurns, LogItemSchema } from './view/turn-log.ts'
export {
  APPLY_WAYS,
  isOver,
  LISTED_STATES,
  type MachineView,
  MachineViewSchema,
  PlanTaskViewSchema,
  RunSummarySchema,
  type RunSummaryView,
  type RunView,
  RunViewSchema,
} from './view/view.ts'
export { WorkViewSchema } from './view/work-view.ts'
