// What a parent must have so that a child may have it (W-WS-11, W-TOPO-TREE-04): asked at creation, at grants, and when
// an orphan gets another parent. Budgets have their own file.
import { isAbove, isRoot, sees, type Workspace } from './workspace.ts'

/** W-WS-05 row 8: the root in `active`, a delegate in `active` or `blocked`. */
export function acceptsChildren(parent: Workspace): boolean {
  if (isRoot(parent)) return parent.status === 'active'
  return parent.delegate && (parent.status === 'active' || parent.status === 'blocked')
}

/** The root's authority is everything. */
export function hasResources(parent: Workspace, resources: readonly string[]): boolean {
  return isRoot(parent) || resources.every(resource => parent.authority.resources.includes(resource))
}

/** The first of those above a workspace that does not see a target; AMB-54: the one above must be given it first. */
export function blindAncestor(workspace: Workspace, target: Workspace): Workspace | undefined {
  for (let each = workspace.parent; each !== null; each = each.parent) if (!sees(each, target)) return each
  return undefined
}

/** Whether `parent` sees all that a moved workspace brings along, its own subtree aside. */
export function seesAllOf(parent: Workspace, moved: Workspace, visible: readonly Workspace[]): boolean {
  return visible.every(target => target === moved || isAbove(moved, target) || sees(parent, target))
}
