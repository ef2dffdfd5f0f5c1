// The public names of @parley/conformance: what a host implements, what a scenario is told, and how both are brought
// together.

export { chainProblems, hashesOf } from './chain.ts'
export { type Claim, claimOf, PROTOCOL, SHEET_ROWS } from './claim.ts'
export {
  type Delivery,
  FAULT_NAMES,
  type Fate,
  type FaultName,
  type Faults,
  type ForeignEntry,
  NotTested,
  type StoredFault,
  type StoredRecord,
  type StoreFault,
  type TransportFault,
} from './faults.ts'
export {
  type Caller,
  type Entry,
  type Host,
  LEVEL_NAMES,
  LEVELS,
  type Level,
  NOTICE_KINDS,
  type Notice,
  type NoticeKind,
  type Outcome,
  REFUSAL_CODES,
  type RefusalCode,
  type Refused,
  type Restarted,
  type RestartOptions,
  type Setup,
  type System,
  Unsupported,
} from './host.ts'
export { Kit } from './kit.ts'
export type {
  OperationName,
  Operations,
  Params,
  TopologyQuestion,
  TrailView,
  TrailViewName,
  TrailWatch,
  Value,
} from './operations.ts'
export { REGISTRY } from './registry.ts'
export type { Row } from './rows.ts'
export { runScenario, runScenarios, type ScenarioResult, type Status } from './runner.ts'
export { type Scenario, type ScenarioOptions, scenario, scenarios } from './scenario.ts'
export type {
  AggregateRow,
  ClockInfo,
  EntriesView,
  EnvelopeView,
  EscalationView,
  GateView,
  GraphView,
  HighwayView,
  IntegrationView,
  MessagesView,
  MeterView,
  OverviewView,
  ProofReport,
  RightView,
  RunMetrics,
  TaskView,
  TrailPage,
  UserView,
  Verification,
  WorkspaceView,
} from './views.ts'
