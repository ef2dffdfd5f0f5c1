// `decide` says what a command comes to in the state that a run is in: entries and objects for the trail, and an
// answer. It changes nothing, and given the same state, command and context it always says the same.
import { assertNever, type CheckpointId, type EnvelopeId, limits, ok, type Result } from '@parley/core'
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
import { decideConsult } from './highway/consult.ts'
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
import { decideGrantRight, decideRevokeRight } from './port-right/decide.ts'
import { decideDegradedOver, decideRecover } from './recovery/decide.ts'
import { decideReportDegraded } from './recovery/report.ts'
import { invalidArgument, invalidState, notFound } from './refusal.ts'
import { type Run, runEnded } from './run/run.ts'
import { decideStart } from './run/start.ts'
import { decideClose, decideStop } from './run/stop.ts'
import { decideEmit, decideSignalArrival } from './signal/decide.ts'
import {
  decideAddTasks,
  decideCancelTask,
  decideChangeTask,
  decideRetryTask,
  decideSubmitGraph,
} from './task/decide.ts'
import { identifyUser } from './user/authorize.ts'
import { decideUser } from './user/decide.ts'
import { decideAuthenticationFailed } from './user/identity.ts'
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
  if (!('caller' in command)) return decideRuntime(batch, command)
  const caller = run.workspaces.get(command.caller)
  if (!caller) return notFound('workspace', command.caller)
  return notBound(batch, caller, command) ?? gatesFull(run, command) ?? decideAgent(batch, caller, command)
}

function decideRuntime(batch: Batch, command: Exclude<RuntimeCommand, { type: 'start' }>): Result<unknown> {
  switch (command.type) {
    case 'close':
      return decideClose(batch)
    case 'stop':
      return decideStop(batch)
    case 'bind_failed': {
      const workspace = batch.run.workspaces.get(command.workspace)
      if (workspace?.status !== 'idle') return invalidState(`${command.workspace} is not idle any more.`)
      writeFailure(batch, workspace, byProtocol('creation_error'))
      return ok(undefined)
    }
    case 'complete_migration':
      return decideCompleteMigration(batch, command.workspace, command.agent)
    case 'fail_migration':
      return decideFailMigration(batch, command.workspace, command.agent, command.error)
    case 'arrive':
      return decideArrival(batch, command.envelope, command.arrived)
    case 'exhaust':
      return decideExhausted(batch, command.envelope)
    case 'arrive_signal': {
      const receiver = batch.run.workspaces.get(command.to)
      return receiver ? decideSignalArrival(batch, command.signal, receiver) : notFound('workspace', command.to)
    }
    case 'due':
      return decideDue(batch, command)
    case 'meter':
      return decideMeter(batch, command)
    case 'authentication_failed':
      return decideAuthenticationFailed(batch, command.claim)
    case 'user':
      return decideUser(batch, command.change)
    case 'recover':
      return decideRecover(batch, command.step)
    case 'degraded_over':
      return decideDegradedOver(batch, command.from, command.reason)
    case 'record':
      return decideRecord(batch, command.entries)
    default:
      return assertNever(command)
  }
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
  switch (command.type) {
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

function decideAgent(batch: Batch, caller: Workspace, command: AgentCommand): Result<unknown> {
  switch (command.type) {
    case 'emit':
      return decideEmit(batch, caller, command.draft, command.evidence)
    case 'send':
      return decideSend(batch, caller, command.draft)
    case 'checkpoint':
      return decideCheckpoint(batch, caller, command.draft)
    case 'change_checkpoint':
      return decideChangeCheckpoint(batch, caller, command.checkpoint)
    case 'consume':
      return decideConsume(batch, caller)
    case 'write_memory':
      return decideWriteMemory(batch, caller, command)
    case 'read':
      return decideRead(batch, caller, command.kind, command.id)
    case 'create_workspace':
      return decideCreate(batch, caller, command.draft)
    case 'dispatch':
      return decideDispatch(batch, caller, command.workspace)
    case 'abort':
      return decideAbort(batch, caller, command.workspace)
    case 'suspend':
      return decideSuspend(batch, caller, command.workspace, command.reason)
    case 'resume':
      return decideResume(batch, caller, command.workspace)
    case 'migrate':
      return decideMigrate(batch, caller, command)
    case 'terminate':
      return decideTerminate(batch, caller, command)
    case 'consult':
      return decideConsult(batch, caller, command)
    case 'set_authority':
      return decideChangeFrozen(batch, caller, 'authority', command.workspace)
    case 'set_delegate':
      return decideChangeFrozen(batch, caller, 'delegate', command.workspace)
    case 'revoke_visibility':
      return decideRevokeVisibility(batch, caller, command.workspace)
    case 'grant_right':
      return decideGrantRight(batch, caller, { ...command, type: command.right })
    case 'revoke_right':
      return decideRevokeRight(batch, caller, command.right, command.reason)
    case 'submit_graph':
      return decideSubmitGraph(batch, caller, command.tasks, command.causedBy)
    case 'add_tasks':
      return decideAddTasks(batch, caller, command.graph, command.tasks)
    case 'retry_task':
      return decideRetryTask(batch, caller, command.task, command.override)
    case 'cancel_task':
      return decideCancelTask(batch, caller, command.task)
    case 'change_task':
    case 'remove_task':
      return decideChangeTask(batch, caller, command.task)
    case 'begin_integration':
      return decideBegin(batch, caller, command)
    case 'decide_integration':
      return decideIntegration(batch, caller, command)
    case 'report_conflicts':
      return decideReportConflicts(batch, caller, command)
    case 'resolve_conflict':
      return decideResolveConflict(batch, caller, command)
    case 'answer_gate':
      return decideAnswerGate(batch, caller, command.gate, command.action)
    case 'grant_visibility':
      return decideGrantVisibility(batch, caller, command)
    case 'change_priority':
      return decideChangePriority(batch, caller, command.workspace, command.priority)
    case 'batch_priority':
      return decideBatchPriority(batch, caller, command.group, command.priority)
    case 'batch_abort':
      return decideBatchAbort(batch, caller, command.group)
    case 'raise_budget':
      return decideRaiseBudget(batch, caller, actorOf(caller), command.workspace, command.limits)
    case 'transfer_ownership':
      return decideTransferOwnership(batch, caller, actorOf(caller), command)
    case 'reparent':
      return decideReparent(batch, caller, command.workspace, command.parent)
    case 'report_degraded':
      return decideReportDegraded(batch, caller, command)
    case 'register_type':
      return batch.deny(caller, {
        capability: 'set:taxonomy',
        action: 'register_type',
        reason: 'frozen',
        code: 'immutable',
        message: 'The vocabulary of a run is fixed when it starts (W-TAX-06).',
      })
    case 'salvage':
      return decideSalvage(batch, caller, command)
    case 'merge_salvage':
      return decideMergeSalvage(batch, caller, command)
    case 'discard_salvage':
      return decideDiscardSalvage(batch, caller, command.source)
    case 'fail_integration':
      return decideMergeError(batch, caller, command.source)
    default:
      return assertNever(command)
  }
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
