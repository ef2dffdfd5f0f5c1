// The public names of @parley/kernel.

export type { UserDirectory } from './batch.ts'
export { parseResourceReason, resourceReason } from './budget/enforce.ts'
export { limitOf } from './budget/meter.ts'
export type { BudgetLeft } from './budget/remaining.ts'
export type { CheckpointDraft, CheckpointRecord } from './checkpoint/checkpoint.ts'
export type { EnvelopeDraft, EnvelopeRecord, PayloadDraft } from './envelope/envelope.ts'
export type { EscalationAnswer } from './highway/answer.ts'
export { expandHighway, HIGHWAY_PRESETS, type HighwayDraft, type HighwayPreset } from './highway/config.ts'
export type { GateOutcome, GateRecord } from './highway/gate.ts'
export { MODIFIABLE } from './highway/modify.ts'
export type { EscalationView, GateView } from './highway/view.ts'
export type { House } from './house/house.ts'
export type { Identify, IdentityRequest } from './integrity/identity.ts'
export type { ProofReport } from './integrity/proof-report.ts'
export { kernelDefaults, kernelLimits } from './limits.ts'
export { DEPLOYMENT_MODEL, deploymentModel } from './run/deployment.ts'
export type { RunDraft } from './run/start.ts'
export type { Delivery, Transport } from './runtime/actor/transport.ts'
export type { AgentHandle } from './runtime/handle/agent.ts'
export type { AcceptOptions, ConflictReport, SalvageOptions } from './runtime/handle/integrator.ts'
export type { Coordinator, Delegate, Observer, Worker } from './runtime/handle/roles.ts'
export type { RunHandle } from './runtime/handle/run-handle.ts'
export type { Topology } from './runtime/handle/topology.ts'
export type { UserHandle } from './runtime/handle/user-handle.ts'
export type {
  EnvelopeView,
  GraphView,
  IntegrationView,
  RightView,
  TaskView,
  WorkspaceView,
} from './runtime/handle/view.ts'
export type { MigrationRequest, Prepare } from './runtime/migrations.ts'
export type { Notice } from './runtime/notice.ts'
export { Runtime } from './runtime/runtime.ts'
export type { RuntimeOptions } from './runtime/runtime-options.ts'
export type {
  CompactionReport,
  StorageFault,
  StorageKeeper,
  StoragePolicy,
  StorageStatus,
} from './runtime/storage-schedule.ts'
export type { UserRecord, Users } from './runtime/users.ts'
export type { SignalDraft, SignalOutcome } from './signal/decide.ts'
export type { TaskDraft } from './task/task.ts'
export type { Taxonomy } from './taxonomy/document.ts'
export { referenceTaxonomy } from './taxonomy/reference.ts'
export type { FailedClaim } from './user/user.ts'
export type { CapacityProbe, Shortage, WorkspaceDraft } from './workspace/create.ts'
