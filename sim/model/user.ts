// What entries about people mean to the simulator's own model of a house run.
import type { UserState } from '@parley/trail/events'
import type { ModelFolds } from './highway.ts'
import type { RunModel } from './model.ts'

export const userFolds: ModelFolds = {
  user_created: (run, body) => {
    const { user_id: id } = body
    run.users.set(id, { id, state: 'active', suspended: false, capabilities: new Set(), changes: 0 })
  },
  user_suspended: (run, body) => change(run, body.user_id, 'suspended', true),
  user_resumed: (run, body) => change(run, body.user_id, 'active', false),
  // A suspension outlasts the block.
  user_blocked: (run, body) => change(run, body.user_id, 'blocked'),
  user_unblocked: (run, body) => change(run, body.user_id, 'active', false),
  user_deactivated: (run, body) => change(run, body.user_id, 'deactivated', false),
  user_reactivated: (run, body) => change(run, body.user_id, 'active', false),
  capability_granted: (run, body) => {
    const user = run.users.get(body.user_id)
    user?.capabilities.add(body.capability)
    if (user) user.changes++
  },
  capability_revoked: (run, body) => {
    const user = run.users.get(body.user_id)
    user?.capabilities.delete(body.capability)
    if (user) user.changes++
  },
}

function change(run: RunModel, id: string, state: UserState, suspended?: boolean): void {
  const user = run.users.get(id)
  if (!user) return
  user.state = state
  if (suspended !== undefined) user.suspended = suspended
  user.changes++
}
