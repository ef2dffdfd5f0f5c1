// The public names of @parley/coordinator.
export { AppliedSchema, UndoneSchema } from './apply/applies.ts'
export { CleanedSchema } from './apply/cleaning.ts'
export type {
  AgentVerb,
  AgentVerbs,
  Coordination,
  CoordinatorOptions,
  EndedSetup,
  RunSetup,
  TeamSetup,
  WantedAdapter,
} from './contract.ts'
export { Coordinator } from './coordinator.ts'
export { Machine } from './machine/machine.ts'
export { probeMachine } from './machine/probe.ts'
export { VERDICTS } from './merge/verdict.ts'
export { coordinatorRunPort } from './run/run-port.ts'
export { needsProject } from './run/without-files.ts'
export { formatProblems } from './team/format.ts'
export { GatesSchema, gatesOf } from './team/highway-fields.ts'
export { type TeamReader, teamReader } from './team/read.ts'
export { allTasks, type PlannedTask, planFor, soloTeam, type Team } from './team/team.ts'
export { AgentUsageSchema, RunningTurnSchema } from './view/agent-usage.ts'
export {
  BudgetViewSchema,
  GateViewSchema,
  LeftViewSchema,
  SalvageViewSchema,
  UserViewSchema,
} from './view/people-view.ts'
export { PromptsViewSchema } from './view/prompts.ts'
export { runMeant } from './view/run-list.ts'
export { followTurns, LogItemSchema } from './view/turn-log.ts'
export {
  APPLY_WAYS,
  isOver,
  LISTED_STATES,
  MachineViewSchema,
  PlanTaskViewSchema,
  RunSummarySchema,
  type RunView,
  RunViewSchema,
} from './view/view.ts'
export { WorkViewSchema } from './view/work-view.ts'
