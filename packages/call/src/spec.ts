// The wire form of a spec (CALL-REG-02, CALL-DISC-02): snake_case, and read in both spellings.
import type { AccessControl, OperationError, OperationSpec, OperationType, TSchema } from '@parley/core'
import { parsePath } from './path.ts'
import type { Registered } from './registry.ts'

export interface WireSpec {
  readonly name: string
  readonly namespace: string
  readonly op_type: OperationType
  readonly visibility: 'external' | 'internal'
  readonly input_schema: unknown
  readonly output_schema: unknown
  readonly error_schemas: readonly unknown[]
  readonly access_control: WireAccess
  readonly [extra: string]: unknown
}

interface WireAccess {
  readonly required_scopes: readonly string[]
  readonly required_scopes_any: readonly string[] | null
  readonly resource_type: string | null
  readonly resource_action: string | null
}

/** `name` is that under which the caller knows the operation. */
export function wireSpec({ spec, namespace, access }: Registered, name: string = spec.name): WireSpec {
  const { version, title, description, tags } = spec
  return {
    name,
    namespace,
    op_type: spec.opType,
    visibility: spec.visibility ?? 'external',
    input_schema: spec.inputSchema,
    output_schema: spec.outputSchema,
    error_schemas: (spec.errorSchemas ?? []).map(wireError),
    access_control: {
      required_scopes: access.requiredScopes,
      required_scopes_any: access.requiredScopesAny ?? null,
      resource_type: access.resourceType ?? null,
      resource_action: access.resourceAction ?? null,
    },
    ...(version !== undefined && { version }),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(tags !== undefined && { tags }),
  }
}

function wireError({ code, description, schema, httpStatus }: OperationError) {
  return { code, description, schema, ...(httpStatus !== undefined && { http_status: httpStatus }) }
}

type Given = Readonly<Record<string, unknown>>

/** A spec that a peer sent; undefined if it is none. Schemas are not compiled here: the peer checks its own inputs. */
export function readSpec(value: unknown): OperationSpec | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const given = value as Given
  const { name } = given
  const opType = readType(given)
  if (typeof name !== 'string' || opType === undefined) return undefined
  const path = name.startsWith('/') ? name : `/${name}`
  const namespace = parsePath(path)?.service
  // Given twice, it might say two things.
  const access =
    'access_control' in given && 'accessControl' in given
      ? undefined
      : readAccess(given.access_control ?? given.accessControl)
  const errors: unknown = given.error_schemas ?? given.errorSchemas
  if (!access) return undefined
  return {
    name: path,
    ...(namespace !== undefined && { namespace }),
    opType,
    inputSchema: (given.input_schema ?? given.inputSchema ?? {}) as TSchema,
    outputSchema: (given.output_schema ?? given.outputSchema ?? {}) as TSchema,
    accessControl: access,
    ...(given.visibility === 'internal' && { visibility: 'internal' as const }),
    ...(Array.isArray(errors) && { errorSchemas: errors.filter(isError).map(readOwnError) }),
    ...(typeof given.version === 'string' && { version: given.version }),
    ...(typeof given.title === 'string' && { title: given.title }),
    ...(typeof given.description === 'string' && { description: given.description }),
    ...(isTexts(given.tags) && { tags: given.tags }),
  }
}

function isError(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && typeof (value as Given).code === 'string'
}

function readOwnError(given: Given): OperationError {
  const status = given.http_status ?? given.httpStatus
  return {
    code: given.code as string,
    description: typeof given.description === 'string' ? given.description : '',
    schema: (given.schema ?? {}) as TSchema,
    ...(typeof status === 'number' && { httpStatus: status }),
  }
}

/** The type that a spec tells, whatever else it tells. */
export function readType(value: unknown): OperationType | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const given = value as Given
  const type = given.op_type ?? given.opType ?? given.type
  return type === 'query' || type === 'mutation' || type === 'subscription' ? type : undefined
}

const ACCESS_MEMBERS: ReadonlyMap<string, keyof AccessControl> = new Map([
  ['required_scopes', 'requiredScopes'],
  ['required_scopes_any', 'requiredScopesAny'],
  ['resource_type', 'resourceType'],
  ['resource_action', 'resourceAction'],
])
const ACCESS_NAMES = new Set<string>(ACCESS_MEMBERS.values())

/** CALL-ROUTE-05. Undefined for a block that is missing or cannot be understood as a whole: then nobody is let in. */
function readAccess(value: unknown): AccessControl | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const given = new Map<string, unknown>()
  for (const [name, member] of Object.entries(value)) {
    const known = ACCESS_MEMBERS.get(name) ?? name
    if (!ACCESS_NAMES.has(known) || given.has(known)) return undefined
    given.set(known, member)
  }
  const { requiredScopes: scopes = [], ...rest } = Object.fromEntries(given) as Given
  const any = rest.requiredScopesAny ?? undefined
  const type = rest.resourceType ?? undefined
  const action = rest.resourceAction ?? undefined
  if (!isTexts(scopes) || !(any === undefined || isTexts(any))) return undefined
  if (
    !(type === undefined || typeof type === 'string') ||
    !(action === undefined || typeof action === 'string')
  )
    return undefined
  if (action !== undefined && type === undefined) return undefined
  return {
    requiredScopes: scopes,
    ...(any !== undefined && { requiredScopesAny: any }),
    ...(type !== undefined && { resourceType: type }),
    ...(action !== undefined && { resourceAction: action }),
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(item => typeof item === 'string')
}
