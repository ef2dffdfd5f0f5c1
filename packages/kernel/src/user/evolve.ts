// What user entries do to the house run's state, and how a house begins with the users of the one before it.
import type { Capability, UserState } from '@parley/trail/events'
import type { Folds, Run } from '../run/run.ts'
import type { Suspension, User } from './user.ts'

export const userFolds: Folds = {
  user_created(run, body) {
    run.users.set(body.user_id, {
      id: body.user_id,
      state: 'active',
      suspension: undefined,
      capabilities: new Set(),
    })
  },
  user_suspended: (run, body) => change(run, body.user_id, 'suspended', { by: body.suspended_by, reason: body.reason }),
  user_resumed: (run, body) => change(run, body.user_id, 'active'),
  user_blocked(run, body) {
    // a suspension outlasts the block.
    change(run, body.user_id, 'blocked', run.users.get(body.user_id)?.suspension)
  },
  user_unblocked: (run, body) => change(run, body.user_id, 'active'),
  user_deactivated: (run, body) => change(run, body.user_id, 'deactivated'),
  user_reactivated: (run, body) => change(run, body.user_id, 'active'),
  capability_granted: (run, body) => void run.users.get(body.user_id)?.capabilities.add(body.capability),
  capability_revoked: (run, body) => void run.users.get(body.user_id)?.capabilities.delete(body.capability),
}

function change(run: Run, id: string, state: UserState, suspension?: Suspension): void {
  const user = run.users.get(id)
  if (!user) return
  user.state = state
  user.suspension = suspension
}

/** A user as a house hands it on; capabilities as one text, so that thousands of users fit into one object. */
export interface CarriedUser {
  readonly id: string
  readonly state: UserState
  readonly capabilities?: string
  readonly suspension?: Suspension
}

export function carriedUsers(run: Run): readonly CarriedUser[] {
  return [...run.users.values()].map(({ id, state, suspension, capabilities }) => ({
    id,
    state,
    ...(capabilities.size > 0 && { capabilities: [...capabilities].join(' ') }),
    ...(suspension && { suspension: { ...suspension } }),
  }))
}

/** The context of a root that is about to be created: a house begins with the users of the house before it. */
export function foundStanding(run: Run, context: unknown): void {
  const {
    house,
    library,
    users = [],
  } = context as {
    readonly house?: unknown
    readonly library?: unknown
    readonly users?: readonly CarriedUser[]
  }
  run.library = library === true
  if (house !== true) return
  run.house = true
  for (const carried of users) run.users.set(carried.id, restored(carried))
}

function restored({ id, state, suspension, capabilities = '' }: CarriedUser): User {
  return {
    id,
    state,
    suspension,
    capabilities: new Set(capabilities.split(' ').filter(name => name !== '') as Capability[]),
  }
}
