// Canonical JSON: RFC 8785 (JCS), the form that is hashed and signed (W-TRAIL-11). What has no canonical form
// is refused, never coerced: a record must read back as exactly what was written.
import { ParleyError } from '../error.ts'
import { limits } from '../limits.ts'
import { pathText } from '../path.ts'
import { type PlainObject, sortedCopy, unusual } from './sorted-copy.ts'

/**
 * The canonical text. Throws `not_canonical` with the path of the first value that has none: NaN and infinities,
 * undefined, functions, symbols, bigints, lone surrogates, objects that are not plain, holes in arrays, and nesting
 * beyond `limits.canonicalDepth`, which is also how a cycle ends. No `toJSON` is called.
 */
export function canonicalize(value: unknown): string {
  try {
    // JSON.stringify writes numbers, strings and -0 as RFC 8785 demands; all it lacks is the order of keys.
    const text = JSON.stringify(sortedCopy(value, 0))
    // It writes a lone surrogate as an escape, which no well-formed string needs; a text that merely quotes such
    // an escape goes the slow way too.
    if (!text.includes('\\ud')) return text
  } catch (thrown) {
    if (thrown !== unusual) throw thrown
  }
  return write(value, [])
}

/** The quoted form of one string. */
export function canonicalString(text: string): string {
  return writeString(text, [])
}

type Path = (string | number)[]

function write(value: unknown, path: Path): string {
  switch (typeof value) {
    case 'string':
      return writeString(value, path)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'number':
      // RFC 8785 section 3.2.2.3. Adding zero turns -0 into 0.
      if (!Number.isFinite(value)) throw notCanonical(path, String(value))
      return String(value + 0)
    case 'object':
      if (value === null) return 'null'
      if (path.length >= limits.canonicalDepth) {
        throw notCanonical(path, `nesting beyond ${limits.canonicalDepth} levels, or a cycle,`)
      }
      return Array.isArray(value) ? writeArray(value, path) : writeObject(value, path)
    default:
      throw notCanonical(path, `a value of type ${typeof value}`)
  }
}

function writeString(text: string, path: Path): string {
  if (!text.isWellFormed()) throw notCanonical(path, 'text with a lone surrogate')
  return JSON.stringify(text)
}

function writeArray(array: readonly unknown[], path: Path): string {
  if (Object.getPrototypeOf(array) !== Array.prototype) throw notCanonical(path, 'an object that is not plain')
  const depth = path.length
  let text = ''
  for (let index = 0; index < array.length; index++) {
    path[depth] = index
    text += `${index === 0 ? '' : ','}${write(array[index], path)}`
  }
  path.length = depth
  return `[${text}]`
}

function writeObject(object: object, path: Path): string {
  const prototype = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) throw notCanonical(path, 'an object that is not plain')
  const depth = path.length
  let text = ''
  // RFC 8785 section 3.2.3: by UTF-16 code unit, which is how sort() compares strings.
  for (const key of Object.keys(object).sort()) {
    path[depth] = key
    text += `${text === '' ? '' : ','}${writeString(key, path)}:${write((object as PlainObject)[key], path)}`
  }
  path.length = depth
  return `{${text}}`
}

function notCanonical(path: Path, what: string): ParleyError {
  const where = pathText(path)
  return new ParleyError('not_canonical', `${where}: ${what} has no canonical JSON form`, {
    details: { path: where },
  })
}
