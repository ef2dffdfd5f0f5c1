// What no schema can say of the content of a request: text is well-formed, numbers are finite, nesting is bounded.
// All of it is needed for a canonical text (ALX-SOLVE-15), and none of it is assured by a JSON parser.
import { limits } from '../limits.ts'
import type { Problem } from './problems.ts'

/** The first place of a value of JSON that has no canonical text. `null` has one here. */
export function unfitContent(value: unknown): Problem | undefined {
  return visit(value, '', 0)
}

function visit(value: unknown, path: string, depth: number): Problem | undefined {
  const problem = (issue: string): Problem => ({ path: path === '' ? '$' : path, issue })
  if (typeof value === 'string') return value.isWellFormed() ? undefined : problem('must not have a lone surrogate')
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : problem('must be a finite number')
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === limits.nesting) return problem(`must not nest deeper than ${limits.nesting} levels`)
  for (const [name, member] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    const found = name.isWellFormed()
      ? visit(member, at, depth + 1)
      : { path: at.toWellFormed(), issue: 'must not have a lone surrogate' }
    if (found) return found
  }
  return undefined
}
