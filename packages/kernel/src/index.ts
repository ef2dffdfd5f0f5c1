// The public names of @parley/kernel.

export type { Context, UserDirectory } from './batch.ts'
export type { Checkpoint, CheckpointDraft, CheckpointRecord } from './checkpoint/checkpoint.ts'
export type { AgentCommand, Command, RuntimeCommand } from './command.ts'
export { type Decision, decide } from './decide.ts'
export type {
  Envelope,
  EnvelopeDraft,
  EnvelopeRecord,
  EnvelopeState,
  PayloadDraft,
} from './envelope/envelope.ts'
export { evolve } from './evolve.ts'
export type { House } from './house/house.ts'
export { isTransition, STATE_CLASSES, STATE_RULES, TRANSITIONS } from './lifecycle/states.ts'
export { kernelDefaults, kernelLimits } from './limits.ts'
export { REFUSAL_CODES, type RefusalCode } from './refusal.ts'
export { newRun, type Run } from './run/run.ts'
export type { RunDraft } from './run/start.ts'
export type { AgentHandle, MailOptions } from './runtime/agent.ts'
export type { Notice } from './runtime/notice.ts'
export type { AgentOf, Coordinator, Delegate, Observer, Worker } from './runtime/roles.ts'
export type { RunHandle } from './runtime/run-handle.ts'
export { Runtime, type RuntimeOptions } from './runtime/runtime.ts'
export { type Delivery, directTransport, type Transport } from './runtime/transport.ts'
export type { EnvelopeView, GraphView, RightView, TaskView, WorkspaceView } from './runtime/view.ts'
export type { SignalDraft, SignalOutcome } from './signal/decide.ts'
export { TASK_TRANSITIONS, type TaskDraft } from './task/task.ts'
export { referenceTaxonomy } from './taxonomy/reference.ts'
export { loadTaxonomy, type Taxonomy, TaxonomySchema, type Vocabulary } from './taxonomy/taxonomy.ts'
export type { WorkspaceDraft } from './workspace/create.ts'
export { isAbove, sees, subtree, type Workspace } from './workspace/workspace.ts'
