// Changes of users (W-USER-03, -04, -15), recorded in the house run.
import { ok, type Result } from '@parley/core'
import { bodyLimits, CAPABILITIES, type Capability, type EventBody, type UserState } from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, invalidState, limitReached, notFound, type Refusal } from '../refusal.ts'
import { isUserId, unidentified } from './authorize.ts'
import type { User, UserChange, UserChanged, UserEvent, UserTransition } from './user.ts'

/** W-USER-03: exactly these ten, by what is asked. */
export const USER_TRANSITIONS: {
  readonly [T in UserTransition]: {
    readonly from: readonly UserState[]
    readonly to: UserState
    readonly event: UserEvent
  }
} = {
  suspend: { from: ['active', 'blocked'], to: 'suspended', event: 'user_suspended' },
  block: { from: ['active', 'suspended'], to: 'blocked', event: 'user_blocked' },
  resume: { from: ['suspended'], to: 'active', event: 'user_resumed' },
  unblock: { from: ['blocked'], to: 'active', event: 'user_unblocked' },
  deactivate: { from: ['active', 'suspended', 'blocked'], to: 'deactivated', event: 'user_deactivated' },
  reactivate: { from: ['deactivated'], to: 'active', event: 'user_reactivated' },
}

export function decideUser(batch: Batch, change: UserChange): Result<UserChanged> {
  if (!batch.run.house) return invalidState('Users are kept in the house run, and in no other.')
  if (typeof change.user !== 'string') return invalidArgument('A user_id is a text.')
  if (change.type === 'authenticated') return decideAuthenticated(batch, change.user, change.method)
  const user = batch.run.users.get(change.user)
  if (!user) return notFound('user', change.user)
  switch (change.type) {
    case 'grant':
    case 'revoke':
      return decideCapability(batch, user, change)
    default:
      return decideTransition(batch, user, change)
  }
}

/** W-USER-04: known for ever from the first acceptance on; capabilities are checked later. */
function decideAuthenticated(batch: Batch, id: string, method: unknown): Result<UserChanged> {
  const { run } = batch
  if (!isText(method) || method.length > bodyLimits.nameLength)
    return invalidArgument(`The method is a text of 1 to ${bodyLimits.nameLength} characters.`)
  if (!isUserId(batch, id))
    return unidentified(batch, { entity: id, source: method }, `'${clip(id, 80)}' is no name for a user.`)
  const known = run.users.get(id)
  if (!known && run.users.size >= kernelLimits.users) return limitReached('users', kernelLimits.users)
  const changes: { event: UserEvent; state: UserState }[] = []
  const state = known?.state ?? 'active'
  if (!known) {
    batch.add('user_created', null, 'system', { user_id: id, created_by: 'system', timestamp: batch.at })
    changes.push({ event: 'user_created', state })
  }
  batch.add('authentication_succeeded', null, id, { user_id: id, method, timestamp: batch.at })
  changes.push({ event: 'authentication_succeeded', state })
  return ok({ user: id, changes })
}

function decideTransition(
  batch: Batch,
  user: User,
  change: Extract<UserChange, { readonly type: UserTransition }>,
): Result<UserChanged> {
  const { type, by } = change
  const denied = administers(batch, user, type, by)
  if (denied) return denied
  const { reason: words } = change
  if (!isText(words))
    return invalidArgument(`To ${type} a user takes ${type.endsWith('block') ? 'a condition' : 'a reason'}.`)
  const { from, to } = USER_TRANSITIONS[type]
  if (!from.includes(user.state))
    return invalidState(`The user ${user.id} is ${user.state}: to ${type} is possible from ${from.join(', ')}.`)
  const event = writeTransition(batch, user, type, by, clip(words, kernelLimits.reasonLength))
  const changes: { event: UserEvent; state: UserState }[] = [{ event, state: to }]
  if (type === 'unblock' && user.suspension) {
    const { by: suspender, reason } = user.suspension
    writeTransition(batch, user, 'suspend', suspender, reason, 'protocol')
    changes.push({ event: 'user_suspended', state: 'suspended' })
  }
  return ok({ user: user.id, changes })
}

