// `decide` turns a command into entries, objects and an answer. It is pure: equal arguments, equal decision.
import { type CheckpointId, type EnvelopeId, limits, ok, type Result } from '@parley/core'
import type { EntryDraft, ProposedEntry, TrailObject } from '@parley/trail'
import { isEventType } from '@parley/trail/events'
import { actorOf, Batch, type Context, clip } from './batch.ts'
import { decideMeter, decideRaiseBudget } from './budget/decide.ts'
import { decideCheckpoint } from './checkpoint/decide.ts'
import type { AgentCommand, Command, RuntimeCommand, UserCommand } from './command.ts'
import { decideDue } from './due/due.ts'
import { decideArrival, decideConsume, decideExhausted } from './envelope/deliver.ts'
import { decideSend } from './envelope/send.ts'
import { decideResolveEscalation } from './highway/answer.ts'
import { decideConsult } from './highway/escalation.ts'
import { type GateOutcome, gatesFull } from './highway/gate.ts'
import { decideInject } from './highway/inject.ts'
import { writeInvalidated } from './highway/invalidate.ts'
import { decideUserOperation } from './highway/operations.ts'
import { decideAnswerGate, decideResolveGate } from './highway/resolve.ts'
import { decideResolveConflict } from './integration/conflict.ts'
import { decideBegin, decideIntegration, decideMergeError } from './integration/decide.ts'
import { decideReportConflicts } from './integration/report.ts'
import { decideDiscardSalvage, decideMergeSalvage, decideSalvage } from './integration/salvage.ts'
import { notBound } from './integrity/identity.ts'
import { decideFile, denyInLibrary } from './library/file.ts'
import { decideGrantRight, decideRevokeRight } from './port-right/decide.ts'
import { decideDegradedOver, decideRecover, decideReportDegraded } from './recovery/decide.ts'
import { invalidArgument, invalidState, notFound } from './refusal.ts'
import { type Run, runEnded } from './run/run.ts'
import { decideClose, decideStart, decideStop } from './run/start.ts'
import { decideEmit, decideSignalArrival } from './signal/decide.ts'
import {
  decideAddTasks,
  decideCancelTask,
  decideChangeTask,
  decideRetryTask,
  decideSubmitGraph,
} from './task/decide.ts'
import { decideAuthenticationFailed, identifyUser } from './user/authorize.ts'
import { decideUser } from './user/decide.ts'
import {
  decideChangeCheckpoint,
  decideChangeFrozen,
  decideRead,
  decideRevokeVisibility,
  decideWriteMemory,
} from './workspace/access.ts'
import { decideCreate } from './workspace/create.ts'
import { byProtocol, decideAbort, writeFailure } from './workspace/failure.ts'
import { decideBatchAbort, decideBatchPriority } from './workspace/groups.ts'
import { decideCompleteMigration, decideFailMigration, decideMigrate } from './workspace/migrate.ts'
import { operand } from './workspace/operation.ts'
import { decideReparent } from './workspace/orphan.ts'
import { decideResume, decideSuspend } from './workspace/suspension.ts'
import { decideTerminate } from './workspace/terminate.ts'
import { decideChangePriority, decideGrantVisibility, decideTransferOwnership } from './workspace/topology.ts'
import type { Workspace } from './workspace/workspace.ts'

export interface Decision {
  readonly entries: readonly EntryDraft[]
  readonly objects: readonly TrailObject[]
  readonly result: Result<unknown>
  /** The checkpoint whose proof it lacks: then nothing of it counts, and it is made again with that in its context. */
  readonly lacks: CheckpointId | undefined
  readonly outcomes: readonly GateOutcome[]
}

const NO_OUTCOMES: readonly GateOutcome[] = []

export function decide(run: Run, command: Command, context: Context): Decision {
  const batch = new Batch(run, context)
  const result = decideIn(batch, command)
  const { entries, objects, gatesEnded, lacks } = batch
  const outcomes = gatesEnded.size === 0 ? NO_OUTCOMES : [...gatesEnded.values()]
  return { entries, objects, result, lacks, outcomes }
}

function decideIn(batch: Batch, command: Command): Result<unknown> {
  const { run } = batch
  if (command.type === 'start') return decideStart(batch, command.draft)
  if (!run.root) return invalidState(`The run ${run.id} has not begun.`, 'not_initialized')
  // W-LIFE-13: nothing follows the root's terminal entry. Reading stays possible for ever (W-WS-08).
  if (runEnded(run) && command.type !== 'read') return invalidState(`The run ${run.id} has ended.`)
  const result = decideBy(batch, command)
  // W-HWY-12: whatever the command did, a gate whose subject it took away ends with it.
  writeInvalidated(batch)
  return result
}

