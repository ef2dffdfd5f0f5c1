// Makes validators of schemas. A wire shape is one TypeBox schema; its type, its two validators and its JSON Schema
// come from there. TypeBox compiles the check, or walks the schema where a page must not evaluate code.
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { type Result, refuse } from '../errors.ts'
import { type Mode, modeOf } from './modes.ts'
import { type Problem, problemsOf, text } from './problems.ts'
import type { Wire } from './scalars.ts'
import { withoutUnknown } from './unknown.ts'

/** A rule that a schema cannot state. */
export type Rule<T> = (value: T) => Problem | undefined

export interface Shape<T> {
  /** The value, or INVALID_REQUEST with where it does not fit. Never throws. */
  readonly parse: (value: unknown, mode?: Mode) => Result<T>
  readonly is: (value: unknown, mode?: Mode) => value is T
}

interface Rules<S extends TSchema> {
  /** What happens to a value before it is checked. */
  readonly before?: (value: unknown) => unknown
  /** What must hold whoever made the value. */
  readonly always?: Rule<Wire<S>>
  /** What must hold when this side made the value. */
  readonly emit?: Rule<Wire<S>>
}

/** A shape that servers send: a reader keeps what it does not know (ALX-SDK-05). */
export function sent<S extends TSchema>(schema: S, rules: Rules<S> = {}): Shape<Wire<S>> {
  return shape(rules, mode => modeOf(schema, mode))
}

/**
 * A shape that clients send. Its identifiers are the server's own, so a server reads them strictly too; what it does
 * not know, it drops (ALX-ENV-07).
 */
export function received<S extends TSchema>(schema: S, rules: Rules<S> = {}): Shape<Wire<S>> {
  const formOf = (mode: Mode) => (mode === 'emit' ? modeOf(schema, mode) : schema)
  return shape(rules, formOf, value => withoutUnknown(schema, value))
}

function shape<S extends TSchema>(
  { before = same, always, emit }: Rules<S>,
  formOf: (mode: Mode) => TSchema,
  after: (value: unknown) => unknown = same,
): Shape<Wire<S>> {
  const checks: { [mode in Mode]?: ReturnType<typeof Compile> } = {}
  const parse = (given: unknown, mode: Mode = 'read'): Result<Wire<S>> => {
    const value = before(given)
    // At first use: a program that imports the package needs few of its shapes.
    checks[mode] ??= Compile(formOf(mode))
    const check = checks[mode]
    if (!check.Check(value)) return refused(problemsOf(check.Schema(), value))
    const fit = after(value) as Wire<S>
    const problem = always?.(fit) ?? (mode === 'emit' ? emit?.(fit) : undefined)
    return problem === undefined ? { ok: true, value: fit } : refused([problem])
  }
  return { parse, is: (value, mode): value is Wire<S> => parse(value, mode).ok }
}

function same(value: unknown): unknown {
  return value
}

function refused(details: readonly Problem[]): Result<never> {
  return refuse('INVALID_REQUEST', details.map(text).join('; '), { details: [...details] })
}
