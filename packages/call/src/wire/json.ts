// What can travel as JSON (CALL-WIRE-04, -07): found out before anything is written, and never converted silently.
import { callLimits } from '../limits.ts'

/**
 * Where a value is no JSON, in words; undefined if all of it is. A member that is undefined is left out, as JSON does.
 * What would become JSON only when it is written, such as a Date, is none (CALL-WIRE-07).
 */
export function jsonProblem(value: unknown): string | undefined {
  try {
    const problem = find(value, 0)
    if (!problem) return undefined
    const place = problem.path === '' ? 'the value' : problem.path.slice(0, SHOWN_PATH)
    return `${place} ${problem.what}`
  } catch {
    return 'the value cannot be read'
  }
}

/** Characters of a path that a message repeats: that of a cycle is as long as the limit of nesting allows. */
const SHOWN_PATH = 200

interface Problem {
  readonly path: string
  readonly what: string
}

function find(value: unknown, depth: number): Problem | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : here(`is ${String(value)}, which JSON does not have`)
    case 'object':
      if (value === null) return undefined
      if (depth >= callLimits.nesting - 4) return here('is nested too deeply, or refers to itself')
      return Array.isArray(value) ? findInArray(value, depth) : findInObject(value, depth)
    default:
      return here(`is a ${typeof value}, which JSON does not have`)
  }
}

function findInArray(array: readonly unknown[], depth: number): Problem | undefined {
  for (let index = 0; index < array.length; index++) {
    const problem = find(array[index], depth + 1)
    if (problem) return inside(index, problem)
  }
  return undefined
}

function findInObject(object: object, depth: number): Problem | undefined {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== Object.prototype && prototype !== null)
    return here(`is a ${object.constructor?.name ?? 'special object'}; turn it into plain JSON first`)
  for (const key in object) {
    const problem = find((object as Record<string, unknown>)[key], depth + 1)
    if (problem) return inside(key, problem)
  }
  return undefined
}

function here(what: string): Problem {
  return { path: '', what }
}

function inside(key: string | number, { path, what }: Problem): Problem {
  return { path: `/${key}${path}`, what }
}

/** A JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value that is JSON but for what is undefined, as it is written: members are left out, items are null. */
export function withoutUndefined(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(item => (item === undefined ? null : withoutUndefined(item)))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  const given = Object.entries(value)
  const kept = given
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => [key, withoutUndefined(member)] as const)
  const same = kept.length === given.length && kept.every(([, member], index) => member === given[index]![1])
  return same ? value : Object.fromEntries(kept)
}

/** Whether a JSON text has enough brackets to nest deeper than the limit. Most have few, and need no closer look. */
export function mayNestDeeply(text: string): boolean {
  // Each level takes two.
  if (text.length <= 2 * callLimits.nesting) return false
  let left = callLimits.nesting
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true
  return false
}

/** Whether brackets nest deeper than the limit. Looks at bytes: nothing is built for a hostile text. */
export function tooDeep(bytes: Uint8Array, start: number, end: number): boolean {
  let depth = 0
  let inString = false
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === 0x5c) at++
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > callLimits.nesting) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}