function decideBy(batch: Batch, command: Exclude<Command, { type: 'start' }>): Result<unknown> {
  const { run } = batch
  if ('user' in command) return decideUserCommand(batch, command)
  if (!('caller' in command)) return BY_RUNTIME[command.type](batch, command as never)
  const caller = run.workspaces.get(command.caller)
  if (!caller) return notFound('workspace', command.caller)
  const refused = notBound(batch, caller, command) ?? gatesFull(run, command)
  return refused ?? BY_AGENT[command.type](batch, caller, command as never)
}

type Of<C extends { readonly type: string }, T extends C['type']> = Extract<C, { readonly type: T }>
type OfRuntime = Exclude<RuntimeCommand, { type: 'start' }>

const BY_RUNTIME: {
  readonly [T in OfRuntime['type']]: (batch: Batch, command: Of<OfRuntime, T>) => Result<unknown>
} = {
  close: decideClose,
  stop: decideStop,
  bind_failed(batch, { workspace: id }) {
    const workspace = batch.run.workspaces.get(id)
    if (workspace?.status !== 'idle') return invalidState(`${id} is not idle any more.`)
    writeFailure(batch, workspace, byProtocol('creation_error'))
    return ok(undefined)
  },
  complete_migration: (batch, { workspace, agent }) => decideCompleteMigration(batch, workspace, agent),
  fail_migration: (batch, { workspace, agent, error }) => decideFailMigration(batch, workspace, agent, error),
  arrive: (batch, { envelope, arrived }) => decideArrival(batch, envelope, arrived),
  exhaust: (batch, { envelope }) => decideExhausted(batch, envelope),
  arrive_signal(batch, { signal, to }) {
    const receiver = batch.run.workspaces.get(to)
    return receiver ? decideSignalArrival(batch, signal, receiver) : notFound('workspace', to)
  },
  due: decideDue,
  meter: decideMeter,
  authentication_failed: (batch, { claim }) => decideAuthenticationFailed(batch, claim),
  user: (batch, { change }) => decideUser(batch, change),
  recover: (batch, { step }) => decideRecover(batch, step),
  degraded_over: (batch, { from, reason }) => decideDegradedOver(batch, from, reason),
  record: (batch, { entries }) => decideRecord(batch, entries),
  file_own: (batch, filing) => decideFile(batch, undefined, filing),
}

function decideRecord(batch: Batch, entries: readonly ProposedEntry[]): Result<void> {
  for (const { event_type } of entries) {
    const type: string = event_type
    if (!isEventType(type))
      return invalidArgument(`'${clip(String(type), limits.messageValueLength)}' is not a type of entries.`)
  }
  for (const entry of entries) batch.propose(entry)
  return ok(undefined)
}

function decideUserCommand(batch: Batch, command: UserCommand): Result<unknown> {
  const stranger = identifyUser(batch, command.user)
  if (stranger) return stranger
  if (batch.run.library && command.type !== 'file') return denyInLibrary(batch, command)
  switch (command.type) {
    case 'file':
      return decideFile(batch, command.user, command)
    case 'inject':
      return decideInject(batch, command.user, command.draft)
    case 'resolve_gate':
      return decideResolveGate(batch, command.user, command)
    case 'resolve_escalation':
      return decideResolveEscalation(batch, command.user, command.signal, command.answer)
    default:
      return decideUserOperation(batch, command)
  }
}

