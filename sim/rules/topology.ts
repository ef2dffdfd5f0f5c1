// The tree and who belongs to whom: cascades, orphans, owners, causes, sight.
import type { RunModel } from '../model/model.ts'
import { isOver, type WorkspaceModel } from '../model/records.ts'
import { type BatchView, has, type Invariant } from './rule.ts'

export const topologyRules: readonly Invariant[] = [
  {
    name: 'W-WS-12 who falls with a parent has the same owner, unless the whole run ends',
    on: {
      workspace_state_changed: (run, body, _entry, batch) => {
        if (body.trigger !== 'parent_failed' || endsRun(run, batch)) return undefined
        const workspace = run.workspace(body.workspace_id)
        const parent = run.workspace(workspace.parent ?? workspace.id)
        if (parent.status !== 'failed') return `the parent ${parent.id} is ${parent.status}`
        return parent.owner === workspace.owner
          ? undefined
          : `${workspace.id} of ${workspace.owner} falls with ${parent.id} of ${parent.owner}`
      },
    },
  },
  {
    name: 'W-WS-13 W-TOPO-TREE-07 an orphan goes to the root, and from there once to a parent of its owner',
    on: {
      workspace_reparented: (run, body) => {
        const workspace = run.workspace(body.workspace_id)
        const old = run.workspace(body.old_parent)
        const parent = run.workspace(body.new_parent)
        if (workspace.parent !== old.id) return `${workspace.id} stands under ${workspace.parent}`
        if (isOver(workspace.status)) return `${workspace.id} is ${workspace.status}`
        if (body.reason === 'parent_aborted_cross_ownership') {
          if (old.status !== 'failed') return `${old.id} is ${old.status}`
          if (old.owner === workspace.owner) return `${old.owner} owns both`
          return run.isRoot(parent.id) ? undefined : `it goes to ${parent.id}`
        }
        if (!workspace.orphan) return `${workspace.id} is no orphan`
        if (!run.isRoot(old.id)) return `it comes from ${old.id}`
        if (parent === workspace || run.isAbove(workspace.id, parent.id)) return 'it goes below itself'
        if (parent.owner !== workspace.owner) return `${parent.id} belongs to ${parent.owner}`
        return parent.delegate && (parent.status === 'active' || parent.status === 'blocked')
          ? undefined
          : `${parent.id} takes no children`
      },
    },
    state: run => {
      for (const each of run.workspaces.values())
        if (each.orphan && !run.isRoot(each.parent ?? '')) return `${each.id} stands under ${each.parent}`
      return undefined
    },
  },
  {
    name: 'W-USER-07 every workspace belongs to a person',
    on: {
      workspace_created: (_run, body) =>
        ['system', 'protocol', 'fallback', 'coordinator', 'worker', 'observer'].includes(body.owner)
          ? `${body.workspace_id} belongs to '${body.owner}'`
          : undefined,
    },
  },
  {
    name: 'W-USER-10 W-TOPO-CAUS-04 the originator comes from above, or from the injection that caused the creation',
    on: {
      workspace_created: (run, body, entry) => {
        const parent = body.parent === null ? undefined : run.workspace(body.parent)
        const cause = run.envelopes.get(body.caused_by ?? '')
        if (body.caused_by !== undefined && cause?.origin !== 'human') return `${body.caused_by} is no person's`
        if (cause && cause.type !== 'directive') return `${cause.id} asks for nothing: it is a ${cause.type}`
        // A delegate creates beneath itself; the root, whose actor is `system`, for everybody.
        if (cause && entry.actor !== 'system' && cause.to !== body.parent)
          return `${cause.id} went to ${cause.to}, not to ${body.parent}`
        const expected = cause?.originator ?? parent?.originator ?? 'system'
        return body.originator === expected ? undefined : `${body.originator} instead of ${expected}`
      },
    },
  },
  {
    name: 'W-WS-16 W-TOPO-VIS-01 sight is given where everybody above has it, and only grows',
    on: {
      visibility_granted: (run, body) => {
        const workspace = run.workspace(body.workspace_id)
        if (!run.workspaces.has(body.target)) return `${body.target} does not exist`
        if (!['idle', 'active', 'blocked'].includes(workspace.status)) return `${workspace.id} is ${workspace.status}`
        if (run.sees(workspace, body.target)) return `${workspace.id} sees ${body.target} already`
        const blind = ancestors(run, workspace).find(each => !run.sees(each, body.target))
        return blind && `${blind.id} above does not see ${body.target}`
      },
    },
  },
  {
    name: 'W-WS-18 W-USER-09 a change of priority or owner begins with what was',
    on: {
      priority_changed: (run, body) => {
        const { priority, status } = run.workspace(body.workspace_id)
        if (status !== 'active' && status !== 'blocked') return `it is ${status}`
        const right = body.old_priority === priority && body.new_priority !== priority
        return right ? undefined : `${body.old_priority} to ${body.new_priority}, it was ${priority}`
      },
      workspace_ownership_transferred: (run, body) => {
        const { owner } = run.workspace(body.workspace_id)
        return body.from_user === owner && body.to_user !== owner
          ? undefined
          : `from ${body.from_user} to ${body.to_user}, it was ${owner}'s`
      },
    },
  },
]

function endsRun(run: RunModel, batch: BatchView): boolean {
  return has(
    batch,
    'workspace_state_changed',
    each => each.to_state === 'failed' && run.isRoot(String(each.workspace_id)),
  )
}

function ancestors(run: RunModel, { parent }: WorkspaceModel): WorkspaceModel[] {
  const above = parent === null ? undefined : run.workspace(parent)
  return above ? [above, ...ancestors(run, above)] : []
}
