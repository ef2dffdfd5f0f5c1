// TypeBox defines a wire shape once, Ajv validates it (Draft 2020-12); for schemas from outside see foreign-schema.ts.

import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'
import { limits } from '../limits.ts'
import { isTimestamp, type Timestamp } from '../timestamp.ts'
import { type Check, type CompileMode, makeAjv, makeValidator, type Validator } from './validator.ts'

export interface CompileOptions {
  /** What the value is called in paths and messages, for example `body`. */
  readonly name?: string
}

/** Compiled at first use, so that a module with many schemas loads fast; a schema that is wrong throws then. */
export function compile<S extends TSchema>(schema: S, options: CompileOptions = {}): Validator<Static<S>> {
  return makeValidator<Static<S>>(schema, mode => compileStrict(schema, mode), options.name)
}

function compileStrict(schema: TSchema, mode: CompileMode): Check {
  const ajv = makeAjv(mode, { strict: true, strictTypes: false, strictRequired: false })
  return ajv.addFormat('timestamp', isTimestamp).compile(schema)
}

/** Text that can be an id: 1 to 64 visible ASCII characters. A counted pattern would take twice as long. */
export function idSchema<Id extends string = string>(): TUnsafe<Id> {
  return Type.Unsafe<Id>({ type: 'string', maxLength: limits.idLength, pattern: '^[\\x21-\\x7e]+$' })
}

/** A timestamp in the form of W-CLOCK-08. */
export const timestampSchema: TUnsafe<Timestamp> = Type.Unsafe<Timestamp>({
  type: 'string',
  format: 'timestamp',
})

/** An object with any keys. Type.Record is not that: its pattern lets keys with a line break pass unchecked. */
export function mapSchema<S extends TSchema>(value: S): TUnsafe<Record<string, Static<S>>> {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: value })
}