const BY_AGENT: {
  readonly [T in AgentCommand['type']]: (
    batch: Batch,
    caller: Workspace,
    command: Of<AgentCommand, T>,
  ) => Result<unknown>
} = {
  emit: (batch, caller, { draft, evidence }) => decideEmit(batch, caller, draft, evidence),
  send: (batch, caller, { draft }) => decideSend(batch, caller, draft),
  checkpoint: (batch, caller, { draft }) => decideCheckpoint(batch, caller, draft),
  change_checkpoint: (batch, caller, { checkpoint }) => decideChangeCheckpoint(batch, caller, checkpoint),
  consume: decideConsume,
  write_memory: decideWriteMemory,
  read: (batch, caller, { kind, id }) => decideRead(batch, caller, kind, id),
  create_workspace: (batch, caller, { draft }) => decideCreate(batch, caller, draft),
  dispatch: (batch, caller, { workspace }) => decideDispatch(batch, caller, workspace),
  abort: (batch, caller, { workspace }) => decideAbort(batch, caller, workspace),
  suspend: (batch, caller, { workspace, reason }) => decideSuspend(batch, caller, workspace, reason),
  resume: (batch, caller, { workspace }) => decideResume(batch, caller, workspace),
  migrate: decideMigrate,
  terminate: (batch, caller, command) => decideTerminate(batch, caller, command),
  consult: decideConsult,
  set_authority: (batch, caller, { workspace }) => decideChangeFrozen(batch, caller, 'authority', workspace),
  set_delegate: (batch, caller, { workspace }) => decideChangeFrozen(batch, caller, 'delegate', workspace),
  revoke_visibility: (batch, caller, { workspace }) => decideRevokeVisibility(batch, caller, workspace),
  grant_right: decideGrantRight,
  revoke_right: (batch, caller, { right, reason }) => decideRevokeRight(batch, caller, right, reason),
  submit_graph: (batch, caller, { tasks, causedBy }) => decideSubmitGraph(batch, caller, tasks, causedBy),
  add_tasks: (batch, caller, { graph, tasks }) => decideAddTasks(batch, caller, graph, tasks),
  retry_task: (batch, caller, { task, override }) => decideRetryTask(batch, caller, task, override),
  cancel_task: (batch, caller, { task }) => decideCancelTask(batch, caller, task),
  change_task: (batch, caller, { task }) => decideChangeTask(batch, caller, task),
  remove_task: (batch, caller, { task }) => decideChangeTask(batch, caller, task),
  begin_integration: (batch, caller, command) => decideBegin(batch, caller, command),
  decide_integration: (batch, caller, command) => decideIntegration(batch, caller, command),
  fail_integration: (batch, caller, { source }) => decideMergeError(batch, caller, source),
  report_conflicts: decideReportConflicts,
  resolve_conflict: decideResolveConflict,
  salvage: (batch, caller, command) => decideSalvage(batch, caller, command),
  merge_salvage: decideMergeSalvage,
  discard_salvage: (batch, caller, { source }) => decideDiscardSalvage(batch, caller, source),
  answer_gate: (batch, caller, { gate, action }) => decideAnswerGate(batch, caller, gate, action),
  grant_visibility: decideGrantVisibility,
  change_priority: (batch, caller, { workspace, priority }) => decideChangePriority(batch, caller, workspace, priority),
  batch_priority: (batch, caller, { group, priority }) => decideBatchPriority(batch, caller, group, priority),
  batch_abort: (batch, caller, { group }) => decideBatchAbort(batch, caller, group),
  raise_budget: (batch, caller, { workspace, limits }) =>
    decideRaiseBudget(batch, caller, actorOf(caller), workspace, limits),
  transfer_ownership: (batch, caller, command) => decideTransferOwnership(batch, caller, actorOf(caller), command),
  reparent: (batch, caller, { workspace, parent }) => decideReparent(batch, caller, workspace, parent),
  report_degraded: decideReportDegraded,
  register_type: (batch, caller) =>
    batch.deny(caller, {
      capability: 'set:taxonomy',
      action: 'register_type',
      reason: 'frozen',
      code: 'immutable',
      message: 'The vocabulary of a run is fixed when it starts (W-TAX-06).',
    }),
}

/** W-WS-07: the directive goes the way of every envelope, under the id that was promised at creation. */
function decideDispatch(batch: Batch, caller: Workspace, id: unknown): Result<{ readonly envelope: EnvelopeId }> {
  const target = operand(batch, caller, 'create_workspace', id)
  if (!target.ok) return target
  const { directive, directiveDraft } = target.value
  if (directive === null || !directiveDraft)
    return invalidState(`${target.value.id} has no directive that still waits to be sent.`)
  const { format, content, attachments } = directiveDraft
  const draft = { to: target.value.id, type: 'directive', payload: { format, content, attachments } }
  // W-PORT-03: the parent holds the right. Whoever stands further above speaks for itself all the same, by a right made
  // for this.
  const further = target.value.parent !== caller
  return decideSend(batch, caller, draft, { reserved: directive, ...(further && { right: 'minted' }) })
}
