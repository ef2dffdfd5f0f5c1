// Creating a workspace (W-WS-05): sixteen checks in order, the last but one the machine's capacities (W-WS-20); then
// the entries of W-WS-06 up to the binding.
import {
  compile,
  type EnvelopeId,
  type ObjectId,
  ok,
  type Result,
  type Static,
  type TaskId,
  Type,
  type WorkspaceId,
} from '@parley/core'
import { Budget, bodyLimits, type EventBody, isReservedActor, WORKSPACE_PRIORITIES } from '@parley/trail/events'
import { actorOf, type Batch, type Denial } from '../batch.ts'
import { childBudget } from '../budget/remaining.ts'
import { type Payload, PayloadSchema } from '../envelope/envelope.ts'
import { gate, gated } from '../highway/gate.ts'
import { mayCite } from '../highway/inject.ts'
import { identityFor } from '../integrity/identity.ts'
import { STATE_RULES } from '../lifecycle/states.ts'
import { kernelDefaults, kernelLimits } from '../limits.ts'
import type { DirectiveRecord, MemoryRecord } from '../objects.ts'
import { writeDefaultRights, writeRight } from '../port-right/decide.ts'
import { limitReached, type Refusal, refusal } from '../refusal.ts'
import { actionsOf, maySend } from '../role/matrix.ts'
import type { Role } from '../role/resolve.ts'
import { workspaceOf } from '../run/run.ts'
import { writeTaskStatus } from '../task/follow.ts'
import { isDispatchable, mayBind } from '../task/graph.ts'
import { INHERITED_PRIORITY, type Task } from '../task/task.ts'
import { acceptsChildren, hasResources } from './authority.ts'
import { ended, isRoot, sees, type Workspace } from './workspace.ts'

const Duration = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const Name = Type.String({ minLength: 1, maxLength: bodyLimits.nameLength })
const list = (items: ReturnType<typeof Type.String>) => Type.Array(items, { maxItems: kernelLimits.creationList })

/** What a creator supplies. Every other field of the record is the runtime's (W-WS-01). */
const WorkspaceDraftSchema = Type.Object(
  {
    role: Name,
    parent: Type.Optional(Type.String()),
    owner: Type.Optional(Type.String({ minLength: 1, maxLength: bodyLimits.userIdLength })),
    visibility: Type.Optional(list(Type.String())),
    resources: Type.Optional(list(Type.String({ minLength: 1, maxLength: bodyLimits.resourceLength }))),
    priority: Type.Optional(Type.Enum([...WORKSPACE_PRIORITIES])),
    mounts: Type.Optional(list(Name)),
    delegate: Type.Optional(Type.Boolean()),
    directive: Type.Optional(Type.Union([PayloadSchema, Type.Null()])),
    dispatch: Type.Optional(Type.Boolean()),
    task: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    context: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    memory: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: kernelLimits.memoryKeys })),
    timeout: Type.Optional(Duration),
    budget: Type.Optional(Budget),
    group: Type.Optional(Type.Union([Name, Type.Null()])),
    liveness_interval: Type.Optional(Type.Union([Duration, Type.Null()])),
    caused_by: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)
export type WorkspaceDraft = Static<typeof WorkspaceDraftSchema>

const validator = compile(WorkspaceDraftSchema, { name: 'workspace' })

interface Approved {
  readonly draft: WorkspaceDraft
  readonly parent: Workspace
  readonly role: Role
  /** What was asked for, and what its delegate's limits make of the rest (W-BUDGET-07). */
  readonly budget: Budget | undefined
  readonly visibility: readonly WorkspaceId[]
  readonly owner: string
  readonly originator: string
  readonly task: Task | undefined
}

export interface Created {
  readonly workspace: WorkspaceId
  readonly role: string
}

export function decideCreate(batch: Batch, caller: Workspace, request: unknown, passed = false): Result<Created> {
  const approved = check(batch, caller, request)
  if (!approved.ok) return approved
  if (batch.run.open >= kernelLimits.openWorkspaces)
    return limitReached('workspaces at work in one run', kernelLimits.openWorkspaces)
  if (batch.run.workspaces.size >= kernelLimits.workspaces)
    return limitReached('workspaces in one run', kernelLimits.workspaces)
  const { group } = approved.value.draft
  if (group != null && (batch.run.groups.get(group)?.length ?? 0) >= kernelLimits.groupMembers)
    return limitReached(`members of the group '${group}'`, kernelLimits.groupMembers)
  // 16
  if (!passed) {
    const { draft } = approved.value
    const verdict = gate(batch, { type: 'workspace_create', caller: caller.id, draft })
    if (verdict === 'rejected') return writeGateRejected(batch, caller)
    if (verdict !== 'proceed') return gated(verdict.waits)
  }
  return write(batch, caller, approved.value)
}

