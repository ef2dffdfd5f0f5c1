// Frozen copies of plain JSON of what callers hand in: nobody changes them afterwards, and they have a canonical form.
// Undefined members are left out.
import { limits } from '@parley/core'
import { kernelLimits } from './limits.ts'

const depth = limits.canonicalDepth - 8

const notPlain = Symbol('not plain')

/** Values left of the copy being made: an object that is shared many times over would otherwise take for ever. */
let left = 0

/** Undefined for what is not JSON: functions, NaN, lone surrogates, class instances, cycles, too many values. */
export function plain<T>(value: T): T | undefined {
  left = kernelLimits.plainValues
  try {
    return copy(value, 0) as T
  } catch (thrown) {
    if (thrown === notPlain) return undefined
    throw thrown
  }
}

function copy(value: unknown, level: number): unknown {
  if (left-- <= 0) throw notPlain
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw notPlain
      return value
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw notPlain
      // JSON has one zero: what is read back must equal what was handed in.
      return value === 0 ? 0 : value
    case 'object':
      if (value === null) return null
      if (level >= depth) throw notPlain
      return Array.isArray(value) ? copyArray(value, level) : copyObject(value, level)
    default:
      throw notPlain
  }
}

function copyArray(array: readonly unknown[], level: number): readonly unknown[] {
  // Array.from sees holes, which have no JSON form.
  return Object.freeze(Array.from(array, item => copy(item, level + 1)))
}

function copyObject(object: object, level: number): object {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null) throw notPlain
  const copied: Record<string, unknown> = {}
  for (const [key, member] of Object.entries(object)) {
    if (member === undefined) continue
    if (key === '__proto__' || !key.isWellFormed()) throw notPlain
    copied[key] = copy(member, level + 1)
  }
  return Object.freeze(copied)
}

export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  Object.values(value).forEach(deepFreeze)
  return Object.freeze(value)
}

/** What a caller may write where a text is asked for. */
export function isText(value: unknown, length = Number.POSITIVE_INFINITY): value is string {
  return typeof value === 'string' && value !== '' && value.length <= length
}
