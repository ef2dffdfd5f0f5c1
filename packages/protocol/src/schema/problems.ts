// Where a value does not fit its schema, as `error.details` says it (ALX-ERR-01).
import type { TSchema } from 'typebox'
import { Errors } from 'typebox/schema'
import type { JsonSchema } from './modes.ts'

export interface Problem {
  /** `intent.verb`, `links[0].parentHash`; `$` is the value itself. */
  readonly path: string
  readonly issue: string
}

export function text({ path, issue }: Problem): string {
  return `${path} ${issue}`
}

/** The first few problems, one for each place; none if the value fits. */
export function problemsOf(schema: TSchema, value: unknown, name = ''): Problem[] {
  const [, errors] = Errors(narrowed(schema, value) as TSchema, value)
  const found = new Map<string, string>()
  for (const { keyword, instancePath, params, message } of errors) {
    const at = instancePath.split('/').slice(1).map(unescaped)
    for (const { member, issue } of membersOf(keyword, params, message)) {
      const path = pathText(member === undefined ? at : [...at, member], value, name)
      if (!found.has(path)) found.set(path, issue)
    }
  }
  return [...found].map(([path, issue]) => ({ path, issue }))
}

interface Member {
  readonly member?: string
  readonly issue: string
}

/** An error about a member that is missing or not allowed is reported at the member. */
function membersOf(keyword: string, params: object, issue: string): readonly Member[] {
  const names = (key: string) => (params as Readonly<Record<string, readonly string[]>>)[key] ?? []
  if (keyword === 'required') return names('requiredProperties').map(member => ({ member, issue: 'is required' }))
  if (keyword === 'additionalProperties')
    return names('additionalProperties').map(member => ({ member, issue: 'is not a member of this shape' }))
  if (keyword === 'boolean' || keyword === 'not') return [{ issue: 'must not be present' }]
  return [{ issue }]
}

/** Of a union, the one branch whose literals the value has: what the others lack says nothing. */
function narrowed(schema: JsonSchema, value: unknown): JsonSchema {
  const { anyOf, properties } = schema
  const given: Readonly<Record<string, unknown>> = typeof value === 'object' && value !== null ? { ...value } : {}
  if (anyOf) {
    let meant = anyOf.filter(({ type }) => (type === 'null') === (value === null))
    for (const name of value === null ? [] : literalsOf(meant)) {
      const fit = meant.filter(({ properties }) => allows(properties?.[name], given[name]))
      if (fit.length === 0) return { type: 'object', required: [name], properties: { [name]: oneOfAll(name, meant) } }
      meant = fit
    }
    return meant.length === 1 ? narrowed(meant[0]!, value) : schema
  }
  if (!properties) return schema
  const members = Object.entries(properties).map(([name, member]) => [name, narrowed(member, given[name])])
  return { ...schema, properties: Object.fromEntries(members) }
}

/** The members by which the branches of a union differ. */
function literalsOf(branches: readonly JsonSchema[]): ReadonlySet<string> {
  const members = branches.flatMap(({ properties = {} }) => Object.entries(properties))
  return new Set(members.flatMap(([name, member]) => (literals(member) ? [name] : [])))
}

function literals({ const: literal, enum: all }: JsonSchema): readonly unknown[] | undefined {
  return all ?? (literal === undefined ? undefined : [literal])
}

function allows(member: JsonSchema | undefined, value: unknown): boolean {
  if (member?.not?.enum?.includes(value)) return false
  return (member && literals(member))?.includes(value) ?? true
}

function oneOfAll(name: string, branches: readonly JsonSchema[]): JsonSchema {
  return { enum: branches.flatMap(({ properties }) => literals(properties?.[name] ?? {}) ?? []) }
}

function pathText(parts: readonly string[], value: unknown, name: string): string {
  let path = name
  let at = value
  for (const part of parts) {
    path += Array.isArray(at) ? `[${part}]` : `${path === '' ? '' : '.'}${part}`
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined
  }
  return path === '' ? '$' : path
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