/** W-WS-05 row 16: filed under the caller. */
export function writeGateRejected(batch: Batch, caller: Workspace): Refusal {
  const reason = 'gate_rejected_by_human'
  const entry = batch.add('workspace_rejected', caller, 'protocol', { reason, capacity_details: {} })
  return refusal('rejected', 'The creation was rejected at its gate.', { reason, entry })
}

/** W-WS-05, in its order; the first failure decides. */
function check(batch: Batch, caller: Workspace, request: unknown): Result<Approved> {
  const { run } = batch
  const denied = (reason: Denial['reason'], message: string, capability = 'operation:create_workspace') =>
    batch.deny(caller, {
      capability,
      action: 'create_workspace',
      reason,
      message,
      ...(reason === 'containment_violation' && { code: 'containment' as const }),
    })
  const rejected = (
    reason: EventBody<'workspace_rejected'>['reason'],
    message: string,
    shortage: EventBody<'workspace_rejected'>['capacity_details'] = {},
  ): Refusal => {
    const body = { reason, capacity_details: shortage }
    const entry = batch.add('workspace_rejected', caller, 'protocol', body)
    return refusal('rejected', message, { reason, entry, ...(reason === 'capacity_exhausted' && { shortage }) })
  }

  // 1. W-WS-04
  if (!isRoot(caller) && !(caller.delegate && STATE_RULES[caller.status].createsChildren))
    return denied('permission_denied', `The ${caller.role} in ${caller.id} may not create workspaces.`)
  const named = isObject(request) ? request.parent : undefined
  if (!isRoot(caller) && named !== undefined && named !== caller.id)
    return denied('permission_denied', 'A delegate creates children directly beneath itself only.')
  // 2, 3
  const { originator, ...rest } = isObject(request) ? request : ({} as Record<string, unknown>)
  const fits = validator.check(isObject(request) ? rest : request)
  if (!fits.ok) return rejected('invalid_parameters', fits.error.message)
  if (originator !== undefined)
    return denied('permission_denied', 'The runtime alone sets the originator.', 'set:originator')
  const draft = fits.value
  // 4, 5
  const role = run.vocabulary.roles.get(draft.role)
  if (!role) return rejected('unregistered_role', `No role '${draft.role}' is registered.`)
  if (role.base === 'coordinator') return denied('permission_denied', 'A run has one coordinator.')
  // 6, 7, 8
  const parent = draft.parent === undefined ? caller : workspaceOf(run, draft.parent)
  if (!parent) return rejected('parent_not_found', `There is no workspace ${draft.parent} to be the parent.`)
  if (ended(parent)) return rejected('parent_terminal', `The parent ${parent.id} is ${parent.status}.`)
  if (!acceptsChildren(parent))
    return rejected('parent_not_accepting', `${parent.id} (${parent.role}, ${parent.status}) takes no children.`)
  // 9. W-ROLE-10
  if (draft.delegate && !(isRoot(caller) && role.base === 'worker'))
    return denied('permission_denied', 'Only the root makes delegates, of workers.', 'operation:grant_delegation')
  // 10
  const targets = (draft.visibility ?? []).map(id => workspaceOf(run, id))
  if (targets.includes(undefined)) return rejected('dangling_reference', 'A visibility target does not exist.')
  const task = draft.task == null ? undefined : run.tasks.get(draft.task as TaskId)
  if (draft.task != null && !task) return rejected('dangling_reference', `There is no task ${draft.task}.`)
  const cause = draft.caused_by === undefined ? undefined : run.envelopes.get(draft.caused_by as EnvelopeId)
  if (draft.caused_by !== undefined) {
    if (!cause) return rejected('dangling_reference', `There is no envelope ${draft.caused_by}.`)
    // W-USER-10
    if (!mayCite(caller, cause))
      return rejected(
        'invalid_parameters',
        `${cause.id} is no directive that a human injected to ${caller.id}; name the one that asked for this workspace.`,
      )
  }
  // 11. W-WS-11
  if (targets.some(target => target && !sees(parent, target)))
    return denied('containment_violation', `${parent.id} does not see all that the child is to see.`)
  if (!hasResources(parent, draft.resources ?? []))
    return denied('containment_violation', `${parent.id} has no authority over all that the child is to have.`)
  const fitting = childBudget(parent, draft.budget, batch.context.now)
  if (typeof fitting === 'string') return denied('containment_violation', fitting)
  // 12, 13
  if (draft.owner !== undefined) {
    if (!isOwner(batch, draft.owner)) return rejected('owner_invalid', `'${draft.owner}' is no user.`)
    if ((batch.context.users?.stateOf(draft.owner) ?? 'active') !== 'active')
      return denied('user_not_active', `The user ${draft.owner} is not active.`)
  }
  // 14. W-TASK-07, -19
  if (task && !mayBind(batch, caller, parent, task))
    return denied('permission_denied', `${caller.id} binds subtasks of its own task only.`, 'operation:task')
  if (task && !isDispatchable(run, task))
    return rejected('not_dispatchable', `The task ${task.id} is ${task.status} or waits for others.`)
  // 15. W-WS-20
  const shortage = shortageOf(batch)
  if (shortage)
    return rejected(
      'capacity_exhausted',
      `There is no room for another workspace: ${Object.keys(shortage).join(', ')}. Try again when others have ended.`,
      shortage,
    )
  return ok({
    draft,
    parent,
    role,
    budget: fitting.budget,
    visibility: targets.flatMap(target => target?.id ?? []),
    owner: draft.owner ?? parent.owner,
    // W-USER-10: an injection overrides inheritance, below another user's workspace too.
    originator: cause?.originator ?? parent.originator,
    task,
  })
}

