// The query model (W-TRAIL-17, 18): filters joined by AND, timelines by `seq`, cursors, aggregates. Derived dimensions
// (originator, owner, group) and access rules become spans of workspaces here; the store finds the entries.
import {
  compile,
  err,
  isTimestamp,
  ParleyError,
  parseTimestamp,
  type Result,
  type RunId,
  type Static,
  Type,
  type WorkspaceId,
} from '@parley/core'
import { trailLimits } from '../limits.ts'
import { closed } from '../shapes.ts'
import type { BodyFilter, StoreFilter, WorkspaceSpan } from '../store/store.ts'
import type { Access } from './access.ts'
import type { RunModel, WorkspaceFacts } from './model.ts'

const Scalar = Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])
const Name = Type.String({ minLength: 1, maxLength: 256 })

export const TrailFilterSchema = closed({
  /** `local` shows the hashes of the workspace's own chain and needs exactly one workspace. */
  scope: Type.Optional(Type.Union([Type.Literal('local'), Type.Literal('global')])),
  workspace: Type.Optional(Type.Union([Name, Type.Array(Name, { minItems: 1, maxItems: 256 })])),
  actor: Type.Optional(Name),
  role: Type.Optional(Name),
  event_type: Type.Optional(Type.Union([Name, Type.Array(Name, { minItems: 1, maxItems: 72 })])),
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
  /** Dotted paths below the body: `{ "to_state": "failed" }`. */
  body: Type.Optional(Type.Record(Type.String(), Scalar)),
  originator: Type.Optional(Name),
  owner: Type.Optional(Name),
  group: Type.Optional(Name),
})
export type TrailFilter = Static<typeof TrailFilterSchema>

const TrailQuerySchema = closed({
  ...TrailFilterSchema.properties,
  /** The cursor of the page before: only entries behind it in the chosen order. */
  after: Type.Optional(Type.Integer({ minimum: 0 })),
  order: Type.Optional(Type.Union([Type.Literal('ascending'), Type.Literal('descending')])),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: trailLimits.pageEntries })),
})
export type TrailQuery = Static<typeof TrailQuerySchema>

const AGGREGATE_DIMENSIONS = ['workspace', 'actor', 'role', 'event_type', 'originator', 'owner', 'group']

const TrailAggregateSchema = closed({
  filter: TrailFilterSchema,
  /** One dimension, or `body.` and a path. */
  group: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  sum: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
})
export type TrailAggregate = Static<typeof TrailAggregateSchema>

const queryShape = compile(TrailQuerySchema)
const aggregateShape = compile(TrailAggregateSchema)

export function parseQuery(query: unknown): Result<TrailQuery> {
  const parsed = queryShape.check(query, 'invalid_query')
  if (!parsed.ok) return parsed
  const problem = problemOf(parsed.value)
  return problem ? err(problem) : parsed
}

export function parseAggregate(query: unknown): Result<TrailAggregate> {
  const parsed = aggregateShape.check(query, 'invalid_query')
  if (!parsed.ok) return parsed
  const { group, filter } = parsed.value
  if (group !== undefined && !group.startsWith('body.') && !AGGREGATE_DIMENSIONS.includes(group))
    return err(
      invalidQuery(`cannot group by '${group}': name one of ${AGGREGATE_DIMENSIONS.join(', ')} or body.<path>`),
    )
  const problem = problemOf(filter)
  return problem ? err(problem) : parsed
}

export function invalidQuery(message: string): ParleyError {
  return new ParleyError('invalid_query', `The query ${message}.`)
}

function problemOf(filter: TrailFilter): ParleyError | undefined {
  for (const bound of ['from', 'to'] as const) {
    const value = filter[bound]
    if (value !== undefined && !isTimestamp(value)) {
      return invalidQuery(`needs '${bound}' in the form YYYY-MM-DDTHH:MM:SS.ffffffZ`)
    }
  }
  if (filter.scope === 'local' && typeof filter.workspace !== 'string')
    return invalidQuery("of scope 'local' needs one workspace")
  if (filter.scope === 'global' && filter.workspace !== undefined)
    return invalidQuery("of scope 'global' names a workspace")
  for (const path of Object.keys(filter.body ?? {})) {
    if (path.split('.').some(step => step === '')) return invalidQuery(`has an empty step in the body path '${path}'`)
  }
  return undefined
}

/** Whether anything but the index is needed to answer. */
export function needsModel(filter: TrailFilter): boolean {
  return filter.originator !== undefined || filter.owner !== undefined || filter.group !== undefined
}

export function namedWorkspaces(filter: TrailFilter): readonly WorkspaceId[] | undefined {
  if (filter.workspace === undefined) return undefined
  return (typeof filter.workspace === 'string' ? [filter.workspace] : filter.workspace) as WorkspaceId[]
}

/** The filter that a store evaluates; the model may be missing when neither access nor filter needs it. */
export function storeFilter(run: RunId, filter: TrailFilter, access: Access, model: RunModel | undefined): StoreFilter {
  const spans = spansOf(filter, access, model)
  const actors = actorsOf(filter)
  const types = typeof filter.event_type === 'string' ? [filter.event_type] : filter.event_type
  const body = Object.entries(filter.body ?? {}).map(
    ([path, equals]): BodyFilter => ({ path: path.split('.'), equals }),
  )
  const from = filter.from === undefined ? undefined : parseTimestamp(filter.from)
  const to = filter.to === undefined ? undefined : parseTimestamp(filter.to)
  return {
    run,
    ...(spans && { spans }),
    ...(actors && { actors }),
    ...(types && { types }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(body.length > 0 && { body }),
  }
}

/** `coordinator` is an alias of `system` (AMB-02). A role is what stands in the actor of that role's agents. */
function actorsOf(filter: TrailFilter): readonly string[] | undefined {
  const names = [filter.actor, filter.role].filter(name => name !== undefined).map(recordedActor)
  if (names.length === 0) return undefined
  return names.every(name => name === names[0]) ? [names[0]!] : []
}

function recordedActor(name: string): string {
  return name === 'coordinator' ? 'system' : name
}

function spansOf(
  filter: TrailFilter,
  access: Access,
  model: RunModel | undefined,
): readonly WorkspaceSpan[] | undefined {
  const named = namedWorkspaces(filter)
  if (!needsModel(filter)) {
    if (named) return named.filter(each => access.workspaces?.has(each) ?? true).map(workspace => ({ workspace }))
    return access.workspaces && [...access.workspaces].map(workspace => ({ workspace }))
  }
  const spans: WorkspaceSpan[] = []
  for (const facts of model?.workspaces.values() ?? []) {
    if (named && !named.includes(facts.id)) continue
    if (access.workspaces && !access.workspaces.has(facts.id)) continue
    if (filter.originator !== undefined && facts.originator !== recordedActor(filter.originator)) continue
    if (filter.group !== undefined && facts.group !== filter.group) continue
    spans.push(...(filter.owner === undefined ? [{ workspace: facts.id }] : ownedSpans(facts, filter.owner)))
  }
  return spans
}

/** The stretches of a workspace's trail during which one user owned it. */
export function ownedSpans(facts: WorkspaceFacts, owner: string): WorkspaceSpan[] {
  return facts.owners.flatMap((each, index) => {
    if (each.owner !== owner) return []
    const next = facts.owners[index + 1]
    return [{ workspace: facts.id, from: each.from, ...(next && { to: next.from }) }]
  })
}
