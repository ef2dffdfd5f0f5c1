// Workspaces: creation, containment, the state machine, the tree, suspension, the end of a run.
import type { WorkspaceState } from '@parley/trail/events'
import type { RunModel } from '../model/model.ts'
import { isOver, type WorkspaceModel } from '../model/records.ts'
import { has, type Invariant, touched } from './rule.ts'

/** W-LIFE-02, written down a second time: the 22 pairs. */
const PAIRS: { readonly [From in WorkspaceState]: readonly WorkspaceState[] } = {
  idle: ['active', 'failed'],
  active: ['blocked', 'migrating', 'suspended', 'integrating', 'failed'],
  blocked: ['active', 'migrating', 'suspended', 'failed'],
  migrating: ['active', 'blocked', 'failed'],
  suspended: ['active', 'blocked', 'failed'],
  integrating: ['closed', 'conflicted', 'failed'],
  conflicted: ['closed', 'failed'],
  closed: [],
  failed: [],
}

/** Roles that nobody can send mail to, of all that the simulator uses. */
export const OBSERVERS: ReadonlySet<string> = new Set(['observer', 'auditor'])

export const workspaceRules: readonly Invariant[] = [
  {
    name: 'W-LIFE-02 W-LIFE-03 only the 22 transitions happen',
    on: {
      workspace_state_changed: (run, body) => {
        const now = run.workspaces.get(body.workspace_id)?.status
        if (now !== body.from_state) return `${body.workspace_id} is ${now}, the entry says ${body.from_state}`
        return PAIRS[body.from_state].includes(body.to_state)
          ? undefined
          : `${body.workspace_id}: ${body.from_state} to ${body.to_state}`
      },
    },
  },
  {
    name: 'W-LIFE-06 who can be sent mail leaves idle with the first envelope only',
    on: {
      workspace_state_changed: (run, body, _entry, batch) => {
        if (body.from_state !== 'idle' || body.to_state !== 'active') return undefined
        const { role } = run.workspace(body.workspace_id)
        if (body.trigger === 'agent_started')
          return role === 'coordinator' || OBSERVERS.has(role) ? undefined : `${role} left idle by started`
        const before = batch.entries[batch.at - 1]
        const placed = before?.event_type === 'envelope_delivered' && before.workspace === body.workspace_id
        return placed ? undefined : `${body.workspace_id} left idle by ${body.trigger} without an envelope`
      },
    },
  },
  {
    name: 'W-LIFE-11 W-MIG-01 W-MIG-03 a suspension returns to the state it came from',
    on: {
      workspace_state_changed: (run, body, _entry, batch) => {
        const workspace = run.workspace(body.workspace_id)
        if (body.to_state === 'suspended') {
          const announced = has(
            batch,
            'suspension_started',
            each => each.workspace_id === workspace.id && each.pre_suspension_state === workspace.status,
          )
          return announced ? undefined : `${workspace.id} is suspended without suspension_started`
        }
        if (body.from_state !== 'suspended' || body.to_state === 'failed') return undefined
        return body.to_state === workspace.remembered
          ? undefined
          : `${workspace.id} was ${workspace.remembered} and resumes to ${body.to_state}`
      },
    },
  },
  {
    name: 'W-LIFE-05 a failure has a reason, the code or the words of the agent',
    on: {
      workspace_state_changed: (_run, body) => {
        if (body.to_state !== 'failed') return body.reason === undefined ? undefined : 'a reason without a failure'
        return body.trigger === 'agent_failed' || body.reason === body.trigger
          ? undefined
          : `${body.trigger} has the reason ${body.reason}`
      },
    },
  },
  {
    name: 'W-WS-10 W-LIFE-12 there is one root, and it is the coordinator',
    on: {
      workspace_created: (run, body) => {
        const root = body.parent === null
        if (root !== (body.role === 'coordinator')) return `${body.role} under ${body.parent}`
        return root && run.root ? 'a second root' : undefined
      },
    },
  },
  {
    name: 'W-WS-04 W-WS-05 children are created under an active root or an active or blocked delegate',
    on: {
      workspace_created: (run, body) => {
        if (body.parent === null) return undefined
        const parent = run.workspaces.get(body.parent)
        if (!parent) return `${body.parent} does not exist`
        const accepts = run.isRoot(parent.id)
          ? parent.status === 'active'
          : parent.delegate && (parent.status === 'active' || parent.status === 'blocked')
        return accepts ? undefined : `${parent.role} ${parent.id} is ${parent.status}, delegate ${parent.delegate}`
      },
    },
  },
  {
    name: 'W-WS-11 a child sees and may write no more than its parent',
    on: {
      workspace_created: (run, body) => {
        const parent = body.parent === null ? undefined : run.workspaces.get(body.parent)
        if (!parent || parent.parent === null) return undefined
        const unseen = body.visibility_set.find(id => id !== body.workspace_id && !run.sees(parent, id))
        if (unseen !== undefined) return `${body.workspace_id} sees ${unseen}, its parent does not`
        const resource = body.authority_set.resources.find(each => !parent.resources.includes(each))
        return resource === undefined ? undefined : `${body.workspace_id} has ${resource}, its parent does not`
      },
    },
    state: run => {
      for (const { id, visibility } of run.workspaces.values())
        for (const seen of visibility) if (!run.workspaces.has(seen)) return `${id} sees ${seen}, which is not there`
      return undefined
    },
  },
  {
    name: 'W-ROLE-10 A-11 only workers are delegates',
    on: {
      workspace_created: (_run, body) =>
        body.delegate && (OBSERVERS.has(body.role) || body.parent === null) ? `${body.role} is a delegate` : undefined,
    },
  },
  {
    name: 'W-WS-06 creation writes the receive right right behind the workspace',
    on: {
      workspace_created: (_run, body, _entry, batch) => {
        const next = batch.entries[batch.at + 1]
        const right = next?.body as { right_type?: string; holder?: string } | undefined
        return next?.event_type === 'port_right_created' &&
          right?.right_type === 'receive' &&
          right.holder === body.workspace_id
          ? undefined
          : `${next?.event_type} follows`
      },
    },
  },
  {
    name: 'W-WS-12 a workspace that is not terminal has no failed parent',
    batch: (run, batch) => eachTouched(run, batch, openUnder('failed')),
    state: run => eachOf(run, openUnder('failed')),
  },
  {
    name: 'W-WS-14 nothing closes above a child that is still at work',
    batch: (run, batch) => eachTouched(run, batch, openUnder('closed')),
    state: run => eachOf(run, openUnder('closed')),
  },
  {
    name: 'W-LIFE-10 A-15 a failure is signalled, unless it is a cascade or a forced stop',
    on: {
      workspace_state_changed: (_run, body, _entry, batch) => {
        if (body.to_state !== 'failed' || body.trigger === 'parent_failed' || body.trigger === 'system_shutdown')
          return undefined
        const signalled = has(
          batch,
          'signal_emitted',
          each => each.type === 'failed' && each.from === body.workspace_id,
        )
        return signalled ? undefined : `${body.workspace_id} failed (${body.trigger}) without a signal`
      },
    },
  },
  {
    name: 'W-LIFE-14 a forced stop says so right before the root fails',
    on: {
      workspace_state_changed: (run, body, _entry, batch) => {
        if (!run.isRoot(body.workspace_id) || body.trigger !== 'system_shutdown') return undefined
        const before = batch.entries[batch.at - 1]?.event_type
        return before === 'system_degraded' ? undefined : `${before} stands before it`
      },
    },
  },
  {
    name: 'W-WS-22 working memory is written by its own worker in active or blocked, or by the creator',
    object: (run, object) => {
      if (object.kind !== 'memory') return undefined
      const workspace = run.workspaces.get((object.value as { workspace: string }).workspace)
      if (!workspace) return undefined
      const writes = workspace.parent !== null && !OBSERVERS.has(workspace.role)
      return writes && (workspace.status === 'active' || workspace.status === 'blocked')
        ? undefined
        : `${workspace.role} ${workspace.id} wrote in ${workspace.status}`
    },
  },
]

function openUnder(state: 'closed' | 'failed') {
  return (run: RunModel, workspace: WorkspaceModel) => {
    if (workspace.status !== state) return undefined
    const open = workspace.children.find(child => !isOver(run.workspace(child).status))
    return open === undefined ? undefined : `${open} is ${run.workspace(open).status} under ${workspace.id}`
  }
}

function eachTouched(
  run: RunModel,
  batch: Parameters<typeof touched>[0],
  rule: (run: RunModel, workspace: WorkspaceModel) => string | undefined,
): string | undefined {
  for (const id of touched(batch)) {
    const workspace = run.workspaces.get(id)
    const problem = workspace && rule(run, workspace)
    if (problem !== undefined) return problem
    const above = workspace?.parent != null ? rule(run, run.workspace(workspace.parent)) : undefined
    if (above !== undefined) return above
  }
  return undefined
}

function eachOf(
  run: RunModel,
  rule: (run: RunModel, workspace: WorkspaceModel) => string | undefined,
): string | undefined {
  for (const workspace of run.workspaces.values()) {
    const problem = rule(run, workspace)
    if (problem !== undefined) return problem
  }
  return undefined
}