/** W-WS-06, steps 1 to 4. */
function write(batch: Batch, caller: Workspace, approved: Approved): Result<Created> {
  const { draft, parent, role, visibility, task } = approved
  const id = batch.newId<WorkspaceId>('ws')
  const wanted = { workspace: id, role: role.name, task: task?.id ?? null, context: draft.context ?? {} }
  const agent = identityFor(batch, wanted, caller.id)
  if (!agent.ok) return agent
  const actor = actorOf(caller)
  const delegate = draft.delegate ?? false
  const party = { role: role.name, delegate }
  const directive = directiveOf(batch, approved, party)
  const directiveId = directive && batch.newId<EnvelopeId>('env')
  const context = draft.context && batch.newId<ObjectId>('obj')
  if (context) batch.store('context', context, draft.context, { of: 'private', workspace: id })
  if (directive) {
    const record: DirectiveRecord = { ...directive, workspace: id, dispatch: draft.dispatch ?? true }
    batch.store('directive', batch.newId('obj'), record, { of: 'private', workspace: id })
  }
  for (const [key, value] of Object.entries(draft.memory ?? {})) {
    const memory: MemoryRecord = { workspace: id, key, value }
    batch.store('memory', batch.newId('obj'), memory, { of: 'workspace', workspace: id })
  }
  batch.add('workspace_created', id, actor, {
    workspace_id: id,
    role: role.name,
    parent: parent.id,
    delegate,
    originator: approved.originator,
    owner: approved.owner,
    visibility_set: [...new Set([id, ...visibility])],
    authority_set: {
      resources: [...(draft.resources ?? [])],
      actions: [...actionsOf(role, delegate, batch.run.vocabulary.roles.get('coordinator'))],
    },
    timeout: draft.timeout ?? kernelDefaults.timeout,
    ...(approved.budget && { budget: approved.budget }),
    priority: draft.priority ?? (task ? INHERITED_PRIORITY[task.priority] : 'normal'),
    group: draft.group ?? null,
    agent: agent.value,
    directive: directiveId ?? null,
    task_ref: task?.id ?? null,
    ...(context && { context }),
    liveness_interval: draft.liveness_interval ?? null,
    mounts: [...(draft.mounts ?? [])],
    ...(draft.caused_by !== undefined && { caused_by: draft.caused_by }),
  })
  const by = { actor, id: caller.id }
  writeRight(batch, by, 'receive', id, id)
  writeDefaultRights(batch, by, { id, ...party }, parent)
  if (task) {
    batch.add('task_assigned', batch.run.root!, actor, {
      task_id: task.id,
      workspace_id: id,
      attempt_number: task.history.length + 1,
    })
    writeTaskStatus(batch, task, 'assigned', actor, 'pending', id)
  }
  return ok({ workspace: id, role: role.name })
}

/** W-WS-07: the task's description, then what the creator adds; none for a role that takes no directives. */
function directiveOf(
  batch: Batch,
  { draft, parent, task }: Approved,
  party: { readonly role: string; readonly delegate: boolean },
): Payload | undefined {
  if (!maySend(batch.run.vocabulary, parent, 'directive', party, 'sender_above')) return undefined
  const { directive } = draft
  if (!directive && !task) return undefined
  const attachments = [...(directive?.attachments ?? [])]
  if (task) attachments.push({ kind: 'task_ref', id: task.id })
  const content = [task?.text.description, directive?.content].filter(Boolean).join('\n\n')
  return { format: directive?.format ?? 'markdown', content, attachments }
}

/** W-USER-07: a known user where there is a registry, else every name that is not reserved. */
export function isOwner(batch: Batch, owner: string): boolean {
  if (isReservedActor(owner, new Set(batch.run.vocabulary.roles.keys()))) return false
  return batch.context.users === undefined || batch.context.users.stateOf(owner) !== undefined
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Capacity = 'compute' | 'memory' | 'storage' | 'network'

type Shortage = { readonly [Name in Capacity]?: { readonly needed: number; readonly available: number } }

export interface CapacityProbe {
  shortage(open: number): Shortage
}

function shortageOf(batch: Batch): EventBody<'workspace_rejected'>['capacity_details'] | undefined {
  const shortage = batch.context.capacity?.shortage(batch.run.open)
  if (!shortage || Object.keys(shortage).length === 0) return undefined
  return Object.fromEntries(
    Object.entries(shortage).map(([name, { needed, available }]) => [name, { available, required: needed }]),
  )
}
