// The public names of @parley/core.

export { type Static, type TSchema, Type } from 'typebox'

export { assertNever, invariant } from './assert.ts'
export type { Brand } from './brand.ts'
export { canonicalize, canonicalString } from './canonical.ts'
export {
  type CancelTimer,
  type Clock,
  ManualClock,
  StrictClock,
  SystemClock,
  type TimerOptions,
} from './clock.ts'
export {
  type AgentAdapter,
  type TurnBudget,
  type TurnContextPart,
  type TurnEvent,
  type TurnInput,
  type TurnOutcome,
  type TurnResult,
  turnOutcomes,
  type Usage,
} from './contracts/agent.ts'
export type { IdentityProvider } from './contracts/identity.ts'
export {
  type AccessControl,
  type OperationError,
  type OperationSpec,
  type OperationType,
  operationTypes,
} from './contracts/operation.ts'
export { type Principal, type PrincipalKind, principalKinds } from './contracts/principal.ts'
export {
  type RunEnd,
  type RunEvent,
  type RunOutcome,
  type RunPage,
  type RunPort,
  type RunRequest,
  runOutcomes,
} from './contracts/run-port.ts'
export { asParleyError, ParleyError, type ParleyErrorJson, type ParleyErrorOptions } from './error.ts'
export { compileForeign } from './foreign-schema.ts'
export { compileGlobs } from './glob.ts'
export {
  type CheckpointId,
  type EntryId,
  type EnvelopeId,
  type GateId,
  type GraphId,
  type IdSource,
  isId,
  type ObjectId,
  type RightId,
  type RunId,
  SeededIds,
  type SignalId,
  SystemIds,
  type TaskId,
  type UserId,
  type WorkspaceId,
} from './ids.ts'
export { globLimits, limits } from './limits.ts'
export {
  isDiskFault,
  type MachineCode,
  type MachineFault,
  machineCodes,
  machineFaultOf,
  machineFaultText,
} from './machine-fault.ts'
export { nearest } from './nearest.ts'
export { compileOwn } from './own-schema.ts'
export { harmless, oneLine } from './plain-text.ts'
export { type Err, err, type Ok, ok, type Result, refuse, unwrap } from './result.ts'
export { type CompileOptions, compile, idSchema, mapSchema, timestampSchema } from './schema.ts'
export type { SchemaProblem } from './schema-problem.ts'
export {
  deadline,
  durationMs,
  formatTimestamp,
  isTicks,
  isTimestamp,
  parseTimestamp,
  type Ticks,
  type Timestamp,
  ticksPerMillisecond,
} from './timestamp.ts'
export type { Validator } from './validator.ts'
