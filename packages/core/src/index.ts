// The public names of @parley/core.
export { type Static, type TSchema, Type } from 'typebox'

export { assertNever, invariant } from './assert.ts'
export type { Brand } from './brand.ts'
export { canonicalize, canonicalString } from './canonical/canonical.ts'
export {
  type CancelTimer,
  type Clock,
  ManualClock,
  pause,
  StrictClock,
  SystemClock,
} from './clock.ts'
export type {
  AgentAdapter,
  AgentReach,
  TurnBudget,
  TurnContextPart,
  TurnEvent,
  TurnInput,
  TurnResult,
  Usage,
} from './contracts/agent.ts'
export type {
  AgentKind,
  AgentNeeds,
  AgentSettings,
  MissingPart,
  PatternMeaning,
  SettingsProblem,
} from './contracts/agent-kind.ts'
export {
  LIBRARY_RECORDS,
  type Library,
  type LibraryRecord,
  type LibraryRecordType,
} from './contracts/library.ts'
export type { IdentityProvider, Principal } from './contracts/principal.ts'
export type {
  FoundRuns,
  GateDecision,
  QuestionAnswer,
  RunEnd,
  RunEntry,
  RunKey,
  RunPage,
  RunPort,
  RunQuery,
  RunRequest,
  StoredRun,
} from './contracts/run-port.ts'
export { asParleyError, ParleyError, type ParleyErrorJson } from './error.ts'
export { compileGlobs } from './glob.ts'
export {
  type CheckpointId,
  type EntryId,
  type EnvelopeId,
  type GateId,
  type GraphId,
  type IdSource,
  isId,
  meantIds,
  type ObjectId,
  type RightId,
  type RunId,
  SeededIds,
  type SignalId,
  SystemIds,
  shortId,
  shortIds,
  type TaskId,
  type UserId,
  type WorkspaceId,
} from './ids.ts'
export {
  capOf,
  type Exhausted,
  type Grant,
  INTERACTIVE,
  Ledger,
  type LedgerDamage,
  type LedgerOptions,
  type LedgerState,
  type LedgerStore,
  ledgerDay,
  type Reservation,
  type Spent,
  spentIn,
} from './ledger.ts'
export { limits } from './limits.ts'
export {
  isDiskFault,
  type MachineCode,
  type MachineFault,
  machineCodes,
  machineFaultOf,
  machineFaultText,
  systemCode,
} from './machine-fault.ts'
export { nearest } from './nearest.ts'
export { harmless, oneLine } from './plain-text.ts'
export { durationPattern, durationText, parseBytes, parseDuration, sizePattern, sizeText } from './quantities.ts'
export { type Err, err, type Ok, ok, type Result, refuse, unwrap } from './result.ts'
export { compileForeign } from './schema/foreign-schema.ts'
export { compileOwn } from './schema/own-schema.ts'
export { compile, mapSchema } from './schema/schema.ts'
export type { Validator } from './schema/validator.ts'
export { sharing } from './sharing.ts'
export {
  deadline,
  durationMs,
  formatTimestamp,
  isTimestamp,
  parseTimestamp,
  type Ticks,
  type Timestamp,
  ticksPerMillisecond,
  ticksPerSecond,
} from './timestamp.ts'
export { takeTurnWithin } from './turn-time.ts'
