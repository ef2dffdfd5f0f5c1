// Which paths of a project a turn may change.
import { compileGlobs, unwrap } from '@parley/core'

/**
 * undefined allows everything, an empty list nothing. Throws for patterns that team files may not have any more, but
 * old runs may.
 */
export function allowedPaths(patterns: readonly string[] | undefined): (path: string) => boolean {
  return patterns === undefined ? () => true : unwrap(compileGlobs(patterns))
}
