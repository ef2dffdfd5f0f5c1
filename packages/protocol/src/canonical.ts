// The canonical text of a value (ALX-KB-04): RFC 8785 without `null`. What has no such text is refused, never
// coerced, for the text is hashed into an identity that other implementations must come to as well.
import { limits } from './limits.ts'

/**
 * Throws a TypeError that names the place for: `null`, `undefined`, numbers that are not finite, BigInt, functions,
 * symbols, lone surrogates, objects that are not plain, and nesting beyond `limits.nesting`, which also ends a cycle.
 */
export function canonicalize(value: unknown): string {
  return write(value, false, '', 0)
}

/** The variant with `null`, for fingerprints of requests and never for identity (ALX-SOLVE-15). */
export function canonicalizeWithNull(value: unknown): string {
  return write(value, true, '', 0)
}

function write(value: unknown, nulls: boolean, path: string, depth: number): string {
  switch (typeof value) {
    case 'string':
      return writeString(value, path)
    case 'boolean':
      return String(value)
    case 'number':
      // ECMAScript's Number-to-string; adding zero turns -0 into 0.
      if (!Number.isFinite(value)) throw notCanonical(path, String(value))
      return String(value + 0)
    case 'object':
      if (value === null) {
        if (nulls) return 'null'
        throw notCanonical(path, 'null')
      }
      if (depth === limits.nesting) throw notCanonical(path, `nesting beyond ${limits.nesting} levels, or a cycle,`)
      return Array.isArray(value)
        ? writeArray(value, nulls, path, depth + 1)
        : writeObject(value, nulls, path, depth + 1)
    default:
      throw notCanonical(path, `a value of type ${typeof value}`)
  }
}

/** JSON.stringify escapes as rule 3 demands, once no lone surrogate is left. */
function writeString(text: string, path: string): string {
  if (!text.isWellFormed()) throw notCanonical(path, 'text with a lone surrogate')
  return JSON.stringify(text)
}

function writeArray(array: readonly unknown[], nulls: boolean, path: string, depth: number): string {
  // Not map(), which skips holes: they are `undefined` and refused.
  const elements: string[] = []
  for (let at = 0; at < array.length; at++) elements.push(write(array[at], nulls, `${path}[${at}]`, depth))
  return `[${elements.join(',')}]`
}

function writeObject(object: object, nulls: boolean, path: string, depth: number): string {
  const prototype = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) throw notCanonical(path, 'an object that is not plain')
  // sort() compares by UTF-16 code units, as rule 1 demands.
  const members = Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members
    .map(([key, value]) => `${writeString(key, path)}:${write(value, nulls, `${path}.${key}`, depth)}`)
    .join(',')}}`
}

function notCanonical(path: string, what: string): TypeError {
  return new TypeError(`$${path.toWellFormed()}: ${what} has no canonical form`)
}
