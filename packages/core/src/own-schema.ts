// Schemas of a program's own code, as an operation's author writes them: any JSON Schema of Draft 2020-12. They are checked when they are
// given and compiled at first use: a node has many operations, and compiling all of them would block its start for a second.

import { Ajv2020, type AnySchema } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { asParleyError } from './error.ts'
import { limits } from './limits.ts'
import { shorten } from './path.ts'
import { type Err, ok, type Result, refuse } from './result.ts'
import { type Check, type CompileMode, makeAjv, makeValidator, type Validator } from './validator.ts'

/**
 * Refuses with `invalid_schema` what is no such schema, refers outside itself, or has a pattern that is none. Unlike `compileForeign` it
 * bounds nothing: whoever writes the code answers for it. Formats are annotations.
 */
export function compileOwn(schema: unknown): Result<Validator<unknown>> {
  try {
    const json = JSON.stringify(schema) ?? 'null'
    // A copy: later changes of the object have no effect.
    const own = JSON.parse(json) as AnySchema
    const problem = schemaProblem(own)
    if (problem !== undefined) return invalidSchema(problem)
    return ok(makeValidator(own as TSchema, mode => compileLoose(own, mode)))
  } catch (thrown) {
    return invalidSchema(asParleyError(thrown).message)
  }
}

const draft = 'https://json-schema.org/draft/2020-12/schema'
let metaSchemaOnce: Ajv2020 | undefined

/** What keeps a schema from being one of the draft; undefined where nothing does. */
export function metaProblem(schema: AnySchema): string | undefined {
  metaSchemaOnce ??= new Ajv2020({ logger: false })
  if (!metaSchemaOnce.validate(draft, schema))
    return metaSchemaOnce.errorsText(metaSchemaOnce.errors, { dataVar: '' })
  // Ajv's own extension: the check would answer with a promise, which counts as true.
  return typeof schema === 'object' && '$async' in schema ? 'has $async' : undefined
}

export function invalidSchema(reason: string): Err {
  return refuse(
    'invalid_schema',
    `the schema cannot be used: ${shorten(reason, limits.messageExpectedLength)}`,
  )
}

/** What compiling would find: it is looked for without compiling, as far as that can be done. */
function schemaProblem(schema: AnySchema): string | undefined {
  const problem = metaProblem(schema)
  if (problem === undefined && !isPlain(schema)) compileLoose(schema, 'first')
  return problem
}

function compileLoose(schema: AnySchema, mode: CompileMode): Check {
  return makeAjv(mode, { strict: false }).compile(schema)
}

/** Keywords whose values are data, not schemas. */
const DATA = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords whose values are schemas by names. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas'])

/** Keywords that give names, or refer to them. */
const NAMING = new Set(['$ref', '$dynamicRef', '$id', '$anchor', '$dynamicAnchor'])

/** Whether it names nothing that might be missing, and no expression that might be none. Only compiling tells of others. */
function isPlain(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return true
  return Object.entries(node).every(([key, value]) => {
    if (DATA.has(key)) return true
    if (key === 'patternProperties' && !Object.keys(value).every(isExpression)) return false
    if (MAPS.has(key)) return Object.values(value).every(isPlain)
    if (typeof value !== 'string') return isPlain(value)
    return key === 'pattern' ? isExpression(value) : !NAMING.has(key)
  })
}

function isExpression(source: string): boolean {
  try {
    new RegExp(source, 'u')
    return true
  } catch {
    return false
  }
}
