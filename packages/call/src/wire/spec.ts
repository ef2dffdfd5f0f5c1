// The wire form of a spec (CALL-REG-02, CALL-DISC-02): snake_case, and read in both spellings.
import type { TSchema } from '@parley/core'
import { type AccessRule, accessBlock, accessRule, isTexts } from '../access.ts'
import {
  type AccessControl,
  type OperationError,
  type OperationSpec,
  type OperationType,
  operationTypes,
} from '../operation-spec.ts'
import { normalName, parsePath } from '../path.ts'
import { isRecord } from './json.ts'

export type WireSpec = ReturnType<typeof wireSpec>

/** `name` is that under which the caller knows the operation; a worker may not have told its type. */
export function wireSpec(
  { spec, namespace, access }: { readonly spec: ToldSpec; readonly namespace: string; readonly access: AccessRule },
  name: string,
) {
  const { version, title, description, tags, _meta } = spec
  return {
    name,
    namespace,
    ...(spec.opType !== undefined && { op_type: spec.opType }),
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
    ...(_meta !== undefined && { _meta }),
  }
}

function wireError({ code, description, schema, httpStatus }: OperationError) {
  return { code, description, schema, ...(httpStatus !== undefined && { http_status: httpStatus }) }
}

type Given = Readonly<Record<string, unknown>>

/** What a peer told of an operation. A part that is odd does not discard the others, least of all who may call. */
export interface ToldSpec extends Omit<OperationSpec, 'name' | 'opType' | 'accessControl'> {
  readonly name?: string
  readonly opType?: OperationType
  readonly accessControl?: AccessControl
  /** Why the access control that was told cannot be enforced. */
  readonly accessProblem?: string
}

/** A spec that a peer sent; undefined if it is none. Schemas are not compiled here: the peer checks its own inputs. */
export function readSpec(given: unknown): ToldSpec | undefined {
  if (!isRecord(given)) return undefined
  const name = typeof given.name === 'string' ? normalName(given.name) : undefined
  const namespace = name === undefined ? undefined : parsePath(name)?.service
  const opType = readType(given)
  const errors: unknown = given.error_schemas ?? given.errorSchemas
  return {
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    ...(opType !== undefined && { opType }),
    inputSchema: (given.input_schema ?? given.inputSchema ?? {}) as TSchema,
    outputSchema: (given.output_schema ?? given.outputSchema ?? {}) as TSchema,
    ...readAccess(given),
    ...(lowerCase(given.visibility) === 'internal' && { visibility: 'internal' as const }),
    ...(Array.isArray(errors) && { errorSchemas: errors.filter(isError).map(readOwnError) }),
    ...(typeof given.version === 'string' && { version: given.version }),
    ...(typeof given.title === 'string' && { title: given.title }),
    ...(typeof given.description === 'string' && { description: given.description }),
    ...(isTexts(given.tags) && { tags: given.tags }),
    ...(isRecord(given._meta) && { _meta: given._meta }),
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

/** The type that a spec tells, whatever else it tells. Serializers of other languages write it in capitals. */
export function readType(value: unknown): OperationType | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const given = value as Given
  const type = lowerCase(given.op_type ?? given.opType ?? given.type)
  return operationTypes.find(known => known === type)
}

function lowerCase(value: unknown): string | undefined {
  return typeof value === 'string' ? value.toLowerCase() : undefined
}

const ACCESS_MEMBERS: ReadonlyMap<string, keyof AccessControl> = new Map([
  ['required_scopes', 'requiredScopes'],
  ['required_scopes_any', 'requiredScopesAny'],
  ['resource_type', 'resourceType'],
  ['resource_action', 'resourceAction'],
])
/** Those that the wire gives as null where there is none. */
const OPTIONAL: ReadonlySet<string> = new Set(['requiredScopesAny', 'resourceType', 'resourceAction'])
const TWICE = 'access control is told in two spellings'

/** CALL-ROUTE-05. What is told counts as a whole or not at all; nothing comes of a spec that tells none. */
function readAccess(spec: Given): Pick<ToldSpec, 'accessControl' | 'accessProblem'> {
  const [told, ...others] = ['access_control', 'accessControl'].filter(name => name in spec)
  if (told === undefined) return {}
  if (others.length > 0) return { accessProblem: TWICE }
  try {
    return { accessControl: enforceable(spec[told]) }
  } catch (cause) {
    return { accessProblem: (cause as TypeError).message }
  }
}

/** Throws for what a head could not enforce. */
function enforceable(told: unknown): AccessControl {
  const members = new Map<string, unknown>()
  for (const [name, member] of Object.entries(accessBlock(told))) {
    const known = ACCESS_MEMBERS.get(name) ?? name
    if (members.has(known)) throw new TypeError(TWICE)
    members.set(known, member === null && OPTIONAL.has(known) ? undefined : member)
  }
  const given = [...members].filter(([, member]) => member !== undefined)
  const access: AccessControl = { requiredScopes: [], ...Object.fromEntries(given) }
  accessRule(access)
  return access
}
