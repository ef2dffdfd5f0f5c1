// Schemas from outside: a peer's operation, an MCP tool, an OpenAPI document. They are compiled to code, so they
// are bounded first. The bounds do not stop every schema that is slow on purpose (recursion through many branches of
// anyOf): who may bring schemas is a matter of access control.
import type { AnySchema } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { draftProblem, invalidSchema, withinStack } from '../draft.ts'
import { asParleyError } from '../error.ts'
import { limits } from '../limits.ts'
import { ok, type Result } from '../result.ts'
import { foreignPattern } from './pattern.ts'
import { type Check, type CompileMode, makeAjv, makeValidator, type Validator } from './validator.ts'

/**
 * A validator for a JSON Schema of Draft 2020-12. Refuses with `invalid_schema` what is no such schema, is larger or
 * deeper than the limits, refers outside itself, or has a pattern that may run for ages. Formats are annotations. A
 * value that drives a recursive schema out of the stack does not fit.
 */
export function compileForeign(schema: unknown): Result<Validator<unknown>> {
  try {
    const json = JSON.stringify(schema) ?? 'null'
    if (encoder.encode(json).length > limits.foreignSchemaBytes)
      return invalidSchema(`is larger than ${limits.foreignSchemaBytes} bytes`)
    // A copy: later changes by the sender's side, or accessors, have no effect.
    const own = JSON.parse(json) as AnySchema
    if (!isFlat(own, limits.foreignSchemaDepth))
      return invalidSchema(`is deeper than ${limits.foreignSchemaDepth} levels`)
    const problem = draftProblem(own)
    if (problem !== undefined) return invalidSchema(problem)
    const first = compileBounded(own, 'first')
    return ok(makeValidator(own as TSchema, mode => (mode === 'first' ? first : compileBounded(own, mode))))
  } catch (thrown) {
    return invalidSchema(asParleyError(thrown).message)
  }
}

const encoder = new TextEncoder()

function isFlat(node: unknown, levels: number): boolean {
  if (typeof node !== 'object' || node === null) return true
  return levels > 0 && Object.values(node).every(child => isFlat(child, levels - 1))
}

function compileBounded(schema: AnySchema, mode: CompileMode): Check {
  const ajv = makeAjv(mode, {
    strict: false,
    code: { regExp: Object.assign(foreignPattern, { code: 'foreignPattern' }) },
  })
  return withinStack(ajv.compile(schema))
}
