// What did not fit a schema: where, what was expected, what came. Foreign values are repeated only if they are short.

import type { ErrorObject } from 'ajv/dist/2020.js'
import { limits } from '../limits.ts'
import { pathText, shorten } from '../path.ts'

export interface SchemaProblem {
  /** For people: `body.items[3].name`. */
  readonly path: string
  /** The same place as a JSON Pointer (RFC 6901). */
  readonly pointer: string
  readonly expected: string
  readonly actual: string
}

/** What Ajv tells about an error, by keyword. */
interface Params {
  readonly type?: string | readonly string[]
  readonly allowedValue?: unknown
  readonly allowedValues?: readonly unknown[]
  readonly missingProperty?: string
  readonly additionalProperty?: string
  readonly unevaluatedProperty?: string
  readonly limit?: number
  readonly comparison?: string
  readonly pattern?: string
  readonly format?: string
}

export function findProblems(
  value: unknown,
  errors: readonly ErrorObject[] | null | undefined,
  name?: string,
): readonly SchemaProblem[] {
  if (errors == null || errors.length === 0) return [misfit(value, name)]
  return foldUnions(errors)
    .slice(0, limits.schemaErrors)
    .map(error => describe(value, error, name))
}

/** The check gave up without an error: the value leads too deep into a recursive schema. */
function misfit(value: unknown, name: string | undefined): SchemaProblem {
  const path = pathText(name === undefined ? [] : [name])
  return { path, pointer: '', expected: 'less nesting', actual: valueText(value) }
}

function describe(value: unknown, error: ErrorObject, name: string | undefined): SchemaProblem {
  const pointer = error.instancePath + memberPointer(error)
  const { parts, found, actual } = locate(value, pointer)
  return {
    path: pathText(name === undefined ? parts : [name, ...parts]),
    pointer,
    expected: shorten(expectation(error), limits.messageExpectedLength),
    actual: found ? valueText(actual) : 'nothing',
  }
}

/** Errors about a member that is missing or not allowed are reported at the member, not at the object around it. */
function memberPointer(error: ErrorObject): string {
  const params: Params = error.params
  const member = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  return member === undefined ? '' : `/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

function locate(value: unknown, pointer: string): { parts: (string | number)[]; found: boolean; actual: unknown } {
  const parts: (string | number)[] = []
  let actual = value
  let found = true
  for (const escaped of pointer.split('/').slice(1)) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    parts.push(Array.isArray(actual) ? Number(key) : key)
    found = found && typeof actual === 'object' && actual !== null && Object.hasOwn(actual, key)
    actual = found ? (actual as Record<string, unknown>)[key] : undefined
  }
  return { parts, found, actual }
}

function expectation(error: ErrorObject): string {
  const params: Params = error.params
  switch (error.keyword) {
    case 'type':
      return [params.type].flat().join(' or ')
    case 'const':
      return JSON.stringify(params.allowedValue)
    case 'enum':
      return oneOf(params.allowedValues ?? [])
    case 'required':
      return memberType(error.parentSchema, params.missingProperty ?? '')
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return 'no such member'
    case 'minLength':
      return `at least ${params.limit} characters`
    case 'maxLength':
      return `at most ${params.limit} characters`
    case 'minItems':
      return `at least ${params.limit} items`
    case 'maxItems':
      return `at most ${params.limit} items`
    case 'minimum':
    case 'maximum':
    case 'exclusiveMinimum':
    case 'exclusiveMaximum':
      return `a number ${params.comparison} ${params.limit}`
    case 'pattern':
      return `text like ${params.pattern}`
    case 'format':
      return `a ${params.format}`
    case 'anyOf':
    case 'oneOf':
      return 'one of the allowed forms'
    default:
      return (error.message ?? 'something else').replace(/^must /, '')
  }
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map(value => JSON.stringify(value))
  return texts.length === 1 ? texts[0]! : `one of ${texts.join(', ')}`
}

function memberType(parentSchema: unknown, member: string): string {
  const { properties } = (parentSchema ?? {}) as { properties?: Record<string, { type?: unknown }> }
  const type = properties?.[member]?.type
  return typeof type === 'string' ? type : 'a value'
}

function valueText(value: unknown): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  switch (typeof value) {
    case 'string':
      return shorten(JSON.stringify(value.slice(0, limits.messageValueLength)), limits.messageValueLength)
    case 'object':
      return value === null ? 'null' : 'an object'
    case 'number':
    case 'boolean':
      return String(value)
    case 'undefined':
      return 'nothing'
    default:
      return `a ${typeof value}`
  }
}

/**
 * A value that fits no branch of a union yields the errors of all branches and one for the union itself. People need
 * less: the allowed literals or types, or the errors of the one branch that the value's tag names.
 */
function foldUnions(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let kept = errors
  for (const union of errors) {
    if (union.keyword !== 'anyOf' && union.keyword !== 'oneOf') continue
    const inside = kept.filter(error => error.schemaPath.startsWith(`${union.schemaPath}/`) && error !== union)
    if (inside.length === 0) continue
    const folded = foldUnion(union, inside)
    kept = kept.flatMap(error => (error === union ? folded : inside.includes(error) ? [] : [error]))
  }
  return kept
}

function foldUnion(union: ErrorObject, inside: readonly ErrorObject[]): readonly ErrorObject[] {
  const branches = Map.groupBy(inside, error => error.schemaPath.slice(union.schemaPath.length + 1).split('/', 1)[0]!)
  const literals = [...branches.values()].map(errors => errors.find(error => error.keyword === 'const'))
  const tag = literals.find(error => error !== undefined)
  if (tag !== undefined && literals.every(error => error?.instancePath === tag.instancePath)) {
    const allowedValues = literals.map(error => (error!.params as Params).allowedValue)
    return [{ ...tag, keyword: 'enum', params: { allowedValues } }]
  }
  const tagged = [...branches.values()].filter((_, index) => literals[index] === undefined)
  if (tag !== undefined && tagged.length === 1) return tagged[0]!
  if (inside.every(error => error.keyword === 'type' && error.instancePath === union.instancePath)) {
    return [{ ...union, keyword: 'type', params: { type: inside.map(error => (error.params as Params).type) } }]
  }
  return [union]
}
