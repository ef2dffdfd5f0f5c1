// JSON Schemas of our own code, such as those of a node's operations (CALL-REG-06). They are trusted, so nothing bounds
// them, and there are many: each is checked when it is given and compiled at its first use.
import type { AnySchema } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { draftProblem, invalidSchema, withinStack } from '../draft.ts'
import { asParleyError } from '../error.ts'
import { limits } from '../limits.ts'
import { ok, type Result } from '../result.ts'
import { type Check, type CompileMode, makeAjv, makeValidator, type Validator } from './validator.ts'

/**
 * A validator for a JSON Schema of Draft 2020-12. Refuses with `invalid_schema`, at once, what is no such schema,
 * refers outside itself or has a pattern that is none. Formats are annotations. A value that drives a recursive schema
 * out of the stack does not fit. Nothing looks at a `proven` schema before its first use: it is known to be one.
 */
export function compileOwn(
  schema: unknown,
  { proven = false }: { readonly proven?: boolean | undefined } = {},
): Result<Validator<unknown>> {
  if (proven) return ok(makeValidator(schema as TSchema, mode => compileFreely(schema as AnySchema, mode)))
  try {
    // A copy: later changes, or accessors, have no effect.
    const own = JSON.parse(JSON.stringify(schema) ?? 'null') as AnySchema
    const problem = draftProblem(own) ?? patternProblem(own)
    if (problem !== undefined) return invalidSchema(problem)
    const first = isPlain(own) ? undefined : compileFreely(own, 'first')
    const compileAs = (mode: CompileMode) => (mode === 'first' && first) || compileFreely(own, mode)
    return ok(makeValidator(own as TSchema, compileAs))
  } catch (thrown) {
    return invalidSchema(asParleyError(thrown).message)
  }
}

function compileFreely(schema: AnySchema, mode: CompileMode): Check {
  return withinStack(makeAjv(mode, { strict: false }).compile(schema))
}

type Schema = Readonly<Record<string, unknown>>

/** Where schemas stand inside a schema: one, a list of them, or a map of them. */
const WITH_ONE = [
  'additionalProperties',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const WITH_LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const WITH_MAP = ['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties']

function inside(schema: Schema): readonly unknown[] {
  return [
    ...WITH_ONE.map(keyword => schema[keyword]),
    ...WITH_LIST.flatMap(keyword => schema[keyword] ?? []),
    ...WITH_MAP.flatMap(keyword => Object.values(schema[keyword] ?? {})),
  ]
}

/** Whether something holds of a schema and of every schema inside it; what is no object has nothing to say. */
function every(schema: unknown, holds: (schema: Schema, depth: number) => boolean, depth = 0): boolean {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return true
  const given = schema as Schema
  return holds(given, depth) && inside(given).every(child => every(child, holds, depth + 1))
}

function patternProblem(schema: AnySchema): string | undefined {
  let wrong: string | undefined
  every(schema, ({ pattern, patternProperties }) => {
    const patterns = [...(pattern === undefined ? [] : [pattern]), ...Object.keys(patternProperties ?? {})]
    wrong = patterns.map(String).find(each => !isPattern(each))
    return wrong === undefined
  })
  return wrong === undefined ? undefined : `the pattern ${wrong} is none`
}

function isPattern(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}

/** Of what has one of these, or is deep, only compiling shows whether it can be compiled. */
const TELLING = [
  '$anchor',
  '$async',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$recursiveAnchor',
  '$recursiveRef',
  '$ref',
  'discriminator',
  'id',
  'nullable',
]

function isPlain(schema: AnySchema): boolean {
  return every(
    schema,
    (given, depth) =>
      depth < limits.foreignSchemaDepth &&
      !(Array.isArray(given.enum) && given.enum.length === 0) &&
      !TELLING.some(keyword => Object.hasOwn(given, keyword)),
  )
}
