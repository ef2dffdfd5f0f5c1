// The field types of event bodies (wacp-mechanisms 1.5; W-CLOCK-04, -08). Checks are cheap: every append runs them.
import { limits, type Static, type TSchema, Type } from '@parley/core'
import { closed } from '../shapes.ts'
import { bodyLimits } from './limits.ts'

export const oneOf = <const Values extends string[]>(values: readonly [...Values]) => Type.Enum(values)
export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])
export const optional = <S extends TSchema>(schema: S) => Type.Optional(schema)
export const listOf = <S extends TSchema>(schema: S) => Type.Array(schema, { maxItems: bodyLimits.listItems })

export const Flag = Type.Boolean()

/** An id that the runtime assigned. */
export const Id = Type.String({ minLength: 1, maxLength: limits.idLength })
/** A `user_id`; where the sheet says so, also `system` or another reserved actor. */
export const UserId = Type.String({ minLength: 1, maxLength: bodyLimits.userIdLength })
/** The authenticated identity of an agent. */
export const AgentId = Type.String({ minLength: 1, maxLength: bodyLimits.userIdLength })
/** A name of an open set. */
export const Name = Type.String({ minLength: 1, maxLength: bodyLimits.nameLength })
/** Free text; where the registry lists one, it says something. */
export const Text = Type.String({ minLength: 1, maxLength: bodyLimits.textLength })
/** What a caller wrote before anything was verified: possibly empty, possibly naming nothing. */
export const Claim = Type.String({ maxLength: bodyLimits.nameLength })
export const TaskName = Type.String({ minLength: 1, maxLength: bodyLimits.taskNameLength })
export const Resource = Type.String({ minLength: 1, maxLength: bodyLimits.resourceLength })
/** A hash, proof or signature. */
export const Digest = Type.String({ minLength: 1, maxLength: bodyLimits.digestLength })
/** The subject of a gate; composite for most gate types (W-HWY-04). */
export const SubjectId = Type.String({ minLength: 1, maxLength: bodyLimits.subjectIdLength })
/** The key of an object in the content store. */
export const ObjectRef = Type.String({ minLength: 1, maxLength: bodyLimits.nameLength })

/** Fixed width, microseconds, UTC (W-CLOCK-08). The calendar is checked where the header is. */
export const Timestamp = Type.String({
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$',
})
/** Milliseconds (W-CLOCK-04). */
export const Duration = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const PositiveInteger = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
export const Amount = Type.Number({ minimum: 0 })
/** A budget limit (W-BUDGET-02). */
export const Limit = Type.Number({ exclusiveMinimum: 0 })

/** An object whose content stays outside the trail, pinned by its digest (W-TRAIL-32, AMB-19). */
export const Reference = closed({ kind: Name, id: SubjectId, digest: Digest })
export type Reference = Static<typeof Reference>

/** W-BUDGET-02. Every dimension is optional. */
export const Budget = closed({
  compute_budget: optional(
    closed({
      token_limit: optional(Limit),
      compute_timeout: optional(PositiveInteger),
      wall_time_limit: optional(PositiveInteger),
    }),
  ),
  memory_budget: optional(closed({ context_limit: optional(Limit) })),
  storage_budget: optional(closed({ checkpoint_limit: optional(Limit), trail_limit: optional(Limit) })),
  network_budget: optional(closed({ bandwidth_limit: optional(Limit) })),
  cost_limit: optional(Limit),
})
export type Budget = Static<typeof Budget>

/** What an agent says it used since its previous checkpoint (W-CP-10). */
export const ResourceUsage = closed({ tokens_consumed: Count, wall_time: Duration, cost: Amount })
export type ResourceUsage = Static<typeof ResourceUsage>

/** The proof over a message or checkpoint (W-SEC-07, W-SEC-09). */
export const Integrity = closed({ proof: Digest, algorithm: Name })
export type Integrity = Static<typeof Integrity>
