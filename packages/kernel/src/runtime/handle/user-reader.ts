// A person as a reader of the trail (W-TRAIL-20): who they are, what they may, and the record of one who is nobody.
import type { UserId } from '@parley/core'
import type { ProposedEntry, TrailReader } from '@parley/trail'
import { bodyLimits, CAPABILITIES, isReservedActor } from '@parley/trail/events'
import { clip, type UserDirectory } from '../../batch.ts'

/** Undefined for a name that nobody authenticated, or that stands for something else in the run. */
export function userReader(
  users: UserDirectory | undefined,
  user: string,
  roles: ReadonlySet<string>,
): TrailReader | undefined {
  if (isReservedActor(user, roles)) return undefined
  if (users && users.stateOf(user) === undefined) return undefined
  // Asked anew for every page: who watches for long may lose what they hold.
  return {
    kind: 'user',
    user: user as UserId,
    get state() {
      return users?.stateOf(user) ?? 'active'
    },
    get capabilities() {
      return new Set(CAPABILITIES.filter(each => users?.holds(user, each) ?? true))
    },
  }
}

export function strangerEntry(user: string): ProposedEntry {
  return {
    event_type: 'authentication_failed',
    workspace: null,
    actor: 'protocol',
    body: {
      entity: clip(user.toWellFormed(), bodyLimits.nameLength),
      context: 'highway_access',
      reason: 'unknown_identity',
      source: '',
    },
  }
}
