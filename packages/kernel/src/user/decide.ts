// Changes of users (W-USER-03, -04, -15), recorded in the house run.
import { assertNever, ok, type Result } from '@parley/core'
import {
  bodyLimits,
  CAPABILITIES,
  type Capability,
  type DeactivatableState,
  type UserState,
} from '@parley/trail/events'
import { type Batch, clip } from '../batch.ts'
import { kernelLimits } from '../limits.ts'
import { invalidArgument, invalidState, limitReached, notFound, type Refusal } from '../refusal.ts'
import { isUserId, unidentified } from './authorize.ts'
import type { User, UserChange, UserChanged, UserChangeType, UserEvent } from './user.ts'

type Transition = Exclude<UserChangeType, 'authenticated' | 'grant' | 'revoke'>

/** W-USER-03: exactly these ten, by what is asked. */
export const USER_TRANSITIONS: {
  readonly [T in Transition]: { readonly from: readonly UserState[]; readonly to: UserState }
} = {
  suspend: { from: ['active', 'blocked'], to: 'suspended' },
  block: { from: ['active', 'suspended'], to: 'blocked' },
  resume: { from: ['suspended'], to: 'active' },
  unblock: { from: ['blocked'], to: 'active' },
  deactivate: { from: ['active', 'suspended', 'blocked'], to: 'deactivated' },
  reactivate: { from: ['deactivated'], to: 'active' },
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
  change: Extract<UserChange, { readonly type: Transition }>,
): Result<UserChanged> {
  const { type, by } = change
  const denied = administers(batch, user, type, by)
  if (denied) return denied
  const words: unknown = 'condition' in change ? change.condition : change.reason
  if (!isText(words))
    return invalidArgument(`To ${type} a user takes ${'condition' in change ? 'a condition' : 'a reason'}.`)
  const { from, to } = USER_TRANSITIONS[type]
  if (!from.includes(user.state))
    return invalidState(`The user ${user.id} is ${user.state}: to ${type} is possible from ${from.join(', ')}.`)
  const event = writeTransition(batch, user, type, by, clip(words, kernelLimits.reasonLength))
  const changes: { event: UserEvent; state: UserState }[] = [{ event, state: to }]
  if (type === 'unblock' && user.suspension) {
    writeSuspended(batch, user, user.suspension.by, user.suspension.reason, 'protocol')
    changes.push({ event: 'user_suspended', state: 'suspended' })
  }
  return ok({ user: user.id, changes })
}

function writeTransition(batch: Batch, user: User, type: Transition, by: string, words: string): UserEvent {
  const user_id = user.id
  switch (type) {
    case 'suspend':
      return writeSuspended(batch, user, by, words, by)
    case 'block': {
      const body = { user_id, blocking_condition: words, blocked_by: by, timestamp: batch.at }
      batch.add('user_blocked', null, by, body)
      return 'user_blocked'
    }
    case 'resume':
      batch.add('user_resumed', null, by, { user_id, reason: words, resumed_by: by, timestamp: batch.at })
      return 'user_resumed'
    case 'unblock':
      batch.add('user_unblocked', null, by, { user_id, resolved_condition: words, timestamp: batch.at })
      return 'user_unblocked'
    case 'deactivate': {
      const prior_state = user.state as DeactivatableState
      const body = { user_id, reason: words, deactivated_by: by, prior_state, timestamp: batch.at }
      batch.add('user_deactivated', null, by, body)
      return 'user_deactivated'
    }
    case 'reactivate': {
      const body = { user_id, reason: words, reactivated_by: by, timestamp: batch.at }
      batch.add('user_reactivated', null, by, body)
      return 'user_reactivated'
    }
    default:
      return assertNever(type)
  }
}

function writeSuspended(batch: Batch, user: User, by: string, reason: string, actor: string): UserEvent {
  const body = { user_id: user.id, reason, suspended_by: by, timestamp: batch.at }
  batch.add('user_suspended', null, actor, body)
  return 'user_suspended'
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
    batch.add('capability_granted', null, by, {
      user_id: user.id,
      capability,
      granted_by: by,
      timestamp: batch.at,
    })
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
