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
}

export function findProblems(
  value: unknown,
  errors: readonly ErrorObject[] | null | undefined,
  name?: string,
): readonly SchemaProblem[] {
  const describe = (pointer: string, expected: string): SchemaProblem => {
    const { parts, found, actual } = locate(value, pointer)
    const path = pathText(name === undefined ? parts : [name, ...parts])
    return { path, pointer, expected, actual: found ? valueText(actual) : 'nothing' }
  }
  // The check gave up without an error: the value leads too deep into a recursive schema.
  if (errors == null || errors.length === 0) return [describe('', 'less nesting')]
  return foldUnions(errors)
    .slice(0, limits.schemaErrors)
    .map(error =>
      describe(error.instancePath + memberPointer(error), shorten(expectation(error), limits.messageExpectedLength)),
    )
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
  const expected = EXPECTATIONS[error.keyword]
  return expected?.(error.params, error.parentSchema) ?? (error.message ?? 'something else').replace(/^must /, '')
}

const EXPECTATIONS: Readonly<Record<string, (params: Params, parentSchema: unknown) => string>> = {
  type: ({ type }) => [type].flat().join(' or '),
  const: ({ allowedValue }) => JSON.stringify(allowedValue),
  enum: ({ allowedValues = [] }) => oneOf(allowedValues),
  required: ({ missingProperty = '' }, parentSchema) => memberType(parentSchema, missingProperty),
  additionalProperties: () => 'no such member',
  unevaluatedProperties: () => 'no such member',
  minLength: ({ limit }) => `at least ${limit} characters`,
  maxLength: ({ limit }) => `at most ${limit} characters`,
  minItems: ({ limit }) => `at least ${limit} items`,
  maxItems: ({ limit }) => `at most ${limit} items`,
  minimum: comparison,
  maximum: comparison,
  exclusiveMinimum: comparison,
  exclusiveMaximum: comparison,
  pattern: ({ pattern }) => `text like ${pattern}`,
  anyOf: () => 'one of the allowed forms',
  oneOf: () => 'one of the allowed forms',
}

function comparison({ comparison, limit }: Params): string {
  return `a number ${comparison} ${limit}`
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

/** Of all errors of a union's branches people need the allowed literals or types, or those of the tagged branch. */
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
