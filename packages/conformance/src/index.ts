// The public names of @parley/conformance: what a host implements, what a scenario is told, and how both are brought
// together.
export { type Claim, claimOf } from './claim.ts'
export { type Delivery, type Fate, type Faults, NotTested, type StoredRecord } from './faults.ts'
export {
  type Caller,
  type Entry,
  type Host,
  type Level,
  type Notice,
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
export type { OperationName, Operations, Params, Value } from './operations.ts'
export { runScenarios, type ScenarioResult } from './runner.ts'
export { scenarios } from './scenario.ts'
