// Whose agent did what an entry records (W-SEC-17): its own workspace's mostly, and for operations a delegate above it.
import { unwrap, type WorkspaceId } from '@parley/core'
import type { Entry, ReadableRun, RunModel, TrailQuery } from '@parley/trail'
import type { EventBody, EventType } from '@parley/trail/events'

/** Operations on a workspace that its direct parent has, and those of every delegate above it (W-ROLE-04). */
const FROM_ABOVE: { readonly [T in EventType]?: 'parent' | 'above' } = {
  conflict_detected: 'parent',
  conflict_resolved: 'parent',
  workspace_state_changed: 'above',
  visibility_granted: 'above',
  priority_changed: 'above',
  budget_modified: 'above',
  suspension_started: 'above',
  suspension_resumed: 'above',
  migration_started: 'above',
  graceful_termination_initiated: 'above',
}

export async function actingWorkspace(
  trail: ReadableRun,
  entry: Entry,
  model: RunModel,
): Promise<WorkspaceId | undefined> {
  const found = await actor(trail, entry, model)
  const facts = found === undefined ? undefined : model.workspaces.get(found)
  return facts?.role === entry.actor ? facts.id : undefined
}

async function actor(trail: ReadableRun, entry: Entry, model: RunModel): Promise<WorkspaceId | undefined> {
  const named = namedActor(entry) ?? (await neighbour(trail, entry))
  if (named !== undefined) return named as WorkspaceId
  const reach = (await isForced(trail, entry)) ? 'above' : FROM_ABOVE[entry.event_type]
  if (reach === undefined || isSalvage(entry)) return own(entry)
  const above = delegatesAbove(model, subjectOf(entry), entry.actor)
  if (reach === 'parent') return above[0]?.id
  return above.length === 1 ? above[0]?.id : undefined
}

function namedActor({ event_type, body }: Entry): string | undefined {
  switch (event_type) {
    // As it was then: one that is orphaned has another parent later.
    case 'workspace_created':
      return (body as EventBody<'workspace_created'>).parent ?? undefined
    case 'port_right_created':
      return (body as EventBody<'port_right_created'>).created_by
    case 'port_right_revoked':
      return (body as EventBody<'port_right_revoked'>).revoked_by
    case 'integration_started':
    case 'integration_completed':
    case 'integration_aborted':
      return (body as EventBody<'integration_started'>).target
    default:
      return undefined
  }
}

/** What the same agent said with the operation stands right beside it, and names its workspace. */
async function neighbour(trail: ReadableRun, { event_type, seq }: Entry): Promise<string | undefined> {
  const told = { suspension_started: -1, migration_started: -1, graceful_termination_initiated: 1 }
  const offset = (told as Partial<Record<EventType, number>>)[event_type]
  if (offset === undefined) return undefined
  const beside = await one(trail, { after: seq + offset - 1 })
  return (beside?.body as { readonly from?: string } | undefined)?.from
}

/** W-LIFE-10: a `failed` that somebody above decided is emitted for the workspace, not by its agent. */
async function isForced(trail: ReadableRun, { event_type, workspace, seq, body }: Entry): Promise<boolean> {
  if (event_type !== 'signal_emitted' || (body as EventBody<'signal_emitted'>).type !== 'failed') return false
  if (workspace === null) return false
  const change = await one(trail, { workspace, event_type: 'workspace_state_changed', after: seq })
  const { trigger } = (change?.body ?? {}) as Partial<EventBody<'workspace_state_changed'>>
  if (!change || trigger === 'agent_failed') return false
  // One that changes nothing, such as that of an agent whose work is being judged, is not that of a later failure.
  const next = await one(trail, { workspace, event_type: 'signal_emitted', body: { type: 'failed' }, after: seq })
  return !next || next.seq > change.seq
}

export async function found(trail: ReadableRun, query: TrailQuery): Promise<readonly Entry[]> {
  return unwrap(await trail.query(query)).entries
}

async function one(trail: ReadableRun, query: TrailQuery): Promise<Entry | undefined> {
  return (await found(trail, { ...query, limit: 1 }))[0]
}

/** A conflict of a salvage is filed under the integrator itself. */
function isSalvage({ body }: Entry): boolean {
  return (body as { readonly mode?: unknown }).mode === 'salvage'
}

/** The sender, or the workspace that the entry is filed under; an ended one is named in the body. */
function own({ event_type, workspace, body }: Entry): WorkspaceId | undefined {
  const { from } = body as { readonly from?: unknown }
  if (typeof from === 'string') return from as WorkspaceId
  if (event_type === 'capability_denied')
    return (workspace ?? (body as EventBody<'capability_denied'>).workspace) as WorkspaceId | undefined
  if (event_type === 'trail_access_denied') return (body as EventBody<'trail_access_denied'>).requester as WorkspaceId
  return workspace ?? undefined
}

function subjectOf({ workspace, body }: Entry): WorkspaceId | undefined {
  const { workspace_id: id } = body as { readonly workspace_id?: WorkspaceId }
  return workspace ?? id
}

function delegatesAbove({ workspaces }: RunModel, below: WorkspaceId | undefined, role: string) {
  const found = []
  let facts = below === undefined ? undefined : workspaces.get(below)
  while (facts?.parent != null) {
    facts = workspaces.get(facts.parent)
    if (facts?.delegate && facts.role === role) found.push(facts)
  }
  return found
}
