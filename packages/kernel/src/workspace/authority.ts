// What a workspace may modify (W-WS-17, §6.8): `resources` are globs, and nothing is allowed by default (§5.1). What a
// parent must have so that a child may (W-WS-11, W-TOPO-TREE-04).
import { compileGlobs } from '@parley/core'
import { type Authority, isAbove, isRoot, sees, type Workspace } from './workspace.ts'

export function outsideAuthority(workspace: Workspace, paths: readonly string[]): string | undefined {
  if (paths.length === 0 || isRoot(workspace)) return undefined
  const contains = containedIn(workspace.authority)
  return paths.find(path => !contains(path))
}

type Contains = (path: string) => boolean

/** An authority never changes, so its globs are compiled once. */
const compiled = new WeakMap<Authority, Contains>()

function containedIn(authority: Authority): Contains {
  const known = compiled.get(authority)
  if (known) return known
  const named = new Set(authority.resources)
  // One by one: what is no glob stands for itself alone, and takes nothing from the others.
  const globs = authority.resources.flatMap(resource => {
    const glob = compileGlobs([resource])
    return glob.ok ? [glob.value] : []
  })
  const contains = (path: string) => named.has(path) || (isPlain(path) && globs.some(matches => matches(path)))
  compiled.set(authority, contains)
  return contains
}

/** `src/../secret` begins like what lies in `src/` and does not lie there. */
function isPlain(path: string): boolean {
  return path.split('/').every(name => name !== '' && name !== '.' && name !== '..')
}

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
