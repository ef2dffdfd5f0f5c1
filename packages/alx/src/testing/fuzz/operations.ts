// The operations of ALX as its OpenAPI document describes them, and what a generator of requests knows beside it.
import type { ErrorCode } from '@alx/protocol'
import type { SCOPES } from '../../http/scopes.ts'
import { alxOpenApi } from '../../openapi.ts'
import type { Random } from './garbage.ts'
import type { JsonSchema } from './json-schema.ts'

export interface Ids {
  readonly runs: readonly string[]
  readonly sessions: readonly string[]
  readonly approvals: readonly string[]
  readonly blocks: readonly string[]
}

/** What is there: of the user who asks, and of another one. */
export interface Known {
  readonly own: Ids
  readonly foreign: Ids
}

export interface Operation {
  readonly name: keyof typeof SCOPES
  readonly method: string
  readonly path: string
  readonly query: Readonly<Record<string, JsonSchema>>
  readonly body: JsonSchema | undefined
}

interface Described {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: JsonSchema } } }
}

const { paths, schemas } = alxOpenApi('')

export const OPERATIONS: readonly Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods as Readonly<Record<string, Described>>).map(([method, described]) => ({
    name: described.operationId.slice('alx.'.length) as Operation['name'],
    method: method.toUpperCase(),
    path,
    query: Object.fromEntries(
      described.parameters.flatMap(({ name, in: place, schema }) => (place === 'query' ? [[name, schema]] : [])),
    ),
    body: described.requestBody?.content['application/json'].schema,
  })),
)

export function resolved(ref: string): JsonSchema {
  return schemas[ref.slice(ref.lastIndexOf('/') + 1)] as JsonSchema
}

/** What no answer may hold. */
export const SECRET = 'hush-hush'
/** Verbs by which the server of the test knows what it is to do. */
export const VERBS = ['work', 'doubt', 'nothing', 'throw', 'break', 'deploy'] as const

/** A request in the making. */
export interface Draft {
  method: string
  segments: string[]
  query: [string, string][]
  headers: Record<string, string | readonly string[]>
  body: Record<string, unknown> | undefined
  /** Sent instead of `body`. */
  raw?: Buffer
}

export interface Context {
  readonly random: Random
  readonly operation: Operation
  readonly known: Known
}

export interface Fault {
  readonly name: string
  readonly fits?: (draft: Draft, context: Context) => boolean
  /** Makes it, and says what must come of it alone. */
  readonly apply: (draft: Draft, context: Context) => readonly ErrorCode[] | 'sound'
}
