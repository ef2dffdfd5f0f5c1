// Trees with several owners for tests, users that are known without a house, and the rows that topology leaves on the
// trail.
import type { Capability, UserState } from '@parley/trail/events'
import type { UserDirectory } from '../batch.ts'
import type { Row } from './fixture.ts'
import { changed } from './tasks.ts'

/** A directory in which these users are in these states and hold these capabilities. */
export function directory(
  states: Readonly<Record<string, UserState>>,
  held: Readonly<Record<string, readonly Capability[]>> = {},
): UserDirectory {
  return {
    stateOf: user => states[user],
    holds: (user, capability) => capability === 'view_trail_own' || (held[user]?.includes(capability) ?? false),
  }
}

export function cascaded(workspace: string, from = 'active'): Row {
  return changed(workspace, from, 'failed', 'parent_failed', 'protocol', 'protocol')
}

export function orphaned(workspace: string, old_parent: string): Row {
  const reason = 'parent_aborted_cross_ownership'
  return [
    'workspace_reparented',
    workspace,
    'protocol',
    { workspace_id: workspace, old_parent, new_parent: 'R', reason },
  ]
}

export function reassigned(workspace: string, new_parent: string): Row {
  const body = { workspace_id: workspace, old_parent: 'R', new_parent, reason: 'orphan_reassigned' }
  return ['workspace_reparented', workspace, 'system', body]
}

/** The rights between a workspace and its new parent; ids count on from `first`. */
export function tied(first: number, parent: string, child: string, actor = 'protocol'): Row[] {
  const right = (id: number, holder: string, target: string): Row => [
    'port_right_created',
    holder,
    actor,
    { right_id: `right${id}`, right_type: 'send', holder, target, created_by: 'R' },
  ]
  return [right(first, parent, child), right(first + 1, child, parent)]
}

/** What an agent was denied; `capability` is `<dimension>:<action>`, but memory is written by `write_memory`. */
export function denial(
  workspace: string,
  actor: string,
  capability: string,
  reason = 'permission_denied',
  target?: string,
  action = capability === 'access:write' ? 'write_memory' : capability.slice(capability.indexOf(':') + 1),
): Row {
  const about = target === undefined ? {} : { target }
  return ['capability_denied', workspace, actor, { user_id: null, capability, action, ...about, reason }]
}
