// What schemas of our own code and schemas from outside have in common: Draft 2020-12 says whether they are schemas.
import { Ajv2020, type AnySchema, type ValidateFunction } from 'ajv/dist/2020.js'
import { limits } from './limits.ts'
import { shorten } from './path.ts'
import { type Err, refuse } from './result.ts'
import type { Check } from './schema/validator.ts'

const draft = 'https://json-schema.org/draft/2020-12/schema'
let metaSchemaOnce: Ajv2020 | undefined

/** Why it is no schema of the draft, in words; undefined if it is one. References and patterns are not looked at. */
export function draftProblem(schema: AnySchema): string | undefined {
  metaSchemaOnce ??= new Ajv2020({ logger: false })
  if (!metaSchemaOnce.validate(draft, schema)) return metaSchemaOnce.errorsText(metaSchemaOnce.errors, { dataVar: '' })
  // Ajv's own extension: the check would answer with a promise, which counts as true.
  return typeof schema === 'object' && '$async' in schema ? 'has $async' : undefined
}

export function invalidSchema(reason: string): Err {
  return refuse('invalid_schema', `the schema cannot be used: ${shorten(reason, limits.messageExpectedLength)}`)
}

/** A value that drives a recursive schema out of the stack does not fit. */
export function withinStack(validate: ValidateFunction): Check {
  const check: Check = value => {
    try {
      const fits = validate(value)
      check.errors = validate.errors ?? null
      return fits
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown
      check.errors = null
      return false
    }
  }
  return check
}
