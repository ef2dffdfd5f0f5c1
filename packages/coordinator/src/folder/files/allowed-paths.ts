// Which paths of a project a turn may change.
import { compileGlobs, unwrap } from '@parley/core'

/**
 * undefined allows everything, an empty list nothing. Paths and patterns are relative to the project. Throws for
 * patterns that no team file may have any more; a run that began with them is still on record.
 */
export function allowedPaths(patterns: readonly string[] | undefined): (path: string) => boolean {
  return patterns === undefined ? () => true : unwrap(compileGlobs(patterns))
}