const BODIES = {
  suspend: (reason: string, suspended_by: string) => ({ reason, suspended_by }),
  block: (blocking_condition: string, blocked_by: string) => ({ blocking_condition, blocked_by }),
  resume: (reason: string, resumed_by: string) => ({ reason, resumed_by }),
  unblock: (resolved_condition: string) => ({ resolved_condition }),
  deactivate: (reason: string, deactivated_by: string, prior_state: UserState) => ({
    reason,
    deactivated_by,
    prior_state: prior_state as EventBody<'user_deactivated'>['prior_state'],
  }),
  reactivate: (reason: string, reactivated_by: string) => ({ reason, reactivated_by }),
}

function writeTransition(
  batch: Batch,
  user: User,
  type: UserTransition,
  by: string,
  words: string,
  actor = by,
): UserEvent {
  const { event } = USER_TRANSITIONS[type]
  const body = { user_id: user.id, ...BODIES[type](words, by, user.state), timestamp: batch.at }
  batch.add(event, null, actor, body as EventBody<typeof event>)
  return event
}

/** the system, or an active user who holds `deactivate_user`. */
function administers(batch: Batch, user: User, action: string, by: string): Refusal | undefined {
  if (by === 'system') return undefined
  const administrator = batch.run.users.get(by)
  if (!administrator) return unidentified(batch, { entity: by }, `The user ${clip(by, 80)} is not known.`)
  const denied = (reason: 'user_not_active' | 'missing_capability', message: string) =>
    batch.denyUser(by, {
      capability: 'deactivate_user',
      action: `${action}_user`,
      target: user.id,
      reason,
      message,
    })
  if (administrator.state !== 'active') return denied('user_not_active', `The user ${by} is ${administrator.state}.`)
  if (!administrator.capabilities.has('deactivate_user'))
    return denied('missing_capability', `${by} does not hold 'deactivate_user'.`)
  return undefined
}

/** W-USER-15. Who may do what is the system's to say; no capability lets a user hand out capabilities. */
function decideCapability(
  batch: Batch,
  user: User,
  change: Extract<UserChange, { readonly type: 'grant' | 'revoke' }>,
): Result<UserChanged> {
  const { type, by, capability } = change
  if (!isCapability(capability))
    return invalidArgument(`There is no such capability; there are ${CAPABILITIES.join(', ')}.`)
  if (by !== 'system') {
    if (!batch.run.users.has(by)) return unidentified(batch, { entity: by }, `The user ${clip(by, 80)} is not known.`)
    const message = `Only the system can ${type} capabilities.`
    const action = `${type}_capability`
    return batch.denyUser(by, { capability, action, target: user.id, reason: 'permission_denied', message })
  }
  // W-USER-14
  if (type === 'revoke' && capability === 'view_trail_own')
    return invalidArgument("Everybody has 'view_trail_own'; it cannot be revoked.")
  const held = capability === 'view_trail_own' || user.capabilities.has(capability)
  if (held === (type === 'grant')) return ok({ user: user.id, changes: [] })
  if (type === 'grant') {
    batch.add('capability_granted', null, by, { user_id: user.id, capability, granted_by: by, timestamp: batch.at })
    return ok({ user: user.id, changes: [{ event: 'capability_granted', state: user.state }] })
  }
  const { reason } = change
  if (reason !== undefined && !isText(reason)) return invalidArgument('A reason is a text.')
  batch.add('capability_revoked', null, by, {
    user_id: user.id,
    capability,
    revoked_by: by,
    ...(reason !== undefined && { reason: clip(reason, kernelLimits.reasonLength) }),
    timestamp: batch.at,
  })
  return ok({ user: user.id, changes: [{ event: 'capability_revoked', state: user.state }] })
}

function isText(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && text.isWellFormed()
}

function isCapability(capability: unknown): capability is Capability {
  return (CAPABILITIES as readonly unknown[]).includes(capability)
}
