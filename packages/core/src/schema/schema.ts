// TypeBox defines a wire shape once, Ajv validates it (Draft 2020-12); for schemas from outside see foreign-schema.ts.
import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'
import { makeAjv, makeValidator, type Validator } from './validator.ts'

/**
 * Compiled at first use, so that a module with many schemas loads fast; a schema that is wrong throws then. `name` is
 * what the value is called in paths and messages, for example `body`.
 */
export function compile<S extends TSchema>(schema: S, { name }: { readonly name?: string } = {}): Validator<Static<S>> {
  const strict = { strict: true, strictTypes: false, strictRequired: false }
  return makeValidator<Static<S>>(schema, mode => makeAjv(mode, strict).compile(schema), name)
}

/** An object with any keys. Type.Record is not that: its pattern lets keys with a line break pass unchecked. */
export function mapSchema<S extends TSchema>(value: S): TUnsafe<Record<string, Static<S>>> {
  return Type.Unsafe<Record<string, Static<S>>>({ type: 'object', additionalProperties: value })
}
