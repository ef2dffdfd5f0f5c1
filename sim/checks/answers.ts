// What a caller is told agrees with what is on the trail (0.3, 0.5): an answer comes after its entries are durable, an
// `ok` names what is there, a refusal names its own record or left nothing.
import type { Result } from '@parley/core'
import type { EventType } from '@parley/trail/events'
import type { Command } from '../../packages/kernel/src/command.ts'
import type { RunModel } from '../model/model.ts'
import { isOver, type WorkspaceModel } from '../model/records.ts'
import type { Problem } from '../rules/rule.ts'

/** Entries that record a refusal and change nothing. */
export const DENIALS: ReadonlySet<EventType> = new Set<EventType>([
  'capability_denied',
  'workspace_rejected',
  'envelope_rejected',
  'checkpoint_rejected',
  'trail_access_denied',
  'authentication_failed',
  'integrity_violation',
])

/**
 * W-ROLE-04: whether the one who was obeyed could give the order. The tree may have changed since, so every former
 * parent counts.
 */
export function authorityProblem(run: RunModel | undefined, command: Command, result: Result<unknown>): Problem {
  if (!result.ok || !run || !('caller' in command)) return undefined
  const caller = run.workspaces.get(command.caller)
  if (!caller || caller.parent === null) return undefined
  const named = command as unknown as Values
  const above = (id: unknown) => caller.delegate && run.wasAbove(caller.id, String(id))
  const child = (id: unknown) =>
    caller.delegate && (run.workspaces.get(String(id))?.parents.includes(caller.id) ?? false)
  const inside = (id: unknown) => above(id) || (caller.delegate && id === caller.id)
  const denied = (allowed: boolean) => expect(allowed, `${caller.role} ${caller.id} was let do ${command.type}`)
  switch (command.type) {
    case 'create_workspace': {
      const created = (result.value as Values).workspace
      return denied(child(created))
    }
    case 'abort':
    case 'suspend':
    case 'resume':
    case 'migrate':
    case 'terminate':
    case 'dispatch':
    case 'raise_budget':
    case 'change_priority':
    case 'grant_visibility':
      return denied(above(command.workspace))
    case 'grant_right':
      return denied(inside(command.holder) && inside(command.target))
    case 'salvage':
    case 'merge_salvage':
    case 'discard_salvage':
    case 'begin_integration':
    case 'fail_integration':
    case 'report_conflicts':
    case 'resolve_conflict':
      return denied(child(command.source))
    // W-INT-01: work below a delegate that has completed is sent back by those above; by whom is a rule of its own
    // (rules/task.ts).
    case 'decide_integration':
      return denied(child(command.source) || (command.decision !== 'accept' && above(command.source)))
    case 'revoke_right':
    case 'submit_graph':
    case 'batch_abort':
    case 'batch_priority':
    case 'transfer_ownership':
    case 'reparent':
    case 'answer_gate':
    case 'report_degraded':
      return denied(false)
    case 'add_tasks':
      return denied(((result.value as Values).tasks as string[]).every(id => isSubtask(run, caller, id)))
    case 'retry_task':
    case 'cancel_task':
      return denied(isSubtask(run, caller, String(named.task)))
    default:
      return undefined
  }
}

/** at or below the task that the delegate executes. */
function isSubtask(run: RunModel, delegate: WorkspaceModel, id: string): boolean {
  if (!delegate.delegate || delegate.task === null) return false
  for (let task = run.tasks.get(id); task; task = run.tasks.get(task.parent ?? ''))
    if (task.id === delegate.task) return true
  return false
}

type Values = Readonly<Record<string, unknown>>

