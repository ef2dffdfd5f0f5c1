// What can be read off the tree and the structures over it (mechanisms sheet, section 7), in order of creation unless
// said otherwise.
import type { WorkspaceId } from '@parley/core'
import type { Run } from '../run/run.ts'
import { childrenOf, isRoot, sees, subtree, type Workspace } from './workspace.ts'

/** W-TOPO-OWN-02: the domain of a user; the `owner` field alone decides. */
export function ownedBy(run: Run, user: string): readonly Workspace[] {
  return where(run, each => each.owner === user)
}

/** W-TOPO-CAUS-05: everything that one originator caused, a user or `system`. */
export function originatedBy(run: Run, originator: string): readonly Workspace[] {
  return where(run, each => each.originator === originator)
}

/** W-TOPO-CAUS-04: where work for a user begins below another originator's. */
export function boundaries(run: Run): readonly Workspace[] {
  return where(run, each => each.boundary)
}

export function orphans(run: Run): readonly Workspace[] {
  return where(run, each => each.orphan)
}

/** W-TOPO-TREE-03, upward: from the parent to the root. */
export function ancestorsOf(workspace: Workspace): readonly Workspace[] {
  const found: Workspace[] = []
  for (let each = workspace.parent; each !== null; each = each.parent) found.push(each)
  return found
}

export function descendantsOf(workspace: Workspace): readonly Workspace[] {
  return [...subtree(workspace)].filter(each => each !== workspace)
}

export function siblingsOf(workspace: Workspace): readonly Workspace[] {
  if (workspace.parent === null) return []
  return childrenOf(workspace.parent).filter(each => each !== workspace)
}

export function causedAlike(workspace: Workspace): readonly Workspace[] {
  return descendantsOf(workspace).filter(each => each.originator === workspace.originator)
}

/** W-TOPO-VIS-06: whom a workspace sees; itself is among them. */
export function visibleTo(run: Run, workspace: Workspace): readonly Workspace[] {
  if (isRoot(workspace)) return [...run.workspaces.values()]
  const below = new Set(subtree(workspace))
  return where(run, each => below.has(each) || (workspace.visibility?.has(each.id) ?? false))
}

/** The same for one workspace that something else names; replay may have left that one out. */
export function seesId(run: Run, viewer: Workspace, id: WorkspaceId): boolean {
  const workspace = run.workspaces.get(id)
  return workspace !== undefined && sees(viewer, workspace)
}

/** W-TOPO-VIS-06: who sees a workspace; itself and the root are among them. The workspace is not told. */
export function viewersOf(run: Run, workspace: Workspace): readonly Workspace[] {
  return where(run, each => sees(each, workspace))
}

function where(run: Run, wanted: (workspace: Workspace) => boolean): readonly Workspace[] {
  return [...run.workspaces.values()].filter(wanted)
}
