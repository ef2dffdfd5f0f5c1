// Who may read what of a trail (W-TRAIL-19, 20). A reader that reaches outside gets an empty result, never an error;
// where the rules want the attempt on record, the entry is proposed to the runtime.
import { assertNever, type UserId, type WorkspaceId } from '@parley/core'
import type { ProposedEntry } from '../entry.ts'
import type { UserState } from '../events/index.ts'
import type { DenialReason } from '../events/names.ts'
import type { RunModel } from './model.ts'

/** The agent of a workspace; the root's is the coordinator. `global`: an observer was configured for it. */
interface AgentReader {
  readonly kind: 'agent'
  readonly workspace: WorkspaceId
  readonly global?: boolean
}

interface UserReader {
  readonly kind: 'user'
  readonly user: UserId
  readonly state: UserState
  readonly capabilities: ReadonlySet<string>
}

/** `runtime` is the node itself, and whatever it does on its own account. */
export type TrailReader = { readonly kind: 'runtime' } | AgentReader | UserReader

export const RUNTIME: TrailReader = { kind: 'runtime' }

/** What a query names explicitly; an unscoped query names neither. */
export interface Reach {
  readonly scope?: 'local' | 'global' | undefined
  readonly workspaces?: readonly WorkspaceId[] | undefined
}

export interface Access {
  /** The workspaces whose entries may be read; undefined: everything, system-level entries included. */
  readonly workspaces: ReadonlySet<WorkspaceId> | undefined
  /** What the query named and may not be read, to be recorded by the runtime. */
  readonly denials: readonly ProposedEntry[]
}

const EVERYTHING: Access = { workspaces: undefined, denials: [] }

export function accessOf(reader: TrailReader, reach: Reach, model: RunModel): Access {
  switch (reader.kind) {
    case 'runtime':
      return EVERYTHING
    case 'agent':
      return agentAccess(reader, reach, model)
    case 'user':
      return userAccess(reader, reach, model)
    default:
      return assertNever(reader)
  }
}

function agentAccess(reader: AgentReader, reach: Reach, model: RunModel): Access {
  const self = reader.workspace
  if (self === model.root) return EVERYTHING
  const facts = model.workspaces.get(self)
  if (facts === undefined) return { workspaces: new Set(), denials: [] }
  if (reader.global) return EVERYTHING
  const allowed = model.effectiveVisibility(self)
  const denials = outside(reach, allowed).map(
    (target): ProposedEntry<'trail_access_denied'> => ({
      event_type: 'trail_access_denied',
      workspace: facts.ended === undefined ? self : null,
      actor: facts.role,
      body: {
        requester: self,
        requested_scope: target === undefined ? 'global' : 'local',
        ...(target !== undefined && { requested_workspace: target }),
        reason: 'outside_visibility',
      },
    }),
  )
  return { workspaces: granted(reach, allowed), denials }
}

function userAccess(reader: UserReader, reach: Reach, model: RunModel): Access {
  if (reader.state !== 'active')
    return { workspaces: new Set(), denials: [denial(reader, undefined, 'user_not_active')] }
  if (reader.capabilities.has('view_trail_any')) return EVERYTHING
  const own = new Set<WorkspaceId>()
  for (const facts of model.workspaces.values()) if (facts.owners.at(-1)?.owner === reader.user) own.add(facts.id)
  const denials = outside(reach, own).map(target =>
    denial(reader, target, target === undefined ? 'missing_capability' : 'wrong_scope'),
  )
  return { workspaces: granted(reach, own), denials }
}

/** A reader who asks for the global scope without access to it gets an empty result, without their own entries. */
function granted(reach: Reach, allowed: ReadonlySet<WorkspaceId>): ReadonlySet<WorkspaceId> {
  return reach.scope === 'global' ? new Set() : allowed
}

/** What was named and is not allowed: workspaces, or `undefined` for the global scope. */
function outside(reach: Reach, allowed: ReadonlySet<WorkspaceId>): (WorkspaceId | undefined)[] {
  if (reach.workspaces === undefined) return reach.scope === 'global' ? [undefined] : []
  return reach.workspaces.filter(workspace => !allowed.has(workspace))
}

function denial(
  reader: UserReader,
  target: WorkspaceId | undefined,
  reason: DenialReason,
): ProposedEntry<'capability_denied'> {
  return {
    event_type: 'capability_denied',
    workspace: null,
    actor: reader.user,
    body: {
      user_id: reader.user,
      capability: 'view_trail_any',
      action: 'query_trail',
      ...(target !== undefined && { target }),
      reason,
    },
  }
}