/** Asked right when the answer arrives. `reach`: whether what was to be read was within reach when it was asked for. */
export function answerProblem(
  run: RunModel | undefined,
  command: Command,
  result: Result<unknown>,
  reach?: boolean,
): Problem {
  if (!result.ok && command.type === 'read' && result.error.code === 'not_found' && reach && isReadable(run, command))
    return `${command.kind} ${command.id} is within reach`
  if (!result.ok) return refusalProblem(run, result.error.details)
  if (!run?.root) return command.type === 'start' ? 'the run is not on the trail' : undefined
  const value = (result.value ?? {}) as Values
  const named = command as unknown as Values
  switch (command.type) {
    case 'start':
      return expect(run.root.id === result.value, 'the root is another')
    case 'close':
    case 'stop':
      return expect(run.ended, 'the run has not ended')
    case 'create_workspace':
      return expect(run.workspaces.has(String(value.workspace)), 'the workspace is not there')
    case 'migrate':
      return expect(
        run.workspaces.get(String(named.workspace))?.successor === named.newAgent ||
          run.workspaces.get(String(named.workspace))?.status !== 'migrating',
        'it waits for another agent',
      )
    case 'send':
    case 'terminate':
    case 'dispatch':
      return expect(
        run.envelopes.get(String(value.envelope))?.status !== 'rejected' && run.envelopes.has(String(value.envelope)),
        'the envelope was not accepted',
      )
    case 'emit':
      return (
        expect(value.signal === undefined || run.signals.has(String(value.signal)), 'the signal is not there') ??
        promiseProblem(run, command.caller, value.integrates)
      )
    case 'checkpoint':
      return expect(
        run.checkpoints.get(String(value.checkpoint))?.workspace === command.caller,
        'the checkpoint is not there',
      )
    case 'consume':
      return expect(
        value.id === undefined || run.envelopes.get(String(value.id))?.consumed === true,
        'it is not marked as consumed',
      )
    case 'grant_right':
      return expect(run.rights.has(String(result.value)), 'the right is not there')
    case 'revoke_right':
      return expect(run.rights.get(String(named.right))?.status === 'revoked', 'the right is not revoked')
    case 'submit_graph':
    case 'add_tasks':
      return expect(
        (value.tasks as string[]).every(id => run.tasks.get(id)?.graph === value.graph),
        'tasks are missing',
      )
    case 'cancel_task':
      return expect(
        value.outcome === 'rejected'
          ? abortWasRejected(run)
          : run.tasks.get(String(named.task))?.status === 'cancelled',
        `it is not as it was answered: ${String(value.outcome)}`,
      )
    case 'abort':
    case 'user_abort':
    case 'fail_integration':
      return expect(
        command.type === 'abort' && value.outcome === 'rejected'
          ? abortWasRejected(run)
          : isOver(run.workspaces.get(String(named.workspace ?? named.source))?.status ?? ''),
        'it is not over',
      )
    case 'salvage':
      return expect(run.salvages.has(String(named.source)), 'no salvage is there')
    case 'merge_salvage':
    case 'discard_salvage':
      return salvageProblem(run, named.source, value.salvage)
    case 'decide_integration':
    case 'resolve_conflict': {
      if (value.salvage !== undefined) return salvageProblem(run, named.source, value.salvage)
      const status = run.workspaces.get(String(command.source))?.status ?? ''
      const later = value.state === 'conflicted' && isOver(status)
      return expect(status === value.state || later, `the source is ${status}, not ${String(value.state)}`)
    }
    case 'answer_gate':
    case 'resolve_gate': {
      const end = run.gateEnds.get(String(command.gate))
      return expect(end?.action === command.action, `the gate ended by ${end?.action}`)
    }
    case 'inject':
      return expect(run.envelopes.get(String(value.envelope))?.originator === command.user, 'the mail is not there')
    case 'grant_visibility': {
      const reader = run.workspaces.get(String(command.workspace))
      return expect(reader !== undefined && run.sees(reader, String(command.target)), 'it sees nothing')
    }
    case 'transfer_ownership':
    case 'user_transfer_ownership':
      return expect(
        run.workspaces.get(String(command.workspace))?.owners.includes(String(command.owner)) === true,
        'it belongs to another',
      )
    case 'reparent':
      return expect(
        run.workspaces.get(String(command.workspace))?.parents.includes(String(command.parent)) === true,
        'it stands elsewhere',
      )
    case 'read':
      return expect(reach === true || isReadable(run, command), `${command.kind} ${command.id} is out of reach`)
    case 'change_checkpoint':
    case 'change_task':
    case 'remove_task':
    case 'register_type':
    case 'set_authority':
    case 'set_delegate':
    case 'revoke_visibility':
      return 'what never changes was changed'
    default:
      return undefined
  }
}

function salvageProblem(run: RunModel, source: unknown, said: unknown): Problem {
  // What is open may end, and another one may begin, before the answer arrives.
  return expect(said === 'open' || run.salvaged.has(`${source} ${said}`), `no salvage of ${source} was ${said}`)
}

/** W-INT-04: `complete` is answered by what will be integrated; nothing is added to the register after that. */
function promiseProblem(run: RunModel, caller: string, promised: unknown): Problem {
  if (promised === undefined) return undefined
  const { register = [] } = run.workspaces.get(caller) ?? {}
  const newest = register.findLast(id => run.checkpoints.get(id)?.status === 'final') ?? null
  return expect(promised === newest, `${String(promised)} was promised, ${newest} will be integrated`)
}

/** W-HWY-11: an abort that a fallback had rejected before is answered without an error, by `rejected`. */
function abortWasRejected(run: RunModel): boolean {
  return [...run.guards].some(([about, decided]) => about.startsWith('workspace_abort') && decided === 'reject')
}

/** W-WS-15, W-WS-02: what an agent may read. */
export function isReadable(
  run: RunModel | undefined,
  { caller, kind, id }: Extract<Command, { readonly type: 'read' }>,
): boolean {
  const reader = run?.workspaces.get(caller)
  if (!run || !reader) return false
  switch (kind) {
    case 'workspace':
      return run.workspaces.has(id) && run.sees(reader, id)
    case 'directive':
    case 'context':
      return run.workspaces.has(id) && (id === caller || run.isAbove(caller, id))
    // What a merge made is content of the workspace that it went into.
    case 'result':
      return run.workspaces.has(id) && run.sees(reader, run.workspace(id).parent ?? id)
    case 'envelope': {
      const envelope = run.envelopes.get(id)
      return envelope !== undefined && (reader.parent === null || envelope.from === caller || envelope.to === caller)
    }
    case 'task':
      return seesTask(run, reader, id)
    case 'graph':
      return [...run.tasks.values()].some(each => each.graph === id && seesTask(run, reader, each.id))
    case 'checkpoint':
    case 'artifact': {
      const checkpoint = run.checkpoints.get(kind === 'artifact' ? (run.artifacts.get(id) ?? '') : id)
      return checkpoint !== undefined && run.sees(reader, checkpoint.workspace)
    }
  }
}

/** §3.4: the tasks that a workspace in sight works on or worked on, and what was made of those. */
function seesTask(run: RunModel, reader: WorkspaceModel, id: string): boolean {
  const task = run.tasks.get(id)
  if (!task) return false
  if (reader.parent === null || task.history.some(each => run.sees(reader, each))) return true
  return task.parent !== null && seesTask(run, reader, task.parent)
}

function refusalProblem(run: RunModel | undefined, details: Values): Problem {
  if (details.entry === undefined) return undefined
  const type = run?.entryTypes.get(String(details.entry))
  return expect(type !== undefined && DENIALS.has(type), `the refusal names ${String(details.entry)}, which is ${type}`)
}

function expect(holds: boolean, otherwise: string): Problem {
  return holds ? undefined : otherwise
}
