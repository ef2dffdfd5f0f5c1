// What a workspace may modify (W-WS-17, §6.8): its `resources` are globs of paths, and a resource that is no path is
// named as it is. A workspace without resources modifies nothing: there is no default-allow (§5.1).
import { compileGlobs } from '@parley/core'
import { type Authority, isRoot, type Workspace } from './workspace.ts'

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
