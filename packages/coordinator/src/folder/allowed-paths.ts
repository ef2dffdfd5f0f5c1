// Which paths of a project a turn may change: globs as `matchesGlob` of node:path understands them, except that a star also
// stands for names that begin with a dot, and that a folder's name with a slash at its end stands for all that is in it.
import { posix } from 'node:path'

/** undefined allows everything, an empty list nothing. Paths and patterns are relative to the project. */
export function allowedPaths(patterns: readonly string[] | undefined): (path: string) => boolean {
  if (patterns === undefined) return () => true
  const prepared = patterns.map(pattern => withDots(normal(pattern)))
  return path => {
    const dotted = withDots(path)
    return prepared.some(pattern => posix.matchesGlob(dotted, pattern))
  }
}

function normal(pattern: string): string {
  const relative = pattern.replace(/^(?:\.\/+)+/, '')
  if (relative === '' || relative === '.') return pattern === '' ? '' : '**'
  return relative.endsWith('/') ? `${relative}**` : relative
}

/**
 * matchesGlob knows no option for dots: a star never matches a name that begins with one. So every name gets a character in
 * front, in the path and in the pattern; only `**`, which stands for whole names, stays as it is.
 */
function withDots(path: string): string {
  return path.replace(/(^|\/)(?!\*\*(?:$|[/,}]))/g, '$1_')
}
