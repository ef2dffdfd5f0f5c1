// Two compiled checks of one schema: one stops at the first error, a thorough one is compiled to report errors.
import { _, Ajv2020, type CodeKeywordDefinition, type ErrorObject, type Options } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { limits } from '../limits.ts'
import { ok, type Result, refuse } from '../result.ts'
import { findProblems, type SchemaProblem } from './schema-problem.ts'

export interface Validator<T> {
  readonly schema: TSchema
  /** Whether the value fits. Nothing is coerced, filled in or removed. */
  is(value: unknown): value is T
  /** The value itself, or a refusal that says where it does not fit; its code is `invalid_argument` by default. */
  check(value: unknown, code?: string): Result<T>
  /** What does not fit, at most `limits.schemaErrors`; empty if all does. */
  problems(value: unknown): readonly SchemaProblem[]
}

export type CompileMode = 'first' | 'all'

/** A compiled check; `errors` are those of the last call. */
export interface Check {
  (value: unknown): boolean
  errors?: readonly ErrorObject[] | null
}

export function makeValidator<T>(
  schema: TSchema,
  compileAs: (mode: CompileMode) => Check,
  name?: string,
): Validator<T> {
  let first: Check | undefined
  let all: Check | undefined

  const is = (value: unknown): value is T => {
    first ??= compileAs('first')
    return first(value)
  }

  const problems = (value: unknown): readonly SchemaProblem[] => {
    if (is(value)) return []
    // Every error of a large value could take far more room than the value itself.
    if (!isSmall(value)) return findProblems(value, first?.errors, name)
    all ??= compileAs('all')
    all(value)
    return findProblems(value, all.errors, name)
  }

  const check = (value: unknown, code = 'invalid_argument'): Result<T> => {
    if (is(value)) return ok(value)
    const errors = problems(value).map(({ path, expected, actual }) => ({ path, expected, actual }))
    const { path, expected, actual } = errors[0]!
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
    return refuse(code, `${path}: expected ${expected}, got ${actual}${more}`, { details: { errors } })
  }

  return { schema, is, check, problems }
}

function isSmall(value: unknown): boolean {
  let left: number = limits.schemaErrorNodes
  const visit = (node: unknown): boolean => {
    if (left-- <= 0) return false
    return typeof node !== 'object' || node === null || Object.values(node).every(visit)
  }
  return visit(value)
}

/** An instance for each schema: names inside one cannot meet those of another, and nothing is kept behind. */
export function makeAjv(mode: CompileMode, options: Options): Ajv2020 {
  const always: Options = { meta: false, validateSchema: false, logger: false, verbose: true }
  const ajv = new Ajv2020({ ...always, ...options, allErrors: mode === 'all' })
  return ajv.removeKeyword('maxLength').removeKeyword('minLength').addKeyword(lengthKeywords)
}

/** Lengths are in code points, as the draft demands, but counted only where the number of code units is not enough. */
const lengthKeywords: CodeKeywordDefinition = {
  keyword: ['maxLength', 'minLength'],
  type: 'string',
  schemaType: 'number',
  error: { message: 'must have another length', params: ({ schemaCode }) => _`{limit: ${schemaCode}}` },
  code(context) {
    const { data, gen, keyword, schema: limit } = context
    const points = gen.scopeValue('func', { ref: codePoints })
    if (keyword === 'maxLength') context.fail(_`${data}.length > ${limit} && ${points}(${data}) > ${limit}`)
    else context.fail(_`${data}.length < ${limit} || ${data}.length < ${2 * limit} && ${points}(${data}) < ${limit}`)
  },
}

const surrogate = /[\ud800-\udbff]/

function codePoints(text: string): number {
  if (!surrogate.test(text)) return text.length
  let count = 0
  for (const _point of text) count++
  return count
}
