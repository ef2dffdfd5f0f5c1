// The public names of @parley/kernel.

export type { Context, UserDirectory } from './batch.ts'
export { parseResourceReason, type ResourceReason, resourceReason } from './budget/enforce.ts'
export { limitOf } from './budget/meter.ts'
export type { BudgetLeft } from './budget/remaining.ts'
export type { GroupUsage, LimitsView, LimitView, MeterView } from './budget/view.ts'
export type { Checkpoint, CheckpointDraft, CheckpointRecord } from './checkpoint/checkpoint.ts'
export type { AgentCommand, Command, RuntimeCommand, UserCommand } from './command.ts'
export { type Decision, decide } from './decide.ts'
export type {
  Envelope,
  EnvelopeDraft,
  EnvelopeRecord,
  EnvelopeState,
  PayloadDraft,
} from './envelope/envelope.ts'
export { evolve } from './evolve.ts'
export { type EscalationAnswer, EscalationAnswerSchema } from './highway/answer.ts'
export {
  expandHighway,
  type GateSetting,
  HIGHWAY_PRESETS,
  type Highway,
  type HighwayConfiguration,
  type HighwayDraft,
  type HighwayPreset,
} from './highway/config.ts'
export type { Consulted } from './highway/escalation.ts'
export type { GateModifications, GateOutcome, GateRecord, GuardedOutcome } from './highway/gate.ts'
export { MODIFIABLE } from './highway/modify.ts'
export type { TaskSubject } from './highway/subject.ts'
export type { EscalationView, GateView } from './highway/view.ts'
export type { House } from './house/house.ts'
export type { ResolutionOutcome } from './integration/conflict.ts'
export type { IntegrationOutcome, Salvaged, SalvageOutcome } from './integration/integration.ts'
export type { Identify, IdentityRequest } from './integrity/identity.ts'
export { keyedProofs, PROOF_ALGORITHM } from './integrity/keyed.ts'
export type {
  IdentityStep,
  ProofParty,
  ProofReport,
  ProofStatus,
  ProofStep,
} from './integrity/proof-report.ts'
export type { Proof, Proofs } from './integrity/proofs.ts'
export { isTransition, STATE_CLASSES, STATE_RULES, TRANSITIONS } from './lifecycle/states.ts'
export { kernelDefaults, kernelLimits } from './limits.ts'
export type { RecoveryCounts } from './recovery/plan.ts'
export { REFUSAL_CODES, type RefusalCode } from './refusal.ts'
export { DEPLOYMENT_MODEL, deploymentModel } from './run/deployment.ts'
export { newRun, type Run } from './run/run.ts'
export type { RunDraft } from './run/start.ts'
export { type Delivery, directTransport, type Transport } from './runtime/actor/transport.ts'
export type { AgentHandle, MailOptions } from './runtime/handle/agent.ts'
export type {
  AcceptOptions,
  BeginOptions,
  ConflictReport,
  OverlapOptions,
  SalvageOptions,
} from './runtime/handle/integrator.ts'
export type { AgentOf, Coordinator, Delegate, Observer, Worker } from './runtime/handle/roles.ts'
export type { RunHandle } from './runtime/handle/run-handle.ts'
export type { Topology } from './runtime/handle/topology.ts'
export type { UserHandle } from './runtime/handle/user-handle.ts'
export type {
  ConflictView,
  EnvelopeView,
  GraphView,
  IntegrationView,
  RightView,
  TaskView,
  WorkspaceView,
} from './runtime/handle/view.ts'
export type { MigrationRequest, Prepare } from './runtime/migrations.ts'
export type { EscalationNotice, GateNotice, Notice, UserNotice } from './runtime/notice.ts'
export { Runtime } from './runtime/runtime.ts'
export type { RuntimeOptions } from './runtime/runtime-options.ts'
export type {
  CompactionReport,
  SnapshotReport,
  StorageFault,
  StorageKeeper,
  StoragePolicy,
  StorageStatus,
} from './runtime/storage-schedule.ts'
export type { UserReason, UserRecord, Users } from './runtime/users.ts'
export type { SignalDraft, SignalOutcome } from './signal/decide.ts'
export { TASK_TRANSITIONS, type TaskDraft } from './task/task.ts'
export { referenceTaxonomy } from './taxonomy/reference.ts'
export { loadTaxonomy, type Taxonomy, TaxonomySchema, type Vocabulary } from './taxonomy/taxonomy.ts'
export { USER_TRANSITIONS } from './user/decide.ts'
export type { FailedClaim, UserChange, UserChanged } from './user/user.ts'
export type { BatchAbort, BatchOutcome } from './workspace/batch-abort.ts'
export type { WorkspaceDraft } from './workspace/create.ts'
export { CAPACITIES, type Capacity, type CapacityProbe, type Shortage } from './workspace/create.ts'
export { isAbove, sees, subtree, type Workspace } from './workspace/workspace.ts'
