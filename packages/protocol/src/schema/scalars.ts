// The scalar types of section 0 of the sheet, and what wire shapes are made of.
import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'

/** What a schema's values are in TypeScript. Nobody changes a message: it is made, sent, or read. */
export type Wire<S extends TSchema> = Frozen<Static<S>>
type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

/** Marks by `format`: what validators hold strictly in one mode and loosely in the other (ALX-TL-06, ALX-ERR-04). */
export const marks = { identifier: 'alx-identifier', errorCode: 'alx-error-code', errorType: 'alx-error-type' } as const

export const text = (maxLength: number) => Type.String({ minLength: 1, maxLength })
export const someText = Type.String({ minLength: 1 })
export const id = Type.String({ pattern: '^[A-Za-z0-9_-]{1,128}$', format: marks.identifier })
export const uintString = Type.String({ pattern: '^(0|[1-9][0-9]{0,77})$' })
export const hash32 = Type.String({ pattern: '^0x[0-9a-f]{64}$' })
/** The format sees to it that the day exists, the pattern that there is one spelling. */
export const iso = Type.String({
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:[0-5]\\d\\.\\d{3}Z$',
  format: 'date-time',
})

export const integer = (minimum: number, maximum: number = Number.MAX_SAFE_INTEGER) =>
  Type.Integer({ minimum, maximum })
export const epochMs = integer(0)
export const fraction = Type.Number({ minimum: 0, maximum: 1 })

/** An object of the caller's: its members are content and are kept. */
export const freeObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

/** A member that is present and may be `null`: RN of the sheet. */
export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

export function oneOf<const V extends readonly (string | number)[]>(values: V): TUnsafe<V[number]> {
  return Type.Unsafe<V[number]>({ type: typeof values[0], enum: [...values] })
}

/** A member that must not be there: ALX-ENV-03 knows one spelling of "no error". */
export const absent = Type.Optional(Type.Never())
