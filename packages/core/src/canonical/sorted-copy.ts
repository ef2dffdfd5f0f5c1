// The fast half of canonical JSON: copies a JSON value with its keys in canonical order, for JSON.stringify to write.
// The same few shapes come again and again, so the copying of a shape is compiled; bench/canonical.ts shows why.
import { limits } from '../limits.ts'

export type PlainObject = Record<string, unknown>

/** Thrown for what cannot go this way; the exact way in canonical.ts then writes it, or refuses it with a reason. */
export const unusual = Symbol('unusual')

/** Keys in one order of insertion. */
interface Shape {
  readonly keys: readonly string[]
  readonly sorted: readonly string[]
  uses: number
  /** The copy of an object with these `keys`; undefined if it has others. */
  copy?: (object: PlainObject, keys: readonly string[], depth: number) => PlainObject | undefined
}

const usesBeforeCompiling = 16
const longestShape = 64
const shapesPerBucket = 8
const bucketCount = limits.canonicalShapes / shapesPerBucket
const buckets: Shape[][] = Array.from({ length: bucketCount }, () => [])

export function sortedCopy(value: unknown, depth: number): unknown {
  if (typeof value === 'object') {
    if (value === null) return null
    if (depth >= limits.canonicalDepth) throw unusual
    const prototype = Object.getPrototypeOf(value)
    if (prototype === Object.prototype || prototype === null) return copyObject(value as PlainObject, depth + 1)
    if (prototype === Array.prototype && Array.isArray(value)) return copyArray(value, depth + 1)
    throw unusual
  }
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw unusual
}

function copyArray(array: readonly unknown[], depth: number): unknown[] {
  const copy = array.slice()
  for (let index = 0; index < copy.length; index++) {
    const element = copy[index]
    if (typeof element !== 'string') copy[index] = sortedCopy(element, depth)
  }
  return copy
}

function copyObject(object: PlainObject, depth: number): PlainObject {
  const keys = Object.keys(object)
  if (keys.length === 0) return {}
  const bucket = bucketOf(keys)
  for (let index = 0; index < bucket.length; index++) {
    const shape = bucket[index]!
    if (shape.copy === undefined) {
      if (sameKeys(shape.keys, keys)) return copyUncompiled(object, shape, depth)
    } else {
      const copy = shape.copy(object, keys, depth)
      if (copy !== undefined) return copy
    }
  }
  return copyUncompiled(object, newShape(keys, bucket), depth)
}

/** The lengths of a few keys tell most shapes apart and cost next to nothing to read. */
function bucketOf(keys: readonly string[]): Shape[] {
  const count = keys.length
  const hash = count * 131 + keys[count - 1]!.length * 17 + keys[count >> 1]!.length * 3 + keys[count >> 2]!.length
  return buckets[hash & (bucketCount - 1)]!
}

function copyUncompiled(object: PlainObject, shape: Shape, depth: number): PlainObject {
  if (++shape.uses === usesBeforeCompiling) compileInto(shape)
  const copy: PlainObject = {}
  for (const key of shape.sorted) copy[key] = sortedCopy(object[key], depth)
  return copy
}

const indexLike = /^\d+$/

function newShape(keys: readonly string[], bucket: Shape[]): Shape {
  // Engines enumerate index-like keys first, whatever the order of insertion; `__proto__` is not a key to assign.
  for (const key of keys) if (key === '__proto__' || indexLike.test(key)) throw unusual
  const shape: Shape = { keys, sorted: keys.toSorted(), uses: 0 }
  if (keys.length > longestShape || keys.some(key => key.length > limits.idLength)) return shape
  // Objects used as dictionaries bring ever new shapes: those make room, the compiled ones stay unless they fill it.
  if (bucket.length === shapesPerBucket) {
    const compiled = bucket.filter(other => other.copy !== undefined)
    bucket.length = 0
    if (compiled.length < shapesPerBucket) bucket.push(...compiled)
  }
  bucket.push(shape)
  return shape
}

function sameKeys(left: readonly string[], right: readonly string[]): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false
  return true
}

/** Where making code is forbidden, as by the security policy of a page, the shape stays uncompiled. */
function compileInto(shape: Shape): void {
  try {
    shape.copy = compileCopy(shape)
  } catch {
    // Slower, not wrong.
  }
}

/** Keys enter the code as JSON string literals only, so no key can be code. */
function compileCopy(shape: Shape): NonNullable<Shape['copy']> {
  const others = shape.keys.map((key, index) => `k[${index}]!==${JSON.stringify(key)}`)
  const members = shape.sorted.map(key => {
    const name = JSON.stringify(key)
    return `${name}:typeof(v=o[${name}])==='string'||v===null||typeof v==='boolean'?v:copy(v,depth)`
  })
  const code = `if(k.length!==${shape.keys.length}||${others.join('||')})return;let v;return{${members.join(',')}}`
  return new Function('copy', `return function(o,k,depth){${code}}`)(sortedCopy)
}
