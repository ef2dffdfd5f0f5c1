// The shape of a taxonomy document (W-TAX-01 to W-TAX-04, W-ROLE-07). It leaves open what a later check of W-TAX-05
// judges, so that the problem is reported under that check's number.
import { type Static, type TSchema, Type } from '@parley/core'

/** the actions of the richest role that fits in here fit into one trail entry. */
export const taxonomyLimits = {
  nameLength: 64,
  descriptionLength: 1024,
  roles: 128,
  envelopeTypes: 128,
  checkpointTypes: 128,
  capabilities: 64,
  permissions: 1024,
  requiredFields: 64,
} as const

export const PROTOCOL_VERSION = '0.1'

const closed = <F extends Type.TProperties>(fields: F) => Type.Object(fields, { additionalProperties: false })
const listOf = <S extends TSchema>(schema: S, maxItems: number) => Type.Array(schema, { maxItems })

/** Opaque text (W-TAX-09). Half a surrogate pair is no text: the trail could not write it. */
const Name = Type.String({ minLength: 1, maxLength: taxonomyLimits.nameLength, pattern: '^\\P{Cs}+$' })
const Description = Type.String({ maxLength: taxonomyLimits.descriptionLength, pattern: '^\\P{Cs}*$' })

const Route = closed({ type: Name, role: Name })
export type Route = Static<typeof Route>

/** `target` is a route for `send` and `receive`, and a name for `read` (a scope) and `create` (a checkpoint type). */
const Capability = closed({ action: Name, target: Type.Union([Name, Route]) })
export type Capability = Static<typeof Capability>

/** W-ROLE-07 */
export const RoleSchema = closed({
  name: Name,
  extends: Name,
  add: listOf(Capability, taxonomyLimits.capabilities),
  remove: listOf(Capability, taxonomyLimits.capabilities),
  override: Type.Optional(closed({ checkpoint_types: listOf(Name, taxonomyLimits.checkpointTypes) })),
})
export type RoleDefinition = Static<typeof RoleSchema>

/** W-TAX-03 */
export const EnvelopeTypeSchema = closed({
  name: Name,
  description: Description,
  permissions: listOf(closed({ sender_role: Name, receiver_role: Name }), taxonomyLimits.permissions),
})
export type EnvelopeTypeDefinition = Static<typeof EnvelopeTypeSchema>

/** W-TAX-04 */
export const CheckpointTypeSchema = closed({
  name: Name,
  description: Description,
  permitted_roles: listOf(Name, taxonomyLimits.roles),
  required_fields: Type.Optional(listOf(Name, taxonomyLimits.requiredFields)),
})
export type CheckpointTypeDefinition = Static<typeof CheckpointTypeSchema>

/** W-TAX-01: the three registries and nothing else. */
export const TaxonomySchema = closed({
  id: Name,
  version: Name,
  protocol_version: Type.Literal(PROTOCOL_VERSION),
  roles: listOf(RoleSchema, taxonomyLimits.roles),
  envelope_types: listOf(EnvelopeTypeSchema, taxonomyLimits.envelopeTypes),
  checkpoint_types: listOf(CheckpointTypeSchema, taxonomyLimits.checkpointTypes),
})
export type Taxonomy = Static<typeof TaxonomySchema>

/** The document around its entries, which are judged one by one so that no fault hides another. */
export const FrameSchema = closed({
  id: Name,
  version: Name,
  protocol_version: Type.Optional(Type.Unknown()),
  roles: listOf(Type.Unknown(), taxonomyLimits.roles),
  envelope_types: listOf(Type.Unknown(), taxonomyLimits.envelopeTypes),
  checkpoint_types: listOf(Type.Unknown(), taxonomyLimits.checkpointTypes),
})

export const ROUTE_ACTIONS = ['send', 'receive'] as const
type RouteAction = (typeof ROUTE_ACTIONS)[number]
export const NAME_ACTIONS = ['read', 'create'] as const
type NameAction = (typeof NAME_ACTIONS)[number]
export const CAPABILITY_ACTIONS = [...ROUTE_ACTIONS, ...NAME_ACTIONS] as const

export function routesIn(capabilities: readonly Capability[], action: RouteAction): readonly Route[] {
  return capabilities.flatMap(({ action: its, target }) =>
    its === action && typeof target !== 'string' ? [target] : [],
  )
}

export function namesIn(capabilities: readonly Capability[], action: NameAction): readonly string[] {
  return capabilities.flatMap(({ action: its, target }) =>
    its === action && typeof target === 'string' ? [target] : [],
  )
}
